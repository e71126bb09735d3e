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
