"""Parts of programs of tests that run on the emulator of CUDA."""

FAULT = """
def fault(call, *args):
    try:
        call(*args)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
    else:
        print("no error")
"""

# For programs that look at the emulator's log.
START = (
    """
import ctypes
import gc
import os
import pathlib
import sys
import threading

sys.path.insert(0, os.environ["CUDA_ARRAYS"])
import numpy as np
import kiln as ti

"""
    + FAULT
    + """

def calls_of(function):
    # The calls of the driver that a function makes.
    log = pathlib.Path(os.environ["LOG"])
    before = len(log.read_text())
    function()
    return log.read_text()[before:].split()


"""
)

# For programs that share arrays with other libraries.
START_WITH_ARRAYS = (
    """
import gc
import os
import pathlib
import sys

sys.path.insert(0, os.environ["CUDA_ARRAYS"])
import numpy as np
import kiln as ti
from cuda_arrays import CudaArray, Memory, Tensor, make_stream, read, tensor_of

ti.init(arch=ti.cuda)


@ti.kernel
def double(a: ti.types.ndarray()):
    for I in ti.grouped(a):
        a[I] = a[I] * 2


@ti.kernel
def copy(a: ti.types.ndarray(), b: ti.types.ndarray()):
    for I in ti.grouped(a):
        b[I] = a[I]

"""
    + FAULT
)

# The end of a program whose functions CASES return arrays, of numbers of `rng`: they must be those
# of the CPU. `arch_now`: what runs.
COMPARE_CASES = """
def flat(value):
    return [value] if isinstance(value, np.ndarray) else [a for one in value for a in flat(one)]


for case in CASES:
    found = []
    for arch_now in ti.cpu, ti.cuda:
        ti.init(arch=arch_now, default_fp=ti.f32, fast_math=False)
        rng = np.random.default_rng(3)
        found.append(flat(case()))
    assert len(found[0]) == len(found[1])
    assert any(a.any() for a in found[0]), case.__name__
    for number, (cpu, cuda) in enumerate(zip(*found)):
        assert cpu.shape == cuda.shape and (cpu == cuda).all(), (case.__name__, number, cpu, cuda)
print("equal")
"""
