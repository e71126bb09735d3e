"""Which kernel is being built in this thread.

Only for language functions that a plain Python function may call without any
operand of the kernel (`ti.random()`, `ti.Vector([1, 2])`, `ti.f32(1)`);
everything else takes the context from its operands.
"""

from _thread import _local

_state = _local()


def context():
    """The BuildContext of the kernel under construction in this thread, or None."""
    return getattr(_state, "context", None)


def enter(ctx):
    """Makes `ctx` current and returns the one before, to be given back."""
    before = getattr(_state, "context", None)
    _state.context = ctx
    return before
