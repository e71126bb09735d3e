#!/usr/bin/python3
"""Random kernels whose gradients and duals must be those of a model.

    tests/fuzz/gradients.py [--seconds 60] [--seed 0]
    tests/fuzz/gradients.py --show SEED      the kernel of a seed

The model runs the kernel's text in Python with numbers that carry derivatives
(random_gradients/duals.py), once for each input. A difference of the gradient (reverse mode) or of
the dual along a direction (forward mode) is a failure, as is a kernel that is refused without need.
"""

import argparse
import collections
import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import hunting  # noqa: E402
from random_gradients import generator  # noqa: E402
from random_gradients.duals import Cells, Dual, FakeTi, Members, Undecided, dual_of  # noqa: E402

OPTIONS = [{"fast_math": False}, {"fast_math": True}]
CLOSE = 1e-6  # relative to the largest part


class Steps:
    """Bounds the time of the model."""

    left = 20_000

    def trace(self, _frame, _event, _argument):
        self.left -= 1
        if self.left < 0:
            raise Undecided
        return self.trace


def expected(seed, text):
    """{"gradient": …, "dual": …} of a kernel; None if it is undecided."""
    direction = generator.inputs(seed)[3]
    try:
        gradient = [
            evaluate(seed, text, [float(k == i) for i in range(generator.N)])
            for k in range(generator.N)
        ]
    except (Undecided, OverflowError, ZeroDivisionError):
        return None
    dual = sum(g * d for g, d in zip(gradient, direction))
    return {"gradient": gradient, "dual": dual}


def evaluate(seed, text, direction):
    """The derivative along the direction of total + top + of_y * y + of_z * z."""
    values, of_y, of_z, _ = generator.inputs(seed)
    kinds, active = generator.places(seed)
    x = Cells([Dual(v, d) for v, d in zip(values, direction)], active)
    y, z, total = (Cells([Dual(0.0) for _ in range(generator.N)]) for _ in range(3))
    if kinds["y"] in generator.SPARSE:
        y.active = set()
        y.unit = {"blocks": generator.BLOCK, "dynamic": 0}.get(kinds["y"], 1)
    top = [Dual(generator.LOW)]
    # Python's functions cannot change an element that they are given.
    text = re.sub(
        rf"{re.escape(generator.MAXIMUM)}(.*)\)$", r"top[0] = ti.max(top[0], \1)", text, flags=re.M
    )
    module = {"ti": FakeTi, "x": x, "y": y, "z": z, "total": total, "top": top}
    module["s"] = Members({name: module[name] for name in "xy" if kinds[name] == "struct"})
    exec(compile(text, "<model>", "exec"), module)
    arrays = [module[name] for name in "xy" if kinds[name] == "array"]
    sys.settrace(Steps().trace)
    try:
        module["kernel"](0.75, generator.N, *arrays)
    finally:
        sys.settrace(None)
    dual = dual_of(total[0]) + dual_of(top[0])
    for seeds, results in ((of_y, y), (of_z, z)):
        dual += sum(seed * dual_of(results[i]) for i, seed in enumerate(seeds))
    return dual


def difference(wanted, found):
    """Describes the difference; None if there is none."""
    if found is None:
        return "nothing came back"
    if "error" in found:
        return found["error"]
    size = 1e-3 + max(abs(one) for one in wanted["gradient"])
    for k, (a, b) in enumerate(zip(wanted["gradient"], found["gradient"])):
        if not abs(a - b) <= CLOSE * size:
            return f"gradient of x[{k}]: {b}, not {a}"
    a, b = wanted["dual"], found["dual"]
    if b is None:  # arrays have no duals
        return None
    return None if abs(a - b) <= CLOSE * size * 10 else f"dual: {b}, not {a}"


def is_refused(name, text, words):
    """Whether the program overwrites what it has read, or changes a cell of a sparse field or an
    array that it has written before. The compiler follows such values only in dense fields, and
    refuses other programs."""
    kind = generator.places(int(name.removeprefix("program")))[0]["y"]
    may_be = generator.IN_PLACE in text or kind not in ("field", "struct")
    return may_be and "the kernel overwrites it later" in words


class Hunt:
    def __init__(self, machine, log=print, size=40):
        self.machine = machine
        self.size = size  # kernels in a batch
        self.log = log
        self.counts = collections.Counter()
        self.failures = []  # (name, words)

    def batch(self, seeds):
        programs, wanted = {}, {}
        while len(programs) < self.size:
            seed = next(seeds)
            text = generator.kernel(seed)
            right = expected(seed, text)
            self.counts["made"] += 1
            if right is None:
                self.counts["undecided"] += 1
                continue
            programs[f"program{seed}"] = text
            wanted[f"program{seed}"] = right
        found = self.machine.run(programs, OPTIONS)
        for name, text in programs.items():
            for options, result in zip(OPTIONS, found.get(name, [None] * len(OPTIONS))):
                self.counts["runs"] += 1
                words = difference(wanted[name], result)
                if words is not None and is_refused(name, text, words):
                    self.counts["refused"] += 1
                    words = None
                if words is not None:
                    self.failures.append((name, words))
                    self.log(f"FAILED {name} {options}: {words}\n{text}")
        self.counts["programs"] += len(programs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, metavar="SEED")
    options = parser.parse_args()
    if options.show is not None:
        print(generator.kernel(options.show))
        return 0
    end = time.monotonic() + options.seconds
    seeds = iter(range(options.seed, 10**9))
    with tempfile.TemporaryDirectory() as home:
        hunt = Hunt(hunting.Machine(home, "random_gradients.batch"))
        try:
            while time.monotonic() < end:
                hunt.batch(seeds)
        finally:
            hunt.machine.stop()
    print(", ".join(f"{count} {what}" for what, count in hunt.counts.items()))
    print(f"{len(hunt.failures)} failures")
    return 1 if hunt.failures else 0


if __name__ == "__main__":
    sys.exit(main())
