"""One run of bench/gradients.py: prints milliseconds of kernels and of their gradients as JSON.

gradients_program.py kiln|taichi
"""

import importlib
import json
import sys
import time

ti = importlib.import_module(sys.argv[1])
# Taichi ends the process where a loop has more iterations than its stack has entries.
ti.init(arch=ti.cpu, offline_cache=False, log_level=ti.ERROR, ad_stack_size=65)

BIG, SIDE, CHAINS, STEPS, BODIES, PARTICLES, GRID = 1 << 20, 1024, 1 << 14, 64, 512, 6400, 64
new = {"needs_grad": True}
x = ti.field(ti.f32, BIG, **new)
y = ti.field(ti.f32, BIG, **new)
w = ti.field(ti.f32, (), **new)
loss = ti.field(ti.f32, (), **new)
a = ti.field(ti.f32, (SIDE, SIDE), **new)
b = ti.field(ti.f32, (SIDE, SIDE), **new)
place = ti.Vector.field(2, ti.f32, PARTICLES, **new)
speed = ti.Vector.field(2, ti.f32, PARTICLES, **new)
affine = ti.Matrix.field(2, 2, ti.f32, PARTICLES, **new)
strain = ti.Matrix.field(2, 2, ti.f32, PARTICLES, **new)
next_strain = ti.Matrix.field(2, 2, ti.f32, PARTICLES, **new)
grid_v = ti.Vector.field(2, ti.f32, (GRID, GRID), **new)
grid_m = ti.field(ti.f32, (GRID, GRID), **new)


@ti.kernel
def fill():
    for i in x:
        x[i] = ti.sin(i * 0.1) + 1.5
    for i, j in a:
        a[i, j] = ti.cos(i * 0.3 + j)
    for p in place:
        place[p] = [0.3 + 0.4 * (p % 80) / 80, 0.3 + 0.4 * (p // 80) / 80]
        speed[p] = [0.1, -0.2]
        strain[p] = [[1.0, 0.1], [0.0, 0.9]]
    w[None] = 1.25


@ti.kernel
def sum_of_squares():
    for i in x:
        loss[None] += x[i] ** 2


@ti.kernel
def shared_factor():
    for i in x:
        y[i] = w[None] * x[i]


@ti.kernel
def stencil():
    for i, j in ti.ndrange((1, SIDE - 1), (1, SIDE - 1)):
        b[i, j] = 0.25 * (a[i + 1, j] + a[i - 1, j] + a[i, j + 1] + a[i, j - 1]) ** 2


@ti.kernel
def sine_of_stencil():
    for i, j in ti.ndrange((1, SIDE - 1), (1, SIDE - 1)):
        b[i, j] = ti.sin(a[i + 1, j] + a[i - 1, j] + a[i, j + 1] + a[i, j - 1] - 4 * a[i, j])


@ti.kernel
def carried_steps():
    for i in range(CHAINS):
        t = x[i]
        for _ in range(STEPS):
            t = ti.sin(t) + 0.1
        y[i] = t


@ti.kernel
def bodies():
    for i in range(BODIES):
        p = x[i]
        for j in range(BODIES):
            loss[None] += 1 / ti.sqrt((p - x[j]) ** 2 + 0.1)


@ti.kernel
def particles_to_grid():
    for p in place:
        base = ti.cast(place[p] * GRID - 0.5, ti.i32)
        fx = place[p] * GRID - ti.cast(base, ti.f32)
        weights = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        moved = (ti.Matrix.identity(ti.f32, 2) + 1e-4 * affine[p]) @ strain[p]
        next_strain[p] = moved
        j = moved.determinant()
        r, s = ti.polar_decompose(moved)
        stress = 2 * (moved - r) @ moved.transpose() + ti.Matrix.identity(ti.f32, 2) * j * (j - 1)
        pull = -1e-3 * stress + affine[p]
        for u in ti.static(range(3)):
            for v in ti.static(range(3)):
                offset = ti.Vector([u, v])
                apart = (ti.cast(offset, ti.f32) - fx) / GRID
                weight = weights[u][0] * weights[v][1]
                grid_v[base + offset] += weight * (speed[p] + pull @ apart)
                grid_m[base + offset] += weight


KERNELS = {
    "Σx², 1 M": sum_of_squares,
    "y = w x, w shared, 1 M": shared_factor,
    "stencil of 4 neighbours, 1024²": stencil,
    "sin of a stencil of 5, 1024²": sine_of_stencil,
    "particles to grid, 6,400": particles_to_grid,
    # Of loops whose steps overflow Taichi's stacks, which ends the process.
    "64 carried steps of sin, 16 k": carried_steps,
    "energy of 512² pairs": bodies,
}


def milliseconds(call):
    best = 1e9
    for _ in range(7):
        call()
        start = time.perf_counter()
        for _ in range(5):
            call()
        best = min(best, (time.perf_counter() - start) / 5)
    return best * 1e3


fill()
figures = {}
for name, kernel in KERNELS.items():
    kernel()
    start = time.perf_counter()
    kernel.grad()
    figures[f"{name}: first gradient"] = (time.perf_counter() - start) * 1e3
    figures[f"{name}: forward"] = milliseconds(kernel)
    figures[f"{name}: gradient"] = milliseconds(kernel.grad)
    print(json.dumps(figures), flush=True)  # the last line counts
