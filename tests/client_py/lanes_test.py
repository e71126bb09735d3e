"""Loops in lanes: the same bits as one iteration at a time, at the edges of everything."""

import pathlib

import kiln as ti
import numpy as np
import pytest

FLAGS = pathlib.Path("/proc/cpuinfo").read_text()
LEVELS = [
    level
    for level, flag in (("x86-64-v3", "avx2"), ("x86-64-v4", "avx512vl"))
    if flag in FLAGS.split()
]
LENGTHS = (0, 1, 7, 8, 9, 16, 31, 33, 1000)


def bits(array):
    return np.ascontiguousarray(array).view(np.uint8)


def assert_same(program, **options):
    """The arrays that `program` returns, with lanes at each level and without."""
    ti.init(arch=ti.cpu, fast_math=False, lanes="off", **options)
    wanted = program()
    for level in LEVELS:
        for threads in (1, 3):
            ti.init(
                arch=ti.cpu,
                fast_math=False,
                lanes="on",
                cpu_level=level,
                cpu_max_num_threads=threads,
                **options,
            )
            for found, right in zip(program(), wanted, strict=True):
                np.testing.assert_array_equal(bits(found), bits(right))


def special(n):
    """Floats with NaNs, infinities, zeros of both signs and denormal numbers."""
    random = np.random.default_rng(n)
    x = (random.standard_normal(n) * 3).astype(np.float32)
    for value in (np.inf, -np.inf, -0.0, 0.0, 1e-42, -1e-42, np.nan):
        if n:
            x[random.integers(0, n)] = value
    return x


@pytest.mark.parametrize("n", LENGTHS)
def test_divergent_loops_and_branches(n):
    def program():
        @ti.kernel
        def run(
            x: ti.types.ndarray(ti.f32, 1),
            counts: ti.types.ndarray(ti.i32, 1),
            out: ti.types.ndarray(ti.f32, 1),
        ):
            for i in x:
                v = x[i]
                count = 0
                while count < 40:
                    count += 1
                    if v > 100.0:
                        break
                    if count % 3 == i % 5:
                        continue
                    v = v * v - 0.5
                for k in range(i % 7, count):
                    v += 1.0 / (k + 1)
                if v < 0:
                    out[i] = -v
                counts[i] = count

        x = special(n)
        counts, out = np.zeros(n, np.int32), np.full(n, -1, np.float32)
        run(x, counts, out)
        return counts, out

    assert_same(program)


# A lane that is not in the mask may hold an index out of range, or divide by zero.
def test_dead_lanes_neither_divide_nor_read():
    n = 61

    def program():
        table = ti.field(ti.i32, 16)
        table.from_numpy(np.arange(16, dtype=np.int32) * 7)
        out = ti.field(ti.i32, n)

        @ti.kernel
        def run(divisor: ti.i32):
            for i in out:
                total = 0
                for k in range(4):
                    at = (i - 30) * 100_000_000 * k
                    if 0 <= at < 16:
                        total += table[at]
                    by = (i - k) * divisor
                    if by != 0:
                        total += 1000 // by + 1000 % by
                out[i] = total

        run(1)
        first = out.to_numpy()
        run(0)
        return first, out.to_numpy()

    assert_same(program)


# Lanes keep what they first read in a loop. Some hold indices out of range: no lane may read more
# cells than it would alone.
def test_kept_loads_read_the_cells_of_their_lanes_alone():
    n = 61

    def program():
        pair = ti.types.struct(x=ti.f32, z=ti.i32)
        pairs, out = pair.field(shape=16), ti.field(ti.f32, n)
        pairs.x.from_numpy(special(16))
        pairs.z.from_numpy(np.arange(16, dtype=np.int32) * 5)

        @ti.kernel
        def run(ends: ti.i32):
            for i in out:
                at = (i - 30) * 100_000_000 + i % 2
                sum = 0.0
                for k in range(9):
                    if 0 <= at < 16:
                        sum += pairs[at].x + k
                        if (i + k) % 3 == ends:
                            continue
                        sum *= pairs[at].z
                    beyond = at - 1
                    if k == i % 7 or 0 <= at < 16:
                        if beyond >= 0 and beyond < 16:
                            sum -= pairs[beyond].z
                        if k > 5 and i % 5 == ends:
                            break
                out[i] = sum

        run(1)
        first = out.to_numpy()
        run(-1)
        return first, out.to_numpy()

    assert_same(program)


