"""Sparse data: loops, lists, appends, activation and solvers of Kiln, Taichi and Quadrants.

    ./kiln python bench/sparse.py [--taichi-python PYTHON] [--quadrants-python PYTHON] [GROUP...]

Prints milliseconds a call and the ratios. Goals: twice as fast as Taichi on each row; where all
cells are active, a loop takes at most 1.3 times what Kiln takes for that loop over dense data.
Each row also yields a check, a number that all sides must agree on: a difference fails the run.
"""

import math
import os
import sys

import harness

PROGRAM = str(harness.ROOT / "bench" / "sparse_program.py")
GROUPS = ("loops", "append", "lists", "churn", "mpm", "bits", "mgpcg")
PEERS = {"taichi": "Taichi 1.7.4", "quadrants": "Quadrants"}
TAICHI_GOAL, DENSE_GOAL = 2.0, 1.3
# Trees whose loops have a dense twin that performs the same work on the same cells.
DENSE_TWIN = {
    "pointer, dense, 100 %": "dense",
    "bitmasked, 100 %": "dense, x and y in one cell",
    "pointer, bitmasked, 100 %": "dense, x and y in one cell",
}
# For reductions in f32 and additions in another order.
TOLERANCE = 1e-3
HEADER = ["what", "Kiln", "Taichi", "Quadrants", "× Taichi", "× Quadrants", "of dense"]


def main():
    options = parse()
    programs = {"kiln": harness.kiln_python()}
    pythons = {side: getattr(options, f"{side}_python") for side in PEERS}
    programs |= {side: [python] for side, python in pythons.items() if python}
    wheel = harness.examples_folder(pythons["taichi"]) if pythons["taichi"] else None
    results = {side: {} for side in programs}
    agree = True
    for group in options.groups or GROUPS:
        if group == "mgpcg" and wheel is None:
            continue
        figures = run_group(group, programs, wheel, options.rounds)
        for side, medians in figures.items():
            results[side].update(medians["seconds"])
        agree &= same_checks(figures)
    rows = [row(what, results) for what in results["kiln"]]
    harness.table("Sparse data (milliseconds, medians)", HEADER, rows)
    if options.json or not options.groups:
        harness.save("sparse", results, options.json)
    if options.docs:
        lines = ["| " + " | ".join(cells) + " |" for cells in [HEADER, *rows]]
        harness.write_docs("sparse", "\n".join([lines[0], "|---" * len(HEADER) + "|", *lines[1:]]))
    return 0 if agree else 1


def parse():
    parser = harness.parser(__doc__.splitlines()[0], docs=True)
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS], metavar="GROUP")
    parser.add_argument(
        "--quadrants-python",
        default=os.environ.get("QUADRANTS_PYTHON"),
        help="interpreter that has Quadrants installed (default: $QUADRANTS_PYTHON)",
    )
    return parser.parse_args()


def run_group(group, programs, wheel, rounds):
    """side -> {"seconds": {row: median}, "checks": {row: number}}; sides in turn."""
    extra = [str(wheel / "algorithm" / "mgpcg.py")] if group == "mgpcg" else []
    found = {}

    def once(side):
        command = [*programs[side], PROGRAM, side, group, *extra]
        found[side] = harness.run_json(command)
        return found[side]["seconds"]

    peers = {side: lambda side=side: once(side) for side in programs}
    medians = harness.interleave(rounds, peers)
    return {s: {"seconds": medians[s], "checks": found[s]["checks"]} for s in programs}


def same_checks(figures):
    """Whether all sides computed the same; prints differences from Kiln's results."""
    same = True
    for side in figures:
        for what, ours in figures["kiln"]["checks"].items():
            theirs = figures[side]["checks"].get(what)
            if theirs is None:
                print(f"{what}: not on {side}", file=sys.stderr)
            elif not math.isclose(ours, theirs, rel_tol=TOLERANCE):
                print(f"{what}: Kiln computes {ours}, {side} {theirs}", file=sys.stderr)
                same = False
    return same


def row(what, results):
    """The cells of one row; (!) marks a missed goal."""
    kiln = results["kiln"][what]
    cells = [what, milliseconds(kiln)]
    cells += [milliseconds(results.get(side, {}).get(what)) for side in PEERS]
    for side, goal in (("taichi", TAICHI_GOAL), ("quadrants", 0)):
        other = results.get(side, {}).get(what)
        cells.append(ratio(other / kiln, other / kiln < goal) if other else "–")
    loop, _, tree = what.partition(": ")
    twin = results["kiln"].get(f"{loop}: {DENSE_TWIN.get(tree)}")
    cells.append(ratio(kiln / twin, kiln / twin > DENSE_GOAL) if twin else "–")
    return cells


def milliseconds(seconds):
    return f"{seconds * 1e3:.3f}" if seconds else "–"


def ratio(value, missed):
    return f"{value:.2f}" + (" (!)" if missed else "")


if __name__ == "__main__":
    sys.exit(main())
