"""Sums over fields whose elements many iterations share: exact, whichever way the threads take."""

import kiln as ti
import numpy as np
import pytest

COUNT = 60_000
LAUNCHES = 12  # enough that the runtime has tried each way


@pytest.fixture(params=[1, 2, 5], autouse=True)
def threads(request):
    ti.init(arch=ti.cpu, cpu_max_num_threads=request.param)


@pytest.fixture
def keys():
    return np.random.default_rng(7).integers(0, 1000, COUNT).astype(np.int32)


@pytest.mark.parametrize("dtype", (ti.i8, ti.u16, ti.i32, ti.i64, ti.f32, ti.f64), ids=str)
@pytest.mark.parametrize("bins", (1, 16, 1000))
def test_histograms(keys, dtype, bins):
    key, table = ti.field(ti.i32, COUNT), ti.field(dtype, bins)
    key.from_numpy(keys)

    @ti.kernel
    def count(n: ti.i32):
        for i in range(n):
            table[key[i] % bins] += 1

    expected = np.zeros(bins, np.int64)
    for launch in range(LAUNCHES):
        n = COUNT - 1000 * launch
        count(n)
        expected += np.bincount(keys[:n] % bins, minlength=bins)
    dtype_of_numpy = table.to_numpy().dtype
    np.testing.assert_array_equal(table.to_numpy(), expected.astype(dtype_of_numpy))


def test_vectors_on_a_grid(keys):
    """Additions and subtractions, two fields, and one that is read elsewhere in the loop."""
    key, weight = ti.field(ti.i32, COUNT), ti.field(ti.f32, 1000)
    momentum, mass = ti.Vector.field(2, ti.f32, (40, 25)), ti.field(ti.i32, (40, 25))
    key.from_numpy(keys)
    weight.from_numpy(np.arange(1000, dtype=np.float32) % 4)

    @ti.kernel
    def scatter():
        for i in key:
            k = key[i]
            cell = ti.Vector([k // 25, k % 25])
            momentum[cell] += ti.Vector([weight[k], 1.0])
            mass[cell] -= 2

    for _ in range(LAUNCHES):
        scatter()
    counts = LAUNCHES * np.bincount(keys, minlength=1000)
    np.testing.assert_array_equal(mass.to_numpy().ravel(), -2 * counts)
    sums = momentum.to_numpy().reshape(1000, 2)
    np.testing.assert_array_equal(sums[:, 0], counts * (np.arange(1000) % 4))
    np.testing.assert_array_equal(sums[:, 1], counts)


def test_fields_that_the_loop_also_reads(keys):
    """No copies: an iteration sees its own sums, and old values are those of the field."""
    key, table, seen = ti.field(ti.i32, COUNT), ti.field(ti.i32, 1000), ti.field(ti.i32, COUNT)
    slots = ti.field(ti.i32, COUNT)
    key.from_numpy(keys)

    @ti.kernel
    def read_after():
        for i in key:
            table[key[i]] += 1
            seen[i] = table[key[i]]

    @ti.kernel
    def number():
        for i in key:
            slots[i] = ti.atomic_add(table[key[i]], 1)

    for _ in range(LAUNCHES):
        table.fill(0)
        read_after()
        assert (seen.to_numpy() >= 1).all()
        table.fill(0)
        number()
        pairs = keys.astype(np.int64) * COUNT + slots.to_numpy()
        assert len(np.unique(pairs)) == COUNT


def test_cells_that_hold_other_fields(keys):
    key = ti.field(ti.i32, COUNT)
    key.from_numpy(keys)
    table, other = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.dense(ti.i, 1000).place(table, other)

    @ti.kernel
    def run():
        for i in key:
            table[key[i]] += 1
            if i < 1000:
                other[i] = i

    for _ in range(LAUNCHES):
        run()
    np.testing.assert_array_equal(table.to_numpy(), LAUNCHES * np.bincount(keys, minlength=1000))
    np.testing.assert_array_equal(other.to_numpy(), np.arange(1000))


def test_zeros_keep_their_sign(keys):
    """Of elements that no iteration adds to."""
    key, table = ti.field(ti.i32, COUNT), ti.field(ti.f32, 2000)
    key.from_numpy(keys)
    table.fill(-0.0)

    @ti.kernel
    def count():
        for i in key:
            table[key[i]] += 1.0

    for _ in range(LAUNCHES):
        count()
    assert np.signbit(table.to_numpy()[1000:]).all()
    assert table.to_numpy().sum() == LAUNCHES * COUNT
