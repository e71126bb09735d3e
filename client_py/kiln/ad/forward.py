"""`ti.ad.FwdMode`: kernels compute derivatives along one direction beside their results."""

from .. import _native, runtime
from ..compat.misc import AutodiffMode, SNodeGradType
from ..data import trees
from ..data.field import Field
from ..data.recorded import check_unwatched, companion
from ..diagnostics import say
from .companions import clear_all_gradients


class FwdMode:
    """Computes how fields change along a direction of one of them, or of several.

    loss: a field, or a list of fields, whose derivatives the program wants; they are in `loss.dual`
    afterwards. param: the field that changes, or a list of them. seed: the direction, a flat list
    with one number for each component of `param`; of several fields, a list of such lists. May be
    left out if each field has one element. clear_gradients: whether to clear the duals of all
    fields first.

    Raises RuntimeError without a seed, and AssertionError for one of another length.

        x = ti.field(ti.f32, shape=2, needs_dual=True)
        y = ti.field(ti.f32, shape=2, needs_dual=True)

        @ti.kernel
        def square():
            for i in x:
                y[i] = x[i] ** 2

        x.fill(3.0)
        with ti.ad.FwdMode(loss=y, param=x, seed=[1, 0]):
            square()
        print(y.dual)  # prints: [6. 0.]
    """

    def __init__(self, loss, param, seed=None, clear_gradients=True):
        runtime.require_init("compute derivatives")
        self.calls = []  # the kernels that ran
        self.modes = []
        self.entered = False
        self.kernels_recovered = False
        self.loss = loss
        self.param = param
        self.seed = seed
        self.clear_gradients = clear_gradients

    def __enter__(self):
        if self.entered:
            raise say.forward_mode_entered_twice()
        check_unwatched("ti.ad.FwdMode")
        self.entered = True
        trees.materialize()
        if not isinstance(self.loss, (list, tuple)):
            self.loss = [self.loss]
        self._params = self.param if isinstance(self.param, (list, tuple)) else [self.param]
        for field in (*self.loss, *self._params):
            if not isinstance(field, Field):
                raise say.forward_mode_of_no_field(kind=type(field).__name__)
            if companion(field, "dual") is None:
                raise say.field_without_dual(title=field._title())
        seeds = self._checked_seeds()
        if self.clear_gradients:
            clear_all_gradients(SNodeGradType.DUAL)
        for field, numbers in zip(self._params, seeds):
            _set_seed(field, numbers)
        _native.watch_calls(_Dualised(self))
        return self

    def _checked_seeds(self):
        """A flat list for each field that changes."""
        if self.param is not self._params:
            self.seed = _checked_seed(self.param, self.seed)
            return [self.seed]
        if self.seed is None:
            self.seed = [None] * len(self._params)
        if len(self.seed) != len(self._params):
            raise say.seeds_of_other_number(got=len(self.seed), count=len(self._params))
        self.seed = list(map(_checked_seed, self._params, self.seed))
        return self.seed

    def insert(self, func):
        """Marks a kernel as one that computes derivatives until the block ends.

        func: the kernel.
        """
        self.modes.append(func.autodiff_mode)
        self.calls.append(func)
        func.autodiff_mode = AutodiffMode.FORWARD

    def recover_kernels(self):
        """Undoes the marks of `insert`; the end of the block does so."""
        if not self.entered:
            raise say.forward_mode_not_entered()
        for kernel, mode in reversed(list(zip(self.calls, self.modes))):
            kernel.autodiff_mode = mode
        self.kernels_recovered = True

    def clear_seed(self):
        """Sets the dual of `param` to zero; the end of the block does so."""
        for field in self._params:
            field.dual.fill(0.0)

    def __exit__(self, kind, error, traceback):
        _native.watch_calls(None)
        self.clear_seed()
        self.recover_kernels()


def _checked_seed(field, seed):
    count = field._num_components
    for extent in field.shape:
        count *= extent
    if seed is None or len(seed) == 0:
        if count != 1:
            raise say.forward_mode_without_seed()
        return [1.0]
    if len(seed) != count:
        raise say.seed_of_other_length(got=len(seed), count=count)
    return list(seed)


def _set_seed(field, numbers):
    import numpy as np

    shape = field.shape + field.element_shape
    seed = np.array(numbers, field.dtype.numpy_name).reshape(shape)
    if field._places[0]._first_sparse() is None:
        field.dual.from_numpy(seed)
        return
    # Cells that the program has not made active stay so, unless they have a part in the direction.
    offset = field._places[0]._offset or (0,) * len(field.shape)
    axes = tuple(range(len(field.shape), seed.ndim))
    for cell in np.argwhere(np.any(seed != 0, axis=axes)):
        value = seed[tuple(cell)]
        index = tuple(int(i) + first for i, first in zip(cell, offset))
        field.dual[index] = value.tolist() if axes else float(value)


class _Dualised:
    """What watches calls: it has the duals computed, too."""

    records = False

    def __init__(self, mode):
        self._mode = mode

    def __call__(self, kernel, args, kwargs):
        self._mode.insert(kernel)
        return kernel._dual(*args, **kwargs)

    def append(self, call):
        """Called for functions that are not kernels, which have run."""
        func, args = call
        if hasattr(func, "dual"):
            func.dual(*args)


__all__ = ["FwdMode"]
