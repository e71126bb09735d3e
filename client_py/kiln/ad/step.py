"""What watches the calls in one step of a loop with checkpoints."""

from .. import _native
from ..data.field import AnyArray, Field
from ..data.recorded import COPY_FROM, companion
from ..diagnostics import say
from .afterwards import Restored
from .contents import Contents, count_of, is_companion, is_sparse, key_of, title_of
from .tape import gradient_of

_FEW = 64  # elements of a field that Python may write one by one


class Observer:
    """Watches the steps of the forward sweep, and collects what they use and write."""

    records = False

    def __init__(self, inside=None):
        """inside: what watches the recorded call that the steps are a part of."""
        self._inside = inside
        self._used, self._written, self._taken = {}, {}, {}
        self._written_anew = set()  # keys of what the present step has written
        self._known = {}  # kernel -> its accesses, if they are the same in every call

    @property
    def used(self):
        return list(self._used.values())

    @property
    def written(self):
        return list(self._written.values())

    @property
    def taken_over(self):
        """What a step reads before it has written it, and another one writes."""
        return [value for key, value in self._taken.items() if key in self._written]

    def begin_step(self):
        self._written_anew = set()

    def begin_call(self):
        """A function with a gradient of its own begins. Returns what watches inside of it."""
        return self

    def __call__(self, kernel, args, kwargs):
        if self._inside is not None:
            self._inside.use(kernel, args, kwargs)
        accesses = self._known.get(kernel)
        if accesses is None:
            accesses = _accesses(kernel, args, kwargs)
            if kernel._takes_values:
                self._known[kernel] = accesses
        for value, written in accesses:
            if not written:
                self._read(value)
        for value in _written(accesses):
            self._write(value)
        return _unwatched(kernel, args, kwargs)

    def change(self, value):
        """A whole field or array is about to be overwritten."""
        if self._inside is not None:
            self._inside.change(value)
        self._write(value)

    def append(self, call):
        """A function that is not a kernel has run."""
        function, args = call
        if function is COPY_FROM:
            self._read(args[1])

    def _read(self, value):
        key = key_of(value)
        self._used[key] = value
        if key not in self._written_anew:
            self._taken[key] = value

    def _write(self, value):
        key = key_of(value)
        self._used[key] = self._written[key] = value
        self._written_anew.add(key)


class StepRecorder:
    """Records the calls of a step, and what they overwrite.

    A gradient kernel computes its values from memory, so memory must be as it was after the call.
    Before a call overwrites what an earlier one has used, the recorder copies it. Raises
    RuntimeError if Python writes single elements, of which tapes know nothing.
    """

    def __init__(self, used):
        """used: the fields and arrays that steps use, as far as known."""
        self._calls = []  # (function, arguments, Contents that it has overwritten)
        self._used = set()  # keys of what the calls so far have used
        self._using = set()  # keys of what the present one uses
        self._kept = {}  # key -> Contents that the present one overwrites
        self._elements = _Elements(used)

    def begin_call(self):
        """A function with a gradient of its own begins. Returns what watches inside of it."""
        self._elements.check(self._used)
        return _Inside(self)

    def __call__(self, kernel, args, kwargs):
        self._elements.check(self._used)
        args = kernel._recorded(args, kwargs)
        self.use(kernel, args, {})
        result = _unwatched(kernel, args, {})
        self.append((kernel, args))
        return result

    def change(self, value):
        """A whole field or array is about to be overwritten."""
        self._elements.check(self._used)
        self.keep(value)

    def append(self, call):
        """The present call has ended."""
        self._calls.append((*call, list(self._kept.values())))
        self._used |= self._using
        self._using, self._kept = set(), {}
        self._elements.remember()

    def use(self, kernel, args, kwargs):
        """A kernel is about to run, as the present call or a part of it."""
        accesses = _accesses(kernel, args, kwargs)
        for value in _written(accesses):
            self.keep(value)
        self._using.update(key_of(value) for value, _ in accesses)

    def keep(self, value):
        """The present call is about to overwrite a field or an array."""
        key = key_of(value)
        if key not in self._used or key in self._kept:
            return
        if is_sparse(value):
            raise say.step_overwrites_sparse_field(title=value._title())
        self._kept[key] = Contents([value])

    def run_gradients(self):
        """Runs the gradients of the calls, the last one first. Nothing may watch calls."""
        self._elements.check(self._used)
        for function, args, overwritten in reversed(self._calls):
            gradient = gradient_of(function)
            if gradient is not None:
                with Restored():
                    gradient(*args)
            for contents in overwritten:
                contents.restore()


class _Inside:
    """Watches inside of a recorded function with a gradient of its own."""

    records = False

    def __init__(self, recorder):
        self.use, self.change = recorder.use, recorder.keep

    def begin_call(self):
        return self

    def __call__(self, kernel, args, kwargs):
        self.use(kernel, args, kwargs)
        return _unwatched(kernel, args, kwargs)

    def append(self, call):
        """A function that is not a kernel has run."""


class _Elements:
    """Finds elements that Python writes between calls, in fields and ndarrays with few."""

    def __init__(self, values):
        self._values = [
            one for one in values if isinstance(one, (Field, AnyArray)) and count_of(one) <= _FEW
        ]
        self.remember()

    def remember(self):
        self._elements = [value.to_numpy().tobytes() for value in self._values]

    def check(self, used):
        """Raises if an element has changed that has a gradient, or that a call has used. used: keys
        of what calls have used."""
        for value, before in zip(self._values, self._elements):
            matters = key_of(value) in used or companion(value, "grad") is not None
            if matters and value.to_numpy().tobytes() != before:
                raise say.step_writes_elements(title=title_of(value))


def _accesses(kernel, args, kwargs):
    return kernel._accesses(kernel._recorded(args, kwargs))


def _written(accesses):
    return [value for value, written in accesses if written and not is_companion(value)]


def _unwatched(kernel, args, kwargs):
    watcher = _native.watch_calls(None)
    try:
        return kernel(*args, **kwargs)
    finally:
        _native.watch_calls(watcher)
