"""First calls of kernels on CUDA, without a device; prints JSON (seconds).

compile_cuda_program.py SALT     # a number: kernels of another one are not in the cache
"""

import json
import sys
import time

import kiln as ti

SALT = float(sys.argv[1])
ti.init(arch=ti.cuda, log_level=ti.ERROR)
numbers = ti.field(ti.f32, shape=1024)
SIDE, COUNT = 16, 512
x = ti.Vector.field(3, ti.f32, shape=COUNT)
v = ti.Vector.field(3, ti.f32, shape=COUNT)
affine = ti.Matrix.field(3, 3, ti.f32, shape=COUNT)
volume = ti.field(ti.f32, shape=COUNT)
momentum = ti.Vector.field(3, ti.f32, shape=(SIDE, SIDE, SIDE))
mass = ti.field(ti.f32, shape=(SIDE, SIDE, SIDE))


@ti.kernel
def first():
    numbers[0] = SALT


@ti.kernel
def tiny():
    for i in numbers:
        numbers[i] += SALT


@ti.kernel
def operations(count: ti.template()):
    for i in numbers:
        a = numbers[i]
        b = a + SALT
        for _ in ti.static(range(count // 2)):
            a = a * b + SALT
        numbers[i] = a


@ti.kernel
def scatter():
    """The largest kernel of the material point method (MLS-MPM, Hu et al. 2018) in 3-D."""
    for p in x:
        at = x[p] * SIDE
        base = int(at - 0.5)
        fraction = at - base
        w = [
            0.5 * (1.5 - fraction) ** 2,
            0.75 - (fraction - 1.0) ** 2,
            0.5 * (fraction - 0.5) ** 2,
        ]
        stress = -SALT * (volume[p] - 1.0)
        matrix = ti.Matrix.identity(ti.f32, 3) * stress + affine[p]
        for offset in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
            distance = (offset - fraction) / SIDE
            weight = w[offset[0]][0] * w[offset[1]][1] * w[offset[2]][2]
            momentum[base + offset] += weight * (v[p] + matrix @ distance)
            mass[base + offset] += weight


def seconds(call, *args):
    start = time.perf_counter()
    call(*args)
    return time.perf_counter() - start


first()  # starts the daemon, and a worker with NVIDIA's library
CASES = {
    "tiny": (tiny,),
    "300 operations": (operations, 300),
    "1,000 operations": (operations, 1000),
    "3,000 operations": (operations, 3000),
    "mpm, scatter": (scatter,),
}
print(json.dumps({what: seconds(*call) for what, call in CASES.items()}))
