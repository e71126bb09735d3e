"""Copies of fields and arrays that gradients restore, and digests to compare them by."""

import functools
import math

from ..data.field import Field

_ROUNDING = 1e-6  # the largest relative difference of digests of what is computed in one order
_NOISE = 1e-3  # the same, where the order of atomic additions is free
_BLOCK = 1024


def whole_of(value):
    """The field that a component, or a part, of a field belongs to; others as they are."""
    return getattr(value, "_shares", value)


def key_of(value):
    """Equal for fields and arrays that share memory."""
    if isinstance(value, Field):
        return id(whole_of(value))
    interface = getattr(value, "__array_interface__", None)
    return id(value) if interface is None else interface["data"]


def distinct(values):
    """The values, each memory once."""
    return list({key_of(value): whole_of(value) for value in values}.values())


def is_companion(value):
    return bool(getattr(whole_of(value), "_is_companion", False))


def is_sparse(value):
    return isinstance(value, Field) and value._places[0]._first_sparse() is not None


def count_of(value):
    """The number of elements, vectors and matrices counted as one."""
    return math.prod(value.shape)


def title_of(value):
    return value._title() if hasattr(value, "_title") else "an array"


class Contents:
    """A copy of the elements of fields and arrays, not of sparse fields."""

    def __init__(self, values):
        self._copies = []
        for value in distinct(values):
            self._copies.append((value, _numbers(value, True)))

    def restore(self):
        """Writes the copy back. Nothing may watch calls."""
        for value, copy in self._copies:
            if hasattr(value, "from_numpy"):
                value.from_numpy(copy)
            else:
                value[...] = copy


class Digests:
    """For each of several fields and arrays, numbers that tell whether its elements change."""

    def __init__(self, values):
        self.values = [value for value in distinct(values) if not is_sparse(value)]
        self._digests = [_digest(value) for value in self.values]

    def difference(self, state, other=None):
        """The first value whose elements are others now; None if there is none.

        state: the values that may differ by noise, which allows the rest to differ as much. other:
        older Digests of the values; what has not changed since then is no difference."""
        keys = {key_of(value) for value in state}
        now = [_digest(value) for value in self.values]
        noise = 0.0
        for value, before, after in zip(self.values, self._digests, now):
            if key_of(value) in keys:
                noise = max(noise, _distance(before, after))
                if noise > _NOISE:
                    return value
        for position, value in enumerate(self.values):
            same = other is not None and other._digests[position] == now[position]
            apart = _distance(self._digests[position], now[position])
            if not same and apart > max(_ROUNDING, 100 * noise):
                return value
        return None


def _numbers(value, copied=False):
    """The elements as a NumPy array."""
    if hasattr(value, "to_numpy"):
        return value.to_numpy()
    return value.copy() if copied else value


def _digest(value):
    """(a weighted sum of the elements, a bound of it)."""
    import numpy as np

    numbers = _numbers(value).ravel()
    if numbers.dtype.char not in "fd":
        numbers = numbers.astype(np.float64)
    with np.errstate(all="ignore"):
        found = _weighted(numbers)
        if not np.isfinite(found[1]):
            numbers = np.nan_to_num(numbers.astype(np.float64), nan=3e100)
            found = _weighted(np.clip(numbers, -2e100, 2e100, where=numbers != 3e100, out=numbers))
    return found


def _weighted(numbers):
    import numpy as np

    weights = _weights(numbers.dtype.char)
    count = len(numbers) // _BLOCK * _BLOCK
    total = float(numbers[count:] @ weights[: len(numbers) - count])
    if count > 0:
        rows = (numbers[:count].reshape(-1, _BLOCK) @ weights).astype(np.float64)
        total += float(rows @ (np.cos(np.arange(len(rows)) * 0.7) + 2.0))
    return total, float(np.sqrt(float(numbers @ numbers) * len(numbers)))


@functools.lru_cache
def _weights(char):
    import numpy as np

    return (np.cos(np.arange(_BLOCK)) + 2.0).astype(char)


def _distance(one, other):
    size = max(one[1], other[1])
    return 0.0 if one == other else abs(one[0] - other[0]) / max(size, 1e-300)
