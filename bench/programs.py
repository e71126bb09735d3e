"""The kernels that bench/kernels.py times, in the language itself.

Run as `python programs.py kiln|taichi [rounds] [threads]`: prints one JSON object,
kernel -> seconds per call (median). Both implementations run the same text, so that the
comparison depends on nothing else.
"""

import json
import sys
import time

IMPLEMENTATION = sys.argv[1]
if IMPLEMENTATION == "kiln":
    import kiln as ti
else:
    import taichi as ti

ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 9
THREADS = int(sys.argv[3]) if len(sys.argv) > 3 else 0

options = {"cpu_max_num_threads": THREADS} if THREADS else {}
if IMPLEMENTATION == "taichi":
    options["offline_cache"] = False
ti.init(arch=ti.cpu, log_level=ti.ERROR, **options)

N = 16 * 1024 * 1024
M = 2048
BODIES = 4096
SIZE = 1024
BINS = 256
SIDE = 512

x = ti.field(ti.f32, shape=N)
y = ti.field(ti.f32, shape=N)
total = ti.field(ti.f32, shape=())
grid_in = ti.field(ti.f32, shape=(M, M))
grid_out = ti.field(ti.f32, shape=(M, M))
position = ti.Vector.field(3, ti.f32, shape=BODIES)
force = ti.Vector.field(3, ti.f32, shape=BODIES)
image = ti.field(ti.i32, shape=(SIZE, SIZE))
left, right, result = (ti.field(ti.f32, shape=(SIDE, SIDE)) for _ in range(3))
depth = ti.field(ti.f32, shape=(SIZE, SIZE))
keys = ti.field(ti.i32, shape=N)
bins = ti.field(ti.i32, shape=BINS)


@ti.kernel
def fill(value: ti.f32):
    for i in x:
        x[i] = value


@ti.kernel
def saxpy(a: ti.f32):
    for i in x:
        y[i] = a * x[i] + y[i]


@ti.kernel
def reduce_sum():
    for i in x:
        total[None] += x[i]


@ti.kernel
def stencil():
    for i, j in ti.ndrange((1, M - 1), (1, M - 1)):
        grid_out[i, j] = 0.2 * (
            grid_in[i, j]
            + grid_in[i - 1, j]
            + grid_in[i + 1, j]
            + grid_in[i, j - 1]
            + grid_in[i, j + 1]
        )


@ti.kernel
def nbody():
    for i in range(BODIES):
        p = position[i]
        f = ti.Vector([0.0, 0.0, 0.0])
        for j in range(BODIES):
            d = position[j] - p
            r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 1e-4
            inv = 1.0 / ti.sqrt(r2)
            f += d * (inv * inv * inv)
        force[i] = f


@ti.kernel
def mandelbrot():
    for i, j in image:
        cx = -2.0 + 3.0 * i / SIZE
        cy = -1.5 + 3.0 * j / SIZE
        zx = 0.0
        zy = 0.0
        count = 0
        while count < 100 and zx * zx + zy * zy < 4.0:
            t = zx * zx - zy * zy + cx
            zy = 2.0 * zx * zy + cy
            zx = t
            count += 1
        image[i, j] = count


@ti.kernel
def product():
    for i, j in left:
        s = 0.0
        for k in range(SIDE):
            s += left[i, k] * right[k, j]
        result[i, j] = s


# Distances to a torus and a floor, along the ray of each pixel.
@ti.kernel
def rays():
    for i, j in depth:
        x = (i - SIZE / 2) / SIZE
        y = (j - SIZE / 2) / SIZE
        scale = 1.0 / ti.sqrt(x * x + y * y + 1.0)
        t = 0.0
        for _ in range(100):
            px = x * scale * t
            py = y * scale * t + 0.5
            pz = scale * t - 3.0
            q = ti.sqrt(px * px + pz * pz) - 1.0
            d = ti.min(ti.sqrt(q * q + py * py) - 0.3, py + 1.0)
            if d < 1e-3:
                break
            t += d
            if t > 20.0:
                break
        depth[i, j] = t


@ti.kernel
def set_keys():
    for i in keys:
        keys[i] = (i * 1103515245 + 12345) >> 8 & (BINS - 1)


@ti.kernel
def histogram():
    for i in keys:
        bins[keys[i]] += 1


@ti.kernel
def set_positions():
    for i in position:
        position[i] = ti.Vector([ti.sin(i * 0.37), ti.cos(i * 0.71), ti.sin(i * 0.13)])
    for i, j in grid_in:
        grid_in[i, j] = ti.sin(i * 0.01) + ti.cos(j * 0.02)
    for i, j in left:
        left[i, j] = ti.sin(i * 0.01) + ti.cos(j * 0.02)
        right[i, j] = ti.cos(i * 0.03) - ti.sin(j * 0.04)


def seconds_per_call(call):
    call()  # compiles
    call()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        ti.sync()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


set_positions()
set_keys()
RUNS = {
    "fill": lambda: fill(1.5),
    "saxpy": lambda: saxpy(0.5),
    "sum": reduce_sum,
    "stencil": stencil,
    "nbody": nbody,
    "mandelbrot": mandelbrot,
    "product": product,
    "rays": rays,
    "histogram": histogram,
}
seconds = {name: seconds_per_call(call) for name, call in RUNS.items()}
total[None] = 0
fill(1.0)
reduce_sum()
checks = {
    "sum": total[None] / N,
    "mandelbrot": image[SIZE // 2, SIZE // 2] + image[3, 5],
    "nbody": force[7][1],
    "product": result[7, 11],
    "rays": depth[SIZE // 2, SIZE // 4],
    "stencil": grid_out[100, 200],
    "histogram": bins[17] / (ROUNDS + 2),
}
print(json.dumps({"seconds": seconds, "checks": checks}))
