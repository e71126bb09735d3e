"""Launch and element-access costs of one implementation; prints JSON (seconds)."""

import json
import sys
import time

IMPLEMENTATION = sys.argv[1]
if IMPLEMENTATION == "kiln":
    import kiln as ti
else:
    import taichi as ti

ti.init(arch=ti.cpu, log_level=ti.ERROR, cpu_max_num_threads=2)

one = ti.field(ti.f32, shape=())
small = ti.field(ti.f32, shape=8192)
large = ti.field(ti.f32, shape=200_000)
vectors = ti.Vector.field(3, ti.f32, shape=16)


@ti.kernel
def serial(a: ti.f32):
    one[None] = a


@ti.kernel
def parallel(a: ti.f32):
    for i in small:
        small[i] = a


@ti.kernel
def parallel_large(a: ti.f32):
    for i in large:
        large[i] = a


@ti.kernel
def arrays(a: ti.f32, x: ti.types.ndarray(), y: ti.types.ndarray()):
    y[0] = a * x[0]


@ti.kernel
def fill(x: ti.types.ndarray()):
    for i in x:
        x[i] = 1.0


def fill_new():
    fill(ti.ndarray(ti.f32, shape=100_000))


def loop_cost(statement, count, setup=None, rounds=7):
    """Seconds that a statement takes: the median of `rounds` loops that have it as their body."""
    scope = dict(globals())
    scope.update(setup or {})
    source = f"def run(count):\n    for _ in range(count):\n        {statement}\n"
    exec(source, scope)  # the loop must not pay for a Python call
    run = scope["run"]
    run(10)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run(count)
        times.append((time.perf_counter() - start) / count)
    return sorted(times)[len(times) // 2]


import numpy as np  # noqa: E402  (after init, as a program would)

a = np.ones(8, np.float32)
b = np.ones(8, np.float32)
scale = 1 if IMPLEMENTATION == "taichi" else 10
figures = {
    "serial, scalar argument": loop_cost("serial(2.0)", 20000 * scale),
    # Too short to share: Kiln runs it on the calling thread, whatever the number of threads.
    "parallel, 8192 elements, 2 threads": loop_cost("parallel(2.0)", 2000 * scale),
    "parallel, 200000 elements, 2 threads": loop_cost("parallel_large(2.0)", 1000 * scale),
    "two arrays and a scalar": loop_cost("arrays(2.0, a, b)", 5000 * scale, {"a": a, "b": b}),
    "a new ndarray of 400 kB, filled": loop_cost("fill_new()", 100 * scale),
    "field element read": loop_cost("small[7]", 20000 * scale),
    "field element write": loop_cost("small[7] = 1.0", 20000 * scale),
    "vector element read": loop_cost("vectors[3]", 5000 * scale),
    "vector component read": loop_cost("vectors[3][1]", 5000 * scale),
}
print(json.dumps(figures))
