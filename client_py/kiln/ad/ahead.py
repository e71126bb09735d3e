"""Compiles gradients before they are called, while the kernels that a tape records run."""

from .. import _native, runtime, stat
from ..handlers import raised_by_handler
from ..instance import Making
from ..kernel import Derivative

_waiting = []  # kernels with compilations that no call has needed yet


def begin_gradient(kernel, args):
    """Has the gradient of a kernel compiled if a tape records its calls and there is none yet.

    args: the arguments of the kernel's leaves. Raises no errors: the gradient's call will.
    """
    if isinstance(_native.watcher(), _native.Calls):
        _begin(kernel.grad, args)


def is_missing(derivative):
    """Whether it is a derivative of a kernel that has not been compiled, nor begun."""
    return (
        isinstance(derivative, Derivative)
        and derivative.num_instances == 0
        and not derivative._compilations
    )


def begin_all(calls, derivative_of):
    """Has the missing derivatives of recorded calls compiled, those of the last calls first."""
    seen = set()
    for func, args in reversed(calls):
        if id(func) in seen:
            continue
        seen.add(id(func))
        derivative = derivative_of(func)
        if is_missing(derivative):
            args = derivative._of_leaves(args)
            if not derivative._copied_arrays(args):
                _begin(derivative, args)


def _begin(derivative, args):
    # Reports of a compilation belong to the call that needs it.
    if derivative is None or runtime.cfg.print_ir or stat.wanted:
        return
    if derivative._bound(args) is not None:
        return
    try:
        making = Making(derivative, args)
        if making.is_done:
            making.add()
            return
        making.build()
    except Exception as error:
        if raised_by_handler(error):
            raise
        return
    from .background import Compilation

    derivative._compilations.append(Compilation(derivative, making))
    _waiting.append(derivative)


def forget():
    """Drops compilations that no call has needed: they keep their arguments alive."""
    for derivative in _waiting:
        derivative._compilations.clear()
    _waiting.clear()
