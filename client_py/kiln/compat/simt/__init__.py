"""`ti.simt`: cooperation between threads of a GPU, on CUDA. On the CPU an iteration has its own
shared arrays, fences do nothing, and any other operation raises an error that names it."""

from . import block, grid, subgroup, warp

__all__ = ["block", "grid", "subgroup", "warp"]


def __dir__():
    return list(__all__)
