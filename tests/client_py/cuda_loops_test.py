"""Loops on CUDA whose threads take several iterations at a time, histograms in shared memory, and
tasks that are launched as one, on the emulator: they give what the CPU gives."""

import pytest

pytestmark = pytest.mark.usefixtures("emulator")

COMPARED = '''
import os
import sys
import tempfile

import numpy as np
import kiln as ti

rng = np.random.default_rng(3)


def printed(call, *args):
    """What the call prints, and returns."""
    sys.stdout.flush()
    own = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            result = call(*args)
            sys.stdout.flush()
        finally:
            os.dup2(own, 1)
            os.close(own)
        file.seek(0)
        return file.read(), result


def numbers(shape, dtype=np.float32):
    return rng.integers(0, 50, shape).astype(dtype)


# Lengths around multiples of a chunk, and loops that begin elsewhere.
def ranges():
    @ti.kernel
    def saxpy(a: ti.f32, x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            y[i] = a * x[i] + y[i]

    @ti.kernel
    def between(x: ti.types.ndarray(), y: ti.types.ndarray(), begin: ti.i32, end: ti.i32):
        for i in range(begin, end):
            y[i] = x[i] + x[i + 1] * 2

    results = []
    for n in 0, 1, 3, 4, 5, 16, 1000, 1030:
        x, y = numbers(n), numbers(n)
        if n > 0:
            saxpy(2, x, y)
        results.append(y)
    for begin, end in (0, 0), (1, 2), (3, 3), (1, 64), (2, 67), (5, 6), (7, 4), (4, 99):
        x, y = numbers(101), numbers(100)
        between(x, y, begin, end)
        results.append(y)
    return results


def types():
    results = []
    for dtype in (ti.u1, ti.u8, ti.i8, ti.i16, ti.u32, ti.i64, ti.f16, ti.f32, ti.f64):
        x, y = ti.field(dtype, 33_003), ti.field(dtype, 33_003)

        @ti.kernel
        def fill():
            for i in x:
                x[i] = ti.cast(i % 2, dtype)

        @ti.kernel
        def shift():
            for i in range(1, 33_002):
                y[i] = x[i - 1] + x[i]

        fill()
        shift()
        results += [a.to_numpy().astype(np.float64) for a in (x, y)]
    a, b, c = ti.field(ti.u8, 40_000), ti.field(ti.f32, 40_000), ti.field(ti.f64, 40_000)

    @ti.kernel
    def mixed():
        for i in a:
            c[i] = b[i] + a[i]
            a[i] = ti.cast(i & 255, ti.u8)
            b[i] = 3

    mixed()
    mixed()
    return [*results, a.to_numpy(), b.to_numpy(), c.to_numpy()]


# Rows that are aligned, that are not, and that are known to be at run time only.
def rows():
    results = []
    for shape, offset in ((130, 1024), None), ((40, 1003), None), ((64, 1024), (-3, -5)):
        x, y = (ti.field(ti.f32, shape, offset=offset) for _ in range(2))
        x.from_numpy(numbers(shape))
        top, left = offset or (0, 0)

        @ti.kernel
        def stencil():
            for i, j in ti.ndrange(
                (top + 1, top + shape[0] - 1), (left + 1, left + shape[1] - 1)
            ):
                y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]

        stencil()
        results.append(y.to_numpy())

    @ti.kernel
    def swap(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i, j in y:
            y[i, j] = x[i, j] * 2 + i - j

    @ti.kernel
    def deep(x: ti.types.ndarray()):
        for i, j, k in x:
            x[i, j, k] += i * 100 + j * 10 + k

    for n, m in (5, 16), (4, 7), (1, 1), (3, 64), (0, 8), (9, 18):
        x, y = numbers((n, m)), numbers((n, m))
        if n > 0:
            swap(x, y)
        z = numbers((2, 3, m))
        deep(z)
        results += [y, z]
    wide = ti.field(ti.i32, (4, 3, 4000))

    @ti.kernel
    def number():
        for i, j, k in wide:
            wide[i, j, k] = i * 20_000 + j * 5_000 + k

    number()
    return [*results, wide.to_numpy()]


# One array twice, and views of one: no two of them are told apart.
def overlapping():
    @ti.kernel
    def copy(x: ti.types.ndarray(), y: ti.types.ndarray()):
        ti.loop_config(serialize=True)
        for i in range(x.shape[0] - 1):
            y[i] = x[i + 1]

    @ti.kernel
    def double(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            y[i] = x[i] * 2

    a = numbers(50)
    copy(a, a)
    b = numbers(50)
    double(b, b)
    return a, b


# What is no chunk: branches, loops, random numbers, atomics, vectors, other strides.
def others():
    n = 40_000
    x, y, v = ti.field(ti.f32, n), ti.field(ti.i32, n), ti.Vector.field(3, ti.f32, n)
    soa = ti.Vector.field(3, ti.f32, n, layout=ti.Layout.SOA)
    block = ti.field(ti.f32)
    ti.root.dense(ti.i, n // 100).dense(ti.i, 100).place(block)

    @ti.kernel
    def k():
        for i in x:
            if i % 3 == 0:
                continue
            x[i] = i
        for i in y:
            for j in range(i % 7):
                if j == 4:
                    break
                y[i] += j
        for i in v:
            v[i] = ti.Vector([i, i + 1, i + 2])
            soa[i] = v[i] + 1
        for i in block:
            block[i] = i * 0.5
        for i in range(n // 2):
            y[2 * i] = y[2 * i] + 1
        for i in range(1, n):
            y[n - i] += ti.i32(x[i] != 0)

    k()
    p, q = ti.field(ti.types.quant.int(5)), ti.field(ti.types.quant.int(7))
    word = ti.BitpackedFields(32)
    word.place(p, q)
    ti.root.dense(ti.i, n).place(word)

    @ti.kernel
    def packed():
        for i in p:
            p[i] = i % 13
            q[i] = p[i] + 1

    packed()
    fields = [x, y, v, soa, block, p, q]
    return [field.to_numpy() for field in fields]


# Sums of chunks, of integers and of floats that are integers.
def sums():
    @ti.kernel
    def of(x: ti.types.ndarray(), begin: ti.i32) -> ti.i64:
        s = ti.i64(0)
        for i in range(begin, x.shape[0]):
            s += ti.cast(x[i], ti.i64)
        return s

    @ti.kernel
    def least(x: ti.types.ndarray()) -> ti.f32:
        s = 1e9
        for i in x:
            ti.atomic_min(s, x[i])
        return s

    n = 70_000
    field = ti.field(ti.f32, n)
    field.from_numpy(numbers(n))

    @ti.kernel
    def all_of() -> ti.f32:
        s = 0.0
        for i in field:
            s += field[i]
        return s

    found = [all_of(), least(numbers(10_001) + 3)]
    for dtype in np.int32, np.uint8, np.float32, np.int64:
        found += [of(numbers(m, dtype), b) for m, b in ((10_007, 0), (5, 2), (0, 0), (3000, 1))]
    return np.array(found, np.float64)


def histograms():
    n, bins = 60_000, 64
    results = []
    for dtype in ti.i32, ti.i64, ti.f32, ti.f64:
        up, least, most = (ti.field(dtype, bins) for _ in range(3))
        table = ti.field(dtype, (4, 8))
        data = ti.field(ti.i32, n)
        data.from_numpy(rng.integers(0, bins, n).astype(np.int32))
        up.fill(5)

        @ti.kernel
        def count():
            for i in data:
                up[data[i]] += 1
                if i % 2 == 0:
                    up[bins - 1] -= 3

        @ti.kernel
        def extremes():
            for i in data:
                ti.atomic_min(least[data[i]], ti.cast(data[i] - i, dtype))
                ti.atomic_max(most[data[i] // 2], ti.cast(i, dtype))
                table[i % 4, data[i] % 8] += ti.cast(2, dtype)

        # Old values, other accesses and vectors of few cells.
        @ti.kernel
        def used() -> ti.i32:
            s = 0
            for i in range(6400):
                old = ti.atomic_add(up[i % bins], ti.cast(1, dtype))
                s += ti.i32(old < 0)
            return s

        @ti.kernel
        def read():
            for i in range(n):
                up[data[i] // 2] += ti.cast(1, dtype)
                data[i] = ti.i32(up[bins - 1] * 0)

        count()
        extremes()
        results.append(np.array(used()))
        read()
        results += [field.to_numpy() for field in (up, least, most, table, data)]
    # Reads before the updates, of neighbours, behind branches, and of elements that there are not;
    # rows of lengths that are no multiples of vectors; indices beyond the bins.
    for shape in (1, 7000), (70, 101), (64, 112):
        x, y = ti.field(ti.u8, shape), ti.field(ti.f64, shape)
        x.from_numpy(rng.integers(0, 64, shape).astype(np.uint8))
        y.from_numpy(rng.integers(0, 64, shape).astype(np.float64))
        seen, other = ti.field(ti.i64, (8, 9)), ti.field(ti.i32, 70)

        @ti.kernel
        def after_reads(low: ti.i32, high: ti.i32):
            for i, j in ti.ndrange(x.shape[0], (low, high)):
                k = int(x[i, j]) + int(y[i, j + 1])
                if k % 3 != 1:
                    seen[k % 8, x[i, j - 1] % 9] += k
                    if k % 5 == 0:
                        continue
                    seen[0, 8] += 1
                other[k % 70] += ti.i32(y[i, j + 1])
                if k < 2:
                    other[70 + k] += 1

        for low in 1, 2, 5, 8:
            for high in low, low + 3, shape[1] - 1:
                after_reads(low, high)
        results += [seen.to_numpy(), other.to_numpy()]
    # Of a size that blocks have no memory for.
    for size in 4096, 4097:
        large = ti.field(ti.i32, size)

        @ti.kernel
        def count_large():
            for i in range(64 * 4200):
                large[(i * 7919) % size] += i % 5

        count_large()
        results.append(large.to_numpy())
    pair = ti.Vector.field(2, ti.i32, 16)
    bits = ti.field(ti.u32, 4)

    @ti.kernel
    def pairs(n: ti.i32):
        for i in range(n):
            pair[i % 16] += ti.Vector([1, i % 3])
            bits[i % 4] |= ti.u32(1) << ti.u32(i % 31)

    for n in 0, 1, 100, 1023, 1024, 5000:
        pairs(n)
        results += [pair.to_numpy(), bits.to_numpy()]
    return results


# As histograms, in arrays, which share memory or not, and are small or not.
def array_histograms():
    Ints = ti.types.ndarray(dtype=ti.i32, ndim=1)

    @ti.kernel
    def count(x: Ints, bins: Ints):
        for i in x:
            bins[x[i] % bins.shape[0]] += 1

    @ti.kernel
    def least(x: Ints, low: Ints, high: Ints):
        for i in x:
            ti.atomic_min(low[x[i] % 7], x[i])
            ti.atomic_max(high[x[i] % 5], x[i])

    @ti.kernel
    def read_back(n: ti.i32, once: Ints, again: Ints, seen: Ints):
        for i in range(n):
            if i < once.shape[0]:
                once[i] += i
                seen[i] = again[i]

    results = []
    x = ti.ndarray(ti.i32, 20_000)
    x.from_numpy(rng.integers(0, 1 << 20, 20_000, np.int32))
    for size in 1, 100, 312, 313, 4096, 5000:
        bins = ti.ndarray(ti.i32, size)
        count(x, bins)
        results.append(bins.to_numpy())
    low, high = ti.ndarray(ti.i32, 7), ti.ndarray(ti.i32, 5)
    low.fill(1 << 30)
    least(x, low, high)
    results += [low.to_numpy(), high.to_numpy()]
    for n in 10, 5000:
        once, seen = ti.ndarray(ti.i32, 50), ti.ndarray(ti.i32, 50)
        read_back(n, once, once, seen)
        results += [once.to_numpy(), seen.to_numpy()]
    return results


# Loops over rows and columns that read in loops of their own; each iteration has its number.
def tiles():
    Two, Three = (ti.types.ndarray(dtype=ti.f32, ndim=n) for n in (2, 3))

    @ti.kernel
    def product(a: Two, b: Two, c: Two):
        for i, j in c:
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]

    @ti.kernel
    def blur(x: Three, y: Three):
        for i, j, k in ti.ndrange((1, x.shape[0]), (2, x.shape[1]), x.shape[2]):
            for n in range(k + 1):
                y[i, j, k] += x[i - 1, j - 2, n]
            y[i, j, k] += ti.floor(ti.random() * 4)

    results = []
    for shape in (1, 1, 3), (3, 2, 33), (4, 5, 64), (9, 3, 31), (130, 1, 2), (2, 7, 1), (5, 2, 100):
        rows, inner, columns = shape
        shapes = (rows, inner), (inner, columns), (rows, columns)
        a, b, c = (ti.ndarray(ti.f32, one) for one in shapes)
        for array in a, b:
            array.from_numpy(rng.integers(0, 9, array.shape).astype(np.float32))
        product(a, b, c)
        x, y = (ti.ndarray(ti.f32, (rows, inner + 3, columns)) for _ in range(2))
        x.from_numpy(rng.integers(0, 9, x.shape).astype(np.float32))
        blur(x, y)
        results += [c.to_numpy(), y.to_numpy()]
    return results


# Serial code and short loops in a row: prints, random numbers, returns, sums.
def short_tasks():
    x, total = ti.field(ti.f32, 64), ti.field(ti.f32, ())

    @ti.kernel
    def step(flag: ti.i32) -> ti.i32:
        a = ti.random()
        total[None] = a
        print("first", flag)
        for i in range(64):
            x[i] = ti.random() + total[None]
            if i % 20 == 3:
                print("loop", i, x[i] > 1)
        ti.loop_config(serialize=True)
        for i in range(63):
            x[i + 1] += x[i]
        if flag == 1:
            print("one", x[63] > 0)
        s = 0
        for i in range(50):
            s += i
        print("sum", s)
        for i, j in ti.ndrange(5, 6):
            x[i * 6 + j] += s
        return s

    ti.init(arch=arch_now, random_seed=3)
    x, total = ti.field(ti.f32, 64), ti.field(ti.f32, ())
    results = []
    for flag in 0, 1, 2:
        text, result = printed(step, flag)
        assert len(text.splitlines()) >= 6
        results += [np.array(result), np.frombuffer(text, np.uint8), x.to_numpy()]
    return results


CASES = ranges, types, rows, overlapping, others, sums, histograms, array_histograms, tiles
CASES += (short_tasks,)
'''


