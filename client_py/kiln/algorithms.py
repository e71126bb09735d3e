"""`ti.algorithms`: sorting and prefix sums of one-dimensional fields, in parallel."""

from . import ops
from . import types as ti_types
from .data.making import field
from .kernel import data_oriented, kernel
from .static import loop_config

template = ti_types.template


def parallel_sort(keys, values=None):
    """Sorts a field of one axis in place, in ascending order.

    keys: a field of numbers. values: a field of the same length, whose elements move with their
    keys. The sort is Batcher's odd-even merge network; each pass compares all its pairs in
    parallel. It is not stable, but every run gives equal keys the same order.

        keys = ti.field(ti.i32, shape=4)
        keys.from_numpy(np.array([3, 1, 2, 0], np.int32))
        ti.algorithms.parallel_sort(keys)
        print(keys)  # prints: [0 1 2 3]
    """
    length = keys.shape[0]
    block = 1
    while block < length:
        distance = block
        while distance >= 1:
            passes = (length - distance - distance % block) // (2 * distance) + 1
            first = distance % block
            if values is None:
                _merge_keys(keys, length, block, distance, passes, first, _offset(keys))
            else:
                offsets = _offset(keys), _offset(values)
                _merge_pairs(keys, values, length, block, distance, passes, first, *offsets)
            distance //= 2
        block *= 2


@kernel
def _merge_keys(
    keys: template(), length: int, block: int, distance: int, passes: int, first: int, base: int
):
    for number in range(passes):
        start = first + number * 2 * distance
        for i in range(start, ops.min(start + distance, length - distance)):
            # A later pass merges partners that are in different blocks.
            if i // (2 * block) == (i + distance) // (2 * block):
                a, b = keys[base + i], keys[base + i + distance]
                if a > b:
                    keys[base + i] = b
                    keys[base + i + distance] = a


@kernel
def _merge_pairs(
    keys: template(),
    values: template(),
    length: int,
    block: int,
    distance: int,
    passes: int,
    first: int,
    base: int,
    values_base: int,
):
    for number in range(passes):
        start = first + number * 2 * distance
        for i in range(start, ops.min(start + distance, length - distance)):
            if i // (2 * block) == (i + distance) // (2 * block):
                a, b = keys[base + i], keys[base + i + distance]
                if a > b:
                    keys[base + i] = b
                    keys[base + i + distance] = a
                    value = values[values_base + i]
                    values[values_base + i] = values[values_base + i + distance]
                    values[values_base + i + distance] = value


def _offset(of):
    """The first index of a 1-D field."""
    return (of._places[0]._offset or (0,))[0]


# Elements that one iteration sums.
_CHUNK = 4096


@data_oriented
class PrefixSumExecutor:
    """Replaces the elements of i32 fields by their inclusive prefix sums.

    length: the number of elements to sum, from the first on.

        x = ti.field(ti.i32, shape=4)
        x.fill(1)
        ti.algorithms.PrefixSumExecutor(4).run(x)
        print(x)  # prints: [1 2 3 4]
    """

    def __init__(self, length):
        self.sorting_length = length
        self._sums = field(ti_types.i32, shape=max((length + _CHUNK - 1) // _CHUNK, 1))

    def run(self, input_arr):
        """Sums a field in place.

        input_arr: an i32 field of one axis with at least `length` elements. Raises RuntimeError for
        other types.
        """
        if input_arr.dtype is not ti_types.i32:
            raise RuntimeError("Only ti.i32 type is supported for prefix sum.")
        if len(input_arr.shape) != 1 or input_arr.shape[0] < self.sorting_length:
            raise RuntimeError(
                f"a one-dimensional field of at least {self.sorting_length} elements is needed, "
                f"not one of shape {input_arr.shape}"
            )
        self._scan_chunks(input_arr, self.sorting_length, _offset(input_arr))

    @kernel
    def _scan_chunks(self, data: template(), length: int, base: int):
        for chunk in self._sums:
            total = 0
            for i in range(chunk * _CHUNK, ops.min((chunk + 1) * _CHUNK, length)):
                total += data[base + i]
                data[base + i] = total
            self._sums[chunk] = total
        loop_config(serialize=True)
        for chunk in self._sums:
            if chunk > 0:
                self._sums[chunk] += self._sums[chunk - 1]
        for chunk in self._sums:
            if chunk > 0:
                for i in range(chunk * _CHUNK, ops.min((chunk + 1) * _CHUNK, length)):
                    data[base + i] += self._sums[chunk - 1]


__all__ = ["PrefixSumExecutor", "parallel_sort"]


def __dir__():
    return list(__all__)