# What the loop writes, under whatever name, lanes read anew.
@pytest.mark.parametrize("same", (False, True))
def test_loads_of_what_a_loop_writes_are_not_kept(same):
    n = 67

    def program():
        pair = ti.types.struct(x=ti.f32, z=ti.i32)
        pairs = pair.field(shape=n)
        pairs.z.from_numpy(np.arange(n, dtype=np.int32))

        @ti.kernel
        def run(a: ti.types.ndarray(ti.f32, 2), b: ti.types.ndarray(ti.f32, 2)):
            for i in range(n):
                for j in range(i % 4):
                    if pairs[i].z & 1:
                        pairs[i].x += a[i, 0] + pairs[i].x * 0.5
                    for k in range(i % 5):
                        if (i + k) % 3:
                            a[i, 1] += b[i, 0] + j
                        else:
                            b[i, 0] = a[i, 1] * 0.25
                            ti.atomic_add(pairs[i].z, k)
                        if pairs[i].z % 3 == 0:
                            a[i, 0] += 1

        a = np.arange(2 * n, dtype=np.float32).reshape(n, 2) / 8
        b = a if same else a[::-1].copy()
        run(a, b)
        return a, b, pairs.x.to_numpy(), pairs.z.to_numpy()

    assert_same(program)


# All lanes look up one cell, which may be inactive or out of range.
@pytest.mark.parametrize("kind", ("dynamic", "pointer", "bitmasked"))
def test_cells_of_trees(kind):
    n = 61

    def program():
        x, z, out = ti.field(ti.f32), ti.field(ti.i32), ti.field(ti.f32, n)
        if kind == "dynamic":
            node = ti.root.dynamic(ti.i, 32, chunk_size=8)
        else:
            node = getattr(ti.root, kind)(ti.i, 32)
        node.place(x, z)

        @ti.kernel
        def fill(m: ti.i32):
            for _ in range(1):
                for i in range(m):
                    if ti.static(kind == "dynamic") or i % 3:
                        x[i] = i * 0.25
                        z[i] = i

        @ti.kernel
        def run(low: ti.i32, high: ti.i32):
            for i in out:
                sum, count = 0.0, high
                if ti.static(kind == "dynamic"):
                    count = ti.length(node, [])
                for k in range(low, count):
                    if (i + k) % 3:
                        sum += x[k] * i
                    elif k % 2:
                        sum -= x[k]
                        if z[k + 1] > i:
                            break
                    if ti.static(kind != "dynamic"):
                        if ti.is_active(node, k):
                            sum += z[k] + x[k]
                    while sum > z[k]:
                        sum = sum * 0.5 - x[k]
                out[i] = sum

        results = []
        for filled in (0, 9, 31):
            fill(filled)
            run(0 if kind == "dynamic" else -3, 40)
            results.append(out.to_numpy())
        return results

    assert_same(program)


# Loops of few operations over long rows run in up to 64 lanes.
@pytest.mark.parametrize("n", (256, 259, 317, 320))
def test_many_lanes(n):
    def program():
        a, out = ti.field(ti.f32, (9, n)), ti.field(ti.f32, (5, n))
        marks, count = ti.field(ti.i8, n), ti.field(ti.i32, ())
        a.from_numpy(special(9 * n).reshape(9, n))

        @ti.kernel
        def products():
            for i, j in out:
                s = 0.0
                for k in range(9):
                    s += a[i, k] * a[k, j]
                out[i, j] = s

        @ti.kernel
        def counts():
            for i in marks:
                k = 0
                while k < i % 5:
                    k += 1
                marks[i] = ti.cast(k, ti.i8)
                count[None] += k

        products()
        counts()
        return out.to_numpy(), marks.to_numpy(), count.to_numpy()

    assert_same(program)