def test_loops_give_what_the_cpu_gives(compare_with_cpu):
    compare_with_cpu(COMPARED)


# A block has 48 KB of shared memory.
MUCH_SHARED_MEMORY = """
import numpy as np
import kiln as ti


# Two hundred loops that one launch joins, with sums of 32 bytes for each warp or of bins.
def joined():
    x, sums = ti.field(ti.f64, 64), ti.field(ti.f64, 200)
    a, b = ti.ndarray(ti.f64, 3), ti.ndarray(ti.f64, 2)
    x.from_numpy(rng.random(64).round(3))

    @ti.kernel
    def add():
        for k in ti.static(range(200)):
            for i in range(64):
                sums[k] += ti.floor(x[i] * 1000) * (k + 1)

    @ti.kernel
    def count(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for k in ti.static(range(4)):
            for i in range(100):
                a[i % 3] += k + 1.0
                b[i % 2] += 1.0

    add()
    count(a, b)
    return sums.to_numpy(), a.to_numpy(), b.to_numpy()


# Many sums of one loop, also where a block has all the warps that it can.
def accumulators():
    sums = ti.field(ti.f64, 200)

    @ti.kernel
    def add(n: ti.i32, large: ti.template()):
        ti.loop_config(block_dim=1024 if large else 128)
        for i in range(n):
            for k in ti.static(range(200)):
                sums[k] += i + k

    add(700, False)
    add(1500, True)
    return sums.to_numpy()


CASES = joined, accumulators
"""


