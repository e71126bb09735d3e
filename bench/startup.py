"""Start-up times: import, first kernel cold and warm, mpm88's first frame; compared with Taichi.

    ./kiln python bench/startup.py --taichi-python PYTHON

Cold means an empty cache with the daemon and a warm worker running (what a user
meets after editing a kernel); warm means a fresh process whose kernels are cached.
"""

import os
import shutil
import tempfile
import time

import harness

LAUNCHER = str(harness.ROOT / "kiln")
PROGRAM = str(harness.ROOT / "bench" / "startup_program.py")


def kiln(what, home):
    return harness.run_json([*KILN, PROGRAM, "kiln", what], {"KILN_HOME": home})


def taichi(python, what, cache):
    return harness.run_json([python, PROGRAM, "taichi", what, cache])


def kiln_figures(home):
    """One round of all Kiln figures; the daemon of `home` is running."""
    clear = [LAUNCHER, "cache", "clear", "-y"]
    figures = {"import + init": kiln("init", home)["import + init"]}
    figures["launcher (./kiln python -c pass)"] = harness.wall([LAUNCHER, "python", "-c", "pass"])
    figures["interpreter alone"] = harness.wall([*KILN, "-c", "pass"])
    for what, figure in (("tiny", "first tiny kernel"), ("mpm88", "mpm88 first frame")):
        harness.wall(clear, {"KILN_HOME": home})
        figures[f"{figure}, cold"] = kiln(what, home)[figure]
        warm = kiln(what, home)
        figures[f"{figure}, warm"] = warm[figure]
        if what == "tiny":
            begin = time.perf_counter()
            kiln(what, home)
            figures["process to first result, warm"] = time.perf_counter() - begin
        else:
            figures["mpm88 substep"] = warm["mpm88 substep"]
    return figures


def taichi_figures(python):
    figures = {}
    for what, figure in (("tiny", "first tiny kernel"), ("mpm88", "mpm88 first frame")):
        with tempfile.TemporaryDirectory() as cache:
            cold = taichi(python, what, cache)
            figures["import + init"] = cold["import + init"]
            figures[f"{figure}, cold"] = cold[figure]
            begin = time.perf_counter()
            warm = taichi(python, what, cache)
            wall = time.perf_counter() - begin
            figures[f"{figure}, warm"] = warm[figure]
            if what == "tiny":
                figures["process to first result, warm"] = wall
            else:
                figures["mpm88 substep"] = warm["mpm88 substep"]
    return figures


# figure -> (seconds at most, or None; fraction of Taichi at most, or None)
BUDGETS = {
    "import + init": (0.03, None),
    "process to first result, warm": (0.06, None),
    "first tiny kernel, cold": (0.03, None),
    "mpm88 first frame, cold": (None, 0.5),
    "mpm88 first frame, warm": (None, 0.25),
}


def main():
    global KILN
    options = harness.arguments(__doc__, rounds=5)
    home = tempfile.mkdtemp(prefix="kiln-bench-")
    KILN = harness.kiln_python()
    try:
        kiln("tiny", home)  # starts the daemon
        peers = {"kiln": lambda: kiln_figures(home)}
        if options.taichi_python:
            peers["taichi"] = lambda: taichi_figures(options.taichi_python)
        figures = harness.interleave(options.rounds, peers)
    finally:
        os.environ["KILN_HOME"] = home
        harness.run_quietly([LAUNCHER, "stop"])
        shutil.rmtree(home, ignore_errors=True)
    rows = []
    for what, seconds in figures["kiln"].items():
        taichi_seconds = figures.get("taichi", {}).get(what)
        limit, fraction = BUDGETS.get(what, (None, None))
        if fraction and taichi_seconds:
            limit = fraction * taichi_seconds
        rows.append(
            [
                what,
                f"{seconds * 1e3:.1f}",
                f"{taichi_seconds * 1e3:.1f}" if taichi_seconds else "-",
                f"{seconds / taichi_seconds:.2f}" if taichi_seconds else "-",
                f"{limit * 1e3:.0f}" if limit else "-",
                harness.budget(seconds, limit) if limit else "-",
            ]
        )
    header = ["what", "Kiln ms", "Taichi ms", "of Taichi", "budget ms", "verdict"]
    harness.table("Start-up (milliseconds, medians)", header, rows)
    harness.save("startup", figures, options.json)


if __name__ == "__main__":
    main()
