#!/usr/bin/python3
"""Random kernels, run by Kiln and by a direct evaluator, which must agree.

    tests/fuzz/kernels.py [--seconds 60] [--seed 0] [--taichi-python PYTHON] [--third OPTIONS]
    tests/fuzz/kernels.py --cuda           on the emulator of CUDA
    tests/fuzz/kernels.py --show SEED      the program of a seed
    tests/fuzz/kernels.py --again FILE...  kept programs

Each program runs unoptimised, at full optimisation and with a third set of options; first cold,
then in a fresh process from the cache. Some batches run without a daemon. Other batches have
programs that do not depend on the rounding of floats; they also run with fast_math and, if
--taichi-python is given, by Taichi. A program with a difference is reduced and written to
tests/fuzz/kept, whose programs ./test runs again.
"""

import argparse
import collections
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "kept"
sys.path.insert(0, str(HERE))

import hunting  # noqa: E402
from random_kernels import evaluator, generator, reducer  # noqa: E402
from random_kernels.numbers import Undecided, ulp  # noqa: E402

EXACT = [{"fast_math": False, "opt_level": 0}, {"fast_math": False}]
# The third set of options, which changes with each batch.
THIRD = [
    {"cpu_max_num_threads": 5},
    {"lanes": "on"},
    {"check_out_of_bound": True},
    {"lanes": "on", "cpu_level": "x86-64-v3"},
    {"advanced_optimization": False},
]
FAST = [{"fast_math": True, "opt_level": 0}, {"fast_math": True}]
# Errors that constants cause in code that never runs, which the model does not look at.
OF_CONSTANTS = (
    "ZeroDivisionError",
    "negative shift count",
    "exceeded the range of specified dtype",
)


# ---- expected results


def expected(text, loose):
    """The numbers that the program must leave, or None if they are undecided."""
    try:
        return evaluator.evaluate(text, loose)
    except (Undecided, SyntaxError, AttributeError, TypeError, ValueError, ArithmeticError):
        return None
    except (KeyError, IndexError, RecursionError):
        return None


def difference(wanted, found):
    """Describes the difference; None if there is none."""
    if found is None:
        return "nothing came back"
    if "error" in found:
        return None if any(text in found["error"] for text in OF_CONSTANTS) else found["error"]
    for name, numbers in wanted.items():
        name_found = found.get(name)
        if name_found is None or len(name_found) != len(numbers):
            return f"{name}: {name_found}, not {numbers}"
        for k, (number, other) in enumerate(zip(numbers, name_found)):
            if not same(number, other):
                return f"{name}[{k}] (flat): {other!r}, not {number}"
    return None


def same(number, other):
    value = number.value
    if value != value or other != other:
        return value != value and other != other
    if number.error == 0 or math.isinf(value) or math.isinf(other):
        return value == other
    return abs(value - other) <= number.error + ulp(number.type, value)


# ---- a run


