"""Compile time of matrix kernels by the number of elements, compared with Taichi where it finishes.

    ./kiln python bench/matrices.py --taichi-python PYTHON

First calls with an empty cache and a warm compiler. Linear means: the time of 64 x 64
over that of 8 x 8 is no more than the ratio of their elements, 64; it is about 1,
because large matrices are loops. Taichi unrolls every element: it gets sizes up to
16 x 16, and TAICHI_SECONDS a size.
"""

import os
import shutil
import subprocess
import tempfile

import harness

LAUNCHER = str(harness.ROOT / "kiln")
PROGRAM = str(harness.ROOT / "bench" / "matrices_program.py")
SIZES = (2, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96)
TAICHI_SIZES = (2, 4, 5, 6, 8, 12, 16)
TAICHI_SECONDS = 120


def kiln(home, n):
    harness.run_quietly([LAUNCHER, "cache", "clear", "-y"])
    found = harness.run_json([*KILN, PROGRAM, "kiln", str(n)], {"KILN_HOME": home})
    return {f"{what}, {n} x {n}": seconds for what, seconds in found.items()}


def taichi(python, n):
    with tempfile.TemporaryDirectory() as cache:
        try:
            found = harness.run_json(
                [python, PROGRAM, "taichi", str(n), cache], timeout=TAICHI_SECONDS
            )
        except subprocess.TimeoutExpired:
            return {}
    return {f"{what}, {n} x {n}": seconds for what, seconds in found.items()}


def of_sizes(measure, sizes):
    figures = {}
    for n in sizes:
        found = measure(n)
        if not found:
            break  # the larger ones would take longer still
        figures.update(found)
    return figures


def main():
    global KILN
    options = harness.arguments(__doc__, rounds=3)
    home = tempfile.mkdtemp(prefix="kiln-bench-")
    os.environ["KILN_HOME"] = home
    KILN = harness.kiln_python()
    try:
        kiln(home, 2)  # starts the daemon
        peers = {"kiln": lambda: of_sizes(lambda n: kiln(home, n), SIZES)}
        if options.taichi_python:
            python = options.taichi_python
            peers["taichi"] = lambda: of_sizes(lambda n: taichi(python, n), TAICHI_SIZES)
        figures = harness.interleave(options.rounds, peers)
    finally:
        harness.run_quietly([LAUNCHER, "stop"])
        shutil.rmtree(home, ignore_errors=True)
    rows, verdicts = [], []
    kernels = list(dict.fromkeys(what.rsplit(", ", 1)[0] for what in figures["kiln"]))
    for what in kernels:
        for peer, of_peer in figures.items():
            cells = [of_peer.get(f"{what}, {n} x {n}") for n in SIZES]
            rows.append([what, peer] + [f"{c * 1e3:.0f}" if c else "-" for c in cells])
        of_kiln = figures["kiln"]
        growth = of_kiln[f"{what}, 64 x 64"] / of_kiln[f"{what}, 8 x 8"]
        verdicts.append([what, f"{growth:.1f}", "64", harness.budget(growth, 64)])
    header = ["kernel", "by", *(f"{n}x{n}" for n in SIZES)]
    harness.table("First call (milliseconds, medians)", header, rows)
    harness.table("64 x 64 of 8 x 8", ["kernel", "times", "budget", "verdict"], verdicts)
    harness.save("matrices", figures, options.json)


if __name__ == "__main__":
    main()
