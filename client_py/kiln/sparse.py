"""`ti.sparse`: grids of sparse SNodes. Not supported yet: the names exist, use is an error."""

from .absent import absent_function

grid = absent_function("sparse.grid")
usage = absent_function("sparse.usage")

__all__ = ["grid", "usage"]


def __dir__():
    return list(__all__)
