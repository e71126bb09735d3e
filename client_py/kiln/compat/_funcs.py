"""`taichi._funcs`: functions for kernels that some programs import from this module."""

from .. import types as ti_types
from ..func import func
from ..ops import randn
from ..static import grouped
from ..values.decompose import eig, polar_decompose, solve, svd, sym_eig


@func
def field_fill_taichi_scope(F: ti_types.template(), val: ti_types.template()):
    """Sets all elements of the field `F` to `val`."""
    for I in grouped(F):  # noqa: E741
        F[I] = val


__all__ = [
    "eig",
    "field_fill_taichi_scope",
    "polar_decompose",
    "randn",
    "solve",
    "svd",
    "sym_eig",
]
