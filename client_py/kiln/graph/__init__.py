"""`ti.graph`: launches recorded once, with names in place of arguments, and run many times."""

from .argument import Arg, ArgKind
from .builder import Graph, GraphBuilder

__all__ = ["Arg", "ArgKind", "Graph", "GraphBuilder"]


def __dir__():
    return list(__all__)
