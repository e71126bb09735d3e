# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.linalg`: sparse matrices, their builders and solvers. The first use loads the native code."""

from typing import Any
class LinearOperator:
    """A matrix that is defined by a kernel for its product with a vector.

    matvec_kernel: a kernel `matvec_kernel(x, Ax)` that writes the product of the matrix and the
    field `x` to the field `Ax`.

        @ti.kernel
        def double(x: ti.template(), Ax: ti.template()):
            for i in x:
                Ax[i] = 2 * x[i]

        A = ti.linalg.LinearOperator(double)
        b, x = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
        b.fill(6.0)
        ti.linalg.MatrixFreeCG(A, b, x)
        print(x)  # prints: [3. 3. 3. 3.]
    """
    def __init__(self, matvec_kernel: Any) -> None: ...
    def matvec(self, x: Any, Ax: Any) -> Any:
        """Computes Ax = A x; both fields have the same shape."""
def MatrixFreeBICGSTAB(A: Any, b: Any, x: Any, tol: Any = 1e-06, maxiter: Any = 5000, quiet: Any = True) -> Any:
    """Solves A x = b for any operator by the stabilised biconjugate gradient method. Returns
    whether it converged.

    A, b, x, tol, maxiter, quiet: as for `MatrixFreeCG`.

        @ti.kernel
        def double(x: ti.template(), Ax: ti.template()):
            for i in x:
                Ax[i] = 2 * x[i]

        b, x = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
        b.fill(6.0)
        print(ti.linalg.MatrixFreeBICGSTAB(ti.linalg.LinearOperator(double), b, x))  # prints: True
    """
def MatrixFreeCG(A: Any, b: Any, x: Any, tol: Any = 1e-06, maxiter: Any = 5000, quiet: Any = True) -> Any:
    """Solves A x = b for a symmetric positive definite operator. Returns whether it converged.

    A: a LinearOperator. b: the right-hand side, a field of f32 or f64. x: a field of the same form,
    with the initial guess; receives the result. tol: stops when |A x - b| < tol. maxiter: the most
    iterations. quiet: False prints the residual of each iteration.

        @ti.kernel
        def double(x: ti.template(), Ax: ti.template()):
            for i in x:
                Ax[i] = 2 * x[i]

        b, x = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
        b.fill(6.0)
        print(ti.linalg.MatrixFreeCG(ti.linalg.LinearOperator(double), b, x))  # prints: True
    """
class SparseCG:
    """Solves A x = b for a symmetric positive definite sparse matrix.

    Args:
        A: a SparseMatrix.
        b: a NumPy array, ndarray or field with one number per row of A.
        x0: the initial guess, in the same form as `b`; zero by default.
        max_iter: the most iterations.
        atol: stops when |A x - b| <= atol * |b|.

    Example::

        builder = ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=2)

        @ti.kernel
        def fill(A: ti.types.sparse_matrix_builder()):
            for i in range(2):
                A[i, i] += 2.0

        fill(builder)
        A = builder.build()
        b = np.array([2.0, 4.0], np.float32)
        x, converged = ti.linalg.SparseCG(A, b, max_iter=100).solve()  # prints anything
    """
    def __init__(self, A: Any, b: Any, x0: Any = None, max_iter: Any = 50, atol: Any = 1e-06) -> None: ...
    dtype: Any
    matrix: Any
    def solve(self) -> Any:
        """Returns (x, whether it converged). Prints the iterations and the estimated error.

        x is a NumPy array; if `b` is an ndarray on a CUDA device, which then does the work, it is
        an ndarray there.
        """
class SparseMatrix:
    """An n by m matrix of f32 or f64 that stores only the elements that were set.

    Args:
        n, m: the numbers of rows and columns; by default `m` is `n`.
        sm: a native matrix to wrap; the other arguments are then ignored.
        dtype: ti.f32 or ti.f64.
        storage_format: "col_major" or "row_major"; a hint that does not affect results.

    Example::

        A = ti.linalg.SparseMatrix(n=4, m=4, dtype=ti.f64)
        A[0, 0] = 2.0
        y = A @ np.ones(4)
    """
    def __init__(self, n: Any = None, m: Any = None, sm: Any = None, dtype: Any = ..., storage_format: Any = "col_major") -> None: ...
    def __add__(self, other: Any) -> Any: ...
    def __getitem__(self, indices: Any) -> Any: ...
    def __matmul__(self, other: Any) -> Any:
        """The product with another sparse matrix, or with a vector of `m` numbers.

        The product with a field or NumPy array is a NumPy array. The product with an ndarray is a
        new ndarray, which a CUDA device computes if the program uses one.
        """
    def __mul__(self, other: Any) -> Any:
        """The product of all elements with a number, or of two matrices element by element."""
    def __rmul__(self, other: Any) -> Any:
        """The product of all elements with a number, or of two matrices element by element."""
    def __setitem__(self, indices: Any, value: Any) -> None: ...
    def __sub__(self, other: Any) -> Any: ...
    def build_from_ndarray(self, ndarray: Any) -> Any:
        """Sets the elements from an ndarray of triplets (row, column, value).

        Args:
            ndarray: a scalar, vector or matrix ndarray with a multiple of three numbers. Values for
                the same element are added up.

        Raises:
            TaichiRuntimeError: the argument has another form, or an index is outside the matrix.

        Example::

            triplets = ti.Vector.ndarray(3, ti.f32, 2)
            triplets[0] = [0, 0, 5.0]
            triplets[1] = [1, 2, 7.0]
            A = ti.linalg.SparseMatrix(3, 3)
            A.build_from_ndarray(triplets)
            print(A[1, 2])  # prints: 7.0
        """
    dtype: Any
    matrix: Any
    def mmwrite(self, filename: Any) -> Any:
        """Writes the matrix to a file in the Matrix Market format.

        filename: the file's path.
        """
    @property
    def shape(self) -> Any:
        """The numbers of rows and columns."""
    def transpose(self) -> Any:
        """The matrix with rows and columns exchanged."""
