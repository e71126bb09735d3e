"""`ti.algorithms`: sorting and prefix sums of one-dimensional fields, in parallel."""

from . import ops
from . import types as ti_types
from .data.field import AnyField, ScalarField
from .data.making import field
from .data.matrix_field import MatrixField
from .data.ndarray import ndarray
from .data.struct_field import StructField
from .kernel import data_oriented, kernel
from .static import loop_config, static

array = ti_types.ndarray
template = ti_types.template

# The fewest elements that one iteration handles.
_CHUNK = 4096
# Keys are sorted by digits of eight bits. Each chunk of elements counts and moves its own.
_DIGIT_BITS = 8
_DIGITS = 1 << _DIGIT_BITS
_MOST_CHUNKS = 64
_UNSIGNED = {n: getattr(ti_types, f"u{n}") for n in (8, 16, 32, 64)}


def parallel_sort(keys, values=None):
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
    _check_sorted(keys, values)
    length, bits = keys.shape[0], _number(keys.dtype).bits
    chunk = max(_CHUNK, (length + _MOST_CHUNKS - 1) // _MOST_CHUNKS)
    chunks = (length + chunk - 1) // chunk
    counts = ndarray(ti_types.i32, chunks * _DIGITS)
    # Of each element: its key as a number, and where it was.
    word = ti_types.u64 if bits == 64 else ti_types.u32
    moves = values is not None
    places = length if moves else 1
    a, b = ((ndarray(word, length), ndarray(ti_types.i32, places)) for _ in range(2))
    sign, mask = 1 << (bits - 1), (1 << bits) - 1
    _take_keys(keys, *a, length, _offset(keys), sign, mask, moves)
    for shift in range(0, bits, _DIGIT_BITS):
        _count_digits(a[0], counts, length, shift, chunk, chunks)
        _place_digits(counts, chunks)
        _move(*a, *b, counts, length, shift, chunk, chunks, moves)
        a, b = b, a
    _put_keys(keys, a[0], length, _offset(keys), sign, mask)
    if moves:
        _reorder(values, a[1], length)


def _check_sorted(keys, values):
    if not isinstance(keys, ScalarField):
        raise TypeError(f"the keys to sort must be a field of numbers, not {type(keys).__name__}")
    if len(keys.shape) != 1:
        raise ValueError(f"the keys to sort must be a field of one axis, not of shape {keys.shape}")
    if values is None:
        return
    if not isinstance(values, AnyField):
        kind = type(values).__name__
        raise TypeError(f"the values that move with sorted keys must be a field, not {kind}")
    if values.shape != keys.shape:
        raise ValueError(
            f"the values that move with sorted keys have shape {values.shape}, the keys "
            f"have {keys.shape}"
        )


def _number(dtype):
    """The type of a field's numbers in kernels, which is another one for quantised fields."""
    return getattr(dtype, "compute", dtype)


def _bits_of(dtype):
    """The unsigned type of a key's bits."""
    return _UNSIGNED[_number(dtype).bits]


def _reorder(values, order, length):
    """Moves the element order[i] of a field to i, for all i."""
    if isinstance(values, StructField):
        for member in values._members.values():
            _reorder(member, order, length)
        return
    element = _number(values.dtype)
    if isinstance(values, MatrixField):
        make = ti_types.vector if values.ndim == 1 else ti_types.matrix
        element = make(*values.element_shape, element)
    old = ndarray(element, length)
    _take_values(values, old, length, _offset(values))
    _put_values(values, old, order, length, _offset(values))


@kernel
def _take_keys(
    keys: template(),
    words: array(),
    order: array(),
    length: int,
    base: int,
    sign: ti_types.u64,
    mask: ti_types.u64,
    moves: template(),
):
    """Words that are in the order of the keys: of floats, whose bits have a sign and a magnitude,
    those below zero are inverted; of signed integers the sign is."""
    for i in range(length):
        key = keys[base + i]
        word = ops.cast(0, words.dtype)
        if static(_number(keys.dtype).is_float):
            word = ops.cast(ops.bit_cast(key, static(_bits_of(keys.dtype))), words.dtype)
            if key != key:
                word = ops.cast(mask, words.dtype)
            elif (word & ops.cast(sign, words.dtype)) != 0:
                word ^= ops.cast(mask, words.dtype)
            else:
                word |= ops.cast(sign, words.dtype)
        else:
            word = ops.cast(key, words.dtype) & ops.cast(mask, words.dtype)
            if static(_number(keys.dtype).is_signed):
                word ^= ops.cast(sign, words.dtype)
        words[i] = word
        if static(moves):
            order[i] = i


@kernel
def _put_keys(
    keys: template(),
    words: array(),
    length: int,
    base: int,
    sign: ti_types.u64,
    mask: ti_types.u64,
):
    for i in range(length):
        word = words[i]
        if static(_number(keys.dtype).is_float):
            if (word & ops.cast(sign, words.dtype)) != 0:
                word ^= ops.cast(sign, words.dtype)
            else:
                word ^= ops.cast(mask, words.dtype)
            unsigned = ops.cast(word, static(_bits_of(keys.dtype)))
            keys[base + i] = ops.bit_cast(unsigned, static(_number(keys.dtype)))
        else:
            if static(_number(keys.dtype).is_signed):
                word ^= ops.cast(sign, words.dtype)
            keys[base + i] = ops.cast(word, static(_number(keys.dtype)))


@kernel
def _count_digits(
    words: array(), counts: array(), length: int, shift: int, chunk: int, chunks: int
):
    """counts: of each digit, by chunk."""
    for c in range(chunks):
        for digit in range(_DIGITS):
            counts[c * _DIGITS + digit] = 0
        for i in range(c * chunk, ops.min((c + 1) * chunk, length)):
            digit = ops.cast(words[i] >> shift, ti_types.i32) & (_DIGITS - 1)
            counts[c * _DIGITS + digit] = counts[c * _DIGITS + digit] + 1


@kernel
def _place_digits(counts: array(), chunks: int):
    """The number of each digit becomes the place of the first of the chunk's."""
    loop_config(serialize=True)
    for _ in range(1):
        place = 0
        for digit in range(_DIGITS):
            for c in range(chunks):
                count = counts[c * _DIGITS + digit]
                counts[c * _DIGITS + digit] = place
                place += count


@kernel
def _move(
    words: array(),
    order: array(),
    to_words: array(),
    to_order: array(),
    counts: array(),
    length: int,
    shift: int,
    chunk: int,
    chunks: int,
    moves: template(),
):
    for c in range(chunks):
        for i in range(c * chunk, ops.min((c + 1) * chunk, length)):
            digit = ops.cast(words[i] >> shift, ti_types.i32) & (_DIGITS - 1)
            place = counts[c * _DIGITS + digit]
            counts[c * _DIGITS + digit] = place + 1
            to_words[place] = words[i]
            if static(moves):
                to_order[place] = order[i]


@kernel
def _take_values(values: template(), old: array(), length: int, base: int):
    for i in range(length):
        old[i] = values[base + i]


@kernel
def _put_values(values: template(), old: array(), order: array(), length: int, base: int):
    for i in range(length):
        values[base + i] = old[order[i]]


def _offset(of):
    """The first index of a 1-D field."""
    return (of._places[0]._offset or (0,))[0]


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
        if not hasattr(length, "__index__"):
            raise TypeError(f"the length of a prefix sum must be an integer, got {length!r}")
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
