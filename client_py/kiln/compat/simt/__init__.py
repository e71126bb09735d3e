"""`ti.simt`: what threads of a GPU do together. On the CPU each iteration is alone: shared arrays
are its own, fences do nothing, and all else is an error that names the operation."""

from . import block, grid, subgroup, warp

__all__ = ["block", "grid", "subgroup", "warp"]


def __dir__():
    return list(__all__)
