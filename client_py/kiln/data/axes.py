"""Axes of index spaces, and the numbers that programs give for each of them."""

from .. import _native
from ..diagnostics import say


class Axis:
    """One axis of the index space."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Axis) and other.value == self.value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"<Axis {self.value}>"


def axes(*numbers):
    """Axes by their numbers.

    numbers: one or more numbers, counted from 0: `ti.axes(0, 2)` is `ti.ik`.

        print(ti.axes(0, 2) == ti.ik)  # prints: True
    """
    return [Axis(n) for n in numbers]


def as_tuple(numbers):
    """Extents or offsets as a tuple. Programs give one number, or a list, tuple, range, vector or
    array of numbers."""
    if getattr(numbers, "shape", None) == () or not hasattr(numbers, "__iter__"):
        return (numbers,)
    return (numbers,) if isinstance(numbers, str) else tuple(numbers)


def as_integer(value, error):
    """A value that programs give as an integer of any type. error: makes the exception for other
    values."""
    try:
        return value.__index__()
    except AttributeError:
        raise error(value=value) from None


def as_offset(offset):
    """The offset of a field as a tuple of integers; () for None."""
    if offset is None:
        return ()
    return tuple(as_integer(first, say.offset_must_be_integer) for first in as_tuple(offset))


def axis_numbers(axes):
    """The numbers of an axis, or of a list of axes."""
    axes = axes if isinstance(axes, (list, tuple)) else [axes]
    numbers = [
        a.value if isinstance(a, Axis) else as_integer(a, say.axis_of_other_type) for a in axes
    ]
    for number in numbers:
        if not 0 <= number < _native.MAX_AXES:
            raise say.there_are_axes_got_axis(limit=_native.MAX_AXES, number=number)
    return numbers


i, j, k, l = (axes(n) for n in range(4))  # noqa: E741
ij, ik, il = axes(0, 1), axes(0, 2), axes(0, 3)
jk, jl, kl = axes(1, 2), axes(1, 3), axes(2, 3)
ijk, ijl, ikl, jkl = axes(0, 1, 2), axes(0, 1, 3), axes(0, 2, 3), axes(1, 2, 3)
ijkl = axes(0, 1, 2, 3)

__all__ = [
    "axes",
    "i",
    "ij",
    "ijk",
    "ijkl",
    "ijl",
    "ik",
    "ikl",
    "il",
    "j",
    "jk",
    "jkl",
    "jl",
    "k",
    "kl",
    "l",
]
