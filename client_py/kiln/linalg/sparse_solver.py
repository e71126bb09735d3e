"""Direct solvers, which factorise a sparse matrix once and solve for many right-hand sides."""

from .. import types as ti_types
from ..data.field import Field
from ..data.ndarray import Ndarray, ScalarNdarray
from ..errors import TaichiRuntimeError
from .sparse_matrix import SparseMatrix, as_vector, empty_vector, float_dtype, native_class

_TYPES = ["LLT", "LDLT", "LU"]
_ORDERINGS = ["AMD", "COLAMD"]


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

    def __init__(self, dtype=ti_types.f32, solver_type="LLT", ordering="AMD"):
        if solver_type not in _TYPES or ordering not in _ORDERINGS:
            raise TaichiRuntimeError(
                f"The solver type {solver_type} with {ordering} is not supported for now. "
                f"Only {_TYPES} with {_ORDERINGS} are supported."
            )
        self.matrix = None
        self.dtype = float_dtype(dtype, "a sparse solver")
        self.solver = native_class("Solver", self.dtype)(
            symmetric=solver_type != "LU",
            diagonal=solver_type == "LDLT",
            colamd=ordering == "COLAMD",
        )
        self._pattern = None  # the analysed shape

    def compute(self, sparse_matrix):
        """Analyses a matrix and factorises it: `analyze_pattern`, then `factorize`.

        sparse_matrix: a SparseMatrix of the solver's type.
        """
        self.analyze_pattern(sparse_matrix)
        self.factorize(sparse_matrix)

    def analyze_pattern(self, sparse_matrix):
        """Chooses the order of elimination. It can be used for all matrices that have elements at
        the same positions.

        sparse_matrix: a SparseMatrix of the solver's type.
        """
        native = self._check(sparse_matrix)
        self.matrix = sparse_matrix
        self.solver.analyze_pattern(native)
        self._pattern = sparse_matrix.shape

    def factorize(self, sparse_matrix):
        """Factorises a matrix with the analysed pattern; `info()` tells whether that succeeded.

        sparse_matrix: a SparseMatrix of the solver's type.
        """
        native = self._check(sparse_matrix)
        if self._pattern != sparse_matrix.shape:
            raise TaichiRuntimeError(
                "Please call analyze_pattern() with a matrix of that pattern before factorize()."
            )
        self.matrix = sparse_matrix
        self.solver.factorize(native)

    def solve(self, b):
        """Solves A x = b. Returns `x` as a NumPy array, or as an ndarray if `b` is one.

        Args:
            b: a NumPy array, field or ndarray with one number per row of A.

        Raises:
            TaichiRuntimeError: no matrix is factorised, the factorisation failed (see `info`), or
                `b` has another length.
        """
        if self.matrix is None:
            raise TaichiRuntimeError("Please call compute() before calling solve().")
        if not isinstance(b, (Field, Ndarray)) and type(b).__name__ != "ndarray":
            raise TaichiRuntimeError(
                f"The parameter type: {type(b)} is not supported in linear solvers for now."
            )
        if tuple(b.shape) != (self.matrix.n,):
            raise TaichiRuntimeError(
                f"Dimension mismatch between sparse matrix {self.matrix.shape} and right-hand side "
                f"{tuple(b.shape)}"
            )
        if not self.info():
            raise TaichiRuntimeError(
                "The matrix is not factorised: factorize() was not called or it failed, as "
                "info() says; it may be singular, or not positive definite."
            )
        x = empty_vector(self.matrix.n, self.dtype)
        self.solver.solve(as_vector(b, self.dtype), x)
        if not isinstance(b, Ndarray):
            return x
        made = ScalarNdarray(b.dtype, (self.matrix.m,))
        made.from_numpy(x)
        return made

    def info(self):
        """Whether the factorisation succeeded."""
        return self.solver.ok()

    def _check(self, sparse_matrix):
        """The native matrix of an argument; raises if it does not fit this solver."""
        if not isinstance(sparse_matrix, SparseMatrix):
            self._type_assert(sparse_matrix)
        if sparse_matrix.dtype is not self.dtype:
            raise TaichiRuntimeError(
                f"The SparseSolver's dtype {self.dtype} is not consistent with the SparseMatrix's "
                f"dtype {sparse_matrix.dtype}."
            )
        if sparse_matrix.n != sparse_matrix.m:
            raise TaichiRuntimeError(
                f"A sparse solver needs a square matrix, not one of shape {sparse_matrix.shape}"
            )
        sparse_matrix.matrix.compress()
        return sparse_matrix.matrix

    @staticmethod
    def _type_assert(sparse_matrix):
        raise TaichiRuntimeError(
            f"The parameter type: {type(sparse_matrix)} is not supported in linear solvers for now."
        )


__all__ = ["SparseSolver"]