class Hunt:
    def __init__(self, machine, log=print, size=40, third=None):
        self.machine = machine
        self.size = size  # programs in a batch
        self.log = log
        self.third = [third] if third else THIRD
        self.batches = 0
        self.counts = collections.Counter()
        self.failures = []  # (name, how, words, text)

    def batch(self, seeds, loose, alone):
        """One batch of programs. seeds: an iterator; alone: without a daemon."""
        programs, wanted = {}, {}
        while len(programs) < self.size:
            seed = next(seeds)
            text = generator.program(seed, loose)
            right = expected(text, loose)
            self.counts["made"] += 1
            if right is None:
                self.counts["undecided"] += 1
                continue
            programs[f"program{seed}"] = text
            wanted[f"program{seed}"] = right
        options = FAST if loose else EXACT
        third = {**options[1], **self.third[self.batches % len(self.third)]}
        options = [*options, third]
        self.batches += 1
        environment = {"KILN_SERVER": "off"} if alone else {}
        where = "without a daemon" if alone else "cold"
        self.check(programs, wanted, options, environment, where)
        self.check(programs, wanted, options, environment, where + ", again")
        if loose and self.machine.taichi:
            found = self.machine.run(programs, [{"fast_math": False}], package="taichi")
            for name, runs in found.items():
                words = difference(wanted[name], runs[0])
                self.counts["runs by Taichi"] += 1
                if words and ("Assertion failure" in words or "ended with" in words):
                    self.counts["it breaks"] += 1
                elif words:
                    self.counts["it differs"] += 1
                    self.log(f"{name} (Taichi): {words}")
                    self.log(programs[name])
        self.counts["programs"] += len(programs)

    def check(self, programs, wanted, options, environment, where):
        found = self.machine.run(programs, options, environment)
        for name, text in programs.items():
            for option, result in zip(options, found.get(name, [None] * len(options))):
                self.counts["runs"] += 1
                words = difference(wanted[name], result)
                if words is not None and not any(name == f[0] for f in self.failures):
                    self.failures.append((name, (option, environment, where), words, text))
                    self.log(f"FAILED {name} {json.dumps(option)} {where}: {words}")

    def reduced(self, failure, loose):
        """The failure's program, as small as it can be made."""
        _, (option, environment, _), words, text = failure
        kind = sort_of(words)

        def fails(texts):
            programs, wanted = {}, {}
            for i, one in enumerate(texts):
                right = expected(one, loose)
                if right is not None:
                    programs[f"c{i}"], wanted[f"c{i}"] = one, right
            if not programs:
                return None
            found = self.machine.run(programs, [option], environment, timeout=60)
            for name, one in programs.items():
                new = difference(wanted[name], found.get(name, [None])[0])
                if new is not None and sort_of(new) == kind:
                    return one
            return None

        if fails([text]) is None:
            return None  # it does not fail on its own
        return reducer.reduce(text, fails)


def sort_of(words):
    """The sort of a failure, which a reduction must preserve."""
    if "(flat)" in words or ", not [" in words:
        return "values"
    first = words.split("\n")[0].split(":")[0]
    return first + words.rstrip().rsplit("\n", 1)[-1][:40] if "Taichi" in first else words[:60]


def again(machine, paths):
    """Failures of kept programs, as lines."""
    problems = []
    for loose in (False, True):
        programs = {p.stem: p.read_text() for p in paths if p.stem.startswith("fast_") == loose}
        wanted = {name: expected(text, loose) for name, text in programs.items()}
        problems += [f"{n}: cannot be evaluated" for n, right in wanted.items() if right is None]
        hunt = Hunt(machine, log=problems.append)
        programs = {n: t for n, t in programs.items() if wanted[n] is not None}
        for where in ("cold", "again"):
            hunt.check(programs, wanted, FAST if loose else EXACT, {}, where)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    hunting.add_arguments(parser, KEPT)
    parser.add_argument("--third", type=json.loads, help="the third set of options, as JSON")
    options = parser.parse_args()
    if options.show is not None:
        print(generator.program(options.show, options.loose), end="")
        return 0
    return hunting.run(options, "random_kernels.batch", again, hunt_for)


def hunt_for(machine, options):
    hunt = Hunt(machine, log=lambda words: print(words, flush=True), third=options.third)

    def is_loose(number):
        return options.loose or number % 4 == 3

    def batch(number, seeds):
        hunt.batch(seeds, is_loose(number), alone=number % 5 == 4)

    def kept(number, failure):
        keep(hunt, failure, is_loose(number))

    return hunting.by_the_clock(hunt, options, batch, kept)


def keep(hunt, failure, loose):
    name, (option, _, where), words, text = failure
    small = hunt.reduced(failure, loose)
    comment = "\n".join(f"# {line}" for line in words.splitlines()[:6])
    head = f"# {json.dumps(option)}, {where}, gave\n{comment}\n"
    path = KEPT / f"{'fast_' if loose else ''}{name}.py"
    KEPT.mkdir(exist_ok=True)
    path.write_text(head + (small or text) + "\n")
    print(f"kept {path}:\n{path.read_text()}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
