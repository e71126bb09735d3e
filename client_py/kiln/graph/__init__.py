"""`ti.graph`: launches recorded once and run many times. `GraphBuilder` records them with names in
place of arguments, `capture` as they are (`ti.graph()` is short for it)."""

import sys

from .argument import Arg, ArgKind
from .builder import Graph, GraphBuilder
from .captured import CapturedGraph, capture

__all__ = ["Arg", "ArgKind", "CapturedGraph", "Graph", "GraphBuilder", "capture"]


class _Callable(type(sys)):
    """This module, which can be called."""

    def __call__(self):
        return capture()


sys.modules[__name__].__class__ = _Callable


def __dir__():
    return list(__all__)
