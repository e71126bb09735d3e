"""Products of matrices and other loops whose rows share what an inner loop reads: an iteration
computes several rows, and what is left over one by one."""

import kiln as ti
import numpy as np
import pytest

LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
# Rows, length of the inner loop, columns.
SHAPES = [(1, 8, 1), (7, 9, 5), (8, 1, 16), (9, 0, 33), (16, 20, 31), (17, 33, 70), (35, 11, 64)]


@pytest.fixture(params=LEVELS, autouse=True)
def level(request):
    ti.init(arch=ti.cpu, cpu_level=request.param)


def whole_numbers(seed, *shape, dtype=np.float32):
    """Small enough for exact products and sums."""
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64], ids=str)
def test_products_of_arrays(dtype):
    @ti.kernel
    def multiply(a: ti.types.ndarray(), b: ti.types.ndarray(), c: ti.types.ndarray()):
        for i, j in c:
            s = a[0, 0] * 0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    for rows, length, columns in SHAPES:
        if length == 0:
            continue  # has no element that could tell the type
        a, b = (whole_numbers(7, *s, dtype=dtype) for s in ((rows, length), (length, columns)))
        c = np.full((rows, columns), 77, dtype)
        multiply(a, b, c)
        np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("rows, length, columns", SHAPES)
def test_sums_in_cells(rows, length, columns):
    """`+=` on an element, as most programs write it, of fields and of arrays."""
    a, b = ti.field(ti.f32, (rows, max(length, 1))), ti.field(ti.f32, (max(length, 1), columns))
    c = ti.field(ti.f32, (rows, columns))

    @ti.kernel
    def of_fields(n: ti.i32):
        for i, j in c:
            c[i, j] = 0.5
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j]

    @ti.kernel
    def of_arrays(a: ti.types.ndarray(), b: ti.types.ndarray(), c: ti.types.ndarray(), n: ti.i32):
        for i, j in c:
            c[i, j] = 0.5
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j]

    left, right = whole_numbers(1, *a.shape), whole_numbers(2, *b.shape)
    a.from_numpy(left)
    b.from_numpy(right)
    of_fields(length)
    want = left[:, :length] @ right[:length] + np.float32(0.5)
    np.testing.assert_array_equal(c.to_numpy(), want)
    result = np.zeros_like(want)
    of_arrays(left, right, result, length)
    np.testing.assert_array_equal(result, want)


def test_parts_of_fields():
    """Rows and columns that begin elsewhere, of fields with offsets and of a layout by blocks."""
    rows, length, columns = 26, 13, 40
    a = ti.field(ti.f32, (rows, length), offset=(-3, 2))
    b = ti.field(ti.f32, (length, columns), offset=(2, -5))
    c = ti.field(ti.f32)
    ti.root.dense(ti.ij, (4, 6)).dense(ti.ij, (8, 8)).place(c)

    @ti.kernel
    def run(end: ti.i32):
        for i, j in ti.ndrange((-2, end), (-4, 30)):
            s = 1.0
            for k in range(2, 2 + length):
                s = ti.max(s, a[i, k] + b[k, j] * 2)
            c[i + 3, j + 5] = s + i

    left, right = whole_numbers(3, rows, length), whole_numbers(4, length, columns)
    a.from_numpy(left)
    b.from_numpy(right)
    for end in (23, 14, 7, -2, -9):
        c.fill(-1)
        run(end)
        want = np.full((32, 48), -1, np.float32)
        for i in range(-2, end):
            best = np.max(left[i + 3, :, None] + right[:, 1:35] * 2, axis=0)
            want[i + 3, 1:35] = np.maximum(best, 1) + i
        np.testing.assert_array_equal(c.to_numpy(), want)


def test_what_rows_carry():
    """Two sums, an inner loop within another, batches, and values that rows share."""
    batches, rows, length, columns = 3, 21, 10, 37
    x, y = ti.field(ti.f32, (batches, rows, length)), ti.field(ti.f32, (batches, length, columns))
    least, total = (ti.field(ti.f32, (batches, rows, columns)) for _ in range(2))

    @ti.kernel
    def run():
        for n, i, j in total:
            low, s, shared = 1e9, 0.0, 0.0
            for k in range(length):
                low = ti.min(low, x[n, i, k] - y[n, k, j])
                s += x[n, i, k] * y[n, k, j]
                shared += y[n, k, j]
            for k in range(length):
                for m in range(length):
                    s += x[n, i, m] * (y[n, k, j] + y[n, m, j])
            least[n, i, j] = low + shared
            total[n, i, j] = s

    left, right = whole_numbers(5, *x.shape), whole_numbers(6, *y.shape)
    x.from_numpy(left)
    y.from_numpy(right)
    run()
    pairs = left[:, :, :, None] - right[:, None]
    shared = right.sum(1)[:, None]
    np.testing.assert_array_equal(least.to_numpy(), pairs.min(2) + shared)
    products = left @ right
    want = products + left.sum(2)[:, :, None] * shared + products * length
    np.testing.assert_array_equal(total.to_numpy(), want)


def test_arrays_that_are_one():
    """The array of the sums is also that of the factors: each iteration sees its own stores."""

    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray(), c: ti.types.ndarray()):
        for i, j in c:
            c[i, j] = 0
            for k in range(a.shape[1]):
                c[i, j] += a[i + 16, k] * b[k + 32, j]

    whole = whole_numbers(8, 48, 16)
    want = whole.copy()
    want[:16] = whole[16:32] @ whole[32:]
    part = whole[:16]
    run(whole, whole, part)
    np.testing.assert_array_equal(whole, want)
    # Two arguments that add to one array: no addition is lost.

    @ti.kernel
    def twice(a: ti.types.ndarray(), c: ti.types.ndarray()):
        for i in c:
            for k in range(10):
                c[i] += k
                a[a.shape[0] - 1 - i] += 1

    sums = np.zeros(20_000, np.int32)
    for _ in range(20):
        twice(sums, sums)
    np.testing.assert_array_equal(sums, 20 * (45 + 10))
