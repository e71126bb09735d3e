"""All conversions from float to integer follow one rule (docs/language/types.md)."""

import math

import kiln as ti
import numpy as np
import pytest

INTEGERS = [f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)]
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
EDGES = [2.0**n for n in (7, 8, 15, 16, 31, 32, 53, 62, 63, 64, 65, 100)]


def _values(dtype):
    """Special values, and values around the limits of integer types."""
    with np.errstate(over="ignore"):
        numbers = np.array([0.0, 0.5, 0.9, 1.0, 1.5, 127.5, 300.0, 3e9, 5e9, 1e19, 1e300, *EDGES])
        numbers = numbers.astype(FLOATS[dtype])
    numbers = np.concatenate([numbers, np.nextafter(numbers, numbers.dtype.type(0))])
    numbers = np.concatenate([numbers, numbers - numbers.dtype.type(0.5), [np.inf, np.nan]])
    return np.concatenate([numbers, -numbers]).astype(FLOATS[dtype])


def _expected(x, to):
    bits = max(int(to[1:]), 32)
    low = -(2 ** (bits - 1))
    whole = math.trunc(x) if math.isfinite(x) else low
    most = 2**bits if to in ("u32", "u64") else -low
    if not low <= whole < most:
        whole = low
    width = int(to[1:])
    whole %= 2**width
    return whole - 2**width if to[0] == "i" and whole >> (width - 1) else whole


def _levels():
    host = ti._native.host_target()
    levels = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
    return levels[: levels.index(host) + 1] if host in levels else [host]


OPTIONS = [
    *({"cpu_level": level} for level in _levels()),
    {"fast_math": False},
    {"debug": True},
    {"opt_level": 0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("source", list(FLOATS))
def test_every_float_to_every_integer(source, options):
    ti.init(arch=ti.cpu, **options)
    values = _values(source)
    count = len(values)
    given = ti.field(getattr(ti, source), count)
    given.from_numpy(values)
    lanes = ti.Vector.field(4, getattr(ti, source), count // 4)
    lanes.from_numpy(values[: count // 4 * 4].reshape(-1, 4))
    for name in INTEGERS:
        to = getattr(ti, name)
        taken, stored, serial = (ti.field(to, count) for _ in range(3))
        of_lanes = ti.Vector.field(4, to, count // 4)

        @ti.kernel
        def convert():
            for i in given:
                taken[i] = ti.cast(given[i], to)
            for i in given:
                stored[i] = given[i]
            for i in lanes:
                of_lanes[i] = lanes[i].cast(to)
            ti.loop_config(serialize=True)
            for i in range(count):
                if i >= 0:
                    serial[i] = to(given[i])

        convert()
        expected = np.array([_expected(float(x), name) for x in values], taken.to_numpy().dtype)
        for result in (taken, stored, serial):
            np.testing.assert_array_equal(result.to_numpy(), expected, f"{source} to {name}")
        np.testing.assert_array_equal(of_lanes.to_numpy().ravel(), expected[: count // 4 * 4])


@pytest.mark.parametrize("to", INTEGERS)
def test_constants_and_python_scope(to):
    ti.init(arch=ti.cpu, default_fp=ti.f64, default_ip=ti.i64)
    dtype = getattr(ti, to)
    values = [float(x) for x in _values("f64")]
    result = ti.field(dtype, len(values))

    @ti.kernel
    def fold(start: ti.template()):
        for k in ti.static(range(40)):
            if ti.static(start + k < len(values)):
                x = ti.cast(values[start + k], ti.f64)
                result[start + k] = ti.cast(x, dtype)

    for start in range(0, len(values), 40):
        fold(start)
    expected = [_expected(x, to) for x in values]
    assert result.to_numpy().tolist() == expected
    assert [ti.cast(x, dtype) for x in values] == expected
    assert [dtype(x) for x in values] == expected