# Lanes divide doubles, which hold every quotient of 32 bits.
@pytest.mark.parametrize("fast_math", (False, True))
@pytest.mark.parametrize("kind", ("i32", "u32", "i16", "u16", "i8", "u8"))
@pytest.mark.parametrize("level", LEVELS)
def test_quotients_are_exact(level, kind, fast_math):
    ti.init(arch=ti.cpu, lanes="on", cpu_level=level, fast_math=fast_math)
    of_numpy = {"i": np.dtype(f"int{kind[1:]}"), "u": np.dtype(f"uint{kind[1:]}")}[kind[0]]
    least, most = np.iinfo(of_numpy).min, np.iinfo(of_numpy).max
    edges = [least, least + 1, most, most - 1, most // 2, most // 2 + 1, most // 3, 1, 2, 3, 7]
    edges += [-1, -2, -3, -7] if kind[0] == "i" else [5]
    random = np.random.default_rng(1)
    numbers = random.integers(least, most, 3000, of_numpy, endpoint=True)
    dividends = np.concatenate([np.repeat(edges, len(edges)), numbers]).astype(of_numpy)
    divisors = np.concatenate([np.tile(edges, len(edges)), numbers[::-1] >> 3]).astype(of_numpy)
    # Quotients next to an integer: n * d and its neighbours.
    with np.errstate(over="ignore"):
        near = (divisors * (dividends // np.where(divisors == 0, 1, divisors))).astype(of_numpy)
    dividends = np.concatenate([dividends, near, near - of_numpy.type(1)])
    divisors = np.concatenate([divisors, divisors, divisors])
    divisors[divisors == 0] = 9
    # The least number has no opposite.
    divisors[(dividends == least) & (divisors == of_numpy.type(-1 if least else 1))] = 3

    @ti.kernel
    def run(
        x: ti.types.ndarray(getattr(ti, kind), 1),
        y: ti.types.ndarray(getattr(ti, kind), 1),
        quotients: ti.types.ndarray(getattr(ti, kind), 1),
        rests: ti.types.ndarray(getattr(ti, kind), 1),
    ):
        for i in x:
            k = 0
            while k < 1:
                quotients[i] = x[i] // y[i]
                rests[i] = x[i] % y[i]
                k += 1

    quotients, rests = np.zeros_like(dividends), np.zeros_like(dividends)
    run(dividends, divisors, quotients, rests)
    np.testing.assert_array_equal(quotients, dividends // divisors)
    np.testing.assert_array_equal(rests, dividends % divisors)


def test_arrays_that_are_unaligned_or_the_same():
    def program():
        @ti.kernel
        def run(
            a: ti.types.ndarray(ti.f32, 1),
            b: ti.types.ndarray(ti.f32, 1),
            c: ti.types.ndarray(ti.u8, 1),
            n: ti.i32,
        ):
            for i in range(1, n):
                s = a[i]
                k = 0
                while s < 10 and k < 9:
                    s += ti.abs(a[i]) + 0.25
                    k += 1
                b[i] = s
                c[i] = ti.cast(k, ti.u8)

        memory = np.arange(300, dtype=np.float32)[::-1].copy() / 16
        bytes_ = np.zeros(301, np.uint8)
        run(memory[1:120], memory[133:252], bytes_[1:120], 119)
        run(memory[3:200], memory[3:200], bytes_[3:200], 197)
        return memory, bytes_

    assert_same(program)


def test_local_arrays_and_atomics_of_each_lane():
    n = 77

    def program():
        histogram, out = ti.field(ti.i32, 8), ti.field(ti.f32, n)
        low, total = ti.field(ti.f32, ()), ti.field(ti.i64, ())

        @ti.kernel
        def run():
            for i in out:
                v = ti.Vector([0.0, 1.0, 2.0, 3.0])
                for k in range(i % 11):
                    v[(i + k) % 4] += k * 0.5
                    if (i ^ k) & 1:
                        histogram[(i * k) % 8] += i
                        ti.atomic_min(low[None], -v[k % 4])
                    total[None] += k
                out[i] = v[i % 4] + ti.random()

        run()
        return histogram.to_numpy(), out.to_numpy(), low.to_numpy(), total.to_numpy()

    assert_same(program, random_seed=5)


# Sums of floats differ from those of scalar code, but not between runs.
def test_sums_do_not_depend_on_the_number_of_threads():
    results = set()
    for threads in (1, 2, 3, 8):
        ti.init(arch=ti.cpu, lanes="on", cpu_max_num_threads=threads, random_seed=2)
        total = ti.field(ti.f32, ())

        @ti.kernel
        def run(n: ti.i32, total: ti.template()):
            for i in range(n):
                s = 0.0
                for k in range(i % 13):
                    s += ti.random() / (k + 1)
                total[None] += s

        run(100_003, total)
        results.add(total[None])
    assert len(results) == 1 and np.isfinite(results.pop())


def test_checks_report_what_they_report_without_lanes():
    messages = set()
    for lanes in ("off", "on"):
        ti.init(arch=ti.cpu, lanes=lanes, debug=True, cpu_max_num_threads=1)
        x = ti.field(ti.i32, 40)

        @ti.kernel
        def run(x: ti.template()):
            for i in x:
                k = 0
                while k < i:
                    k += 1
                x[i + k // 30] = k

        with pytest.raises(ti.TaichiAssertionError) as caught:
            run(x)
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_an_unknown_wish_is_refused():
    with pytest.raises(ValueError, match="lanes='perhaps': one of 'auto', 'off', 'on' expected"):
        ti.init(lanes="perhaps")
