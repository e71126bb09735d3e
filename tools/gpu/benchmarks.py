#!/usr/bin/python3
"""Measures kernels on a CUDA device beside the driver's own copy: one JSON line each.

    benchmarks.py [--small]

--small: few elements, to fill a cache or to try the program. Kernels take arrays, whose extents are
no part of their keys, so both forms use the same machine code. GB/s counts each byte that must be
read or written once; `of_copy` is the part of what a copy on the device reaches.
"""

import argparse
import json
import statistics
import time

import numpy as np

import kiln as ti

ti.init(arch=ti.cuda)

Array1 = ti.types.ndarray(dtype=ti.f32, ndim=1)
Array2 = ti.types.ndarray(dtype=ti.f32, ndim=2)


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
def total(x: Array1) -> ti.f32:
    result = 0.0
    for i in x:
        result += x[i]
    return result


@ti.kernel
def stencil(x: Array2, y: Array2):
    for i, j in ti.ndrange((1, x.shape[0] - 1), (1, x.shape[1] - 1)):
        y[i, j] = 0.2 * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@ti.kernel
def matmul(a: Array2, b: Array2, c: Array2):
    for i, j in c:
        result = 0.0
        for k in range(a.shape[1]):
            result += a[i, k] * b[k, j]
        c[i, j] = result


@ti.kernel
def histogram(x: Array1, bins: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    for i in x:
        ti.atomic_add(bins[int(x[i] * 256)], 1)


@ti.kernel
def empty(x: Array1, y: Array1):
    for i in range(1):
        y[i] = x[i]


def seconds(run, times):
    """The median time of a run, the device's work included."""
    run()
    ti.sync()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        ti.sync()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def array(*shape):
    made = ti.ndarray(ti.f32, shape=shape)
    made.fill(0.5)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    small = parser.parse_args().small
    count = 1 << 10 if small else 1 << 28
    side = 16 if small else 8192
    width = 8 if small else 2048
    times = 1 if small else 20
    x, y = array(count), array(count)
    copied = 2 * 4 * count / seconds(lambda: copy(x, y), times)

    def bandwidth(name, accesses, run):
        rate = accesses * 4 / seconds(run, times)
        tell(name, gb_per_second=rate / 1e9, of_copy=rate / copied)

    bandwidth("copy", 2 * count, lambda: copy(x, y))
    bandwidth("fill", count, lambda: fill(x, 0.5))
    bandwidth("saxpy", 3 * count, lambda: saxpy(2.0, x, y))
    bandwidth("sum", count, lambda: total(x))
    bins = ti.ndarray(ti.i32, shape=256)
    bandwidth("histogram, one bin", count, lambda: histogram(x, bins))
    x.from_numpy(np.random.default_rng(1).random(count, dtype=np.float32))
    bandwidth("histogram, 256 bins", count, lambda: histogram(x, bins))
    p, q = array(side, side), array(side, side)
    bandwidth("stencil of five points", 2 * side * side, lambda: stencil(p, q))
    a, b, c = array(width, width), array(width, width), array(width, width)
    spent = seconds(lambda: matmul(a, b, c), times)
    tell("matmul, naive", gflops=2 * width**3 / spent / 1e9)

    launches = 100 if small else 10000
    u, v = array(4), array(4)

    def launch():
        for _ in range(launches):
            empty(u, v)

    tell("launch with two arrays", microseconds=seconds(launch, 3) / launches * 1e6)
    with ti.graph.capture() as graph:
        for _ in range(80):
            empty(u, v)
    turns = launches // 80 + 1

    def launch_graph():
        for _ in range(turns):
            graph.launch()

    spent = seconds(launch_graph, 3) / turns
    tell("80 launches as a captured graph", microseconds=spent * 1e6)


def tell(name, **figures):
    print(json.dumps({"name": name, **figures}), flush=True)


if __name__ == "__main__":
    main()
