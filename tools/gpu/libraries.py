#!/usr/bin/python3
"""Measures other libraries for Python beside Kiln on a CUDA device: one JSON line each.

    libraries.py LIBRARY [--small]

LIBRARY: torch, cupy or triton, whose rows have the names of those of benchmarks.py that do the
same; or kiln, for launches with arrays of the others. --small: few elements, to try the program.
"""

import argparse
import json
import statistics
import sys
import time

import numpy as np

OPTIONS = argparse.Namespace()
LIBRARIES = {}
# Elements that each row of bandwidths reads or writes, for each element of its arrays.
ACCESSES = {"copy": 2, "saxpy": 3, "sum": 1, "maximum": 1, "histogram, 256 bins": 1, "fill": 1}

if "triton" in sys.argv:
    import triton
    import triton.language as tl

    @triton.jit
    def copy_block(x, y, count, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < count), mask=i < count)

    @triton.jit
    def saxpy_block(a, x, y, count, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = i < count
        tl.store(y + i, a * tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)

    @triton.jit
    def sum_block(x, result, count, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(result, tl.sum(tl.load(x + i, mask=i < count, other=0.0)))

    @triton.jit
    def histogram_block(x, bins, count, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        values = (tl.load(x + i, mask=i < count, other=0.0) * 256).to(tl.int32)
        tl.atomic_add(bins + tl.arange(0, 256), tl.histogram(values, 256))

    @triton.jit
    def empty_block(x, y):
        tl.store(y, tl.load(x))


def library(function):
    LIBRARIES[function.__name__.removeprefix("of_")] = function
    return function


@library
def of_torch():
    import torch

    count, wait = size(), torch.cuda.synchronize
    x = torch.rand(count, device="cuda")
    y = torch.rand(count, device="cuda")
    bandwidths(
        wait,
        {
            "copy": lambda: y.copy_(x),
            "saxpy": lambda: y.add_(x, alpha=2.0),
            "sum": lambda: x.sum(),
            "maximum": lambda: x.max(),
            "histogram, 256 bins": lambda: torch.histc(x, 256, 0, 1),
            "fill": lambda: x.fill_(0.5),
        },
    )
    u, v = torch.ones(4, device="cuda"), torch.ones(4, device="cuda")
    launch("launch with two tensors", wait, lambda: u.add_(v))


@library
def of_cupy():
    import cupy as cp

    count, wait = size(), cp.cuda.get_current_stream().synchronize
    x, y = cp.random.rand(count, dtype=cp.float32), cp.random.rand(count, dtype=cp.float32)
    saxpy = cp.ElementwiseKernel("float32 a, float32 x", "float32 y", "y = a * x + y", "saxpy")
    a = np.float32(2)
    bandwidths(
        wait,
        {
            "copy": lambda: cp.copyto(y, x),
            "saxpy": lambda: saxpy(a, x, y),
            "sum": lambda: x.sum(),
            "maximum": lambda: x.max(),
            "histogram, 256 bins": lambda: cp.histogram(x, 256, (0.0, 1.0)),
            "fill": lambda: x.fill(0.5),
        },
    )
    code = 'extern "C" __global__ void empty(const float* x, float* y) { y[0] = x[0]; }'
    empty = cp.RawKernel(code, "empty")
    u, v = cp.ones(4, cp.float32), cp.ones(4, cp.float32)
    launch("launch with two arrays of CuPy", wait, lambda: empty((1,), (1,), (u, v)))


@library
def of_triton():
    import torch

    count, wait = size(), torch.cuda.synchronize
    x, y = torch.rand(count, device="cuda"), torch.rand(count, device="cuda")
    result, bins = torch.zeros(1, device="cuda"), torch.zeros(256, device="cuda", dtype=torch.int32)

    def grid(block):
        return ((count + block - 1) // block,)

    bandwidths(
        wait,
        {
            "copy": lambda: copy_block[grid(1024)](x, y, count, BLOCK=1024),
            "saxpy": lambda: saxpy_block[grid(1024)](2.0, x, y, count, BLOCK=1024),
            "sum": lambda: sum_block[grid(8192)](x, result, count, BLOCK=8192),
            "histogram, 256 bins": lambda: histogram_block[grid(8192)](x, bins, count, BLOCK=8192),
        },
    )
    u, v = torch.ones(4, device="cuda"), torch.ones(4, device="cuda")
    launch("launch with two tensors", wait, lambda: empty_block[(1,)](u, v))


@library
def of_kiln():
    import benchmarks  # its kernels, which begins with ti.init
    import torch

    ti = benchmarks.ti
    u, v = torch.ones(4, device="cuda"), torch.ones(4, device="cuda")
    empty = benchmarks.empty
    launch("launch with two tensors", ti.sync, lambda: empty(u, v))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launch("launch with two tensors, in another stream", ti.sync, lambda: empty(u, v))
        with ti.cuda.stream(stream):
            launch("launch with two tensors, in their stream", ti.sync, lambda: empty(u, v))
    try:
        import cupy as cp
    except ImportError:
        return
    u, v = cp.ones(4, cp.float32), cp.ones(4, cp.float32)
    launch("launch with two arrays of CuPy", ti.sync, lambda: empty(u, v))


def size():
    return 1 << (10 if OPTIONS.small else 28)


def bandwidths(wait, runs):
    for name, run in runs.items():
        spent = seconds(run, wait, *((1, 1) if OPTIONS.small else (5, 20)))
        bytes_ = ACCESSES[name] * size() * 4
        print(json.dumps({"name": name, "seconds": spent, "gb_per_second": bytes_ / spent / 1e9}))
        sys.stdout.flush()


def launch(name, wait, run):
    spent = seconds(run, wait, 5, 100 if OPTIONS.small else 20000)
    print(json.dumps({"name": name, "microseconds": spent * 1e6}), flush=True)


def seconds(run, wait, times, batch):
    """As benchmarks.py measures: the median, when `batch` runs are queued."""
    run()
    wait()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        for _ in range(batch):
            run()
        wait()
        found.append((time.perf_counter() - start) / batch)
    return statistics.median(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--small", action="store_true")
    parser.parse_args(namespace=OPTIONS)
    LIBRARIES[OPTIONS.library]()


if __name__ == "__main__":
    main()
