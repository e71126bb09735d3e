"""One start: import, init, a first result. Prints JSON (seconds since process start).

argv: implementation, what ("init" | "tiny" | "mpm88").
"""

import json
import sys
import time

from mpm88 import make as make_mpm88

START = time.perf_counter()
IMPLEMENTATION, WHAT = sys.argv[1], sys.argv[2]
if IMPLEMENTATION == "kiln":
    import kiln as ti
else:
    import taichi as ti

options = {"offline_cache_file_path": sys.argv[3]} if len(sys.argv) > 3 else {}
ti.init(arch=ti.cpu, log_level=ti.ERROR, **options)
INIT = time.perf_counter()


def tiny():
    x = ti.field(ti.f32, shape=16)

    @ti.kernel
    def fill(a: ti.f32):
        for i in x:
            x[i] = a * i

    begin = time.perf_counter()
    fill(2.0)
    assert x[3] == 6.0
    return time.perf_counter() - begin


def mpm88():
    x, init, substep = make_mpm88(ti, 8192)
    begin = time.perf_counter()
    init()
    for _ in range(50):
        substep()
    x.to_numpy()
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    for _ in range(100):
        substep()
    ti.sync()
    return first, (time.perf_counter() - begin) / 100


result = {"import + init": INIT - START}
if WHAT == "tiny":
    result["first tiny kernel"] = tiny()
elif WHAT == "mpm88":
    result["mpm88 first frame"], result["mpm88 substep"] = mpm88()
result["since start"] = time.perf_counter() - START
print(json.dumps(result))
