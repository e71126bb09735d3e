"""Cells that branches store and later code reads: vectors, aliases, neighbours, sparse cells."""

import kiln as ti
import numpy as np
import pytest

N = 203
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0]


@pytest.fixture(params=[True, False], ids=["fast", "ieee"], autouse=True)
def setting(request):
    ti.init(arch=ti.cpu, fast_math=request.param)


def numbers(seed):
    return np.random.default_rng(seed).integers(-8, 9, N).astype(np.float32)


def test_components_that_both_branches_store():
    x, y = numbers(1), numbers(2)
    x[: len(SPECIAL)] = SPECIAL
    v = ti.Vector.field(4, ti.f32, N)
    last = np.zeros(N, np.float32)

    @ti.kernel
    def run(
        x: ti.types.ndarray(ti.f32, 1),
        y: ti.types.ndarray(ti.f32, 1),
        last: ti.types.ndarray(ti.f32, 1),
    ):
        for i in v:
            if x[i] > 0:
                v[i][0] = x[i]
            else:
                v[i][0] = y[i]
                if y[i] > 2:
                    v[i][3] = 5
            if y[i] > x[i]:
                v[i][1] = 1
            else:
                v[i][1] = 2
            v[i][2] = -y[i]
            last[i] = v[i][0]
            v[i] = v[i] + v[i].wzyx

    run(x, y, last)
    want = np.zeros((N, 4), np.float32)
    want[:, 0] = np.where(x > 0, x, y)
    want[:, 1] = np.where(y > x, 1, 2)
    want[:, 2] = -y
    want[:, 3] = np.where(~(x > 0) & (y > 2), 5, 0)
    np.testing.assert_array_equal(last, want[:, 0])
    np.testing.assert_array_equal(v.to_numpy(), want + want[:, ::-1])


@pytest.mark.parametrize("same", [False, True])
def test_arrays_that_may_be_one(same):
    x = numbers(3)
    a, b = np.zeros(N, np.float32), np.zeros(N, np.float32)

    @ti.kernel
    def run(
        x: ti.types.ndarray(ti.f32, 1),
        a: ti.types.ndarray(ti.f32, 1),
        b: ti.types.ndarray(ti.f32, 1),
    ):
        for i in x:
            if x[i] > 0:
                a[i] = x[i]
                b[i] = a[i] + 1
            else:
                b[i] = -2
                a[i] = b[i] - 1
            if x[i] > 3:
                b[i] = 7
            a[i] += b[i]

    run(x, a, a if same else b)
    want = np.zeros_like(a)
    for i, v in enumerate(x):
        first, second = (v, v + 1) if v > 0 else (-3, -2)
        if same:
            first = second = second if v > 0 else first
        if v > 3:
            second = 7
            first = 7 if same else first
        want[i] = first + second
    np.testing.assert_array_equal(a, want)


def test_neighbours_and_indices_of_branches():
    x = numbers(4)
    a = np.arange(N + 2, dtype=np.float32)

    @ti.kernel
    def run(x: ti.types.ndarray(ti.f32, 1), a: ti.types.ndarray(ti.f32, 1)):
        ti.loop_config(serialize=True)
        for i in x:
            if x[i] > 0:
                j = i + 2
                a[j] = x[i]
                a[i] = a[j] * 2
            else:
                j = i + 1
                a[j] = 3
                a[i] = a[j] + a[i + 2]
            if x[i] < 4:
                a[i + 1] = a[i] - a[i + 2]
            a[i + 2] += a[i + 1]

    run(x, a)
    want = np.arange(N + 2, dtype=np.float32)
    for i, v in enumerate(x):
        if v > 0:
            want[i + 2] = v
            want[i] = want[i + 2] * 2
        else:
            want[i + 1] = 3
            want[i] = want[i + 1] + want[i + 2]
        if v < 4:
            want[i + 1] = want[i] - want[i + 2]
        want[i + 2] += want[i + 1]
    np.testing.assert_array_equal(a, want)