class SparseMatrixBuilder:
    """Collects (row, column, value) triplets that kernels insert, and builds matrices from them.

    Args:
        num_rows, num_cols: the shape of the matrix; by default it is square.
        max_num_triplets: the capacity.
        dtype: ti.f32 or ti.f64.
        storage_format: "col_major" or "row_major"; a hint that does not affect results.

    Example::

        K = ti.linalg.SparseMatrixBuilder(4, 4, max_num_triplets=100)

        @ti.kernel
        def fill(A: ti.types.sparse_matrix_builder()):
            for i in range(4):
                A[i, i] += 2.0

        fill(K)
        A = K.build()
    """
    def __init__(self, num_rows: Any = None, num_cols: Any = None, max_num_triplets: Any = 0, dtype: Any = ..., storage_format: Any = "col_major") -> None: ...
    def __getitem__(self: Any, key: Any) -> Any:
        """Return self[key]."""
    def __setitem__(self: Any, key: Any, value: Any) -> None:
        """Set self[key] to value."""
    def build(self, dtype: Any = ..., _format: Any = "CSR") -> Any:
        """The matrix whose elements are the sums of their triplets; empties the builder.

        Args:
            dtype: the type of the matrix's elements, ti.f32 or ti.f64.

        Raises:
            TaichiRuntimeError: more triplets were inserted than fit, or one is outside the matrix.
        """
    dtype: Any
    def print_triplets(self) -> Any:
        """Prints the triplets that were inserted since the last `build`."""
class SparseSolver:
    """Solves A x = b by factorising A.

    Args:
        dtype: the type of A's elements, ti.f32 or ti.f64.
        solver_type: "LLT" (for symmetric positive definite A), "LDLT" (symmetric) or "LU" (any).
        ordering: "AMD" or "COLAMD", the order of elimination, which keeps the factors sparse.

    Example::

        builder = ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=2)

        @ti.kernel
        def fill(A: ti.types.sparse_matrix_builder()):
            for i in range(2):
                A[i, i] += 2.0

        fill(builder)
        A = builder.build()
        b = np.array([2.0, 4.0], np.float32)
        solver = ti.linalg.SparseSolver(solver_type="LLT")
        solver.compute(A)
        print(solver.solve(b))  # prints: [1. 2.]
    """
    def __init__(self, dtype: Any = ..., solver_type: Any = "LLT", ordering: Any = "AMD") -> None: ...
    def analyze_pattern(self, sparse_matrix: Any) -> Any:
        """Chooses the order of elimination. It can be used for all matrices that have elements at
        the same positions.

        sparse_matrix: a SparseMatrix of the solver's type.
        """
    def compute(self, sparse_matrix: Any) -> Any:
        """Analyses a matrix and factorises it: `analyze_pattern`, then `factorize`.

        sparse_matrix: a SparseMatrix of the solver's type.
        """
    dtype: Any
    def factorize(self, sparse_matrix: Any) -> Any:
        """Factorises a matrix with the analysed pattern; `info()` tells whether that succeeded.

        sparse_matrix: a SparseMatrix of the solver's type.
        """
    def info(self) -> Any:
        """Whether the factorisation succeeded."""
    matrix: Any
    def solve(self, b: Any) -> Any:
        """Solves A x = b. Returns `x` as a NumPy array, or as an ndarray if `b` is one.

        Args:
            b: a NumPy array, field or ndarray with one number per row of A.

        Raises:
            TaichiRuntimeError: no matrix is factorised, the factorisation failed (see `info`), or
                `b` has another length.
        """
    solver: Any
matrixfree_cg: Any
sparse_cg: Any
sparse_matrix: Any
sparse_solver: Any
