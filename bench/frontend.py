"""The front end's time per visited node of the syntax tree, compared with Taichi's.

    ./kiln python bench/frontend.py --taichi-python PYTHON

Processor time from the arguments to the finished kernel, without parsing and without compiling.
Taichi also transforms the functions that implement matrix operations, so it visits more nodes.
"""

import json
import os
import shutil
import statistics
import tempfile

import harness

PROGRAM = str(harness.ROOT / "bench" / "frontend_program.py")
REPETITIONS = 7
BUDGET = 3e-6  # seconds a visit, of mpm88's substep


def figures(command, implementation, home):
    environment = {"KILN_HOME": home, "KILN_WARM": "off", "PYTHONWARNINGS": "ignore"}
    text = harness.run_text([*command, PROGRAM, implementation, str(REPETITIONS)], environment)
    found = {}
    for kernel, result in json.loads(text).items():
        found[f"{kernel} seconds"] = statistics.median(result["samples"])
        found[f"{kernel} visits"] = result["visits"]
    return found


def main():
    options = harness.arguments(__doc__, rounds=3)
    home = tempfile.mkdtemp(prefix="kiln-bench-")
    command = harness.kiln_python()
    try:
        peers = {"kiln": lambda: figures(command, "kiln", home)}
        if options.taichi_python:
            peers["taichi"] = lambda: figures([options.taichi_python], "taichi", home)
        measured = harness.interleave(options.rounds, peers)
    finally:
        os.environ["KILN_HOME"] = home
        harness.run_quietly([str(harness.ROOT / "kiln"), "stop"])
        shutil.rmtree(home, ignore_errors=True)
    rows = []
    kiln, taichi = measured["kiln"], measured.get("taichi")
    for what in [name.split()[0] for name in kiln if name.endswith(" visits")]:
        row = [what, *_cells(kiln, what), *(_cells(taichi, what) if taichi else ["-"] * 3)]
        each = kiln[f"{what} seconds"] / kiln[f"{what} visits"]
        verdict = harness.budget(each, BUDGET) if what == "mpm88" else "-"
        rows.append([*row, verdict])
    header = ["kernel", "visits", "ms", "us each", "Taichi visits", "ms", "us each", "verdict"]
    harness.table("Front end (processor time, medians)", header, rows)
    harness.save("frontend", measured, options.json)


def _cells(peer, kernel):
    seconds, visits = peer[f"{kernel} seconds"], peer[f"{kernel} visits"]
    return [f"{visits:.0f}", f"{seconds * 1e3:.2f}", f"{seconds / visits * 1e6:.2f}"]


if __name__ == "__main__":
    main()
