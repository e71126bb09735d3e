"""Conjugate gradients on a sparse matrix."""

from ..data.ndarray import ScalarNdarray
from ..errors import TaichiRuntimeError
from ._on_device import conjugate_gradients, rows_of, works_on
from .sparse_matrix import SparseMatrix, as_vector


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

    def __init__(self, A, b, x0=None, max_iter=50, atol=1e-6):
        if not isinstance(A, SparseMatrix):
            raise TypeError(f"SparseCG needs a SparseMatrix, not {type(A).__name__}")
        if A.n != A.m:
            raise TaichiRuntimeError(f"SparseCG needs a square matrix, not one of shape {A.shape}")
        self.dtype = A.dtype
        self.matrix = A
        self.b, self.x0 = b, x0
        self.max_iter, self.atol = max_iter, atol

    def solve(self):
        """Returns (x, whether it converged). Prints the iterations and the estimated error.

        x is a NumPy array; if `b` is an ndarray on a CUDA device, which then does the work, it is
        an ndarray there.
        """
        from .. import _linalg

        b = self._vector(self.b)
        x = 0 * b if self.x0 is None else self._vector(self.x0).copy()
        most, tolerance = int(self.max_iter), float(self.atol)
        if works_on(self.b):
            made = ScalarNdarray(self.dtype, b.shape)
            made.from_numpy(x)
            x = made
            iterations, error, converged = conjugate_gradients(
                rows_of(self.matrix.matrix, self.dtype), self.b, x, most, tolerance
            )
        else:
            iterations, error, converged = _linalg.conjugate_gradients(
                self.matrix.matrix, b, x, most, tolerance
            )
        print(f"#iterations:     {iterations}\nestimated error: {error:g}")
        return x, converged

    def _vector(self, value):
        if tuple(getattr(value, "shape", ())) != (self.matrix.n,):
            raise TaichiRuntimeError(
                f"Dimension mismatch between sparse matrix {self.matrix.shape} and vector "
                f"{getattr(value, 'shape', value)}"
            )
        return as_vector(value, self.dtype)


__all__ = ["SparseCG"]
