"""Shifts of integers of 8 and 16 bits, whose loops the compiler narrows: as in 32 bits, for all
counts and at every level of the processor."""

import numpy as np
import pytest

LEVELS = [
    {},
    *({"cpu_level": f"x86-64-v{level}"} for level in (2, 3)),
    {"fast_math": False},
    {"opt_level": 0},
]
TYPES = ["i8", "u8", "i16", "u16"]


def name_of(options):
    return "-".join(f"{key}={value}" for key, value in options.items()) or "defaults"


@pytest.fixture(params=LEVELS, ids=name_of)
def ti(request):
    import kiln

    kiln.init(kiln.cpu, **request.param)
    yield kiln
    kiln.reset()


def expected(x, counts):
    """The results of the kernels below, by NumPy in 32 bits."""
    counts = counts.astype(np.int32) & 31
    bits = 8 * x.itemsize
    unsigned = x.view(f"u{x.itemsize}").astype(np.uint32)
    results = {
        "shl": unsigned << counts,
        "shr": x.astype(np.int32) >> counts,
        "bit_shr": unsigned >> counts,
        "bit": unsigned & (np.uint32(1) << counts),
        "rotated": (unsigned << counts) | (unsigned >> ((bits - counts) & 31)),
    }
    return {rule: numbers.astype(x.dtype) for rule, numbers in results.items()}


@pytest.mark.parametrize("name", TYPES)
def test_shifts_are_those_of_32_bits(ti, name):
    dtype = getattr(ti, name)
    bits, kind = dtype.bits, dtype.numpy_name
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    values = np.array([least, least + 1, 0, 1, 2, 0x5A, most // 3, most - 1, most], dtype=kind)
    counts = np.arange(256).astype(kind)
    x = np.repeat(values, len(counts))
    by = np.tile(counts, len(values))
    shape = len(x)
    numbers, amounts = ti.field(dtype, shape), ti.field(dtype, shape)
    numbers.from_numpy(x)
    amounts.from_numpy(by)
    out = {rule: ti.field(dtype, shape) for rule in ("shl", "shr", "bit_shr", "bit", "rotated")}

    # Loops of their own, each over narrow numbers alone.
    @ti.kernel
    def each():
        for i in numbers:
            out["shl"][i] = numbers[i] << amounts[i]
        for i in numbers:
            out["shr"][i] = numbers[i] >> amounts[i]
        for i in numbers:
            out["bit_shr"][i] = ti.bit_shr(numbers[i], amounts[i])
        for i in numbers:
            out["bit"][i] = numbers[i] & ti.cast(1, dtype) << amounts[i]
        for i in numbers:
            high = numbers[i] << amounts[i]
            out["rotated"][i] = high | ti.bit_shr(numbers[i], bits - (amounts[i] & 31))

    @ti.kernel
    def all_by(count: ti.i32):
        for i in numbers:
            out["shl"][i] = numbers[i] << count
        for i in numbers:
            out["shr"][i] = numbers[i] >> count
        for i in numbers:
            out["bit_shr"][i] = ti.bit_shr(numbers[i], count)
        for i in numbers:
            out["bit"][i] = numbers[i] & ti.cast(1, dtype) << count
        for i in numbers:
            high = numbers[i] << count
            out["rotated"][i] = high | ti.bit_shr(numbers[i], bits - (count & 31))

    each()
    for rule, wanted in expected(x, by).items():
        assert out[rule].to_numpy().tolist() == wanted.tolist(), rule
    for count in (*range(34), 40, 255, 256, -1):
        all_by(count)
        for rule, wanted in expected(x, np.full(shape, count)).items():
            assert out[rule].to_numpy().tolist() == wanted.tolist(), (rule, count)
