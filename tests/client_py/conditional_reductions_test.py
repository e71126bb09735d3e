"""Sums, products, minima and maxima, also under conditions: in parallel and in inner loops."""

import math

import kiln as ti
import numpy as np
import pytest

LENGTHS = (0, 1, 2, 7, 8, 9, 31, 32, 33, 127, 1000, 4099)
MOST, LEAST = 2**31 - 1, -(2**31)


def data_of(n, special):
    """`special`: also NaNs, infinities, zeros of both signs and denormal numbers."""
    random = np.random.default_rng(n)
    x = random.integers(-8, 9, n).astype(np.float32)
    if special and n:
        x[random.random(n) < 0.5] = np.nan
        for value in (np.inf, -np.inf, -0.0, 0.0, 1e-42, -1e-42):
            x[random.integers(0, n)] = value
    return x


def same(got, want):
    return (math.isnan(got) and math.isnan(want)) or got == want


def without_nans(x, extreme, start):
    numbers = [start, *(v for v in x.tolist() if not math.isnan(v))]
    numbers = [v for v in numbers if not math.isnan(v)]
    return extreme(numbers) if numbers else math.nan


@pytest.fixture(params=[True, False], ids=["fast", "ieee"], autouse=True)
def setting(request):
    ti.init(arch=ti.cpu, fast_math=request.param)


@pytest.mark.parametrize("n", LENGTHS)
def test_parallel_loops_combine_what_meets_a_condition(n):
    @ti.kernel
    def run(
        x: ti.types.ndarray(ti.f32, 1),
        floats: ti.types.ndarray(ti.f32, 1),
        ints: ti.types.ndarray(ti.i32, 1),
    ):
        for i in x:
            v = x[i]
            if v > 0.5:
                floats[0] += v * v
                ti.atomic_min(floats[1], v)
                ti.atomic_max(ints[0], i)
                ints[1] += 1
            else:
                floats[2] -= v
            if v < 3.0:
                if v > -3.0:
                    ti.atomic_min(ints[2], i)
                    ints[3] += i * 2147483
                ti.atomic_max(floats[3], v)

    x = data_of(n, special=False)
    floats = np.array([0, np.inf, 0, -np.inf], np.float32)
    ints = np.array([LEAST, 0, MOST, 0], np.int32)
    run(x, floats, ints)
    above, below, mid = x > 0.5, x < 3, (x < 3) & (x > -3)
    index = np.arange(n, dtype=np.int64)
    assert floats[0] == (x[above] ** 2).sum()
    assert floats[1] == x[above].min(initial=np.inf)
    assert floats[2] == -x[~above].sum()
    assert floats[3] == x[below].max(initial=-np.inf)
    assert ints[0] == index[above].max(initial=LEAST)
    assert ints[1] == above.sum()
    assert ints[2] == index[mid].min(initial=MOST)
    assert ints[3] == np.int64((index[mid] * 2147483).sum()).astype(np.int32)


@pytest.mark.parametrize("start", [-1e30, math.inf, -math.inf, math.nan, -0.0])
@pytest.mark.parametrize("n", LENGTHS)
def test_extremes_ignore_nans_in_every_form(n, start):
    @ti.kernel
    def run(x: ti.types.ndarray(ti.f32, 1), first: ti.f32, out: ti.types.ndarray(ti.f32, 1)):
        ti.loop_config(serialize=True)
        for k in range(1):
            constant = ti.static(start)
            low, high, variable, some = constant, constant, first, constant
            for i in range(x.shape[0]):
                low = ti.min(low, x[i])
                high = ti.max(x[i], high)
                variable = ti.max(variable, x[i])
                if i % 3 == 1:
                    some = ti.max(some, x[i])
            out[0], out[1], out[2], out[3] = low, high, variable, some

    x, out = data_of(n, special=True), np.zeros(4, np.float32)
    run(x, start, out)
    start = float(np.float32(start))
    wanted = [
        without_nans(x, min, start),
        without_nans(x, max, start),
        without_nans(x, max, start),
        without_nans(x[1::3], max, start),
    ]
    assert all(same(g, w) for g, w in zip(out.tolist(), wanted, strict=True)), (out, wanted)


@pytest.mark.parametrize("n", LENGTHS)
def test_parallel_extremes_ignore_nans(n):
    @ti.kernel
    def run(x: ti.types.ndarray(ti.f32, 1), out: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            ti.atomic_max(out[0], x[i])
            if i % 5 != 2:
                ti.atomic_min(out[1], x[i])

    x, out = data_of(n, special=True), np.array([-1, 1], np.float32)
    run(x, out)
    assert out[0] == without_nans(x, max, -1.0)
    assert out[1] == without_nans(x[np.arange(n) % 5 != 2], min, 1.0)


def test_what_was_not_added_changes_no_bit():
    @ti.kernel
    def run(x: ti.types.ndarray(ti.f32, 1), out: ti.types.ndarray(ti.f32, 1)):
        ti.loop_config(serialize=True)
        for k in range(1):
            zero, nan, inf, product = -0.0, ti.math.nan, ti.math.inf, -0.0
            for i in range(x.shape[0]):
                if x[i] > 100.0:
                    zero += x[i]
                    nan += x[i]
                    inf -= x[i]
                    product *= x[i]
            out[0], out[1], out[2], out[3] = zero, nan, inf, product

    out = np.zeros(4, np.float32)
    run(data_of(1000, special=False), out)
    assert out[0] == 0
    assert math.isnan(out[1])
    assert out[2] == math.inf
    assert out[3] == 0


def test_a_sum_that_the_condition_reads_stays_in_order():
    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 1), out: ti.types.ndarray(ti.i32, 1)):
        ti.loop_config(serialize=True)
        for k in range(1):
            count, limited = 0, 0
            for i in range(x.shape[0]):
                if x[i] % 2 == 0:
                    out[count] = x[i]
                    count += 1
                if limited < 20:
                    limited += x[i]
            out[out.shape[0] - 1] = limited

    x, out = np.arange(100, dtype=np.int32), np.zeros(60, np.int32)
    run(x, out)
    assert out[:50].tolist() == list(range(0, 100, 2))
    assert out[-1] == 21


@pytest.mark.parametrize(
    ("kind", "numpy"),
    [
        (ti.i8, np.int8),
        (ti.u8, np.uint8),
        (ti.i16, np.int16),
        (ti.u32, np.uint32),
        (ti.i64, np.int64),
        (ti.u64, np.uint64),
        (ti.f64, np.float64),
    ],
)
def test_sums_of_all_types_wrap(kind, numpy):
    @ti.kernel
    def run(x: ti.types.ndarray(kind, 1), out: ti.types.ndarray(kind, 1)):
        for i in x:
            if x[i] > 3:
                out[0] += x[i]
                ti.atomic_min(out[1], x[i])
                ti.atomic_max(out[2], x[i])

    x = (np.arange(1001) % 11).astype(numpy)
    out = np.array([0, 100, 0], numpy)
    run(x, out)
    with np.errstate(over="ignore"):
        assert out[0] == x[x > 3].sum(dtype=numpy)
    assert out.tolist()[1:] == [4, 10]
