"""Loops whose boundary cells clamp, wrap or branch, compared with the same in NumPy or Python."""

import kiln as ti
import numpy as np
import pytest

SIZES = ((1, 1), (3, 5), (2, 63), (2, 64), (3, 65), (5, 130), (2, 1000))


@pytest.fixture(params=[1, 3], autouse=True)
def threads(request):
    ti.init(arch=ti.cpu, cpu_max_num_threads=request.param, default_ip=ti.i32)


def numbers(n, m):
    return (np.arange(n * m, dtype=np.int32) * 7919 % 1009).reshape(n, m)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_neighbours_of_fields_are_clamped_and_wrapped(n, m):
    a, b, c, d = (ti.field(ti.i32, (n, m)) for _ in range(4))

    @ti.kernel
    def run():
        for i, j in b:
            left, right = max(j - 1, 0), min(j + 2, m - 1)
            both = max(0, min(m - 1, j - 3))
            b[i, j] = a[i, left] + 10 * a[i, right] + 100 * a[max(i - 1, 0), both]
        for i, j in c:
            c[i, j] = a[i, (j + 1) % m] + 10 * a[i, (j - 1 + m) % m] + 100 * a[(i + 1) % n, j]
            c[i, j] += 1000 * a[i, (j - 2) % m]
        for i, j in d:
            right = j + 1
            if right == m:
                right = 0
            left = j - 1 if j > 0 else m - 1
            d[i, j] = a[i, left] * 10 + a[i, right]

    x = numbers(n, m)
    a.from_numpy(x)
    run()
    i, j = np.indices((n, m))
    clamp = lambda k, count: np.clip(k, 0, count - 1)  # noqa: E731
    want = x[i, clamp(j - 1, m)] + 10 * x[i, clamp(j + 2, m)]
    want += 100 * x[clamp(i - 1, n), clamp(j - 3, m)]
    np.testing.assert_array_equal(b.to_numpy(), want)
    want = x[i, (j + 1) % m] + 10 * x[i, (j - 1) % m] + 100 * x[(i + 1) % n, j]
    np.testing.assert_array_equal(c.to_numpy(), want + 1000 * x[i, (j - 2) % m])
    np.testing.assert_array_equal(d.to_numpy(), x[i, (j - 1) % m] * 10 + x[i, (j + 1) % m])


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_neighbours_of_arrays(n, m):
    @ti.kernel
    def run(
        a: ti.types.ndarray(ti.i32, 2), b: ti.types.ndarray(ti.i32, 2), width: ti.i32
    ) -> ti.i32:
        total = 0
        for i, j in b:
            if j == 0 or j == b.shape[1] - 1 or i == 0 or i + 1 == b.shape[0]:
                b[i, j] = -1
            else:
                b[i, j] = a[i, j - 1] + a[i, j + 1] + a[i - 1, j]
        for i, j in b:
            b[i, j] += 1000 * a[i, (j + 1) % a.shape[1]] + 100 * a[i, (j + width - 1) % width]
        for i, j in a:
            for k in range(-1, 2):
                total += (k + 2) * a[i, min(max(j + k, 0), width - 1)]
        return total

    x, got = numbers(n, m), np.zeros((n, m), np.int32)
    total = run(x, got, m)
    want = np.full((n, m), -1, np.int32)
    want[1:-1, 1:-1] = x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] if n > 2 and m > 2 else 0
    i, j = np.indices((n, m))
    want += 1000 * x[i, (j + 1) % m] + 100 * x[i, (j - 1) % m]
    np.testing.assert_array_equal(got, want)
    assert total == sum((k + 2) * x[i, np.clip(j + k, 0, m - 1)].sum() for k in (-1, 0, 1))


def test_game_of_life():
    n = 128
    state, count = ti.field(ti.i32, (n, n)), ti.field(ti.i32, (n, n))

    @ti.func
    def alive(i, j):
        return state[(i + n) % n, (j + n) % n]

    @ti.kernel
    def step():
        for i, j in state:
            c = 0
            for a, b in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                if ti.static(a != 0 or b != 0):
                    c += alive(i + a, j + b)
            count[i, j] = c
        for i, j in state:
            s = state[i, j]
            state[i, j] = 1 if count[i, j] == 3 or (s == 1 and count[i, j] == 2) else 0

    x = (np.random.default_rng(1).random((n, n)) < 0.4).astype(np.int32)
    state.from_numpy(x)
    for _ in range(3):
        step()
        around = (-1, 0, 1)
        c = sum(np.roll(x, (a, b), (0, 1)) for a in around for b in around) - x
        x = ((c == 3) | ((x == 1) & (c == 2))).astype(np.int32)
    np.testing.assert_array_equal(state.to_numpy(), x)


