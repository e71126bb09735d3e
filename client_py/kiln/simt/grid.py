"""All threads of a launch."""


def memfence():
    """Orders memory accesses between blocks; on the CPU they are ordered."""


__all__ = ["memfence"]