def test_addresses_beyond_an_array_behind_guards():
    x = numbers(5)
    out = np.zeros(N, np.float32)

    @ti.kernel
    def run(x: ti.types.ndarray(ti.f32, 1), out: ti.types.ndarray(ti.f32, 1), far: ti.i32):
        for i in x:
            j = i * far
            if 0 <= j < N:
                out[i] = x[j]
            if 0 <= j < N and x[i] > 0:
                out[i] += x[j]

    run(x, out, 2**30)
    want = np.zeros_like(out)
    want[0] = x[0] * (2 if x[0] > 0 else 1)
    for i in range(1, N):
        j = np.int64(i) * 2**30
        j = (int(j) + 2**31) % 2**32 - 2**31
        if 0 <= j < N:
            want[i] = x[j] * (2 if x[i] > 0 else 1)
    np.testing.assert_array_equal(out, want)


def test_components_that_ifs_without_else_store():
    x, y = numbers(7), numbers(8)
    x[: len(SPECIAL)] = SPECIAL
    v = ti.Vector.field(4, ti.f32, N)
    first, sums = np.zeros(N, np.float32), np.zeros(N, np.float32)
    start = np.arange(4 * N, dtype=np.float32).reshape(N, 4) % 5
    v.from_numpy(start)

    @ti.kernel
    def run(
        x: ti.types.ndarray(ti.f32, 1),
        y: ti.types.ndarray(ti.f32, 1),
        first: ti.types.ndarray(ti.f32, 1),
        sums: ti.types.ndarray(ti.f32, 1),
    ):
        for i in v:
            if x[i] > 0:
                v[i][0] = x[i]
                if y[i] > 0:
                    v[i][0] = y[i]
                    v[i][2] = 1
            first[i] = v[i][0]
            if y[i] > x[i]:
                v[i][1] = 9
                v[i][3] += 1
            if x[i] < 0:
                v[i][2] = v[i][0]
            sums[i] = v[i].sum()

    run(x, y, first, sums)
    want = start.copy()
    for i in range(N):
        if x[i] > 0:
            want[i, 0] = y[i] if y[i] > 0 else x[i]
            if y[i] > 0:
                want[i, 2] = 1
        if y[i] > x[i]:
            want[i, 1] = 9
            want[i, 3] += 1
        if x[i] < 0:
            want[i, 2] = want[i, 0]
    np.testing.assert_array_equal(v.to_numpy(), want)
    np.testing.assert_array_equal(first, want[:, 0])
    np.testing.assert_array_equal(sums, want.sum(axis=1))


def test_loads_that_code_does_not_reach():
    x = numbers(9)
    out = np.zeros(N, np.float32)

    @ti.kernel
    def run(x: ti.types.ndarray(ti.f32, 1), out: ti.types.ndarray(ti.f32, 1), far: ti.i32):
        for i in x:
            j = i * far
            if 0 <= j < N:
                x[j] = 2
            if j != 0:
                continue
            out[i] = x[j]

    run(x, out, 2**27 + 1)
    assert out[0] == 2 and not out[1:].any()


def test_sparse_cells_stay_inactive_where_no_branch_stores():
    x = numbers(6)
    s = ti.field(ti.f32)
    block = ti.root.bitmasked(ti.i, 256)
    block.place(s)

    @ti.kernel
    def run(x: ti.types.ndarray(ti.f32, 1)) -> ti.i32:
        for i in x:
            if x[i] > 3:
                s[i] = x[i]
            elif x[i] < -3:
                s[i] = 1
            else:
                x[i] = s[i]
        count = 0
        for i in range(256):
            count += ti.is_active(block, i)
        return count

    before = x.copy()
    assert run(x) == (np.abs(before) > 3).sum()
    want = np.where(before > 3, before, np.where(before < -3, 1, 0))
    np.testing.assert_array_equal(s.to_numpy()[:N], want)
