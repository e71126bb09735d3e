"""`ti.ad.checkpoint`: gradients of long time loops in little memory.

The forward sweep keeps copies of the state of a few steps. The gradient goes back step by step: it
restores a copy, runs the steps from there again, and then runs the gradients of the last one. Which
copies it makes is the schedule of A. Griewank and A. Walther, "Algorithm 799: revolve", ACM TOMS 26
(2000), which needs the fewest steps.
"""

from .. import _native
from ..compat.misc import AutodiffMode
from ..data import trees
from ..data.field import AnyArray
from ..data.struct_field import leaves
from ..data.texture import Texture
from ..diagnostics import say
from .afterwards import restore_later
from .companions import is_field
from .contents import Contents, Digests, count_of, is_sparse, key_of, title_of
from .replaced import inside_of
from .step import Observer, StepRecorder

_SMALL = 1 << 14  # elements of the state that are compared at each step


def checkpoint(step, n, state=None, slots=None):
    """Runs a loop of steps that overwrite their fields. A Tape computes its gradient from a few
    copies of the state, and runs steps again.

    step: a function that runs the kernels of a step; its parameter is the number of the step, from
    0 to n - 1. state: a list of the fields, ndarrays and textures that a step takes over from the
    one before. What else a step writes, it writes anew before it reads it. slots: the largest
    number of copies of the state at one time. By default, enough to run each step at most three
    times. Without a Tape, the steps just run.

    Raises TypeError or ValueError for other arguments, and RuntimeError if `state` is not complete.
    The gradient raises RuntimeError if steps that ran again gave other values.

        x = ti.field(ti.f32, shape=(), needs_grad=True)
        y = ti.field(ti.f32, shape=(), needs_grad=True)
        loss = ti.field(ti.f32, shape=(), needs_grad=True)

        @ti.kernel
        def half():
            y[None] = 0.5 * x[None] ** 2

        @ti.kernel
        def total():
            loss[None] += x[None]

        def step(i):
            half()
            x.copy_from(y)

        x[None] = 1.0
        with ti.ad.Tape(loss):
            ti.ad.checkpoint(step, 3, state=[x], slots=2)
            total()
        print(x.grad)  # prints: 0.0625
    """
    watcher = _native.watcher()
    loop = _Loop(step, _count("n", n, 0), _values(state), slots)
    if watcher is None or n == 0 or not getattr(watcher, "records", True):
        loop()
    else:
        loop.run_forward(watcher)


def _count(name, value, least):
    if not hasattr(value, "__index__") or value < least:
        raise say.checkpoint_count(name=name, least=least, value=repr(value))
    return int(value)


def _values(state):
    """The fields without members, ndarrays and textures in the list `state`."""
    if not isinstance(state, (list, tuple)) or not state:
        raise say.checkpoint_without_state()
    found = []
    for value in state:
        if not is_field(value) and not isinstance(value, (AnyArray, Texture)):
            raise say.checkpoint_state_of_wrong_type(kind=type(value).__name__)
        found += leaves(value) if is_field(value) else [value]
    trees.materialize()
    for value in found:
        if is_sparse(value):
            raise say.checkpoint_of_sparse_field(title=value._title())
    return found


