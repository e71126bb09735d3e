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
    """Sorts a field in place, in ascending order.

    keys: a field of numbers, of one axis. values: a field of the same length, also of vectors,
    matrices or structs, whose elements move with their keys. Equal keys keep their order; -0.0
    comes before 0.0, and NaNs come last. Raises TypeError if an argument is not such a field,
    ValueError for other shapes.

    The sort is by digits, from the last to the first (Knuth, The Art of Computer Programming,
    5.2.5). It takes memory for two copies of the keys, and with values for two i32 an element and a
    copy of the values.

        keys = ti.field(ti.i32, shape=4)
        keys.from_numpy(np.array([3, 1, 2, 0], np.int32))
        ti.algorithms.parallel_sort(keys)
        print(keys)  # prints: [0 1 2 3]
    """
