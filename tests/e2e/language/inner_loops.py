"""Serial loops of all lengths in a thread: code for GPUs runs several iterations at once, and has
other code for what is left over."""

# ruff: noqa: E741, PERF
import numpy as np
from harness import case, ti

# Around the lengths of rounds.
LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 19, 20, 21, 31, 32, 33, 35, 47, 48, 63, 64, 65, 70]


def integers(*shape):
    return (np.arange(np.prod(shape), dtype=np.int32) * 7919 % 1009 - 400).reshape(shape)


@case()
def products(show):
    @ti.kernel
    def k(a: ti.types.ndarray(), b: ti.types.ndarray(), c: ti.types.ndarray()):
        for i, j in c:
            s = 0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    for n in LENGTHS:
        a, b, c = integers(2, n), integers(n, 3), np.zeros((2, 3), np.int32)
        k(a, b, c)
        show(n, c.tolist(), bool((c == a @ b).all()))


@case(fast_math=False)
def floats_add_in_order(show):
    @ti.kernel
    def k(a: ti.types.ndarray(), first: ti.i32, last: ti.i32, out: ti.types.ndarray()):
        for i in out:
            s = 0.0
            for k in range(first, last):
                s += a[k]
            out[i] = s

    out = np.zeros(2, np.float32)
    a = (1 / (1 + np.arange(80))).astype(np.float32)
    for n in LENGTHS:
        for first in (0, 3):
            expected = np.float32(0)
            for i in range(first, first + n):
                expected += a[i]
            k(a, first, first + n, out)
            show(n, first, bool((out == expected).all()))


@case()
def indices_after_and_in_the_loop(show):
    x = ti.field(ti.i32, 100)

    @ti.kernel
    def k(first: ti.i32, last: ti.i32, out: ti.types.ndarray()):
        for i in range(1):
            s, at = 0, -1
            largest = -1000
            for k in range(first, last):
                s += x[k - first] * k
                at = k
                if x[k - first] > largest:
                    largest = x[k - first]
            out[0], out[1], out[2] = s, at, largest

    x.from_numpy(integers(100))
    for n in LENGTHS:
        for first in (-5, 2):
            k(first, first + n, out := np.zeros(3, np.int32))
            show(n, out.tolist())


@case()
def loops_with_while(show):
    @ti.kernel
    def k(a: ti.types.ndarray(), step: ti.i32) -> ti.i32:  # one thread
        s, k = 0, 0
        while k < a.shape[0]:
            s += a[k] * (k + 1)
            k += 1
        k = a.shape[0] - 1
        while k >= 0:
            s += a[k]
            k -= step
        return s + k

    for n in LENGTHS:
        show(n, k(integers(n), 1), k(integers(n), 3))


