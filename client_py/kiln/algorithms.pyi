# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.algorithms`: sorting and prefix sums of one-dimensional fields, in parallel."""

from typing import Any
class PrefixSumExecutor:
    """Replaces the elements of i32 fields by their inclusive prefix sums.

    length: the number of elements to sum, from the first on.

        x = ti.field(ti.i32, shape=4)
        x.fill(1)
        ti.algorithms.PrefixSumExecutor(4).run(x)
        print(x)  # prints: [1 2 3 4]
    """
    def __init__(self, length: Any) -> None: ...
    def run(self, input_arr: Any) -> Any:
        """Sums a field in place.

        input_arr: an i32 field of one axis with at least `length` elements. Raises RuntimeError for
        other types.
        """
    sorting_length: Any
def parallel_sort(keys: Any, values: Any = None) -> Any:
    """Sorts a field of one axis in place, in ascending order.

    keys: a field of numbers. values: a field of the same length, whose elements move with their
    keys. The sort is Batcher's odd-even merge network; each pass compares all its pairs in
    parallel. It is not stable, but every run gives equal keys the same order.

        keys = ti.field(ti.i32, shape=4)
        keys.from_numpy(np.array([3, 1, 2, 0], np.int32))
        ti.algorithms.parallel_sort(keys)
        print(keys)  # prints: [0 1 2 3]
    """
