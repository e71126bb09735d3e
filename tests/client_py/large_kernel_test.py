"""Kernels of many thousand instructions, which are compiled with cheaper passes."""

import kiln as ti
import pytest


@pytest.mark.parametrize("opt_level", (0, 3))
def test_unrolled_loops_compute_what_python_computes(opt_level):
    ti.init(ti.cpu, opt_level=opt_level, unrolling_limit=0)
    n = 1200
    x = ti.field(ti.u32, 64)
    y = ti.field(ti.u32, n + 64)

    @ti.kernel
    def k():
        for i in x:
            a = x[i]
            b = ti.u32(i)
            for j in ti.static(range(n)):
                a = a * 3 + (b ^ j)
                if a % 7 < 3:
                    b += a >> (j % 5)
                    y[i + j] += b
            x[i] = a + b

    before = [i * i + 1 for i in range(64)]
    for i, value in enumerate(before):
        x[i] = value
    k()
    sums = [0] * (n + 64)
    for i, a in enumerate(before):
        b = i
        for j in range(n):
            a = (a * 3 + (b ^ j)) % 2**32
            if a % 7 < 3:
                b = (b + (a >> (j % 5))) % 2**32
                sums[i + j] = (sums[i + j] + b) % 2**32
        assert x[i] == (a + b) % 2**32, i
    assert y.to_numpy().tolist() == sums
    ti.reset()


@pytest.mark.parametrize("opt_level", (0, 3))
def test_long_runs_of_loads_and_stores_compute_what_python_computes(opt_level):
    ti.init(ti.cpu, opt_level=opt_level, unrolling_limit=0)
    n = 1500
    x, y = ti.field(ti.u32, 64), ti.field(ti.u32, 128)

    @ti.kernel
    def k():
        ti.loop_config(serialize=True)
        for i in range(4):
            local = ti.Vector([ti.u32(i)] * 40)
            a = x[i]
            for j in ti.static(range(n)):
                a = a * 3 + y[i + j % 61]
                y[i + j % 53] = a ^ j
                local[(i + j) % 40] += a
            x[i] = a
            for j in range(40):
                x[8 + j] += local[j]

    before = [i * i + 1 for i in range(64)]
    y_before = [7 * i for i in range(128)]
    for i, value in enumerate(before):
        x[i] = value
    for i, value in enumerate(y_before):
        y[i] = value
    k()
    for i in range(4):
        local, a = [i] * 40, before[i]
        for j in range(n):
            a = (a * 3 + y_before[i + j % 61]) % 2**32
            y_before[i + j % 53] = a ^ j
            local[(i + j) % 40] += a
        before[i] = a
        for j in range(40):
            before[8 + j] = (before[8 + j] + local[j]) % 2**32
    assert x.to_numpy().tolist() == before
    assert y.to_numpy().tolist() == y_before
    ti.reset()
