#!/usr/bin/python3
"""Random programs on trees of SNodes, run by Kiln and by a model in Python, which must agree.

    tests/fuzz/trees.py [--seconds 60] [--seed 0] [--taichi-python PYTHON] [--keep]
    tests/fuzz/trees.py --show SEED        the program of a seed
    tests/fuzz/trees.py --again FILE...    kept programs

A program makes trees, then activates, deactivates, appends, loops, reads and writes, in kernels and
from Python; after each step it looks at every element, cell and length. Each runs unoptimised, with
bounds checked and fully optimised, cold and from the cache, a share without a daemon; given a
Python that has it, Taichi runs what it defines as well. A program that shows a difference is
reduced and written to tests/fuzz/kept_trees, whose programs ./test runs again.
"""

import argparse
import collections
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "kept_trees"
sys.path.insert(0, str(HERE))

import hunting  # noqa: E402
from random_trees import generator, model, reducer, render  # noqa: E402

OPTIONS = [{"opt_level": 0}, {"check_out_of_bound": True}, {}]
# Options of the third run, which change with each batch.
THIRD = [{}, {"cpu_max_num_threads": 6}, {"advanced_optimization": False}]


def difference(wanted, found):
    """Describes the difference; None if there is none."""
    if found is None:
        return "nothing came back"
    if "error" in found:
        return found["error"]
    for number, (one, other) in enumerate(zip(wanted, found["seen"])):
        if one.keys() != other.keys():
            return f"step {number}: {sorted(one.keys() ^ other.keys())}"
        # Report a field's values first, which tell most.
        for name in one:
            for k, (x, y) in enumerate(zip(one[name], other[name])):
                if x != y:
                    return f"after step {number}, {name}[{k}] (flat): {y!r}, not {x!r}"
            if len(one[name]) != len(other[name]):
                return f"after step {number}, {name}: {len(other[name])} elements"
    return None if len(wanted) == len(found["seen"]) else "steps are missing"


class Hunt:
    def __init__(self, machine, log=print, size=20):
        self.machine = machine
        self.log = log
        self.size = size  # programs in a batch
        self.batches = 0
        self.counts = collections.Counter()
        self.failures = []  # (name, (option, environment), words, program)

    def batch(self, seeds, alone=False, loose=False):
        """One batch. seeds: an iterator; alone: without a daemon."""
        names = [next(seeds) for _ in range(self.size)]
        programs = {f"tree{seed}": generator.program(seed, loose) for seed in names}
        options = [*OPTIONS[:2], THIRD[self.batches % len(THIRD)]]
        self.batches += 1
        environment = {"KILN_SERVER": "off"} if alone else {}
        for _ in ("cold", "again"):
            self.check(programs, options, environment)
        self.counts["programs"] += len(programs)
        self.counts["steps"] += sum(len(program["steps"]) for program in programs.values())
        if loose and self.machine.taichi:
            self.compare(programs)

    def check(self, programs, options, environment, package="kiln"):
        texts = {name: render.text(program) for name, program in programs.items()}
        found = self.machine.run(texts, options, environment, package)
        for name, program in programs.items():
            wanted = model.expected(program)
            for option, result in zip(options, found.get(name, [None] * len(options))):
                self.counts["runs"] += 1
                words = difference(wanted, result)
                if words is not None and all(name != failure[0] for failure in self.failures):
                    self.failures.append((name, (option, environment), words, program))
                    self.log(f"FAILED {name} {json.dumps(option)} {environment}: {words}")

    def compare(self, programs):
        """Runs programs by Taichi; a difference there may be a mistake of the model."""
        texts = {name: render.text(program) for name, program in programs.items()}
        found = self.machine.run(texts, [{}], package="taichi")
        for name, program in programs.items():
            self.counts["runs by Taichi"] += 1
            words = difference(model.expected(program), found.get(name, [None])[0])
            if words:
                self.counts["it differs"] += 1
                self.log(f"{name} (Taichi): {words}")

    def reduced(self, failure):
        """The failure's program, as small as it can be made; None if it does not fail again."""
        _, (option, environment), words, program = failure
        kind = sort_of(words)

        def fails(programs):
            texts = {f"c{n}": render.text(one) for n, one in enumerate(programs)}
            found = self.machine.run(texts, [option], environment, timeout=120)
            for n, one in enumerate(programs):
                new = difference(model.expected(one), found.get(f"c{n}", [None])[0])
                if new is not None and sort_of(new) == kind:
                    return one
            return None

        return None if fails([program]) is None else reducer.reduce(program, fails)


def sort_of(words):
    """The sort of a failure, which a reduction must preserve."""
    return "values" if words.startswith("after step") else words[:60]


def again(machine, paths):
    """Failures of kept programs, as lines."""
    problems = []
    hunt = Hunt(machine, log=problems.append)
    programs = {path.stem: json.loads(path.read_text())["program"] for path in paths}
    for _ in ("cold", "again"):
        hunt.check(programs, OPTIONS, {})
    return problems


def keep(hunt, failure):
    name, (option, environment), words, program = failure
    program = hunt.reduced(failure) or program
    KEPT.mkdir(exist_ok=True)
    path = KEPT / f"{name}.json"
    kept = {"gave": words, "with": [option, environment], "program": program}
    path.write_text(json.dumps(kept, indent=1) + "\n")
    hunt.log(f"kept {path}\n{render.text(program)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    hunting.add_arguments(parser, KEPT)
    parser.add_argument("--only-taichi", action="store_true", help="the model against Taichi")
    options = parser.parse_args()
    if options.show is not None:
        print(render.text(generator.program(options.show, options.loose)), end="")
        return 0
    return hunting.run(options, "random_trees.batch", again, hunt_for)


def hunt_for(machine, options):
    hunt = Hunt(machine, log=lambda words: print(words, flush=True))

    def batch(number, seeds):
        if options.only_taichi:
            names = [next(seeds) for _ in range(hunt.size)]
            hunt.compare({f"tree{seed}": generator.program(seed, True) for seed in names})
        else:
            hunt.batch(seeds, alone=number % 4 == 3, loose=options.loose or number % 4 == 2)

    def kept(number, failure):
        keep(hunt, failure)

    return hunting.by_the_clock(hunt, options, batch, kept)


if __name__ == "__main__":
    sys.exit(main())
