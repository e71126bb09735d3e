"""Runs programs on trees in one process and prints their results, one JSON line before and after
each.

python -m random_trees.batch taichi|kiln FILE OPTIONS...      FILE: JSON list of [name, text]
"""

import importlib
import json
import linecache
import sys


def main(package, path, *options):
    ti = importlib.import_module(package)
    out = sys.stdout
    with open(path) as file:
        programs = json.load(file)
    for name, text in programs:
        for number, one in enumerate(options):
            print(json.dumps({"begins": name, "run": number}), file=out, flush=True)
            try:
                found = {"seen": run(ti, package, name, text, json.loads(one))}
            except Exception as error:
                found = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps({"ends": name, "run": number, "found": found}), file=out, flush=True)


def run(ti, package, name, text, options):
    file = f"<{name}>"
    text = text.replace("import kiln as ti", f"import {package} as ti")
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    ti.init(arch=ti.cpu, log_level=ti.ERROR, **options)
    module = {"__name__": file}
    exec(compile(text, file, "exec"), module)
    return module["SEEN"]


if __name__ == "__main__":
    main(*sys.argv[1:])
