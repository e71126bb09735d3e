"""Compile time by the size of a kernel: what doubling it costs, and what Taichi takes.

    ./kiln python bench/sizes.py --taichi-python PYTHON [--docs] [--kinds fields,statements]

First calls with an empty cache and a warm compiler, of kernels that repeat one construct. Near
linear means: twice the size takes at most 2.8 times as long, as n to the power of 1.5 does. Taichi
gets TAICHI_SECONDS for a kernel. After one that takes longer, or fails, it gets no larger one.
"""

import os
import shutil
import subprocess
import tempfile

import harness
import sizes_program

LAUNCHER = str(harness.ROOT / "kiln")
PROGRAM = str(harness.ROOT / "bench" / "sizes_program.py")
SIZES = (125, 250, 500, 1000)
TAICHI_SECONDS = 60
MOST_GROWTH = 2.8


def measure(command, kind, n, cached=True, **options):
    """The seconds of one first call. cached: the implementation takes a folder for its cache."""
    with tempfile.TemporaryDirectory() as folder:
        whole = [*command, kind, str(n), folder, *([folder] if cached else [])]
        return harness.run_json(whole, **options)["seconds"]


def kiln(python, kinds):
    harness.run_quietly([LAUNCHER, "cache", "clear", "-y"])
    command = [*python, PROGRAM, "kiln"]
    figures = {}
    for kind in kinds:
        for n in SIZES:
            figures[f"{kind}, {n}"] = measure(command, kind, n, cached=False)
    return figures


def taichi(python, kinds):
    figures = {}
    for kind in kinds:
        for n in SIZES:
            try:
                seconds = measure([python, PROGRAM, "taichi"], kind, n, timeout=TAICHI_SECONDS)
            except (subprocess.TimeoutExpired, SystemExit):
                break
            figures[f"{kind}, {n}"] = seconds
    return figures


def rows_of(figures, kinds):
    for kind in kinds:
        of = {name: [found.get(f"{kind}, {n}") for n in SIZES] for name, found in figures.items()}
        growth = of["kiln"][-1] / of["kiln"][-2]
        row = [kind, *(f"{seconds * 1e3:.0f}" for seconds in of["kiln"])]
        row += [f"{growth:.1f}", harness.budget(growth, MOST_GROWTH)]
        peers = of.get("taichi", [None] * len(SIZES))
        yield row + [f"{seconds * 1e3:.0f}" if seconds else "–" for seconds in peers]


def main():
    parser = harness.parser(__doc__.splitlines()[0], docs=True)
    parser.add_argument("--kinds", help="these only, separated by commas")
    options = parser.parse_args()
    kinds = options.kinds.split(",") if options.kinds else list(sizes_program.KINDS)
    home = tempfile.mkdtemp(prefix="kiln-bench-")
    os.environ["KILN_HOME"] = home
    python = harness.kiln_python()
    peers = {"kiln": lambda: kiln(python, kinds)}
    if options.taichi_python:
        peers["taichi"] = lambda: taichi(options.taichi_python, kinds)
    try:
        figures = harness.interleave(options.rounds, peers)
    finally:
        harness.run_quietly([LAUNCHER, "stop"])
        shutil.rmtree(home, ignore_errors=True)
    header = ["construct", *(f"Kiln: {n}" for n in SIZES), "500 to 1000", f"goal: {MOST_GROWTH}"]
    header += [f"Taichi: {n}" for n in SIZES]
    rows = list(rows_of(figures, kinds))
    harness.table("First call (milliseconds, medians)", header, rows)
    if options.docs:
        lines = [header, ["---"] * len(header), *rows]
        harness.write_docs("sizes", "\n".join("| " + " | ".join(line) + " |" for line in lines))
    harness.save("sizes", figures, options.json)


if __name__ == "__main__":
    main()
