"""All threads of a launch."""

from ... import runtime
from .operations import simt


def memfence():
    """Orders a thread's accesses to memory for the threads of all blocks. On the CPU it does
    nothing.

    Example::

        ti.simt.grid.memfence()
    """
    if runtime.cfg.arch == runtime.cuda:
        simt("grid", "memfence")


__all__ = ["memfence"]


def __dir__():
    return list(__all__)
