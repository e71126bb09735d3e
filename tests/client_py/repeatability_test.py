"""Random numbers, float sums and functions: the same in every run, with any number of threads."""

import kiln as ti
import numpy as np
import pytest

COUNT = 400_000
THREADS = (1, 2, 3, 8)


def _per_thread_count(program, rounds=2):
    """The results of `program` after init with several numbers of threads, several times each."""
    results = []
    for threads in THREADS:
        for _ in range(rounds):
            ti.init(arch=ti.cpu, cpu_max_num_threads=threads, random_seed=3)
            results.append(program())
    return results


def _assert_all_equal(results):
    first = results[0]
    assert first.size and np.isfinite(first).all()
    for other in results[1:]:
        np.testing.assert_array_equal(other.view(np.uint8), first.view(np.uint8))


def _of_a_field():
    x = ti.field(ti.f32, COUNT)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = ti.random() + ti.random()

    fill()
    first = x.to_numpy()
    fill()
    assert (x.to_numpy() != first).mean() > 0.99
    return np.concatenate([first, x.to_numpy()])


def _of_a_range():
    x = ti.field(ti.f64, (500, 801))

    @ti.kernel
    def fill(n: ti.i32):
        for i, j in ti.ndrange(n, (1, 801)):
            for _ in range(i % 3):
                x[i, j] += ti.random(ti.f64)
        for i, j in x:
            x[i, j] += ti.randn(ti.f64)

    fill(500)
    return x.to_numpy()