def test_loops_share_what_memory_a_block_has(compare_with_cpu):
    compare_with_cpu(MUCH_SHARED_MEMORY)


MISALIGNED = """
@ti.kernel
def twice(x: ti.types.ndarray(), y: ti.types.ndarray()):
    for i in x:
        y[i] = x[i] * 2


# Fields are aligned, wherever those before them end.
small = ti.field(ti.f32, 40_001)
fields = [small, ti.field(ti.f32, (10, 1024)), ti.field(ti.u8, 999), ti.field(ti.f64, 100)]
addresses = [one.__cuda_array_interface__["data"][0] for one in fields]
assert not any(address % 16 for address in addresses), addresses

n = 1003
for dtype in np.float32, np.uint8, np.float64, np.float16:
    for first, second in (1, 0), (0, 1), (1, 1), (4, 8), (2, 3):
        source = np.arange(n).astype(dtype)
        whole = [CudaArray(source), CudaArray(np.zeros(n, dtype))]
        ends = [first * source.itemsize, second * source.itemsize]
        views = [
            CudaArray(np.zeros(1, dtype), shape=(n - 10,), data=(one.address + end, False))
            for one, end in zip(whole, ends)
        ]
        twice(*views)
        expected = np.zeros(n, dtype)
        expected[second : second + n - 10] = source[first : first + n - 10] * 2
        assert (whole[1].get() == expected).all(), (dtype, first, second)
print("equal")
"""


