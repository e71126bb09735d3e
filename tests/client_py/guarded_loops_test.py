"""Loops whose body is one guard over the indices, compared with the same in NumPy."""

import itertools

import kiln as ti
import numpy as np
import pytest

SIZES = ((0, 5), (1, 1), (2, 9), (3, 3), (7, 31), (16, 33), (5, 260), (64, 100))


@pytest.fixture(params=[1, 2], autouse=True)
def threads(request):
    ti.init(arch=ti.cpu, cpu_max_num_threads=request.param)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_guards_over_arrays(n, m):
    @ti.kernel
    def run(
        a: ti.types.ndarray(ti.f32, 2),
        b: ti.types.ndarray(ti.f32, 2),
        low: ti.i32,
        high: ti.i32,
    ):
        for i, j in a:
            if 0 < i < a.shape[0] - 1 and 0 < j < a.shape[1] - 1:
                b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
        for i, j in a:
            if i == 0 or j == 0:
                continue
            b[i, j] += 100
        for i, j in a:
            if not (i >= low and high > j):
                continue
            if i != j:
                b[i, j] += 1000
        for i, j in a:
            if i == low and j - 1 >= high:
                b[i, j] += 10000

    a = np.arange(n * m, dtype=np.float32).reshape(n, m)
    limits = (0, 1, -1, 2, n, m, 2**31 - 1, -(2**31))
    for low, high in itertools.product(limits, limits):
        got, want = np.zeros((n, m), np.float32), np.zeros((n, m), np.float32)
        run(a, got, low, high)
        if n > 2 and m > 2:
            want[1:-1, 1:-1] = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        i, j = np.indices((n, m))
        want[(i != 0) & (j != 0)] += 100
        want[(i >= low) & (high > j) & (i != j)] += 1000
        want[(i == low) & (j - 1 >= high)] += 10000
        np.testing.assert_array_equal(got, want, err_msg=f"{low} {high}")


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (3, 5), (20, 37)])
def test_guards_over_fields(n, m):
    a, b = ti.field(ti.i32, (n, m)), ti.field(ti.i32, (n, m))
    limit = ti.field(ti.i32, ())

    @ti.kernel
    def run() -> ti.i32:
        total = 0
        for i, j in a:
            a[i, j] = i * m + j
        for i, j in a:
            if 1 <= i and i < n - 1 and j != 0 and j != m - 1:
                b[i, j] = a[i, j - 1] + a[i, j + 1]
        for i, j in a:
            if i + 1 < n and j < limit[None]:
                b[i, j] += 1000
                total += 1
        for i in range(-5, 6):
            if i < 0:
                total += 10000 * i
        return total

    limit[None] = 2
    total = run()
    want = np.zeros((n, m), np.int32)
    x = np.arange(n * m, dtype=np.int32).reshape(n, m)
    if n > 2 and m > 2:
        want[1:-1, 1:-1] = x[1:-1, :-2] + x[1:-1, 2:]
    want[: n - 1, :2] += 1000
    np.testing.assert_array_equal(b.to_numpy(), want)
    assert total == (n - 1) * min(m, 2) - 150000


def test_an_index_that_wraps_meets_the_guard_as_before():
    @ti.kernel
    def run(first: ti.i32, end: ti.i32) -> ti.i32:
        count = 0
        for i in range(first, end):
            if i + 1 > 0:
                count += 1
        return count

    most = 2**31 - 1
    # most itself is no index: the range ends before it.
    assert run(most - 3, most) == 3
    assert run(-3, 3) == 3

    @ti.kernel
    def down(first: ti.i32, end: ti.i32) -> ti.i32:
        count = 0
        for i in range(first, end):
            if i - 1 > 0:
                count += 1
        return count

    assert down(-(2**31), -(2**31) + 3) == 1  # the least number minus 1 is the greatest


def test_a_limit_that_the_loop_writes_is_read_each_time():
    n, x = ti.field(ti.i32, ()), ti.field(ti.i32, 100)

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(100):
            if i < n[None]:
                x[i] = 1
                if i == 5:
                    n[None] = 50

    n[None] = 10
    run()
    assert x.to_numpy().sum() == 50


def test_random_numbers_do_not_depend_on_a_guard():
    @ti.kernel
    def run(guarded: ti.template(), out: ti.types.ndarray(ti.f32, 1)):
        for i in range(100):
            if ti.static(guarded):
                if i >= 10:
                    out[i] = ti.random()
            else:
                out[i] = ti.random()

    results = []
    for guarded in (True, False):
        ti.init(arch=ti.cpu, random_seed=3)
        out = np.zeros(100, np.float32)
        run(guarded, out)
        results.append(out)
    assert (results[0][10:] == results[1][10:]).all()
    assert (results[0][:10] == 0).all()


def test_checks_outside_of_the_guard_still_fail():
    ti.init(arch=ti.cpu, debug=True)
    x = ti.field(ti.i32, 10)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            v = x[i]
            if i < 5:
                x[i] = v + 1

    run(10)
    with pytest.raises(ti.TaichiAssertionError):
        run(11)


def test_prints_outside_of_the_guard_still_appear(capfd):
    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(3):
            print("i", i)
            if i > 1:
                print("more")

    run()
    ti.sync()
    assert capfd.readouterr().out.split() == ["i", "0", "i", "1", "i", "2", "more"]


def test_limits_of_64_bits():
    @ti.kernel
    def run(first: ti.i64, end: ti.i64, limit: ti.i64) -> ti.i64:
        count = ti.i64(0)
        for i in range(first, end):
            if i > limit:
                count += 1
        return count

    most = 2**63 - 1
    assert run(most - 10, most, most) == 0
    assert run(-5, 5, -3) == 7