@case()
def breaks_and_continues(show):
    @ti.kernel
    def k(a: ti.types.ndarray(), limits: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in limits:
            s, count = 0, 0
            for k in range(a.shape[0]):
                if a[k] % 3 == 0:
                    continue
                if a[k] > limits[i]:
                    break
                s += a[k]
                count += 1
            out[i, 0], out[i, 1] = s, count

    for n in LENGTHS:
        k(integers(n), np.array([500, 10000], np.int32), out := np.zeros((2, 2), np.int32))
        show(n, out.tolist())


@case()
def stores_that_later_iterations_read(show):
    @ti.kernel
    def sums(a: ti.types.ndarray()):
        for i in range(1):
            for k in range(1, a.shape[0]):
                a[k] += a[k - 1]

    @ti.kernel
    def shifts(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(1):
            for k in range(a.shape[0] - 2):
                b[k + 2] = b[k] + a[k + 1]

    for n in LENGTHS[2:]:
        a, b = integers(n), integers(n) // 2
        shifts(a, b)
        shifts(a, a)
        sums(a)
        show(n, a.tolist()[-5:], b.tolist()[-5:])


@case()
def columns_and_backwards(show):
    x = ti.field(ti.i64, (70, 3))
    bytes_ = ti.field(ti.i8, (70, 5))

    @ti.kernel
    def k(n: ti.i32, m: ti.types.ndarray(), sums: ti.types.ndarray()):
        for i in sums:
            s = ti.i64(0)
            for k in range(n):
                s += x[n - 1 - k, 1] * (k + 1) + bytes_[k, 2] * m[k, 1, 2]
            for k in range(n):
                m[n - 1 - k, 0, 1] += ti.cast(x[k, 2], ti.i16)
            sums[i] = s

    x.from_numpy(integers(70, 3).astype(np.int64))
    bytes_.from_numpy((integers(70, 5) % 100).astype(np.int8))
    for n in LENGTHS:
        m, sums = integers(70, 2, 3).astype(np.int16), np.zeros(1, np.int64)
        k(n, m, sums)
        show(n, int(sums[0]), int(m[:, 0, 1].sum()), int(m[0, 0, 1]))


@case()
def values_that_trade_places(show):
    @ti.kernel
    def k(a: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(1):
            one, other, before = 0, 1, -1
            for k in range(a.shape[0]):
                one, other = other, (one + other * a[k]) % 10007
                before = a[k]
            out[0], out[1], out[2] = one, other, before

    for n in LENGTHS:
        k(integers(n), out := np.zeros(3, np.int32))
        show(n, out.tolist())


@case()
def rows_of_a_sparse_matrix(show):
    @ti.kernel
    def k(
        start: ti.types.ndarray(),
        column: ti.types.ndarray(),
        value: ti.types.ndarray(),
        x: ti.types.ndarray(),
        y: ti.types.ndarray(),
    ):
        for i in y:
            s = 0
            for k in range(start[i], start[i + 1]):
                s += value[k] * x[column[k]]
            y[i] = s

    start = np.cumsum([0, *LENGTHS]).astype(np.int32)
    column = integers(start[-1]) % 50
    y = np.zeros(len(LENGTHS), np.int32)
    k(start, column, integers(start[-1]), integers(50), y)
    show(y.tolist())


@case()
def loops_in_loops(show):
    x = ti.field(ti.i32, (12, 40))

    @ti.func
    def row(i, n):
        s = 0
        for k in range(n):
            s += x[i, k] * (1 + k % 3)
        return s

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        s = 0
        for i in range(12):  # in parallel
            for j in range(i, 12):
                s += row(i, (n * j) % 40) - row(j, n)
                for k in range(3):
                    s += x[j, k]
        return s

    x.from_numpy(integers(12, 40))
    for n in (0, 1, 3, 16, 17, 33, 39):
        show(n, k(n))


@case()
def bounds_that_are_extreme(show):
    x = ti.field(ti.i32, 100)

    @ti.kernel
    def k(first: ti.types.ndarray(), last: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in first:
            s = 0
            for k in range(first[i], last[i]):
                s += x[k - first[i]] + (k & 3)
            out[i] = s

    x.from_numpy(integers(100))
    least, most = -(2**31), 2**31 - 1
    for n in (0, 1, 16, 19, 70):
        first = np.array([most - n, least, 5, most], np.int32)
        last = np.array([most, least + n, 5 - n, least], np.int32)
        k(first, last, out := np.zeros(4, np.int32))
        show(out.tolist())


@case()
def cells_that_inner_loops_update_in_branches(show):
    n = 40
    x = ti.field(ti.f32, n)
    sums, counts = ti.field(ti.f32, n), ti.field(ti.i32, n)
    short = ti.field(ti.f16, n // 2)
    shifted = ti.field(ti.i64, (n, 4), offset=(-7, 2))
    after = ti.field(ti.i32, n)
    last = ti.Vector.field(2, ti.i32, n)

    @ti.kernel
    def k(a: ti.types.ndarray(), m: ti.i32):
        for i in range(n):
            counts[i] = -1
            for j in range(m):
                if i != j:
                    sums[i] += x[j]
                    counts[i] += 1
                if j > i + 20:
                    break
            after[i] = counts[i]
        for i in range(n + 30):  # more than there are cells
            for j in range(m):
                if i < n // 2 and j % 3 == 0:
                    short[i] += 0.25
                if i < n and j % 7 == i % 7:
                    if j > 30:
                        continue
                    a[i] -= j
        for i, c in ti.ndrange((-7, n - 7), (2, 6)):
            j = m
            while j > 0:
                j -= 1
                for b in range(j % 4):
                    if b != c - 2:
                        shifted[i, c] += b + 1
                    else:
                        shifted[i, c] = ti.max(shifted[i, c], j)
        for i in range(n):
            for j in range(m):
                if j % 5 == i % 5:
                    last[i] = [j, 0]
                    if j >= i % 4:
                        break  # mostly in the first iteration that stores
                    last[i][1] = -j
        for i in range(n):
            for j in range(m):
                if j % 2 == 0:
                    x[(i + 1) % n] += 0.5  # of several iterations: an atomic

    a = np.arange(n, dtype=np.float32)
    x.from_numpy(np.arange(n, dtype=np.float32))
    for m in (n, 0, 13):
        k(a, m)
        show(sums.to_numpy().tolist(), counts.to_numpy().tolist(), after.to_numpy().tolist())
        show(last.to_numpy().tolist())
        show(short.to_numpy().tolist(), a.tolist(), x.to_numpy().tolist())
        show(shifted.to_numpy().sum(axis=0).tolist(), shifted.to_numpy()[::9].tolist())
