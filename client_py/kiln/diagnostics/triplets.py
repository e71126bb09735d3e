"""Errors of sparse matrix builders in kernels."""

from ..errors import TaichiCompilationError, TaichiIndexError, TaichiTypeError

ROWS = {
    "triplet_index_count": (
        TaichiIndexError,
        "A sparse matrix builder has 2 indices, got {count}",
    ),
    "triplet_index_type": (
        TaichiIndexError,
        "An index of a sparse matrix builder is an integer, not a {type}",
    ),
    "triplet_operator": (
        TaichiCompilationError,
        "Only operations `+=` and `-=` are supported on sparse matrices.",
    ),
    "triplet_read": (
        TaichiTypeError,
        "A sparse matrix builder cannot be read in a kernel: its elements are only "
        "added to, by `+=` and `-=`",
    ),
    "triplet_value_type": (
        TaichiTypeError,
        "An element of a sparse matrix is a number, not a {type}",
    ),
}
