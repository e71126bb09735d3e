"""All threads of a launch."""


def memfence():
    """Orders accesses to memory between blocks; on the CPU they are ordered.

    Example::

        ti.simt.grid.memfence()
    """


__all__ = ["memfence"]
