"""First calls of kernels on CUDA, without a device; prints JSON (seconds).

compile_cuda_program.py SALT     # a number from 1 on: kernels of another one are not in the cache
"""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools" / "gpu"))
import benchmarks  # noqa: E402  starts CUDA
import kiln as ti  # noqa: E402

SALT = int(sys.argv[1])
numbers = ti.field(ti.f32, shape=1024)


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
def sines(count: ti.template()):
    for i in numbers:
        a = numbers[i]
        for _ in ti.static(range(count)):
            a = ti.sin(a) * 1.5 + SALT
        numbers[i] = a


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
    "one sine": (sines, 1),
    "60 sines": (sines, 60),
    "500 sines": (sines, 500),
    # Its kernels have the grid's size in them.
    "mpm, four kernels": (benchmarks.material_points, 8 + SALT % 64, 64, 1, 1),
}
print(json.dumps({what: seconds(*call) for what, call in CASES.items()}))
