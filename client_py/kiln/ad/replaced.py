"""Python functions with gradients of their own: `grad_replaced`, `grad_for`, `no_grad`."""

from functools import wraps

from .. import _native, provided
from ..diagnostics import say


def grad_replaced(func):
    """Decorator of a function whose gradient is another function, which `grad_for` decorates.

    func: a function or method that runs kernels. A Tape records a call of it instead of the calls
    of the kernels.

        x = ti.field(ti.f32, shape=(), needs_grad=True)
        loss = ti.field(ti.f32, shape=(), needs_grad=True)

        @ti.kernel
        def square():
            loss[None] += x[None] ** 2

        @ti.ad.grad_replaced
        def forward():
            square()

        @ti.ad.grad_for(forward)
        def backward():
            x.grad[None] = 10 * loss.grad[None]

        with ti.ad.Tape(loss):
            forward()
        print(x.grad)  # prints: 10.0
    """
    return _replaced(func, None)


def grad_for(primal):
    """Decorator of a function that computes the gradient of another one.

    primal: the function whose gradient it is, decorated by `grad_replaced`. Raises RuntimeError for
    a kernel, and for any other function. Both functions have the same parameters.

        @ti.ad.grad_replaced
        def forward():
            pass

        @ti.ad.grad_for(forward)
        def backward():
            print("backward")

        forward.grad()  # prints: backward
    """

    def decorator(func):
        if not hasattr(primal, "grad"):
            raise say.primal_is_not_replaced(name=primal.__name__)
        if primal.grad is not None:
            raise say.primal_is_no_python_function()

        @wraps(func)
        def decorated(*args, **kwargs):
            return func(*args, **kwargs)

        primal.grad = decorated
        return decorated

    return decorator


def no_grad(func):
    """Decorator of a function without gradients: a Tape skips the kernels that it runs.

    func: a function or method.

        @ti.ad.no_grad
        def show(x):
            print(x)

        show(1)  # prints: 1
    """
    return _replaced(func, lambda *args, **kwargs: None)


def _replaced(func, gradient):
    @wraps(func)
    def decorated(*args, **kwargs):
        watcher = _native.watcher()
        _native.watch_calls(inside_of(watcher))
        try:
            result = func(*args, **kwargs)
        finally:
            _native.watch_calls(watcher)
        if watcher is not None:
            call = _WithKeywords(decorated, kwargs) if kwargs else decorated
            watcher.append((call, args))
        return result

    decorated.grad = gradient
    decorated.autodiff_mode = provided.AutodiffMode.NONE
    return decorated


def inside_of(watcher):
    """What watches calls inside of a function that `watcher` records as one call."""
    begin = getattr(watcher, "begin_call", None)
    return None if begin is None else begin()


class _WithKeywords:
    """A function whose call had arguments by name."""

    def __init__(self, func, keywords):
        self._func = func
        self._keywords = keywords
        self.__name__ = func.__name__
        self.autodiff_mode = func.autodiff_mode

    def __call__(self, *args):
        return self._func(*args, **self._keywords)

    @property
    def grad(self):
        gradient = self._func.grad
        return gradient and (lambda *args: gradient(*args, **self._keywords))


__all__ = ["grad_for", "grad_replaced", "no_grad"]
