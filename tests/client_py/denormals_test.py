"""Denormal numbers: flushed in long loops of floats under fast_math, and nowhere else."""

import kiln as ti
import numpy as np
import pytest

SMALL = 1.5e-39  # denormal in f32


def halves(count, fast_math, **options):
    ti.init(arch=ti.cpu, fast_math=fast_math, **options)
    x, y = ti.field(ti.f32, count), ti.field(ti.f32, count)

    @ti.kernel
    def run(factor: ti.f32, limit: ti.i32):
        for i in y:
            if ti.static(options.get("debug", False)):
                assert i < limit
            y[i] = x[i] * factor

    x.from_numpy(np.full(count, 4 * SMALL, np.float32))
    run(0.5, count)
    return y.to_numpy(), run


def flushes(thread_value):
    """Whether this thread flushes what is too small."""
    return np.float32(thread_value) * np.float32(0.5) == 0


@pytest.mark.parametrize("threads", (1, 2, 3))
@pytest.mark.parametrize("count", (1, 100, 20_000, 1_000_000))
def test_by_the_size_of_the_loop_alone(count, threads):
    results, _ = halves(count, True, cpu_max_num_threads=threads)
    assert (results == results[0]).all()
    assert (results[0] == 0) == (count >= 20_000)
    results, _ = halves(count, False, cpu_max_num_threads=threads)
    assert (results == np.float32(2 * SMALL)).all()
    assert not flushes(SMALL)


def test_the_caller_keeps_its_mode_when_a_loop_fails():
    _, run = halves(100_000, True, debug=True, cpu_max_num_threads=1)
    with pytest.raises(ti.TaichiAssertionError):
        run(0.5, 5000)
    assert not flushes(SMALL)


@pytest.mark.parametrize("dtype, small", (("f32", SMALL), ("f64", 1.5e-310)))
@pytest.mark.parametrize("count", (100, 100_000))
def test_angles_of_small_vectors_are_numbers(count, dtype, small):
    ti.init(arch=ti.cpu)
    x, y, angle = (ti.field(getattr(ti, dtype), count) for _ in range(3))

    @ti.kernel
    def run():
        for i in x:
            angle[i] = ti.atan2(y[i], x[i])

    numpy = x.to_numpy().dtype
    for of_x, of_y, wanted in (
        (small, small, 0),
        (-small, small, np.pi),
        (small, -small, 0),
        (1, small, 0),
        (small, 1, np.pi / 2),
        (-1, -0.0, -np.pi),
    ):
        x.from_numpy(np.full(count, of_x, numpy))
        y.from_numpy(np.full(count, of_y, numpy))
        run()
        # Where denormal numbers count, the angle of two is exact or that of a zero.
        exact = np.arctan2(of_y, of_x)
        got = angle.to_numpy()
        close = np.isclose(got, wanted, atol=1e-6) | np.isclose(got, exact, atol=1e-6)
        assert close.all(), (of_x, of_y, got[0])
