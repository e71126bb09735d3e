"""Checks of the device: contexts, memory, failures and forks."""

import ctypes
import gc
import os
import resource
import sys

import kiln as ti
import numpy as np
from checks import OPTIONS, check
from interop_base import (
    double,
    driver,
    given,
    poke,
    read,
    refused,
    same,
    square,
    steps,
    torch,
    turns,
    up,
)


def current_context():
    context = ctypes.c_void_p()
    assert driver().cuCtxGetCurrent(ctypes.byref(context)) == 0
    return context.value


@check(alone=True, stand_in=False)
def the_primary_context():
    tensor = given(np.ones(10, np.float32))
    before = current_context()
    double(tensor)
    x = ti.field(ti.f32, 10)
    up(x)
    assert x[3] == 1 and current_context() == before
    context = ctypes.c_void_p()
    assert driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert context.value == before
    ti.reset()
    assert current_context() == before
    same(read(tensor.add_(1)), np.full(10, 3))


@check(alone=True, stand_in=False, start=False)
def kiln_before_pytorch():
    """Nothing of PyTorch has used the device yet."""
    ti.init(arch=ti.cuda)
    x = ti.field(ti.f32, 10)
    up(x)
    assert x[3] == 1
    tensor = given(np.ones(10, np.float32))
    double(tensor)
    same(read(tensor), np.full(10, 2))
    up(x)
    ti.init(arch=ti.cuda)
    double(tensor)
    same(read(tensor), np.full(10, 4))


@check(alone=True, stand_in=False)
def another_context_is_current():
    other = ctypes.c_void_p()
    tensor = given(np.ones(10, np.float32))
    double(tensor)
    assert driver().cuCtxCreate_v2(ctypes.byref(other), 0, 0) == 0
    double(tensor)
    same(read(tensor), np.full(10, 4))
    assert driver().cuCtxSetCurrent(other) == 0
    x = ti.ndarray(ti.f32, 10)
    x.fill(1)
    double(x)
    assert x[3] == 2


@check(alone=True)
def memory_stays_flat():
    """Of the device and of the process, over calls of ti.init and over ndarrays."""
    inits = turns(10_000 if OPTIONS.long else 300)
    arrays = turns(100_000 if OPTIONS.long else 20_000)
    tensor = given(np.ones(10, np.float32))

    def init():
        ti.init(arch=ti.cuda)
        x = ti.field(ti.f32, (64, 64))
        cells = ti.field(ti.f32)
        ti.root.pointer(ti.ij, 8).dense(ti.ij, 8).place(cells)
        up(x)
        cells[3, 3] = 1
        up(cells)
        double(tensor)
        ti.reset()

    def array():
        x = ti.ndarray(ti.f32, 1000)
        double(x)

    found = {}
    for name, run, number, warm in ("ti.init", init, inits, 20), ("ndarrays", array, arrays, 2000):
        ti.init(arch=ti.cuda)
        for turn in range(number):
            run()
            if turn == min(max(warm, number // 10), number - 1):
                before = used()
        device, process = (now - then for now, then in zip(used(), before))
        found[name] = f"{device >> 10} KiB of the device, {process >> 10} of the process"
        assert device <= 8 << 20 and process <= 48 << 20, f"after {number} {name}: {found[name]}"
    return found


def used():
    ti.sync() if ti.lang.impl.get_runtime().prog else torch.cuda.synchronize()
    gc.collect()
    free, total = torch.cuda.mem_get_info()
    with open("/proc/self/statm") as file:
        _, resident, shared, *_ = map(int, file.read().split())
    # Without files and shared memory, in which the emulator has its device's.
    return total - free, (resident - shared) * resource.getpagesize()


@check(stand_in=False)
def out_of_memory():
    """In either library; both go on."""
    tensor = given(np.ones(10, np.float32))
    refused("memory", lambda: torch.empty(1 << 40, device="cuda"))
    double(tensor)
    refused("allocate", lambda: ti.ndarray(ti.f64, (1 << 18, 1 << 18)))
    double(tensor)
    same(read(tensor.add_(1)), np.full(10, 5))


@check()
def results_after_errors():
    numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
    tensor = given(numbers)
    for _ in range(3):
        refused("contiguous", double, tensor.t())
        refused("", square, tensor, "text")
        refused("u32", steps, tensor, 3)
    double(tensor)
    same(read(tensor), numbers * 2)


@check(alone=True, stand_in=False)
def a_forked_child():
    tensor = given(np.ones(10, np.float32))
    double(tensor)
    torch.cuda.synchronize()
    sys.stdout.flush()
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        text = "no error"
        try:
            x = ti.ndarray(ti.f32, 10)
            double(x)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        os.write(into, text.encode()[:2000])
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as file:
        text = file.read()
    os.waitpid(child, 0)
    assert "forked" in text, text
    double(tensor)
    same(read(tensor), np.full(10, 4))


@check(alone=True, stand_in=False)
def a_fault_of_pytorch():
    """After it, Kiln says that the device failed, and does not hang."""
    tensor = given(np.ones(10, np.float32))
    double(tensor)
    ti.sync()
    tensor[torch.tensor([100], device="cuda")] = 1  # asserts in its kernel
    return refused("CUDA", lambda: (double(tensor), ti.sync()))


@check(alone=True, stand_in=False)
def a_fault_of_kiln():
    """The error names the kernel. PyTorch tells of the failure, too."""
    tensor = given(np.ones(10, np.float64))
    poke(tensor, 3)
    ti.sync()
    poke(tensor, 2**31 - 1)
    text = refused("poke", ti.sync)
    refused("CUDA", lambda: read(tensor))
    refused("CUDA", lambda: (double(tensor), ti.sync()))
    return text


@check()
def kernels_of_other_checks():
    """Compiles what only checks launch that need more than stand_in.py."""
    tensor = given(np.zeros(10, np.float64))
    poke(tensor, 9)
    same(read(tensor)[8:], [0, 1])
    double(tensor)
    x = ti.field(ti.f32, 10)
    up(x)
    assert x[3] == 1
