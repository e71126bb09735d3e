"""Costs of launches on CUDA or the CPU; prints JSON (processor seconds).

launch_cuda_program.py cuda|cpu FOLDER     # with the module exchanged_tensor
"""

import json
import sys
import time

import kiln as ti
import numpy as np

ARCH = sys.argv[1]
sys.path.insert(0, sys.argv[2])
import exchanged_tensor  # noqa: E402

ti.init(arch=ti.cuda if ARCH == "cuda" else ti.cpu, log_level=ti.ERROR)
one, other = ti.field(ti.f32, shape=8), ti.field(ti.f32, shape=8)
array, second = ti.ndarray(ti.f32, 8), ti.ndarray(ti.f32, 8)
numpy, numpy2 = np.ones(8, np.float32), np.ones(8, np.float32)


@ti.kernel
def scalar(a: ti.f32):
    one[0] = a


@ti.kernel
def fields(a: ti.template(), b: ti.template()):
    a[0] = b[0]


@ti.kernel
def arrays(a: ti.types.ndarray(), b: ti.types.ndarray()):
    a[0] = b[0]


@ti.kernel
def two_tasks():
    for i in one:
        one[i] += 1
    for i in other:
        other[i] += 1


def step():
    for _ in range(40):
        two_tasks()


class External:
    """An array of another library on the device, by `__cuda_array_interface__`."""

    def __init__(self, kept):
        self.kept = kept
        self.__cuda_array_interface__ = kept.__cuda_array_interface__


def tensor(kept):
    """A tensor over an array, as PyTorch's are."""
    if ARCH == "cuda":
        address, device = kept.__cuda_array_interface__["data"][0], 2
    else:
        address, device = kept.ctypes.data, 1
    return exchanged_tensor.Tensor(address, 8, device, kept)


def cost(statement, count, names, rounds=9):
    """Processor seconds of the statement: the least of several loops."""
    scope = {**globals(), **names}
    exec(f"def run(count):\n    for _ in range(count):\n        {statement}\n", scope)
    run = scope["run"]
    run(10)
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run(count)
        times.append((time.process_time() - start) / count)
    return min(times)


figures = {
    "scalar argument": cost("scalar(2.0)", 100_000, {}),
    "two fields": cost("fields(one, other)", 100_000, {}),
    "two ndarrays": cost("arrays(array, second)", 100_000, {}),
    "two NumPy arrays": cost("arrays(numpy, numpy2)", 20_000, {}),
}
with ti.graph.capture() as graph:
    step()
figures["80 tasks, one by one"] = cost("step()", 1_000, {})
figures["80 tasks, a captured graph"] = cost("graph.launch()", 1_000, {})
tensors = map(tensor, (array, second) if ARCH == "cuda" else (numpy, numpy2))
figures["two tensors"] = cost("arrays(x, y)", 20_000, dict(zip("xy", tensors)))
if ARCH == "cuda":
    externals = {"x": External(array), "y": External(second)}
    figures["two arrays of another library"] = cost("arrays(x, y)", 5_000, externals)
print(json.dumps(figures))
