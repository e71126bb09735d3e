"""`ti.sparse`: grids of structs that know which of their cells are in use."""

from .diagnostics import say
from .frontend.snode_ops import is_active
from .kernel import kernel
from .snode import root
from .static import grouped, static
from .struct import Struct
from .types import f32, template


def grid(field_dict, shape):
    """A field of structs on a bitmasked SNode of two or three dimensions.

    field_dict: name -> type of each member. shape: its extents.

        grid = ti.sparse.grid({"mass": ti.f32, "velocity": ti.math.vec2}, shape=(64, 64))
        grid[3, 4].mass = 1.0
        print(ti.sparse.usage(grid))  # 1 / 4096
    """
    made = Struct.field(field_dict)
    if len(shape) not in (2, 3):
        raise say.sparse_grid_of_other_dimensions()
    root.bitmasked(list(range(len(shape))), shape).place(made)
    return made


@kernel
def usage(x: template()) -> f32:
    """The part of a sparse grid's cells that is active: between 0 and 1."""
    count = 0
    for I in grouped(x.parent()):  # noqa: E741
        if is_active(x.parent(), I):
            count += 1
    total = 1.0
    for axis in static(range(len(x.shape))):
        total *= x.shape[axis]
    return count / total


__all__ = ["grid", "usage"]


def __dir__():
    return list(__all__)