def test_memory_that_is_not_aligned(run_with_arrays):
    assert run_with_arrays(MISALIGNED) == "equal\n"


PRINTS_OF_A_HISTOGRAM = """
import kiln as ti

ti.init(arch=ti.cuda)
x, bins = ti.field(ti.i32, 40_000), ti.field(ti.i32, 8)


@ti.kernel
def count():
    for i in x:
        value = x[i]
        bins[value % 8] += 1
        if i % 3000 == 7:
            print(i)


count()
"""


def test_prints_of_a_histogram_keep_their_order(run_python, emulator):
    out = run_python(PRINTS_OF_A_HISTOGRAM, KILN_CUDA_DRIVER="emulator", KILN_SERVER="off")
    assert [int(line) for line in out.splitlines()] == list(range(7, 40_000, 3000))


PRINTS_OF_FUNCTIONS = """
import kiln as ti

ti.init(arch=ti.cuda, saturating_grid_dim=1)  # so that threads take several iterations
listed = ti.field(ti.i32)
ti.root.pointer(ti.i, 40).dense(ti.i, 16).place(listed)


@ti.real_func
def show_twice(i: ti.i32, depth: ti.i32):
    print(i, depth)
    if depth > 0:
        show_twice(i, depth - 1)


@ti.kernel
def over_range():
    for i in range(1000):
        if i % 97 == 5:
            show_twice(i, 1)


@ti.kernel
def over_list():
    for i in range(640):
        listed[i] = 1
    for i in listed:
        if i % 97 == 5:
            show_twice(i, 1)


over_range()
over_list()
"""


