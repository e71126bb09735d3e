"""`ti.ad.Tape`: records calls of kernels, and runs their gradients in the opposite order."""

import warnings

from .. import _native, runtime
from ..compat.misc import AutodiffMode
from ..data import trees
from ..data.field import AnyArray
from ..data.interop import detached
from ..data.recorded import check_unwatched, companion
from ..diagnostics import say
from ..own_files import is_own
from ..printing import positions_of
from . import ahead
from .afterwards import restore_now
from .check import GradChecker
from .companions import clear_all_gradients, clear_marks, is_field


class Tape:
    """Computes the gradients of a loss by everything that kernels computed it from.

    loss: a field with one element, an ndarray or a tensor; with a gradient. None: the program sets
    gradients itself and calls `grad()`. clear_gradients: whether to clear the gradients of all
    fields first. validation: whether to check, element by element, what kernels overwrite. A launch
    raises TaichiAssertionError if it overwrites what it, or an earlier one, has read from a field
    with a gradient. Only in debug mode; otherwise a warning says so. grad_check: a list of fields
    of f64, whose gradients are compared with finite differences; raises AssertionError if they
    differ. access: what happens if a gradient needs values that the kernel of a later call may have
    overwritten: "warn", "error" (a RuntimeError) or "ignore".

    Raises RuntimeError for a loss without a gradient or with several elements, and for a tape
    within another one. If the body raises, no gradients are computed.

        x = ti.field(ti.f32, shape=(), needs_grad=True)
        loss = ti.field(ti.f32, shape=(), needs_grad=True)

        @ti.kernel
        def square():
            loss[None] += x[None] ** 2

        x[None] = 3.0
        with ti.ad.Tape(loss):
            square()
        print(x.grad)  # prints: 6.0
    """

    def __init__(
        self, loss=None, clear_gradients=True, validation=False, grad_check=None, access="warn"
    ):
        runtime.require_init("record a tape")
        self.calls = _native.Calls()  # pairs (function, arguments)
        self.entered = False
        self.gradient_evaluated = False
        self.clear_gradients = clear_gradients
        self.validation = validation
        self.eval_on_exit = loss is not None
        self.loss = loss
        self.grad_checker = None
        if access not in ("warn", "error", "ignore"):
            raise say.unknown_access(access=access)
        self.access = access
        if validation and not runtime.cfg.debug:
            warnings.warn(say.validation_without_debug(), Warning, stacklevel=2)
        if grad_check:
            if not isinstance(grad_check, list):
                raise say.grad_check_is_no_list()
            self.grad_checker = GradChecker(loss, grad_check)

    @property
    def modes(self):
        """What each recorded function computes without the tape: a member of AutodiffMode."""
        return [AutodiffMode.NONE] * len(self.calls)

    def __enter__(self):
        if self.entered:
            raise say.tape_entered_twice()
        check_unwatched("ti.ad.Tape")
        self.entered = True
        ahead.forget()
        if self.loss is None:
            if self.clear_gradients:
                clear_all_gradients()
        elif is_field(self.loss):
            self._start_field()
        elif isinstance(self.loss, AnyArray):
            self._start_ndarray()
        else:
            self._start_tensor()
        if self.validation:
            clear_marks()
        _native.watch_calls(_Validated(self.calls) if self.validation else self.calls)
        return self

    def _start_field(self):
        trees.materialize()
        if len(self.loss.shape) != 0:
            raise say.loss_is_no_scalar()
        if companion(self.loss, "grad") is None:
            raise say.loss_field_without_gradient()
        if self.clear_gradients:
            clear_all_gradients()
        self.loss.fill(0.0)

    def _start_ndarray(self):
        if self.loss._get_nelement() != 1:
            raise say.loss_is_no_ndarray_of_one()
        if self.loss.grad is None:
            raise say.loss_ndarray_without_gradient()
        self.loss.fill(0.0)

    def _start_tensor(self):
        if not hasattr(self.loss, "numel"):
            raise say.loss_of_wrong_type(kind=type(self.loss).__name__)
        if self.loss.numel() != 1:
            raise say.loss_is_no_tensor_of_one()
        if not self.loss.requires_grad:
            raise say.loss_tensor_without_gradient()
        detached(self.loss).fill_(0.0)

    def __exit__(self, kind, error, traceback):
        watched = _native.watch_calls(None)
        if isinstance(watched, _Validated):
            watched.restore_modes()
        if kind is None and self.eval_on_exit:
            self.grad()

    def insert(self, func, args):
        """Records a call that the tape has not seen.

        func: a kernel, or a function with an attribute `grad`. args: its arguments.

            with ti.ad.Tape() as tape:
                pass
            tape.insert(print, ("not run",))
            print(len(tape.calls))  # prints: 1
        """
        self.calls.append((func, args))

    def grad(self):
        """Runs the gradients of the recorded calls, the last one first. The end of the `with` block
        does so if the tape has a loss."""
        if not self.entered:
            raise say.tape_not_entered()
        if self.gradient_evaluated:
            raise say.gradients_evaluated_twice()
        watcher = _native.watch_calls(None)
        try:
            self._seed()
            replay(self.calls, self.access)
            self.gradient_evaluated = True
            if self.grad_checker is not None:
                self.grad_checker.check(self.calls)
        finally:
            _native.watch_calls(watcher)

    def _seed(self):
        if self.loss is None:
            return
        if is_field(self.loss) or isinstance(self.loss, AnyArray):
            self.loss.grad.fill(1.0)
        elif self.loss.grad is None:
            self.loss.grad = self.loss.detach().clone().fill_(1.0)
        else:
            detached(self.loss.grad).fill_(1.0)


