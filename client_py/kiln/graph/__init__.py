"""`ti.graph`: launches recorded once and run many times, either with names in place of arguments
(`GraphBuilder`), or as they are (`capture`, for which `ti.graph()` is short)."""

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
