"""Loops that store more than the caches hold: whole rows, their ends, and arrays at any address."""

from pathlib import Path

import kiln as ti
import numpy as np
import pytest

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
SIZES = [file.read_text() for file in CACHES.glob("index*/size")]
LARGEST = max((int(size.strip().rstrip("K")) << 10 for size in SIZES), default=32 << 20)
# Odd, and enough that the stores of a loop over so many floats go past the caches.
LARGE = LARGEST * 3 // 8 + 4099
pytestmark = pytest.mark.skipif(LARGEST > 128 << 20, reason="would take too much memory")


@pytest.fixture(params=[1, 3], autouse=True)
def threads(request):
    ti.init(arch=ti.cpu, cpu_max_num_threads=request.param)


def test_fields_are_copied():
    x, y = ti.field(ti.f32, LARGE), ti.field(ti.f32, LARGE)
    columns = 3001  # of rows that begin anywhere in a cache line
    shape = (LARGE // columns // 2 + 1, columns)
    grid, scaled = ti.field(ti.f64, shape), ti.field(ti.f64, shape)

    @ti.kernel
    def run(a: ti.f32):
        for i in x:
            x[i] = i
        for i in x:
            y[i] = a * x[i] + 1
        for i, j in grid:
            grid[i, j] = i * columns + j
        for i, j in grid:
            scaled[i, j] = grid[i, j] * 2

    run(0.5)
    i = np.arange(LARGE).astype(np.float32)
    np.testing.assert_array_equal(x.to_numpy(), i)
    np.testing.assert_array_equal(y.to_numpy(), np.float32(0.5) * i + 1)
    np.testing.assert_array_equal(scaled.to_numpy().ravel(), 2 * np.arange(shape[0] * columns))


@pytest.mark.parametrize("offset", (0, 1, 4, 20))
def test_arrays_at_any_address(offset):
    """The bytes around the array stay as they are."""

    @ti.kernel
    def run(out: ti.types.ndarray(ti.i32, 1), source: ti.types.ndarray(ti.i32, 1), first: ti.i32):
        for i in out:
            out[i] = source[i] + first

    memory = np.full(4 * LARGE + 128, 7, np.uint8)
    out = memory[offset : offset + 4 * LARGE].view(np.int32)
    run(out, np.arange(LARGE, dtype=np.int32), 5)
    np.testing.assert_array_equal(out, np.arange(5, LARGE + 5))
    assert (memory[:offset] == 7).all()
    assert (memory[offset + 4 * LARGE :] == 7).all()


@pytest.mark.parametrize("shift", (-3, 0, 5))
def test_arrays_that_overlap(shift):
    """On one thread, each iteration sees what those before it have stored."""
    ti.init(arch=ti.cpu, cpu_max_num_threads=1)

    @ti.kernel
    def run(source: ti.types.ndarray(ti.i32, 1), out: ti.types.ndarray(ti.i32, 1)):
        for i in out:
            out[i] = source[i] + 1

    memory = np.arange(LARGE + 16, dtype=np.int32)
    expected = memory.copy()
    run(memory[8 : 8 + LARGE], memory[8 + shift : 8 + shift + LARGE])
    if shift <= 0:
        expected[8 + shift : 8 + shift + LARGE] = expected[8 : 8 + LARGE] + 1
    else:  # a value travels through the array by steps of `shift`
        at = np.arange(LARGE)
        expected[8 + shift : 8 + shift + LARGE] = at % shift + 8 + at // shift + 1
    np.testing.assert_array_equal(memory, expected)
