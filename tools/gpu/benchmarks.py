#!/usr/bin/python3
"""Measures kernels on a CUDA device: one JSON line each.

    benchmarks.py [--small] [--taichi] [--only GROUP...]

--small: few elements, to fill a cache or to try the program. Extents are arguments or of arrays
wherever the loop allows it, so that both forms use the same machine code. --taichi: runs the same
program under Taichi. GB/s counts each byte that must be read or written once. peers.cu and
libraries.py have rows of the same names.
"""

import argparse
import json
import statistics
import sys
import time

import numpy as np

if "--taichi" in sys.argv:
    import taichi as ti
else:
    import kiln as ti

GROUPS = ("bandwidths", "arithmetic", "particles", "sparse_loops", "launches")
start = time.perf_counter()
ti.init(arch=ti.cuda)
started = time.perf_counter() - start
if ti.lang.impl.current_cfg().arch != ti.cuda:
    sys.exit("benchmarks.py: there is no CUDA device")

Array1 = ti.types.ndarray(dtype=ti.f32, ndim=1)
Array2 = ti.types.ndarray(dtype=ti.f32, ndim=2)
Array3 = ti.types.ndarray(dtype=ti.f32, ndim=3)
Bins = ti.types.ndarray(dtype=ti.i32, ndim=1)
Vectors = ti.types.ndarray(dtype=ti.math.vec3, ndim=1)
Pairs = ti.types.ndarray(dtype=ti.math.ivec2, ndim=1)
result = ti.field(ti.f32, shape=())


@ti.kernel
def fill(x: Array1, value: ti.f32):
    for i in x:
        x[i] = value


@ti.kernel
def copy(x: Array1, y: Array1):
    for i in x:
        y[i] = x[i]


@ti.kernel
def saxpy(a: ti.f32, x: Array1, y: Array1):
    for i in x:
        y[i] = a * x[i] + y[i]


@ti.kernel
def total(x: Array1):
    for i in x:
        result[None] += x[i]


@ti.kernel
def maximum(x: Array1):
    for i in x:
        ti.atomic_max(result[None], x[i])


@ti.kernel
def stencil(x: Array2, y: Array2):
    for i, j in ti.ndrange((1, x.shape[0] - 1), (1, x.shape[1] - 1)):
        y[i, j] = 0.2 * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@ti.kernel
def stencil3(x: Array3, y: Array3):
    for i, j, k in ti.ndrange((1, x.shape[0] - 1), (1, x.shape[1] - 1), (1, x.shape[2] - 1)):
        y[i, j, k] = x[i, j, k] + 0.1 * (
            x[i - 1, j, k]
            + x[i + 1, j, k]
            + x[i, j - 1, k]
            + x[i, j + 1, k]
            + x[i, j, k - 1]
            + x[i, j, k + 1]
            - 6.0 * x[i, j, k]
        )


@ti.kernel
def matmul(a: Array2, b: Array2, c: Array2):
    for i, j in c:
        result = 0.0
        for k in range(a.shape[1]):
            result += a[i, k] * b[k, j]
        c[i, j] = result


