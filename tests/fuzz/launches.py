#!/usr/bin/python3
"""Random sequences of launches, copies and accesses, which must agree with NumPy.

    tests/fuzz/launches.py [--seconds 60] [--seed 0] [--cuda]
    tests/fuzz/launches.py --show SEED        the program of a seed

A program makes fields of several layouts, ndarrays and arrays of NumPy. It launches kernels on
them, captures launches in graphs, copies, fills, reads and writes elements, drops objects and makes
new ones, in threads and, on CUDA, in streams of its own. Each program runs twice, the second time
with other options. A share of the programs runs without a daemon. CUDA's emulator checks for races
and uninitialised memory. A program that fails is reduced and printed.
"""

import argparse
import collections
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import hunting  # noqa: E402
from random_launches import generator  # noqa: E402

# Options of the second run, which change with each batch.
SECOND = [
    {"offline_cache": False},
    {"check_out_of_bound": True},
    {"cpu_max_num_threads": 6},
    {"opt_level": 0},
]


class Hunt:
    def __init__(self, machine, log=print, size=20):
        self.machine = machine
        self.log = log
        self.size = size  # programs in a batch
        self.counts = collections.Counter()
        self.failures = []  # (name, words)

    def batch(self, number, seeds):
        programs = {}
        for _ in range(self.size):
            seed = next(seeds)
            programs[f"launch{seed}"] = generator.program(seed)
        environment = {"KILN_SERVER": "off"} if number % 4 == 3 else {}
        options = [{}, SECOND[number % len(SECOND)]]
        for name, words in self.check(programs, options, environment).items():
            self.failures.append((name, words))
            self.log(f"FAILED {name}: {words}")
            self.log(json.dumps(self.reduced(programs[name], options, environment), indent=1))
        self.counts["programs"] += len(programs)
        self.counts["steps"] += sum(len(program["steps"]) for program in programs.values())

    def check(self, programs, options, environment):
        """What is wrong with those programs that fail, by name."""
        texts = {name: json.dumps(program) for name, program in programs.items()}
        with tempfile.NamedTemporaryFile("r", prefix="kiln-fuzz-reports-") as reports:
            emulated = f"check=race,init;reports={reports.name}"
            found = self.machine.run(texts, options, {"KILN_FAKE_CUDA": emulated, **environment})
            reported = reports.read()
        wrong = {}
        for name in programs:
            for result in found.get(name, [None]):
                words = "nothing came back" if result is None else "".join(result.values())
                if words:
                    wrong.setdefault(name, words)
        if reported and not wrong:
            if len(programs) == 1:
                return {name: reported.splitlines()[0] for name in programs}
            for name, program in programs.items():
                wrong |= self.check({name: program}, options, environment)
        return wrong

    def reduced(self, program, options, environment):
        """A program as short as can be that fails, too."""
        steps, size = program["steps"], max(1, len(program["steps"]) // 2)
        while True:
            for start in range(0, len(steps), size):
                fewer = steps[:start] + steps[start + size :]
                if self.check({"less": {**program, "steps": fewer}}, options, environment):
                    steps = fewer
                    break
            else:
                if size == 1:
                    break
                size //= 2
        used = json.dumps(steps)
        objects = {name: one for name, one in program["objects"].items() if f'"{name}"' in used}
        return {"objects": objects, "steps": steps}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    hunting.add_arguments(parser)
    options = parser.parse_args()
    if options.show is not None:
        print(json.dumps(generator.program(options.show), indent=1))
        return 0
    return hunting.run(options, "random_launches.batch", None, hunt_for)


def hunt_for(machine, options):
    hunt = Hunt(machine, log=lambda words: print(words, flush=True))
    return hunting.by_the_clock(hunt, options, hunt.batch)


if __name__ == "__main__":
    sys.exit(main())
