# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.sparse`: grids of structs that record which of their cells are active."""

from typing import Any
def grid(field_dict: Any, shape: Any) -> Any:
    """A field of structs on a bitmasked SNode of two or three axes.

    field_dict: the type of each member by its name. shape: two or three extents; raises Exception
    for other numbers of extents.

        grid = ti.sparse.grid({"mass": ti.f32, "velocity": ti.math.vec2}, shape=(64, 64))
        grid[3, 4].mass = 1.0
        print(ti.sparse.usage(grid) * 4096)  # prints: 1.0
    """
def usage(x: Any) -> Any:
    """The fraction of a sparse grid's cells that are active, between 0 and 1.

    x: a grid made by `ti.sparse.grid`.

        grid = ti.sparse.grid({"mass": ti.f32}, shape=(4, 4))
        grid[3, 2].mass = 1.0
        print(ti.sparse.usage(grid))  # prints: 0.0625
    """