@ti.kernel
def tiled_matmul(a: Array2, b: Array2, c: Array2):
    n = c.shape[0]
    ti.loop_config(block_dim=256)
    for thread in range(n * n):
        left = ti.simt.block.SharedArray((16, 16), ti.f32)
        right = ti.simt.block.SharedArray((16, 16), ti.f32)
        block = thread // 256
        x = thread % 16
        y = thread % 256 // 16
        row = block // (n // 16) * 16 + y
        column = block % (n // 16) * 16 + x
        result = 0.0
        for tile in range(n // 16):
            left[y, x] = a[row, tile * 16 + x]
            right[y, x] = b[tile * 16 + y, column]
            ti.simt.block.sync()
            for k in range(16):
                result += left[y, k] * right[k, x]
            ti.simt.block.sync()
        c[row, column] = result


@ti.kernel
def bodies(positions: Vectors, forces: Vectors):
    for i in positions:
        p = positions[i]
        force = ti.math.vec3(0)
        for j in range(positions.shape[0]):
            r = positions[j] - p
            inverse = ti.rsqrt(r.dot(r) + 1e-4)
            force += r * (inverse * inverse * inverse)
        forces[i] = force


@ti.kernel
def springs(pairs: Pairs, positions: Vectors, forces: Vectors):
    for e in pairs:
        a, b = pairs[e].x, pairs[e].y
        r = positions[b] - positions[a]
        force = r * (1.0 - 0.1 * ti.rsqrt(r.dot(r) + 1e-4))
        forces[a] += force
        forces[b] -= force


@ti.kernel
def histogram(x: Array1, bins: Bins):
    for i in x:
        ti.atomic_add(bins[int(x[i] * 256)], 1)


@ti.kernel
def empty(x: Array1, y: Array1):
    for i in range(1):
        y[i] = x[i]


def seconds(run, times, batch=1):
    """The median time of a run, when `batch` of them are queued, the device's work included."""
    run()
    ti.sync()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        for _ in range(batch):
            run()
        ti.sync()
        found.append((time.perf_counter() - start) / batch)
    return statistics.median(found)


def array(*shape):
    made = ti.ndarray(ti.f32, shape=shape)
    made.from_numpy(np.random.default_rng(1).random(shape, dtype=np.float32))
    return made


def vectors(count):
    made = ti.Vector.ndarray(3, ti.f32, shape=count)
    made.from_numpy(np.random.default_rng(1).random((count, 3), dtype=np.float32))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--taichi", action="store_true")
    parser.add_argument("--only", choices=GROUPS, nargs="*", default=GROUPS)
    options = parser.parse_args()
    start = time.perf_counter()
    total(ti.ndarray(ti.f32, shape=16))
    ti.sync()
    tell("start", init_ms=started * 1e3, first_kernel_ms=(time.perf_counter() - start) * 1e3)
    for measure in (globals()[group] for group in options.only):
        try:
            measure(options.small)
        except Exception as error:  # the other rows are worth having
            print(f"{measure.__name__}: {type(error).__name__}: {error}", file=sys.stderr)


def bandwidths(small):
    times, batch = (1, 1) if small else (5, 20)

    def tell_bandwidth(name, accesses, run):
        spent = seconds(run, times, batch)
        tell(name, seconds=spent, gb_per_second=accesses * 4 / spent / 1e9)

    count = 1 << (10 if small else 28)
    x, y = array(count), array(count)
    tell_bandwidth("copy", 2 * count, lambda: copy(x, y))
    tell_bandwidth("saxpy", 3 * count, lambda: saxpy(2.0, x, y))
    tell_bandwidth("sum", count, lambda: total(x))
    tell_bandwidth("maximum", count, lambda: maximum(x))
    bins = ti.ndarray(ti.i32, shape=256)
    tell_bandwidth("histogram, 256 bins", count, lambda: histogram(x, bins))
    tell_bandwidth("fill", count, lambda: fill(x, 0.5))
    tell_bandwidth("histogram, one bin", count, lambda: histogram(x, bins))
    side = 16 if small else 8192
    p, q = array(side, side), array(side, side)
    tell_bandwidth("stencil of five points", 2 * side**2, lambda: stencil(p, q))
    side = 8 if small else 512
    r, s = array(side, side, side), array(side, side, side)
    tell_bandwidth("stencil of seven points", 2 * side**3, lambda: stencil3(r, s))


def arithmetic(small):
    times = 1 if small else 5
    width = 16 if small else 2048
    a, b, c = array(width, width), array(width, width), array(width, width)
    for name, kernel in (
        ("matmul, naive", matmul),
        ("matmul, tiles in shared memory", tiled_matmul),
    ):
        spent = seconds(lambda kernel=kernel: kernel(a, b, c), times, 3)
        tell(name, seconds=spent, gflops=2 * width**3 / spent / 1e9)
        if not np.allclose(c.to_numpy(), a.to_numpy() @ b.to_numpy(), rtol=1e-3):
            print(f"{name}: wrong product", file=sys.stderr)
    count = 64 if small else 1 << 16
    positions, forces = vectors(count), vectors(count)
    spent = seconds(lambda: bodies(positions, forces), times)
    tell("n-body", seconds=spent, interactions=count**2 / spent / 1e9)
    # Between points that are far from each other in memory, as those of meshes from files.
    ends = np.random.default_rng(2).integers(0, count, (64 * count, 2), dtype=np.int32)
    pairs = ti.Vector.ndarray(2, ti.i32, shape=64 * count)
    pairs.from_numpy(ends)
    spent = seconds(lambda: springs(pairs, positions, forces), times, 1 if small else 20)
    tell("springs", seconds=spent, springs=64 * count / spent / 1e9)


def particles(small):
    """A substep of the material point method (MLS-MPM, Hu et al. 2018) in three dimensions, with
    eight particles in each cell of a half of the grid."""
    for side in (64,) if small else (64, 128):
        count = side**3 if not small else 64
        spent = material_points(side, count, 1 if small else 5, 1 if small else 20)
        tell(f"mpm, grid of {side}^3", seconds=spent, particles=count / spent / 1e9)


def material_points(side, count, times, batch):
    dt, width = 1e-4, 1.0 / side
    x = ti.Vector.field(3, ti.f32, shape=count)
    v = ti.Vector.field(3, ti.f32, shape=count)
    affine = ti.Matrix.field(3, 3, ti.f32, shape=count)
    volume = ti.field(ti.f32, shape=count)
    momentum = ti.Vector.field(3, ti.f32, shape=(side, side, side))
    mass = ti.field(ti.f32, shape=(side, side, side))

    @ti.func
    def weights(fraction):
        return [
            0.5 * (1.5 - fraction) ** 2,
            0.75 - (fraction - 1.0) ** 2,
            0.5 * (fraction - 0.5) ** 2,
        ]

    @ti.kernel
    def clear():
        for cell in ti.grouped(mass):
            momentum[cell] = ti.Vector([0.0, 0.0, 0.0])
            mass[cell] = 0.0

    @ti.kernel
    def scatter():
        for p in x:
            at = x[p] / width
            base = int(at - 0.5)
            fraction = at - base
            w = weights(fraction)
            stress = -dt * 400.0 * width * (volume[p] - 1.0)
            matrix = ti.Matrix.identity(ti.f32, 3) * stress + affine[p] * width**3
            for offset in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
                distance = (offset - fraction) * width
                weight = w[offset[0]][0] * w[offset[1]][1] * w[offset[2]][2]
                momentum[base + offset] += weight * (width**3 * v[p] + matrix @ distance)
                mass[base + offset] += weight * width**3

    @ti.kernel
    def move_grid():
        for cell in ti.grouped(mass):
            if mass[cell] > 0:
                velocity = momentum[cell] / mass[cell]
                velocity[1] -= dt * 9.8
                for d in ti.static(range(3)):
                    if cell[d] < 3 and velocity[d] < 0:
                        velocity[d] = 0
                    if cell[d] > side - 3 and velocity[d] > 0:
                        velocity[d] = 0
                momentum[cell] = velocity

    @ti.kernel
    def gather():
        for p in x:
            at = x[p] / width
            base = int(at - 0.5)
            fraction = at - base
            w = weights(fraction)
            velocity = ti.Vector([0.0, 0.0, 0.0])
            gradient = ti.Matrix.zero(ti.f32, 3, 3)
            for offset in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
                distance = (offset - fraction) * width
                weight = w[offset[0]][0] * w[offset[1]][1] * w[offset[2]][2]
                cell = momentum[base + offset]
                velocity += weight * cell
                gradient += 4 * weight * cell.outer_product(distance) / width**2
            v[p] = velocity
            x[p] += dt * velocity
            volume[p] *= 1 + dt * gradient.trace()
            affine[p] = gradient

    def substep():
        clear()
        scatter()
        move_grid()
        gather()

    places = np.random.default_rng(1).random((count, 3), dtype=np.float32) * 0.5 + 0.25
    x.from_numpy(places)
    volume.fill(1.0)
    return seconds(substep, times, batch)


def sparse_loops(small):
    """Loops over cells of a plane, one of 16 blocks of which is active; per active cell."""
    side = 64 if small else 8192
    times, batch = (1, 1) if small else (5, 20)
    for kind in ("dense", "bitmasked", "pointer"):
        x = ti.field(ti.f32)
        if kind == "dense":
            ti.root.dense(ti.ij, (side // 4, side // 4)).place(x)
        else:
            blocks = getattr(ti.root, kind)(ti.ij, (side // 16, side // 16))
            blocks.dense(ti.ij, (16, 16)).place(x)

        @ti.kernel
        def activate():
            for i, j in ti.ndrange(side // 4, side // 4):
                x[i // 16 * 64 + i % 16, j // 16 * 64 + j % 16] = 1.0

        @ti.kernel
        def double():
            for i, j in x:
                x[i, j] = 2.0 * x[i, j] + 1.0

        if kind != "dense":
            activate()
        spent = seconds(double, times, batch)
        tell(f"loop over {kind} cells", seconds=spent, cells=(side // 4) ** 2 / spent / 1e9)


def launches(small):
    count = 100 if small else 20000
    u, v = array(4), array(4)
    spent = seconds(lambda: empty(u, v), 5, count)
    tell("launch with two arrays", microseconds=spent * 1e6)
    if "--taichi" in sys.argv:  # which captures no graphs
        return
    with ti.graph.capture() as graph:
        for _ in range(80):
            empty(u, v)
    spent = seconds(graph.launch, 5, count // 80)
    tell("80 launches as a captured graph", microseconds=spent * 1e6)


def tell(name, **figures):
    print(json.dumps({"name": name, **figures}), flush=True)


if __name__ == "__main__":
    main()
