"""Kernels of a module through which programs read and write its fields that only kernels know how
to read: quantised ones, and reordered attributes of meshes.

`NAME.read` copies field NAME to an array, `NAME.write` the array to active cells; kiln_field_read
and kiln_field_write (libkiln) launch them.
"""

from .. import types as ti_types
from ..data.matrix_field import MatrixField
from ..data.ndarray import ndarray
from ..kernel import kernel
from ..static import grouped, static
from ..values.matrix import Vector
from .described import DescribedKernel

array = ti_types.ndarray
template = ti_types.template


@kernel
def _read(of: template(), first: template(), to: array()):
    if static(len(of.shape) == 0):
        to[None] = of[None]
    else:
        for at in grouped(of):
            to[at - first] = of[at]


@kernel
def _write(of: template(), first: template(), numbers: array()):
    if static(len(of.shape) == 0):
        of[None] = numbers[None]
    else:
        for at in grouped(of):
            of[at] = numbers[at - first]


def access_kernels(name, field):
    """{name in the module: DescribedKernel} for a field."""
    number = getattr(field.dtype, "compute", field.dtype)
    element = number
    if isinstance(field, MatrixField):
        make = ti_types.vector if field.ndim == 1 else ti_types.matrix
        element = make(*field.element_shape, number)
    ndim = len(field.shape)
    first = Vector(list(field._places[0]._offset or [0] * ndim)) if ndim else 0
    numbers = ndarray(element, (1,) * ndim)
    return {
        f"{name}.read": DescribedKernel(_read, (field, first, numbers)),
        f"{name}.write": DescribedKernel(_write, (field, first, numbers)),
    }
