"""Runs kernels and their derivatives in one process: see random_kernels/batch.py.

The results of a program: "gradient", of x; "dual", of the sum that the gradient is of, along the
direction.
"""

import importlib
import json
import linecache
import sys

from . import generator


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
    ti.init(arch=ti.cpu, log_level=ti.ERROR, default_fp=ti.f64, **options)
    seed = int(name.removeprefix("program"))
    kinds, active = generator.places(seed)
    data = make(ti, kinds)
    x, y, z, total, top = (data[name] for name in ("x", "y", "z", "total", "top"))
    module = {"__name__": file, "ti": ti, **data}
    exec(compile(text, file, "exec"), module)
    kernel = ti.kernel(module["kernel"])
    arguments = [0.75, generator.N, *(data[name] for name in "xy" if kinds[name] == "array")]
    values, of_y, of_z, direction = generator.inputs(seed)
    for i in active:
        x[i] = values[i]
    top.fill(generator.LOW)
    kernel(*arguments)
    for i in active_cells(ti, y, kinds["y"]):
        y.grad[i] = of_y[i]
    fill(z.grad, of_z)
    total.grad[0] = top.grad[0] = 1.0
    kernel.grad(*arguments)
    gradient = [x.grad[i] for i in range(generator.N)]
    if "array" in kinds.values():
        return {"gradient": gradient, "dual": None}
    if kinds["y"] in generator.SPARSE:
        y.snode.parent().deactivate_all()
        if kinds["y"] == "blocks":
            y.snode.parent(2).deactivate_all()
    for field in (y, z, total):
        field.fill(0)
    top.fill(generator.LOW)
    with ti.ad.FwdMode(loss=total, param=x, seed=direction):
        kernel(*arguments)
    dual = total.dual[0] + top.dual[0]
    dual += sum(of_y[i] * y.dual[i] + of_z[i] * z.dual[i] for i in range(generator.N))
    return {"gradient": gradient, "dual": dual}


def make(ti, kinds):
    """The fields and arrays by name."""
    made = {"needs_grad": True, "needs_dual": True}
    shapes = {"z": generator.N, "total": 1, "top": 1}
    data = {name: ti.field(ti.f64, shape, **made) for name, shape in shapes.items()}
    members = {name: ti.f64 for name in "xy" if kinds[name] == "struct"}
    if members:
        s = ti.Struct.field(members, shape=generator.N, **made)
        data["s"] = s
        data.update((name, s.get_member_field(name)) for name in members)
    for name in "xy":
        if kinds[name] == "array":
            data[name] = ti.ndarray(ti.f64, generator.N, needs_grad=True)
        elif kinds[name] != "struct":
            data[name] = ti.field(ti.f64)
            cells = place(ti, kinds[name])
            cells.place(data[name], data[name].grad, data[name].dual)
    return data


def place(ti, kind):
    if kind == "pointer":
        return ti.root.pointer(ti.i, generator.N)
    if kind == "blocks":
        blocks = ti.root.pointer(ti.i, generator.N // generator.BLOCK)
        return blocks.dense(ti.i, generator.BLOCK)
    if kind == "bitmasked":
        return ti.root.bitmasked(ti.i, generator.N)
    if kind == "dynamic":
        return ti.root.dynamic(ti.i, generator.N)
    return ti.root.dense(ti.i, generator.N)


def active_cells(ti, field, kind):
    """The indices of active cells. Writes to others would make them active."""
    if kind not in generator.SPARSE:
        return range(generator.N)
    found = ti.field(ti.i32, generator.N)

    @ti.kernel
    def find(field: ti.template(), found: ti.template()):
        for i in field:
            found[i] = 1

    find(field, found)
    return [i for i in range(generator.N) if found[i]]


def fill(field, values):
    for i, value in enumerate(values):
        field[i] = value


if __name__ == "__main__":
    main(*sys.argv[1:])
