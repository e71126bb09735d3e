"""The kernel that the current thread is building.

Only language functions that can be called without an operand of the kernel need this
(`ti.random()`, `ti.Vector([1, 2])`, `ti.f32(1)`). All others take the context from their operands.
"""

from _thread import _local, get_ident

from . import _native
from .diagnostics import say

_state = _local()


def context():
    """The BuildContext of the kernel under construction in this thread, or None."""
    return getattr(_state, "context", None)


def enter(ctx):
    """Makes `ctx` current. Returns the previous context, which the caller must restore."""
    before = getattr(_state, "context", None)
    _state.context = ctx
    change = (ctx is not None) - (before is not None)
    if change:
        _native.add_building(change)
    return before


_capturing = None  # the thread that captures a graph


def begin_capture():
    """This thread captures a graph (graph/captured.py) until `end_capture`."""
    global _capturing
    _capturing = get_ident()
    _native.add_building(1)


def end_capture():
    global _capturing
    _capturing = None
    _native.add_building(-1)


def check_python_scope(name):
    """Raises an error if this thread is building a kernel, or captures a graph, which has kernels
    alone; `name` is the function called."""
    if context() is not None:
        raise say.cannot_be_called_in_taichi_scope(name=name)
    check_not_captured(name)


def check_not_captured(name):
    """Raises TaichiRuntimeError if this thread captures a graph; `name` is the function called."""
    if _capturing is not None and _capturing == get_ident():
        raise say.not_in_capture(name=name)


def python_scope(function):
    """Decorator for functions that kernels may not call."""

    def checked(*args, **kwargs):
        if _capturing is not None or getattr(_state, "context", None) is not None:
            check_python_scope(function.__name__)
        return function(*args, **kwargs)

    checked.__name__ = function.__name__
    checked.__qualname__ = function.__qualname__
    checked.__module__ = function.__module__
    checked.__doc__ = function.__doc__
    checked.__wrapped__ = function
    return checked
