"""Runs programs in one process and prints their results, one JSON line before and after each.

    python -m random_kernels.batch taichi|kiln FILE OPTIONS...      FILE: JSON list of [name, text]

OPTIONS: JSON objects, each given to `ti.init` for one run of every program; with "launch": false it
is only compiled.
"""

import importlib
import json
import linecache
import sys

import numpy

from . import data


def main(package, path, *options):
    ti = importlib.import_module(package)
    out = sys.stdout
    with open(path) as file:
        programs = json.load(file)
    for name, text in programs:
        for number, one in enumerate(options):
            print(json.dumps({"begins": name, "run": number}), file=out, flush=True)
            try:
                found = run(ti, package, name, text, json.loads(one))
            except Exception as error:
                found = {"error": f"{type(error).__name__}: {error}"}
                if package == "kiln":
                    found["class"] = describe(ti, error)
            print(json.dumps({"ends": name, "run": number, "found": found}), file=out, flush=True)


def describe(ti, error):
    """The origin of an error: "user" for Kiln's errors for users, else the place that raised it."""
    if isinstance(error, (ti.TaichiCompilationError, ti.TaichiRuntimeError)):
        return "user" if 'File "<' in str(error) and ", line " in str(error) else "no place"
    place = error.__traceback__
    while place.tb_next:
        place = place.tb_next
    return f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}"


def run(ti, package, name, text, options):
    """Runs a program; returns its results {name: list of numbers}."""
    file = f"<{name}>"
    if package != "kiln":
        text = text.replace("import kiln as ti", f"import {package} as ti")
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    # Options in the program's text apply before its fields are made.
    given = text.split("OPTIONS = dict(", 1)
    asked = eval(f"dict({given[1].splitlines()[0]}", {"ti": ti}) if len(given) > 1 else {}
    launched = options.pop("launch", True)
    ti.init(arch=ti.cpu, log_level=ti.ERROR, **asked, **options)
    module = {"__name__": file}
    exec(compile(text, file, "exec"), module)
    visible = {n: v for n, v in module.items() if hasattr(v, "to_numpy") and n[0] == "x"}
    for key, value in visible.items():
        fill(key, value)
    arguments = [ti.Vector(a) if isinstance(a, list) else a for a in module["ARGUMENTS"]]
    if not launched:
        make = importlib.import_module("kiln.instance").make_instance
        make(module["kernel"], arguments)
        return {}
    result = module["kernel"](*arguments)
    found = {key: read(value) for key, value in visible.items()}
    if result is not None:
        found["return"] = flat(result)
    return found


def fill(name, value):
    """Fills a field with the evaluator's initial values."""
    now = value.to_numpy()
    following = data.numbers(name)
    if not isinstance(now, dict):
        value.from_numpy(array(now, following))
        return
    arrays = copied(now)
    for cell in numpy.ndindex(*value.shape):
        for array_ in leaves(arrays):
            part = array_[cell]
            if getattr(part, "shape", ()):
                for k in numpy.ndindex(*part.shape):
                    array_[cell + k] = following(type_name(array_.dtype))
            else:
                array_[cell] = following(type_name(array_.dtype))
    value.from_numpy(arrays)


def copied(arrays):
    """Copies of arrays by member, including members of nested structs."""
    return {n: copied(a) if isinstance(a, dict) else numpy.array(a) for n, a in arrays.items()}


def leaves(arrays):
    """The arrays themselves, in the order of the members."""
    for one in arrays.values():
        yield from leaves(one) if isinstance(one, dict) else [one]


def array(now, following):
    kind = type_name(now.dtype)
    return numpy.array([following(kind) for _ in range(now.size)], now.dtype).reshape(now.shape)


def type_name(dtype):
    return "u1" if dtype.kind == "b" else dtype.kind + str(dtype.itemsize * 8)


def read(value):
    now = value.to_numpy()
    if not isinstance(now, dict):
        return plain(now.reshape(-1))
    rows = [plain_rows(a, value.shape) for a in leaves(now)]
    return [x for parts in zip(*rows) for part in parts for x in part]


def plain_rows(array_, shape):
    return [plain(numpy.asarray(array_[cell]).reshape(-1)) for cell in numpy.ndindex(*shape)]


def plain(array_):
    if array_.dtype.kind == "f":
        return [float(x) for x in array_]
    return [int(x) for x in array_]


def flat(result):
    if isinstance(result, (list, tuple)):
        return [x for part in result for x in flat(part)]
    if hasattr(result, "to_dict"):
        return flat(list(result.to_dict().values()))
    if isinstance(result, dict):  # a struct in a struct
        return flat(list(result.values()))
    if hasattr(result, "to_numpy"):
        return plain(numpy.asarray(result.to_numpy()).reshape(-1))
    if hasattr(result, "reshape"):
        return plain(result.reshape(-1))
    return [float(result) if isinstance(result, float) else int(result)]


if __name__ == "__main__":
    main(*sys.argv[1:])
