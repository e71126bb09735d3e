"""`ti.sparse`: grids of structs that record which of their cells are active."""

from .data.trees import root
from .diagnostics import say
from .frontend.snode_ops import is_active
from .kernel import kernel
from .static import grouped, static
from .types import f32, template
from .values.struct import Struct


def grid(field_dict, shape):
    """A field of structs on a bitmasked SNode of two or three axes.

    field_dict: the type of each member by its name. shape: two or three extents; raises Exception
    for other numbers of extents.

        grid = ti.sparse.grid({"mass": ti.f32, "velocity": ti.math.vec2}, shape=(64, 64))
        grid[3, 4].mass = 1.0
        print(ti.sparse.usage(grid) * 4096)  # prints: 1.0
    """
    made = Struct.field(field_dict)
    if len(shape) not in (2, 3):
        raise say.sparse_grid_of_other_dimensions()
    root.bitmasked(list(range(len(shape))), shape).place(made)
    return made


@kernel
def usage(x: template()) -> f32:
    """The fraction of a sparse grid's cells that are active, between 0 and 1.

    x: a grid made by `ti.sparse.grid`.

        grid = ti.sparse.grid({"mass": ti.f32}, shape=(4, 4))
        grid[3, 2].mass = 1.0
        print(ti.sparse.usage(grid))  # prints: 0.0625
    """
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