def _of_integers_in_short_rows():
    x = ti.Vector.field(3, ti.i64, (COUNT // 16, 16))

    @ti.kernel
    def fill():
        for i, j in x:
            for k in ti.static(range(3)):
                x[i, j][k] = ti.random(ti.i64)

    fill()
    numbers = x.to_numpy()
    assert len(np.unique(numbers)) == numbers.size
    return numbers


def _of_active_cells():
    x = ti.field(ti.f32)
    blocks = ti.root.pointer(ti.ij, 128)
    blocks.bitmasked(ti.ij, 8).place(x)
    y = ti.field(ti.f32)
    ti.root.pointer(ti.ij, 64).dense(ti.ij, 16).place(y)

    @ti.kernel
    def fill():
        for i, j in ti.ndrange(1024, 1024):
            if (i // 8 + j // 8) % 3 == 0 and (i + j) % 2 == 0:
                x[i, j] = 1
            if (i // 16 + j // 16) % 3 == 0:
                y[i, j] = 1

    @ti.kernel
    def draw():
        for i, j in x:
            x[i, j] = ti.random()
        for i, j in y:
            y[i, j] = ti.random()

    fill()
    draw()
    return np.concatenate([x.to_numpy(), y.to_numpy()])


@ti.real_func
def _two_numbers(scale: ti.f32) -> ti.f32:
    return scale * (ti.random() + ti.random())


def _of_functions_and_serial_code():
    x = ti.field(ti.f32, COUNT)

    @ti.kernel
    def fill() -> ti.f32:
        first = _two_numbers(1.0)
        for i in x:
            x[i] = _two_numbers(2.0) + first
        last = 0.0
        for _ in range(1):
            for _k in range(1000):
                last += _two_numbers(1.0)
        return last

    last = fill()
    return np.append(x.to_numpy(), np.float32(last))


RANDOM = [
    _of_a_field,
    _of_a_range,
    _of_integers_in_short_rows,
    _of_active_cells,
    _of_functions_and_serial_code,
]


@pytest.mark.parametrize("program", RANDOM, ids=lambda f: f.__name__)
def test_random_numbers_do_not_depend_on_threads(program):
    _assert_all_equal(_per_thread_count(program))


def test_iterations_draw_independently():
    ti.init(arch=ti.cpu)
    x = ti.Vector.field(4, ti.f64, 200_000)

    @ti.kernel
    def fill():
        for i in x:
            for k in ti.static(range(4)):
                x[i][k] = ti.random(ti.f64)

    fill()
    numbers = x.to_numpy()
    fill()
    columns = np.concatenate([numbers[:-1], numbers[1:], x.to_numpy()[:-1]], axis=1)
    assert abs(columns.mean() - 0.5) < 0.001
    correlation = np.corrcoef(columns.T) - np.eye(12)
    assert np.abs(correlation).max() < 5 / np.sqrt(len(columns))


def test_another_kernel_in_between_does_not_change_random_numbers():
    def numbers(between):
        ti.init(arch=ti.cpu, random_seed=11)
        x = ti.field(ti.f32, 100)

        @ti.kernel
        def fill():
            for i in x:
                x[i] = ti.random()

        @ti.kernel
        def other():
            for i in x:
                x[i] *= 2

        fill()
        if between:
            other()
        fill()
        return x.to_numpy()

    np.testing.assert_array_equal(numbers(True), numbers(False))


def _given():
    x = ti.field(ti.f32, COUNT)
    random = np.random.default_rng(1)
    x.from_numpy(random.normal(size=COUNT).astype("f4") * 10.0 ** random.integers(-3, 3, COUNT))
    return x


def _sum_of_a_local():
    x = _given()

    @ti.kernel
    def total(n: ti.i32) -> ti.f32:
        r = 0.0
        for i in range(n):
            r += x[i]
        return r

    return np.array([total(n) for n in (1, 100, 5000, 70_001, COUNT) for _ in range(5)])


def _sums_of_elements():
    x = _given()
    total = ti.field(ti.f32, ())
    moments = ti.Matrix.field(5, 5, ti.f64, ())

    @ti.kernel
    def add():
        for i in x:
            total[None] -= x[i]
            for j, k in ti.static(ti.ndrange(5, 5)):
                moments[None][j, k] += ti.cast(x[i], ti.f64) ** j * k

    @ti.kernel
    def square():
        for i in x:
            total[None] += x[i] * x[COUNT - 1 - i]

    for _ in range(5):
        add()
        square()
    return np.append(moments.to_numpy(), total[None])


def _sum_beside_a_histogram():
    x = _given()
    bins = ti.field(ti.i32, 64)

    @ti.kernel
    def add() -> ti.f32:
        r = 0.0
        for i in x:
            v = x[i] * 1.7
            bins[i % 64] += 1
            r += v * 3.1 + 0.1
        return r

    return np.array([add() for _ in range(20)])


@ti.real_func
def _look(x: ti.f32) -> ti.f32:
    return x * 0.3 + 1


def _sum_through_functions():
    x = _given()

    @ti.kernel
    def add() -> ti.f64:
        r = ti.cast(0.0, ti.f64)
        for i in x:
            r += ti.cast(_look(x[i]), ti.f64) * 0.1
        return r

    return np.array([add() for _ in range(10)])


def _sum_of_active_cells():
    x = ti.field(ti.f32)
    y = ti.field(ti.f32)
    ti.root.pointer(ti.ij, 64).dense(ti.ij, 16).place(x)
    ti.root.pointer(ti.i, 64).bitmasked(ti.i, 4096).place(y)

    @ti.kernel
    def fill():
        for i, j in ti.ndrange(1024, 1024):
            if (i // 16 + j // 16) % 3 != 0:
                x[i, j] = ti.sin(ti.cast(i * 1024 + j, ti.f32)) * 10.0 ** (j % 7 - 3)
            if j % 5 != 0 and i < 256:
                y[i * 1024 + j] = ti.cos(ti.cast(i, ti.f32)) + j * 1e-3

    @ti.kernel
    def add() -> ti.types.vector(2, ti.f32):
        r = ti.Vector([0.0, 0.0])
        for i, j in x:
            r[0] += x[i, j]
        for i in y:
            r[1] += y[i] * 1.1
        return r

    fill()
    return np.array([add().to_list() for _ in range(5)])


def _sum_of_halves():
    h = ti.field(ti.f16, ())

    @ti.kernel
    def add():
        for _ in range(1000):
            h[None] += ti.cast(1.1, ti.f16)

    add()
    assert abs(h[None] - 1099.6) < 1
    return h.to_numpy().reshape(1)


SUMS = [
    _sum_of_a_local,
    _sums_of_elements,
    _sum_beside_a_histogram,
    _sum_through_functions,
    _sum_of_active_cells,
    _sum_of_halves,
]


@pytest.mark.parametrize("program", SUMS, ids=lambda f: f.__name__)
def test_float_sums_do_not_depend_on_threads(program):
    results = _per_thread_count(program)
    _assert_all_equal(results)


# Vector code and scalar code round functions differently, so the scalar rest at the end of a row
# must not depend on how the loop is divided.
@pytest.mark.parametrize(
    "shape", [(1_000_003,), (1013, 977), (3, 500_001), (40, 50, 61), (907, 187)], ids=str
)
def test_functions_do_not_depend_on_threads(shape):
    def program():
        x, y = ti.field(ti.f32, shape), ti.field(ti.f32, shape)
        x.from_numpy(10 * np.random.default_rng(0).random(shape, "f4"))

        @ti.kernel
        def k():
            for i in ti.grouped(x):
                a = x[i]
                y[i] = ti.sin(a) / (1.3 + ti.exp(-a)) + ti.log(a + 0.1) / ti.sqrt(a + 2)

        for _ in range(4):
            k()
        return y.to_numpy()

    _assert_all_equal(_per_thread_count(program))


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_minimum_and_maximum_pass_over_nan(dtype):
    ti.init(arch=ti.cpu)
    T = getattr(ti, dtype)
    x, y, low, high = (ti.field(T, 1000) for _ in range(4))
    result = ti.field(T, 16)
    nan = float("nan")
    numbers = np.full(1000, 2.0, dtype.replace("f", "float"))
    numbers[[0, 5, 999]] = nan
    numbers[7], numbers[8] = 1, 3
    x.from_numpy(numbers)
    y.from_numpy(numbers[::-1].copy())

    @ti.kernel
    def scalars(a: T, b: T):
        v = ti.Vector([b, a, b], dt=T)
        result[0], result[1] = ti.min(a, b), ti.min(b, a)
        result[2], result[3] = ti.max(a, b), ti.max(b, a)
        result[4], result[5] = v.min(), v.max()
        result[6], result[7] = ti.min(1.0, b), ti.max(b, 1.0)
        result[8], result[9] = ti.min(1.0, nan), ti.max(nan, 1.0)
        result[10], result[11] = ti.min(ti.math.inf, b), ti.max(b, -ti.math.inf)

    @ti.kernel
    def loops():
        for i in x:
            low[i] = ti.min(x[i], y[i])
            high[i] = ti.max(x[i], y[i])

    @ti.kernel
    def atomics():
        for i in x:
            ti.atomic_min(result[0], x[i])
            ti.atomic_max(result[1], x[i])
            ti.atomic_min(result[2 + i % 2], x[i])

    @ti.kernel
    def local() -> T:
        m = ti.cast(100.0, T)
        for i in x:
            ti.atomic_min(m, x[i])
        return m

    scalars(1.0, nan)
    assert result.to_numpy()[:10].tolist() == [1.0] * 10
    assert result.to_numpy()[10:12].tolist() == [np.inf, -np.inf]
    loops()
    both = np.stack([x.to_numpy(), y.to_numpy()])
    np.testing.assert_array_equal(low.to_numpy(), np.fmin(*both))
    np.testing.assert_array_equal(high.to_numpy(), np.fmax(*both))
    result.fill(nan)
    atomics()
    assert result.to_numpy()[:4].tolist() == [1, 3, 2, 1]
    assert local() == 1
    assert (ti.min(1.0, nan), ti.max(nan, 1.0), ti.Vector([nan, 2.0]).max()) == (1, 1, 2)
