"""Loops that store a part of each cell: vectors, by masks where the processor has some, change no
other component."""

import kiln as ti
import numpy as np
import pytest

SIZES = [1, 7, 8, 9, 31, 64, 203]
STORED = [(2, [0]), (2, [1]), (3, [0, 2]), (3, [1]), (4, [1, 2, 3]), (5, [0, 3]), (6, [0, 1, 2])]
STORED += [(7, [2, 3, 6]), (8, [0, 5, 7]), (8, [1])]


@pytest.fixture(params=[1, 0], ids=["one-thread", "threads"], autouse=True)
def setting(request):
    ti.init(arch=ti.cpu, cpu_max_num_threads=request.param)


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64, ti.i32, ti.u8], ids=str)
@pytest.mark.parametrize("count, stored", STORED, ids=str)
def test_components(dtype, count, stored):
    cells = [ti.Vector.field(count, dtype, n) for n in SIZES]
    scales = ti.field(dtype, max(SIZES))

    @ti.kernel
    def run(v: ti.template(), w: ti.template()):
        for i in v:
            for c in ti.static(stored):
                v[i][c] = v[i][c] * w[i] + v[i][(c + 1) % count]

    numbers = np.random.default_rng(3)
    scales.from_numpy(numbers.integers(0, 9, max(SIZES)).astype(scales.to_numpy().dtype))
    for v, n in zip(cells, SIZES):
        start = numbers.integers(0, 9, (n, count)).astype(v.to_numpy().dtype)
        v.from_numpy(start)
        run(v, scales)
        want = start.copy()
        for c in stored:  # in the kernel's order: later components see what earlier ones stored
            want[:, c] = want[:, c] * scales.to_numpy()[:n] + want[:, (c + 1) % count]
        np.testing.assert_array_equal(v.to_numpy(), want)


def test_fields_in_one_cell():
    n = 203
    place, speed, mass = ti.Vector.field(3, ti.f32), ti.Vector.field(3, ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, n).place(place, speed, mass)

    @ti.kernel
    def move():
        for i in place:
            place[i] += speed[i] * mass[i]

    @ti.kernel
    def push(first: ti.i32, end: ti.i32):
        for i in range(first, end):
            speed[i] = speed[i] * 2 - place[i + 1]

    numbers = np.random.default_rng(4)
    p, s = (numbers.integers(-9, 9, (n, 3)).astype(np.float32) for _ in range(2))
    m = numbers.integers(1, 9, n).astype(np.float32)
    for field, values in ((place, p), (speed, s), (mass, m)):
        field.from_numpy(values)
    move()
    push(5, n - 1)
    p = p + s * m[:, None]
    s[5 : n - 1] = s[5 : n - 1] * 2 - p[6:n]
    for field, values in ((place, p), (speed, s), (mass, m)):
        np.testing.assert_array_equal(field.to_numpy(), values)


def test_rows_of_pairs():
    rows, columns = 9, 61
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.ij, (rows, columns)).place(x, y)

    @ti.kernel
    def run():
        for i, j in ti.ndrange((1, rows - 1), (2, columns - 3)):
            y[i, j] = x[i, j] * 2 + x[i - 1, j] - x[i + 1, j + 1]

    start = np.random.default_rng(5).integers(-9, 9, (rows, columns)).astype(np.float32)
    x.from_numpy(start)
    y.fill(7)
    run()
    want = np.full((rows, columns), 7, np.float32)
    inner = np.s_[1 : rows - 1, 2 : columns - 3]
    want[inner] = start[inner] * 2 + start[: rows - 2, 2 : columns - 3] - start[2:, 3 : columns - 2]
    np.testing.assert_array_equal(x.to_numpy(), start)
    np.testing.assert_array_equal(y.to_numpy(), want)


@pytest.mark.parametrize("n", [1, 8, 50, 203])
def test_every_other_element(n):
    x, y = ti.field(ti.f32, 3 * n + 1), ti.field(ti.f32, 3 * n + 1)

    @ti.kernel
    def even():
        for i in range(n):
            x[2 * i] = x[2 * i] * 2 + y[2 * i + 1]

    @ti.kernel
    def odd():
        for i in range(n):
            x[2 * i + 1] = y[2 * i] - y[2 * i + 2]

    @ti.kernel
    def between():
        for i in range(1, n):
            x[2 * i] = x[2 * i - 1] + x[2 * i + 1]

    @ti.kernel
    def two_of_three():
        for i in range(n):
            x[3 * i] = y[i]
            x[3 * i + 2] = y[i + 1] * 2

    a, b = np.random.default_rng(n).integers(-9, 9, (2, 3 * n + 1)).astype(np.float32)
    x.from_numpy(a)
    y.from_numpy(b)
    even()
    a[0 : 2 * n : 2] = a[0 : 2 * n : 2] * 2 + b[1 : 2 * n + 1 : 2]
    np.testing.assert_array_equal(x.to_numpy(), a)
    odd()
    a[1 : 2 * n : 2] = b[0 : 2 * n : 2] - b[2 : 2 * n + 2 : 2]
    np.testing.assert_array_equal(x.to_numpy(), a)
    between()
    a[2 : 2 * n : 2] = a[1 : 2 * n - 1 : 2] + a[3 : 2 * n + 1 : 2]
    np.testing.assert_array_equal(x.to_numpy(), a)
    two_of_three()
    a[0 : 3 * n : 3], a[2 : 3 * n : 3] = b[:n], b[1 : n + 1] * 2
    np.testing.assert_array_equal(x.to_numpy(), a)
    np.testing.assert_array_equal(y.to_numpy(), b)