def test_prints_of_functions_keep_the_order_of_iterations(run_python, emulator):
    out = run_python(PRINTS_OF_FUNCTIONS, KILN_CUDA_DRIVER="emulator", KILN_SERVER="off")
    wanted = [f"{i} {depth}" for n in (1000, 640) for i in range(5, n, 97) for depth in (1, 0)]
    assert out.splitlines() == wanted


ONE_LAUNCH = """
import os
import pathlib

import kiln as ti

ti.init(arch=ti.cuda, saturating_grid_dim=int(os.environ["MOST_BLOCKS"]))
x, s = ti.field(ti.i32, 100), ti.field(ti.i32, ())


@ti.kernel
def step():
    s[None] += 1
    for i in range(100):
        x[i] += s[None]
    s[None] += x[99]
    ti.loop_config(serialize=True)
    for i in range(1000):
        s[None] += i % 2
    for i in range(64):
        x[i] += s[None]
    s[None] -= 1


def launches(kernel):
    kernel()
    ti.sync()
    before = pathlib.Path(os.environ["LOG"]).read_text()
    kernel()
    ti.sync()
    after = pathlib.Path(os.environ["LOG"]).read_text()
    return after[len(before) :].split().count("cuLaunchKernel")


print(launches(step), s[None], x[0], x[99])
"""


