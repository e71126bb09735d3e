"""First calls of kernels on one size of matrix. Prints JSON: kernel -> seconds.

argv: implementation, n, [Taichi's cache]. Compiling is nearly all of a first call; the
process and the compiler are warm.
"""

import json
import sys
import time

IMPLEMENTATION, N = sys.argv[1], int(sys.argv[2])
if IMPLEMENTATION == "kiln":
    import kiln as ti
else:
    import taichi as ti

options = {"offline_cache_file_path": sys.argv[3]} if len(sys.argv) > 3 else {}
ti.init(arch=ti.cpu, log_level=ti.ERROR, **options)

x = ti.Matrix.field(N, N, ti.f32, shape=3)
s = ti.field(ti.f32, shape=4)


@ti.kernel
def warm_up():
    for i in s:
        s[i] = ti.sqrt(float(i))


@ti.kernel
def fill():
    for i in range(3):
        for j in range(N):
            x[i][j, j] = 1.0 + i


@ti.kernel
def add():
    for _ in range(1):
        x[2] = x[0] + x[1]


@ti.kernel
def multiply():
    for _ in range(1):
        x[2] = x[0] @ x[1]


@ti.kernel
def expression():
    for _ in range(1):
        x[2] = x[0] @ x[1].transpose() + x[0] * 2.0


@ti.kernel
def reductions():
    s[0] = x[0].sum()
    s[1] = x[0].norm()
    s[2] = (x[0] + x[1]).max()


@ti.kernel
def indices(i: ti.i32, j: ti.i32) -> ti.f32:
    m = x[0]
    m[i, j] = 3.0
    return m[j, i] + m[i, j]


def seconds(kernel, *args):
    begin = time.perf_counter()
    kernel(*args)
    ti.sync()
    return time.perf_counter() - begin


warm_up()
fill()
figures = {
    "a + b": seconds(add),
    "a @ b": seconds(multiply),
    "a @ b.T + a * 2": seconds(expression),
    "sum, norm, max": seconds(reductions),
    "m[i, j] = x": seconds(indices, 1, 0),
}
multiply()
assert x[2][0, 0] == 2.0 and abs(s[1] - N**0.5) < 1e-3
print(json.dumps(figures))
