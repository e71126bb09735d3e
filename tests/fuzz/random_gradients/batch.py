"""Runs programs and their derivatives in one process: see random_kernels/batch.py.

The results of a program: with the option "second", "second", the gradient's derivatives along x's
direction. Otherwise "value", the weighted sum of all that the kernels write (see places.py);
"gradient", the sum's derivatives by the inputs; "dual", its derivative along the direction.
"""

import importlib
import json
import linecache
import sys
import warnings

import numpy

from . import places
from .places import BLOCK, INPUTS, KERNELS, LOW, SHAPES, SPARSE, N, Places


def main(package, path, *options):
    ti = importlib.import_module(package)
    with open(path) as file:
        programs = json.load(file)
    for name, text in programs:
        for number, one in enumerate(options):
            print(json.dumps({"begins": name, "run": number}), flush=True)
            try:
                found = run(ti, name, text, json.loads(one))
            except Exception as error:
                found = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps({"ends": name, "run": number, "found": found}), flush=True)


def run(ti, name, text, options):
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    is_second = options.pop("second", False)
    ti.init(arch=ti.cpu, log_level=ti.ERROR, default_fp=ti.f64, **options)
    of = Places(int(name.rpartition("program")[2]))
    data = make(ti, of.kinds)
    module = {"__name__": file, "ti": ti, **data}
    exec(compile(text, file, "exec"), module)
    arguments = [places.P, N, *(data[name] for name in of.arrays())]
    kernels = [ti.kernel(module[name]) for name in filter(module.get, KERNELS)]
    fill(data["x"], of.values["x"], of.active)
    fill(data["w"], of.values["w"])
    fill(data["top"], numpy.array(LOW))

    def call():
        for kernel in kernels:
            kernel(*arguments)

    if is_second:
        return {"second": second(ti, data, of, call)}
    found = {}
    if of.arrays() or len(kernels) > 1:  # arrays have no duals
        with ti.ad.Tape(access="error") as tape:
            call()
        run_gradients = tape.grad
    else:
        found["dual"] = along(ti, data, of, call)
        run_gradients = lambda: kernels[0].grad(*arguments)  # noqa: E731
    found["value"] = weighted(data, of.weights)
    for result, weights in of.weights.items():
        sparse = of.kinds.get(result) in SPARSE  # writes to inactive cells would make them active
        active = active_cells(ti, data[result]) if sparse else None
        fill(data[result].grad, weights, active)
    try:
        run_gradients()
    except Exception as error:
        return {**found, "error": f"{type(error).__name__}: {error}"}
    flat = of.flat({name: data[name].grad.to_numpy() for name in INPUTS})
    return {**found, "gradient": flat}


def along(ti, data, of, call):
    """The weighted sum's derivative along the direction."""
    with ti.ad.FwdMode(data["total"], [data["x"]], [of.direction["x"].tolist()]):
        fill(data["x"].dual, of.direction["x"], of.active)
        fill(data["w"].dual, of.direction["w"])
        call()
    return weighted({name: data[name].dual for name in of.weights}, of.weights)


def second(ti, data, of, call):
    """The gradient's derivatives along x's direction."""
    made = {"needs_grad": True, "needs_dual": True}
    loss = ti.field(ti.f64, (), **made)
    by = {name: ti.field(ti.f64, SHAPES[name]) for name in of.weights}
    for name, weights in of.weights.items():
        by[name].from_numpy(weights)

    @ti.kernel
    def weigh(result: ti.template(), by: ti.template()):
        for i in ti.grouped(by):
            loss[None] += by[i] * result[i]

    def f():
        call()
        for name, weights in by.items():
            weigh(data[name], weights)

    with warnings.catch_warnings():
        warnings.filterwarnings("error", "gradients may be wrong")
        ti.ad.hvp(f, loss, data["x"], of.direction["x"])
    return of.flat({name: data[name].grad.dual.to_numpy() for name in INPUTS})


def weighted(data, weights):
    return float(sum((data[name].to_numpy() * by).sum() for name, by in weights.items()))


def fill(field, values, active=None):
    if active is None:
        field.from_numpy(values)
        return
    for i in active:
        field[i] = values[i]


def make(ti, kinds):
    """The fields and arrays by name."""
    made = {"needs_grad": True, "needs_dual": True}
    data = {}
    members = {name: ti.f64 for name in "xy" if kinds[name] == "struct"}
    if members:
        s = ti.Struct.field(members, shape=N, **made)
        data["s"] = s
        data.update((name, s.get_member_field(name)) for name in members)
    for name, shape in SHAPES.items():
        kind = kinds.get(name, "field")
        if kind == "array":
            data[name] = ti.ndarray(ti.f64, shape, needs_grad=True)
        elif kind in SPARSE:
            data[name] = ti.field(ti.f64)
            sparse_cells(ti, kind).place(data[name], data[name].grad, data[name].dual)
        elif kind == "field":
            data[name] = ti.field(ti.f64, shape, **made)
    return data


def sparse_cells(ti, kind):
    if kind == "pointer":
        return ti.root.pointer(ti.i, N)
    if kind == "blocks":
        return ti.root.pointer(ti.i, N // BLOCK).dense(ti.i, BLOCK)
    if kind == "bitmasked":
        return ti.root.bitmasked(ti.i, N)
    return ti.root.dynamic(ti.i, N)


def active_cells(ti, field):
    """The indices of active cells."""
    found = ti.field(ti.i32, N)

    @ti.kernel
    def find(field: ti.template(), found: ti.template()):
        for i in field:
            found[i] = 1

    find(field, found)
    return [i for i in range(N) if found[i]]


if __name__ == "__main__":
    main(*sys.argv[1:])
