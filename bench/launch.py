"""Launch overhead and element access from Python of Kiln and Taichi, in one run.

./kiln python bench/launch.py --taichi-python PYTHON
"""

import harness

BUDGETS = {
    "serial, scalar argument": 0.4e-6,
    "parallel, 8192 elements, 2 threads": 2e-6,
    "field element read": 0.15e-6,
    "field element write": 0.15e-6,
}


def main():
    options = harness.arguments(__doc__)
    python = harness.kiln_python()
    program = str(harness.ROOT / "bench" / "launch_program.py")
    peers = {"kiln": lambda: harness.run_json([*python, program, "kiln"])}
    if options.taichi_python:
        peers["taichi"] = lambda: harness.run_json([options.taichi_python, program, "taichi"])
    figures = harness.interleave(options.rounds, peers)
    rows = []
    for what, seconds in figures["kiln"].items():
        taichi = figures.get("taichi", {}).get(what)
        limit = BUDGETS.get(what)
        rows.append(
            [
                what,
                f"{seconds * 1e6:.3f}",
                f"{taichi * 1e6:.2f}" if taichi else "-",
                f"{taichi / seconds:.0f}" if taichi else "-",
                f"{limit * 1e6:.2f}" if limit else "-",
                harness.budget(seconds, limit) if limit else "-",
            ]
        )
    header = ["what", "Kiln us", "Taichi us", "x Taichi", "budget us", "verdict"]
    harness.table("Launch and access (microseconds, medians)", header, rows)
    harness.save("launch", figures, options.json)


if __name__ == "__main__":
    main()
