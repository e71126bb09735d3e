"""`ti.linalg`: sparse matrices, their builders and solvers. The first use loads the native code."""

from .matrixfree_cg import LinearOperator, MatrixFreeBICGSTAB, MatrixFreeCG
from .sparse_cg import SparseCG
from .sparse_matrix import SparseMatrix, SparseMatrixBuilder
from .sparse_solver import SparseSolver

__all__ = [
    "LinearOperator",
    "MatrixFreeBICGSTAB",
    "MatrixFreeCG",
    "SparseCG",
    "SparseMatrix",
    "SparseMatrixBuilder",
    "SparseSolver",
]
