"""Copies and fills of whole fields in several layouts: Kiln, NumPy's strided copy, and Taichi.

./kiln python bench/copies.py --taichi-python PYTHON
"""

import harness


def main():
    options = harness.arguments(__doc__)
    python = harness.kiln_python()
    program = str(harness.ROOT / "bench" / "copies_program.py")
    peers = {
        "kiln": lambda: harness.run_json([*python, program, "kiln"]),
        "numpy": lambda: harness.run_json([*python, program, "numpy"]),
    }
    if options.taichi_python:
        peers["taichi"] = lambda: harness.run_json([options.taichi_python, program, "taichi"])
    figures = harness.interleave(options.rounds, peers)
    rows = []
    for what, seconds in figures["kiln"].items():
        numpy, taichi = figures["numpy"][what], figures.get("taichi", {}).get(what)
        rows.append(
            [
                what,
                f"{seconds * 1e3:.2f}",
                f"{numpy * 1e3:.2f}",
                f"{taichi * 1e3:.2f}" if taichi else "-",
                f"{numpy / seconds:.2f}",
                harness.budget(seconds, numpy),
            ]
        )
    header = ["what", "Kiln ms", "NumPy ms", "Taichi ms", "x NumPy", "verdict"]
    harness.table("Whole fields, 4,194,304 cells (milliseconds, best of five)", header, rows)
    harness.save("copies", figures, options.json)


if __name__ == "__main__":
    main()
