"""Derivatives of a Python function that runs kernels: `vjp`, `jacobian`, `check_grad`."""

from ..data.recorded import companion
from ..diagnostics import say
from .check import check_gradients
from .companions import clear_all_gradients
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


__all__ = ["check_grad", "jacobian", "vjp"]
