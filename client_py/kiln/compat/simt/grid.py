"""All threads of a launch."""


def memfence():
    """Orders memory accesses between blocks. On the CPU it does nothing.

    Example::

        ti.simt.grid.memfence()
    """


__all__ = ["memfence"]
