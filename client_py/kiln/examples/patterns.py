"""Pictures as functions of a position."""

from .. import types as ti_types
from ..func import func
from ..values.matrix import Vector


@func
def _inside(p, x: ti_types.template(), y: ti_types.template(), radius: ti_types.template()):
    return (p - Vector([x, y])).norm_sqr() <= radius**2


@func
def taichi_logo(pos: ti_types.template(), scale: float = 1 / 1.11):
    """1 if the logo, a disc of two interlocked halves in a ring, is dark at `pos` in the unit
    square, else 0. `scale` is the logo's size."""
    p = (pos - 0.5) / scale + 0.5
    # From the background to the foreground; a light shape covers a dark one.
    dark = p[0] >= 0.5
    if _inside(p, 0.5, 0.75, 0.25):
        dark = False
    if _inside(p, 0.5, 0.25, 0.25):
        dark = True
    if _inside(p, 0.5, 0.75, 0.08):
        dark = True
    if _inside(p, 0.5, 0.25, 0.08):
        dark = False
    if not _inside(p, 0.5, 0.5, 0.495):
        dark = False
    if not _inside(p, 0.5, 0.5, 0.52):
        dark = True
    return ti_types.i32(dark)


__all__ = ["taichi_logo"]
