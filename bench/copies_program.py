"""Seconds to copy whole fields of several layouts to and from arrays; prints JSON.

The peer is NumPy's strided copy of the same memory: from a view in the field's order to a C-ordered
array.
"""

import json
import sys
import time

import numpy as np

IMPLEMENTATION = sys.argv[1]
if IMPLEMENTATION == "kiln":
    import kiln as ti
elif IMPLEMENTATION == "taichi":
    import taichi as ti

SIDE = 2048
CELLS = SIDE * SIDE


def seconds(run):
    run()
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def of_fields():
    ti.init(arch=ti.cpu, log_level=ti.ERROR, cpu_max_num_threads=2)
    blocked = ti.field(ti.f32)
    ti.root.dense(ti.ij, (SIDE // 16, SIDE // 16)).dense(ti.ij, (16, 16)).place(blocked)
    fields = {
        "rows, f32": ti.field(ti.f32, (SIDE, SIDE)),
        "columns, f32": ti.field(ti.f32, (SIDE, SIDE), order="ji"),
        "columns, f64": ti.field(ti.f64, (SIDE, SIDE), order="ji"),
        "blocks of 16x16, f32": blocked,
        "vectors of 3, SOA": ti.Vector.field(3, ti.f32, CELLS, layout=ti.Layout.SOA),
        "vectors of 3, AOS": ti.Vector.field(3, ti.f32, CELLS),
    }
    figures = {}
    for name, field in fields.items():
        array = field.to_numpy()
        figures[f"{name}: to_numpy"] = seconds(field.to_numpy)
        figures[f"{name}: from_numpy"] = seconds(lambda f=field, a=array: f.from_numpy(a))
        figures[f"{name}: fill"] = seconds(lambda f=field: f.fill(1))
    return figures


def of_numpy():
    ordered = np.ones((SIDE, SIDE), np.float32)
    wide = np.ones((SIDE, SIDE), np.float64)
    blocks = np.ones((SIDE // 16, SIDE // 16, 16, 16), np.float32)
    views = {
        "rows, f32": ordered,
        "columns, f32": ordered.T,
        "columns, f64": wide.T,
        "blocks of 16x16, f32": blocks.transpose(0, 2, 1, 3),
        "vectors of 3, SOA": np.ones((3, CELLS), np.float32).T,
        "vectors of 3, AOS": np.ones((CELLS, 3), np.float32),
    }
    figures = {}
    for name, view in views.items():
        array = np.ones(view.shape, view.dtype)
        figures[f"{name}: to_numpy"] = seconds(lambda v=view: v.copy("C"))
        figures[f"{name}: from_numpy"] = seconds(lambda v=view, a=array: np.copyto(v, a))
        figures[f"{name}: fill"] = seconds(lambda v=view: v.fill(1))
    return figures


print(json.dumps(of_numpy() if IMPLEMENTATION == "numpy" else of_fields()))