@pytest.mark.parametrize("count", [0, 1, 2, 100, 1000])
def test_limits_that_are_arguments(count):
    """Whatever they are, also where they make no sense as widths of a row."""
    x = ti.field(ti.i32, 4096)
    most = 2**31 - 1

    @ti.kernel
    def run(out: ti.types.ndarray(ti.i32, 1), first: ti.i32, end: ti.i32, width: ti.i32):
        for i in range(first, end):
            k = (i + width) % width
            l = min(max(i + 3, 0), width - 1)  # noqa: E741
            if 0 <= k < 4096 and k == i:
                x[k] = k
            if i > first and i < end - 1:
                out[i - first] = l
            else:
                out[i - first] = -k

    def python(first, end, width):
        wrap = lambda v: (v + 2**31) % 2**32 - 2**31  # noqa: E731
        out = []
        for i in range(first, end):
            k = wrap(i + width) % width if width else 0
            l = min(max(wrap(i + 3), 0), wrap(width - 1))  # noqa: E741
            out.append(l if first < i < end - 1 else wrap(-k))
        return np.array(out, np.int32)

    for first in (0, -7, 5, -(2**31), most - count):
        for width in (count, 0, -5, 1, 64, count + 1, most, -(2**31)):
            out = np.zeros(count, np.int32)
            if count:
                run(out, first, first + count, width)
            want = python(first, first + count, width)
            np.testing.assert_array_equal(out, want, f"{first} {width}")


def test_indices_that_wrap_before_a_remainder():
    """As in generators of random numbers: the product wraps, and the remainder is in range."""
    n = 4099
    x, y, z = (ti.field(ti.i32, n) for _ in range(3))

    @ti.kernel
    def run(width: ti.i32):
        for i in x:
            x[i] = 3 * i
        for i in y:
            y[i] = x[(i * 1103515245 + 12345) % n]
        for i in z:
            k = i * 7919003
            z[i] = x[(k + 5) % width] + x[k - k // 1000 * 1000]

    run(n)
    product = np.arange(n, dtype=np.int64)
    wrapped = lambda v: (v + 2**31) % 2**32 - 2**31  # noqa: E731
    np.testing.assert_array_equal(y.to_numpy(), wrapped(product * 1103515245 + 12345) % n * 3)
    k = wrapped(product * 7919003)
    np.testing.assert_array_equal(z.to_numpy(), wrapped(k + 5) % n * 3 + k % 1000 * 3)


def test_rows_round_alike_however_they_are_divided():
    """Vectors and single cells may round sines differently: results depend on the width alone."""
    m = 5003
    results = []
    for count in (1, 2, 3, 7):
        ti.init(arch=ti.cpu, cpu_max_num_threads=count)
        a, b = ti.field(ti.f32, (3, m)), ti.field(ti.f32, (3, m))
        line, other = ti.field(ti.f32, 100_003), ti.field(ti.f32, 100_003)

        @ti.kernel
        def fill():
            for i, j in a:
                a[i, j] = ti.sin(j * 0.37) * 3 + i
            for i in line:
                line[i] = ti.sin(i * 0.37)

        @ti.kernel
        def run() -> ti.f32:
            total = 0.0
            for i, j in b:
                left = a[i, max(j - 1, 0)]
                right = a[i, min(j + 1, m - 1)]
                b[i, j] = ti.exp(left) / (1 + ti.sin(right) ** 2)
            for i, j in b:
                total += b[i, (j + 1) % m] * b[i, j]
            for i in line:
                other[i] = ti.cos(line[max(i - 1, 0)]) if i < 100_000 else 0.5
            return total

        fill()
        total = run()
        for _ in range(5):
            run()
        results.append((total, b.to_numpy(), other.to_numpy()))
    for total, rows, cells in results[1:]:
        assert total == results[0][0]
        np.testing.assert_array_equal(rows, results[0][1])
        np.testing.assert_array_equal(cells, results[0][2])


def test_a_serial_loop_keeps_its_order():
    x, y = ti.field(ti.i32, 1000), ti.field(ti.i32, 1000)

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(1000):
            x[i] = x[max(i - 1, 0)] + 1
        ti.loop_config(parallelize=1)
        for i in y:
            y[i] = y[max(i - 1, 0)] + 1

    run()
    np.testing.assert_array_equal(x.to_numpy(), np.arange(1, 1001))
    np.testing.assert_array_equal(y.to_numpy(), np.arange(1, 1001))


def test_debug_mode_names_the_same_element():
    ti.init(arch=ti.cpu, debug=True, cpu_max_num_threads=1)
    x = ti.field(ti.i32, (2, 100))

    @ti.kernel
    def run(shift: ti.i32):
        for i, j in x:
            x[i, max(j + shift, 0)] = 1

    run(0)
    with pytest.raises(ti.TaichiAssertionError, match=r"0, 100"):
        run(1)
