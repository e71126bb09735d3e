#!/usr/bin/python3
"""Random programs whose gradients and duals must be those of a model.

    tests/fuzz/gradients.py [--seconds 60] [--seed 0]
    tests/fuzz/gradients.py --show SEED      the program of a seed
    tests/fuzz/gradients.py --reduce SEED    a smaller one that fails, too

The model (random_gradients/model.py) runs a program's text in Python with numbers that remember
how they were computed. A difference of the gradient (reverse mode), of the dual along a direction
(forward mode), or of the gradient's derivatives along it is a failure. So is a program that is
refused without need.
"""

import argparse
import collections
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import hunting  # noqa: E402
from random_gradients import generator, model  # noqa: E402
from random_gradients.expressions import IN_PLACE  # noqa: E402
from random_gradients.places import NAMES, SPARSE, Places  # noqa: E402
from random_kernels import reducer  # noqa: E402

# Most of what a compilation costs is LLVM's optimisation, which needs no gradients to be tested.
QUICK = [{"fast_math": False, "opt_level": 0}, {"fast_math": True, "opt_level": 0}]
FULL = [{"fast_math": False}, {"fast_math": True}]
SECOND = [{**one, "second": True} for one in QUICK]  # see random_gradients/batch.py
CLOSE = 1e-6  # relative to the largest part
REFUSED = re.compile(
    "kernel overwrites it later|activate them in a kernel of its own|may have overwritten"
    # A cache alone (tools/gpu/run.py) holds no reasons.
    + ("|kiln-worker does not answer" if os.environ.get("KILN_CACHE") == "read-only" else "")
)


def program(seed):
    return generator.program(seed, Places(seed))


def expected(seed, text, second=False):
    return model.expected(Places(seed), text, second)


def difference(wanted, found, may_be_refused=False):
    """Describes the difference; None if there is none."""
    if found is None:
        return "nothing came back"
    if "error" in found and not (may_be_refused and REFUSED.search(found["error"])):
        return found["error"]
    size = 1e-3 + max(map(abs, wanted["gradient"]))
    for name, a, b in zip(NAMES, wanted["gradient"], found.get("gradient", [])):
        if not abs(a - b) <= CLOSE * size:
            return f"gradient of {name}: {b}, not {a}"
    if "second" in found:
        return second_difference(wanted["second"], found["second"])
    for what, size in (("dual", 10 * size), ("value", 1 + abs(wanted["value"]))):
        a, b = wanted[what], found.get(what, wanted[what])
        if not abs(a - b) <= CLOSE * size:
            return f"{what}: {b}, not {a}"
    return None


def has_second(seed, text):
    """Whether Kiln computes second derivatives: of fields, in directions that are dense, and not of
    extremes in a kernel's locals."""
    places = Places(seed)
    is_extreme = re.search(r"ti.atomic_(max|min)\(u", text)
    return not places.arrays() and places.kinds["x"] not in SPARSE and not is_extreme


def second_difference(wanted, found):
    size = 1e-3 + max(map(abs, wanted))
    for name, a, b in zip(NAMES, wanted, found):
        if not abs(a - b) <= 1e-3 * size:  # `wanted` are differences
            return f"second of {name}: {b}, not {a}"
    return None


def may_be_refused(seed, text):
    """Whether a kernel overwrites what it has read, perhaps with more active cells, or changes a
    cell of a sparse field or an array that it has written before. The compiler follows such values
    only in dense fields."""
    kinds = Places(seed).kinds
    return IN_PLACE in text or kinds["y"] not in ("field", "struct") or kinds["m"] == "array"


class Hunt:
    def __init__(self, machine, log=print, size=40):
        self.machine = machine
        self.size = size  # programs in a batch
        self.log = log
        self.counts = collections.Counter()
        self.failures = []  # (seed, words)

    def batch(self, seeds, options):
        """Compares programs, each with all of the options."""
        programs, wanted = {}, {}
        second = any("second" in one for one in options)
        while len(programs) < self.size:
            seed = next(seeds)
            text = program(seed)
            if second and not has_second(seed, text):
                continue
            self.counts["made"] += 1
            try:
                right = expected(seed, text, second)
            except model.Wrong as error:
                self.fail(seed, "model", error, text)
                continue
            if right is None:
                self.counts["undecided"] += 1
                continue
            programs[f"program{seed}"] = text
            wanted[f"program{seed}"] = right, seed
        found = self.machine.run(programs, options)
        for name, text in programs.items():
            right, seed = wanted[name]
            for one, result in zip(options, found.get(name, [None] * len(options))):
                self.counts["runs"] += 1
                self.counts["refused"] += bool(result and REFUSED.search(result.get("error", "")))
                words = difference(right, result, may_be_refused(seed, text))
                if words is not None:
                    self.fail(seed, one, words, text)
        self.counts["programs"] += len(programs)

    def fail(self, seed, options, words, text):
        self.failures.append((seed, words))
        self.log(f"FAILED {seed} {options}: {words}\n{text}")


def reduced(machine, seed, options):
    """The seed's program, as small as it fails in the same way; None if it does not fail."""
    whole = program(seed)
    is_refusable = may_be_refused(seed, whole)  # the reducer drops the comment that says so
    sort = None

    def failing(texts):
        """The first text that fails, and how."""
        wanted = {}
        for text in texts:
            try:
                wanted[text] = expected(seed, text, "second" in options)
            except Exception:  # it is not a program any more
                wanted[text] = None
        names = {f"{k}.program{seed}": text for k, text in enumerate(texts) if wanted[text]}
        found = machine.run(names, [options], timeout=60) if names else {}
        for name, text in names.items():
            words = difference(wanted[text], found.get(name, [None])[0], is_refusable)
            if words is not None and sort in (None, sort_of(words)):
                return text, sort_of(words)
        return None, None

    _, sort = failing([whole])
    return sort and reducer.reduce(whole, lambda texts: failing(texts)[0])


def sort_of(words):
    """The sort of a failure: what differs, or how the error ends."""
    first = words.split()[0]
    numbers = ("gradient", "second", "dual:", "value:")
    return first if first in numbers else words.rstrip().splitlines()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--batches", type=int, help="so many, however long they take")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cuda", action="store_true", help="Kiln on CUDA's emulator")
    parser.add_argument("--home", help="of Kiln; by default one that ends with the hunt")
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--reduce", type=int, metavar="SEED")
    options = parser.parse_args()
    if options.show is not None:
        print(program(options.show))
        return 0
    with tempfile.TemporaryDirectory() as home:
        machine = hunting.Machine(options.home or home, "random_gradients.batch", cuda=options.cuda)
        try:
            if options.reduce is not None:
                tried = (reduced(machine, options.reduce, one) for one in QUICK + FULL + SECOND)
                print(next(filter(None, tried), "it does not fail"))
                return 0
            return hunt(machine, options)
        finally:
            if options.home is None:
                machine.stop()


def hunt(machine, options):
    made = Hunt(machine, log=lambda words: print(words, flush=True), size=100)

    def batch(number, seeds):
        among = {3: SECOND, 7: FULL}.get(number % 8, QUICK)
        made.batch(seeds, [among[number // 8 % 2 ^ number % 2]])

    return hunting.by_the_clock(made, options, batch)


if __name__ == "__main__":
    sys.exit(main())
