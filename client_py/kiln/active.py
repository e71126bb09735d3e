"""Which kernel is being built in this thread.

Only for language functions that a plain Python function may call without any
operand of the kernel (`ti.random()`, `ti.Vector([1, 2])`, `ti.f32(1)`);
everything else takes the context from its operands.
"""

from _thread import _local

from . import _native
from .diagnostics import say

_state = _local()


def context():
    """The BuildContext of the kernel under construction in this thread, or None."""
    return getattr(_state, "context", None)


def enter(ctx):
    """Makes `ctx` current and returns the one before, to be given back."""
    before = getattr(_state, "context", None)
    _state.context = ctx
    change = (ctx is not None) - (before is not None)
    if change:
        _native.add_building(change)
    return before


def check_python_scope(name):
    """Raises where a kernel is under construction."""
    if context() is not None:
        raise say.cannot_be_called_in_taichi_scope(name=name)


def python_scope(function):
    """Decorator of what may not be called in a kernel."""

    def checked(*args, **kwargs):
        if getattr(_state, "context", None) is not None:
            check_python_scope(function.__name__)
        return function(*args, **kwargs)

    checked.__name__ = function.__name__
    checked.__qualname__ = function.__qualname__
    checked.__module__ = function.__module__
    checked.__doc__ = function.__doc__
    checked.__wrapped__ = function
    return checked