def replay(calls, access="warn", of=None):
    """Runs the gradients of recorded calls, the last one first. `access`: as for Tape. of: what
    computes the gradient of a function, if not its own gradient."""

    def report(reads, wrote):
        (reader, reading), read = reads
        (writer, writing), written = wrote
        reads_at, writes_at = _line_of(reading, read), _line_of(writing, written)
        same = reader.__name__ == writer.__name__
        text = say.read_after_overwrite(
            reader=reader.__name__,
            writer="a later launch of it" if same else f"the later kernel '{writer.__name__}'",
            read=_place(reads_at),
            written=_place(writes_at),
        )
        if access == "error":
            raise say.access_error(text=text)
        if reads_at:
            warnings.warn_explicit(text, Warning, *reads_at, registry=_WARNED)
        else:
            warnings.warn(text, Warning, stacklevel=2)

    of = of or gradient_of
    begun = False

    def of_function(func):
        nonlocal begun
        gradient = of(func)
        if not begun and ahead.is_missing(gradient):  # probably others are, too
            begun = True
            ahead.begin_all(calls, of)
        return gradient

    try:
        calls.replay(of_function, None if access == "ignore" else report)
    finally:
        ahead.forget()
        restore_now()


_WARNED = {}  # what the module `warnings` needs to show a warning of a line once


def _line_of(instance, node):
    """(file, line) of an access, in the program if it is in a function of Kiln's own; or None."""
    lines = [position[:2] for position in positions_of(instance, node)]  # the innermost first
    return next((line for line in lines if not is_own(line[0])), None) or (lines or [None])[0]


def _place(line):
    return f" at {line[0]}:{line[1]}" if line else ""


def gradient_of(func):
    """What computes the gradient of a recorded function; None if it has none."""
    gradient = getattr(func, "grad", _NONE)
    if gradient is None:
        raise say.replaced_gradient_is_missing(name=func.__name__)
    return None if gradient is _NONE else gradient


_NONE = object()


def _checking(kernel):
    """The kernel with checks of its accesses. Only debug mode has the marks for them."""
    return getattr(kernel, "_validated", kernel) if runtime.cfg.debug else kernel


class _Validated:
    """What watches the calls under a tape with `validation`."""

    def __init__(self, calls):
        self._calls = calls
        self._modes = {}  # kernel -> its mode without the tape

    def append(self, call):
        self._calls.append(call)

    def __call__(self, kernel, args, kwargs):
        _native.watch_calls(None)
        try:
            result = _checking(kernel)(*args, **kwargs)
        finally:
            _native.watch_calls(self)
        self.append((kernel, kernel._recorded(args, kwargs)))
        self._modes.setdefault(kernel, kernel.autodiff_mode)
        kernel.autodiff_mode = AutodiffMode.VALIDATION
        return result

    def restore_modes(self):
        for kernel, mode in self._modes.items():
            kernel.autodiff_mode = mode


__all__ = ["Tape"]