class _Loop:
    """A loop of steps, and what its gradient needs. A tape records it as a function."""

    __name__ = "ti.ad.checkpoint"
    autodiff_mode = AutodiffMode.NONE

    def __init__(self, step, n, state, slots):
        self._step = step
        self._n = n
        self._state = state
        self._slots = default_slots(n) if slots is None else _count("slots", slots, 1)
        self._is_small = sum(count_of(value) for value in state) <= _SMALL
        self._copies = {}  # number of a step -> Contents of the state before it
        self._digests = {}  # number of a step -> Digests of the state before it
        self._used = None  # the fields and arrays that steps use
        self._after = None  # Digests of the state and of what steps write, after the last step
        self._before = None  # the same, when the gradient began
        self._at = None  # number of the step before which the state in memory is, if known

    def __call__(self):
        for number in range(self._n):
            self._step(number)

    # --- forward

    def run_forward(self, watcher):
        """Runs the steps, and has `watcher` record the loop."""
        inside = inside_of(watcher)
        if inside is not None:
            for value in self._state:
                inside.change(value)
        seen = Observer(inside)
        positions = first_copies(self._n, self._slots)
        try:
            _native.watch_calls(seen)
            for number in range(self._n):
                if number in positions:
                    self._copy(number)
                if number == 1 or number in positions or self._is_small:
                    self._digests[number] = Digests(self._state)
                seen.begin_step()
                self._step(number)
        finally:
            _native.watch_calls(watcher)
        listed = {key_of(value) for value in self._state}
        for value in seen.taken_over:
            if key_of(value) not in listed:
                raise say.checkpoint_takes_over(title=title_of(value))
        self._used = seen.used
        self._after = Digests([*self._state, *seen.written])
        if inside is None:
            self._check_earlier_calls(watcher, seen.written)
        watcher.append((self, ()))

    def _check_earlier_calls(self, watcher, written):
        """Raises if a kernel that ran before the loop uses what steps overwrite and the gradient
        does not restore."""
        restored = {key_of(value) for value in self._state}
        lost = {key_of(value) for value in written} - restored
        for function, args in getattr(watcher, "_calls", watcher):
            if not isinstance(function, _native.KernelBase):
                continue
            for value, _ in function._accesses(args):
                if key_of(value) in lost:
                    raise say.checkpoint_overwrites(title=title_of(value), kernel=function.__name__)

    # --- backward

    def grad(self):
        """Runs the gradients of the steps, the last one first. Leaves the state as it was before
        the first one."""
        restore_later(Contents(self._after.values))
        self._before = Digests(self._after.values)
        self._at = None
        segments = [(0, self._n + 1, self._slots)]  # as if what follows the loop was a step
        while segments:
            begin, end, slots = segments.pop()
            while slots > 1 and end - begin > 1:
                middle = begin + left_part(end - begin, slots)
                segments.append((begin, middle, slots))
                if middle < self._n and middle not in self._copies:
                    self._go_to(begin, middle)
                    self._copy(middle)
                begin, slots = middle, slots - 1
            for number in reversed(range(begin, min(end, self._n))):
                self._go_to(begin, number)
                self._run_gradient(number)
            if begin > 0:
                self._copies.pop(begin, None)
        self._go_to(0, 0)

    def _copy(self, number):
        self._copies[number] = Contents(self._state)
        self._at = number

    def _go_to(self, begin, number):
        """Brings the state in memory to that before a step, from the copy at `begin`."""
        if self._at != begin:
            self._copies[begin].restore()
        for skipped in range(begin, number):
            self._step(skipped)
        self._at = number

    def _run_gradient(self, number):
        """Runs a step and its gradient."""
        recorder = StepRecorder(self._used)
        _native.watch_calls(recorder)
        try:
            self._step(number)
        finally:
            _native.watch_calls(None)
        self._at = None
        self._check(number + 1)
        recorder.run_gradients()

    def _check(self, number):
        """Raises unless memory before a step is as it was in the forward sweep."""
        if number == self._n:
            different = self._after.difference(self._state, self._before)
        else:
            before = self._digests.get(number)
            different = None if before is None else before.difference(self._state)
        if different is not None:
            raise say.checkpoint_differs(title=title_of(different))


# --- the schedule


def default_slots(n):
    """The fewest slots with which each step runs at most three times, the last time for its
    gradient."""
    slots = 1
    while (slots + 1) * (slots + 2) // 2 < n + 1:
        slots += 1
    return slots


def left_part(n, slots):
    """How many of `n` steps come before the next copy, if there is a copy before the first of them
    and room for slots - 1 more."""
    # With `repeats` runs of each step, slots can serve (slots + repeats choose slots) steps.
    repeats, served = 0, 1
    served_by_fewer = 1  # with slots - 1
    before = [0, 0]  # `served` with repeats - 1 and - 2
    while served < n:
        repeats += 1
        before = [served, before[0]]
        served = served * (slots + repeats) // repeats
        served_by_fewer = served_by_fewer * (slots - 1 + repeats) // repeats
    return min(n - 1, max(before[1], n - served_by_fewer, 1))


def first_copies(n, slots):
    """The numbers of the steps before which the forward sweep copies the state."""
    found, begin = {0}, 0
    while slots > 1 and n - begin > 0:
        begin += left_part(n + 1 - begin, slots)
        slots -= 1
        found.add(begin)
    return found


__all__ = ["checkpoint"]
