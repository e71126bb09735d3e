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
    made = {"needs_grad": True, "needs_dual": True}
    shapes = {"x": generator.N, "y": generator.N, "z": generator.N, "total": 1, "top": 1}
    fields = {n: ti.field(ti.f64, shape, **made) for n, shape in shapes.items()}
    module = {"__name__": file, "ti": ti, **fields}
    exec(compile(text, file, "exec"), module)
    kernel = ti.kernel(module["kernel"])
    values, of_y, of_z, direction = generator.inputs(int(name.removeprefix("program")))
    x, y, z, total, top = fields.values()
    fill(x, values)
    top.fill(generator.LOW)
    kernel(0.75)
    fill(y.grad, of_y)
    fill(z.grad, of_z)
    total.grad[0] = top.grad[0] = 1.0
    kernel.grad(0.75)
    gradient = [x.grad[i] for i in range(generator.N)]
    for field in (y, z, total):
        field.fill(0)
    top.fill(generator.LOW)
    with ti.ad.FwdMode(loss=total, param=x, seed=direction):
        kernel(0.75)
    dual = total.dual[0] + top.dual[0]
    dual += sum(of_y[i] * y.dual[i] + of_z[i] * z.dual[i] for i in range(generator.N))
    return {"gradient": gradient, "dual": dual}


def fill(field, values):
    for i, value in enumerate(values):
        field[i] = value


if __name__ == "__main__":
    main(*sys.argv[1:])
