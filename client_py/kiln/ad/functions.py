"""Derivatives of a Python function that runs kernels: `vjp`, `hvp`, `jacobian`, `check_grad`."""

from .. import _native
from ..compat.misc import SNodeGradType
from ..data import trees
from ..data.field import Field
from ..data.recorded import check_unwatched, companion
from ..diagnostics import say
from .check import check_gradients
from .companions import clear_all_gradients, placed_fields
from .tape import Tape, replay


def vjp(f, y, x, v):
    """The product of a vector and the Jacobian of `y` by `x`, as NumPy arrays.

    f: a function without parameters that runs kernels, which compute `y`. y: a field or ndarray
    with a gradient. x: another one, or a list of them. v: an array of the form of `y.to_numpy()`.
    Returns an array of the form of `x.to_numpy()`, or a list of them. Clears all gradients.

        x = ti.field(ti.f32, shape=2, needs_grad=True)
        y = ti.field(ti.f32, shape=2, needs_grad=True)

        @ti.kernel
        def square():
            for i in x:
                y[i] = x[i] ** 2

        x.from_numpy(np.array([1, 2], np.float32))
        print(ti.ad.vjp(square, y, x, np.array([1, 10], np.float32)))  # prints: [ 2. 40.]
    """
    inputs = x if isinstance(x, (list, tuple)) else [x]
    rows = _rows(f, y, inputs, [v])
    products = [rows[0][position] for position in range(len(inputs))]
    return products if isinstance(x, (list, tuple)) else products[0]


def hvp(f, loss, x, v):
    """The product of the Hessian of a loss by `x` and a vector, as a NumPy array.

    f: a function without parameters that runs kernels, which compute the loss. loss: a field with
    one element. x: a field. All fields of floats through which the loss depends on `x` need
    gradients and duals. v: an array of the form of `x.to_numpy()`. Returns an array of that form.
    Sets the loss to zero first, and clears all gradients and duals. Raises RuntimeError for a field
    with a gradient but no dual, and inside a tape.

    Each kernel runs once with its duals, then the derivative of its gradient runs. This is about
    four times the work of a gradient, for any number of parameters (Pearlmutter, Fast exact
    multiplication by the Hessian, 1994).

        x = ti.field(ti.f32, shape=2, needs_grad=True, needs_dual=True)
        loss = ti.field(ti.f32, shape=(), needs_grad=True, needs_dual=True)

        @ti.kernel
        def product():
            loss[None] += x[0] ** 2 * x[1]

        x.from_numpy(np.array([1, 2], np.float32))
        print(ti.ad.hvp(product, loss, x, np.array([1, 0], np.float32)))  # prints: [4. 2.]
    """
    import numpy as np

    check_unwatched("ti.ad.hvp")
    for one in (loss, x):
        if not isinstance(one, Field):
            raise say.second_derivative_of_no_field(kind=type(one).__name__)
    trees.materialize()
    if len(loss.shape) != 0 or loss._num_components != 1:
        raise say.loss_is_no_scalar()
    for one in (loss, x):
        if companion(one, "grad") is None or companion(one, "dual") is None:
            raise say.field_without_second_derivatives(title=one._title())
    clear_all_gradients()
    clear_all_gradients(SNodeGradType.DUAL)
    for field in placed_fields():
        of_grad = companion(field.grad, "dual")
        if of_grad is not None:
            of_grad.fill(0.0)
    loss.fill(0.0)
    x.dual.from_numpy(np.ascontiguousarray(v, x.dtype.numpy_name))
    calls = _native.Calls()
    _native.watch_calls(_Dualised(calls))
    try:
        f()
    finally:
        _native.watch_calls(None)
    loss.grad.fill(1.0)
    replay(calls, of=_second_of)
    x.dual.fill(0.0)
    return x.grad.dual.to_numpy()


class _Dualised:
    """What watches calls: it has the duals computed, too, and records the calls."""

    def __init__(self, calls):
        self._calls = calls

    def __call__(self, kernel, args, kwargs):
        watcher = _native.watch_calls(None)
        try:
            result = kernel._dual(*args, **kwargs)
        finally:
            _native.watch_calls(watcher)
        self._calls.append((kernel, kernel._recorded(args, kwargs)))
        return result

    def append(self, call):
        """Called for functions that are not kernels."""
        raise say.second_derivative_of_a_function(name=call[0].__name__)


def _second_of(func):
    return func._second


def jacobian(f, y, x):
    """The Jacobian of `y` by `x`, a NumPy array of the forms of `y.to_numpy()` and `x.to_numpy()`,
    one after the other. Takes one run of the gradients for each number in `y`.

    f: a function without parameters that runs kernels, which compute `y` from `x`. y, x: fields or
    ndarrays with gradients. Clears all gradients.

        x = ti.field(ti.f32, shape=2, needs_grad=True)
        y = ti.field(ti.f32, shape=2, needs_grad=True)

        @ti.kernel
        def square():
            for i in x:
                y[i] = x[i] ** 2

        x.from_numpy(np.array([1, 2], np.float32))
        print(ti.ad.jacobian(square, y, x))
        # prints: [[2. 0.]
        # prints:  [0. 4.]]
    """
    import numpy as np

    form = y.to_numpy()
    seeds = np.eye(form.size, dtype=form.dtype).reshape((form.size, *form.shape))
    rows = [row[0] for row in _rows(f, y, [x], seeds)]
    return np.array(rows).reshape(form.shape + rows[0].shape)


def check_grad(f, loss, inputs, tolerance=None):
    """Compares gradients with finite differences along random directions. Leaves all fields as `f`
    leaves them.

    f: a function without parameters that runs kernels, which compute the loss. loss: a field or
    ndarray with one element and a gradient. inputs: those whose gradients are compared, one or a
    list. tolerance: the largest relative error; by default 1e-5 if all are of f64, 0.02 otherwise.
    Raises AssertionError for a larger one.

        x = ti.field(ti.f64, shape=2, needs_grad=True)
        loss = ti.field(ti.f64, shape=(), needs_grad=True)

        @ti.kernel
        def total():
            for i in x:
                loss[None] += ti.sin(x[i])

        ti.ad.check_grad(total, loss, x)
        print(x.grad)  # prints: [1. 1.]
    """

    def gradients_of(f, loss):
        for one in inputs:
            one.grad.fill(0.0)
        with Tape(loss):
            f()

    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    check_gradients(gradients_of, f, loss, inputs, tolerance)


def _rows(f, y, inputs, seeds):
    """For each seed, the gradients of the inputs if that of `y` is the seed."""
    import numpy as np

    for one in (y, *inputs):
        if companion(one, "grad") is None:
            raise say.value_without_gradient(kind=type(one).__name__)
    with Tape() as tape:
        f()
    found = []
    for seed in seeds:
        clear_all_gradients()
        for one in (y, *inputs):
            one.grad.fill(0.0)
        y.grad.from_numpy(np.ascontiguousarray(seed, y.dtype.numpy_name))
        replay(tape.calls)
        found.append([one.grad.to_numpy() for one in inputs])
    return found


__all__ = ["check_grad", "hvp", "jacobian", "vjp"]