def test_tasks_in_a_row_are_one_launch(run_python, tmp_path):
    log = str(tmp_path / "log")
    out = run_python(
        ONE_LAUNCH,
        KILN_CUDA_DRIVER="emulator",
        KILN_SERVER="off",
        KILN_FAKE_CUDA=f"log={log}",
        LOG=log,
        MOST_BLOCKS="1",
    )
    assert out == "1 1504 2510 503\n"


SUMS = """
import os

import numpy as np

import kiln as ti

rng = np.random.default_rng(1)
values = rng.standard_normal(300_000).astype(np.float32) * 10.0 ** rng.integers(-6, 6, 300_000)
ti.init(arch=ti.cuda, deterministic=os.environ["DETERMINISTIC"] == "1")
x, total = ti.field(ti.f32, 300_000), ti.field(ti.f32, 3)
grid = ti.field(ti.f64, (37, 53))
sparse = ti.field(ti.f32)
ti.root.pointer(ti.i, 100).dense(ti.i, 64).place(sparse)
x.from_numpy(values.astype(np.float32))


@ti.kernel
def fill():
    for i, j in grid:
        grid[i, j] = x[i * 53 + j]
    for i in range(6400):
        if i % 7 < 3:
            sparse[i] = x[i]


@ti.kernel
def both(n: ti.i32) -> ti.f32:
    total.fill(1)
    s = 0.0
    for i in range(n):
        total[0] += x[i] * 1.5
        total[1] -= x[i] * x[i]
        ti.atomic_max(total[2], x[i])
    for i in x:
        s += x[i]
    return s


@ti.kernel
def others() -> ti.types.vector(3, ti.f64):
    s, product, least = ti.f64(0.0), ti.f64(1.0), ti.f64(1e30)
    for i, j in grid:
        s += grid[i, j] * 1.1
        ti.atomic_min(least, grid[i, j])
    for i in sparse:
        product += sparse[i]
    return ti.Vector([s, product, least])


fill()
found = []
for n in 1, 127, 129, 30_000, 300_000:
    found += [both(n), *total.to_numpy()]
found += list(others())
expected = values.astype(np.float32).astype(np.float64).sum() * 1.5
assert abs(found[-6] - 1 - expected) < 1e-3 * np.abs(values).sum(), (found[-6], expected)
print(np.array(found, np.float64).tobytes().hex())
"""


@pytest.mark.parametrize("deterministic", [True, False])
def test_sums_in_the_order_of_blocks(run_python, deterministic):
    found = {
        run_python(
            SUMS,
            KILN_CUDA_DRIVER="emulator",
            KILN_FAKE_CUDA=f"seed={seed};check=race,init",
            DETERMINISTIC=str(int(deterministic)),
        )
        for seed in range(2)
    }
    assert (len(found) == 1) == deterministic


LARGE_BLOCKS = """
import kiln as ti

ti.init(arch=ti.cuda, deterministic=True)


@ti.kernel
def sums(n: ti.i32) -> ti.math.vec2:
    a = b = 0.0
    ti.loop_config(block_dim=2048)
    for i in range(n):
        a += i % 2
        b += 1.0
    return ti.math.vec2(a, b)


print(*sums(2_500_000))
"""


def test_sums_of_blocks_larger_than_the_device_has(run_python):
    out = run_python(LARGE_BLOCKS, KILN_CUDA_DRIVER="emulator", KILN_SERVER="off")
    assert out == "1250000.0 2500000.0\n"


def test_sums_are_in_order_in_graphs_and_each_launch(run_python):
    out = run_python(IN_ORDER_AGAIN, KILN_CUDA_DRIVER="emulator", KILN_SERVER="off")
    assert out == "equal\n"


IN_ORDER_AGAIN = """
import numpy as np

import kiln as ti

ti.init(arch=ti.cuda, deterministic=True)
x, total = ti.field(ti.f32, 50_000), ti.field(ti.f32, ())
x.from_numpy(np.random.default_rng(2).standard_normal(50_000).astype(np.float32))


@ti.kernel
def add():
    for i in x:
        total[None] += x[i]


def after(run):
    total[None] = 0
    for _ in range(3):
        run()
    return total[None]


with ti.graph.capture() as graph:
    add()
assert len({after(add), after(add), after(graph.launch), after(graph.launch)}) == 1
print("equal")
"""
