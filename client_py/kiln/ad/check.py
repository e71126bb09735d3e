"""Compares gradients with finite differences: `check_grad`, and `Tape(grad_check=[…])`."""

from ..data import trees
from ..data.ndarray import Ndarray
from ..data.recorded import companion
from ..diagnostics import say
from ..types import f64
from .companions import placed_fields

_OF_TAPES = 0.01  # the largest relative error that a tape accepts


class Differences:
    """Finite differences of a loss along random directions. Saves all fields, and the given arrays,
    when it is made."""

    def __init__(self, loss, arrays=()):
        trees.materialize()
        self._loss = loss
        self._saved = [(one, one.to_numpy()) for one in (*placed_fields(), *arrays)]

    def error(self, value, run, enough):
        """The relative error of the gradient of a field or array: the smallest over several
        distances, or the first that is not above `enough`. run(): computes the loss."""
        import numpy as np

        gradient = value.grad.to_numpy()
        random = np.random.default_rng(0)
        smallest = np.inf
        for eps in 2.0 ** np.arange(-3, -30, -2):
            direction = random.random(gradient.shape)
            above = self.loss_of(run, value, eps * direction)
            below = self.loss_of(run, value, -eps * direction)
            expected = (above - below) * 0.5 / eps
            got = float(np.sum(gradient * direction))
            scale = max(abs(got), abs(expected), 1e-20)
            smallest = min(smallest, abs(got - expected) / scale)
            if smallest <= enough:
                break
        return smallest

    def loss_of(self, run, changed=None, change=0.0):
        """The loss after `run()` from the saved state, with `change` added to one field."""
        import numpy as np

        for one, before in self._saved:
            after = before + change if one is changed else before
            one.from_numpy(np.asarray(after, before.dtype))
        run()
        return float(np.sum(self._loss.to_numpy()))


class GradChecker:
    """Checks the gradients of one tape. Made when the tape is, because it repeats the calls."""

    def __init__(self, loss, fields):
        self._loss = loss
        self._fields = fields
        self._differences = Differences(loss)
        self.result = [None] * len(fields)

    def check(self, calls):
        """Raises AssertionError unless the gradients agree with the change of the loss. Leaves all
        fields as the calls left them."""
        if self._loss.dtype is not f64:
            raise say.grad_check_needs_f64()

        def run():
            for func, args in calls:
                func(*args)

        for position, field in enumerate(self._fields):
            error = 0.0
            if field is not self._loss:
                error = self._differences.error(field, run, _OF_TAPES)
            self.result[position] = error <= _OF_TAPES
            if self.result[position]:
                print("variable", position, "passes grad check")
            else:
                print(
                    "variable",
                    position,
                    "has relative error",
                    error,
                    ", expected relative error",
                    _OF_TAPES,
                )
        if not all(self.result):
            raise say.grad_check_failed()
        self._differences.loss_of(run)


def check_gradients(gradients_of, f, loss, inputs, tolerance):
    """Implements `check_grad`. gradients_of(f, loss): computes the gradients."""
    for one in (loss, *inputs):
        if companion(one, "grad") is None:
            raise say.value_without_gradient(kind=type(one).__name__)
    if tolerance is None:
        tolerance = 1e-5 if all(one.dtype is f64 for one in (loss, *inputs)) else 0.02
    arrays = [one for one in (loss, *inputs) if isinstance(one, Ndarray)]
    differences = Differences(loss, arrays)
    gradients_of(f, loss)

    def run():
        loss.fill(0.0)
        f()

    for one in inputs:
        error = differences.error(one, run, tolerance)
        if error > tolerance:
            raise say.gradient_differs(title=one._title(), error=error, tolerance=tolerance)
    differences.loss_of(run)
