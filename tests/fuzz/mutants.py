#!/usr/bin/python3
"""Checks that wrong programs are refused with an error for the user, with file and line.

    tests/fuzz/mutants.py [--seconds 60] [--seed 0]
    tests/fuzz/mutants.py --show SEED

A random kernel is changed at random and compiled, but not run. It may compile; an error must be one
of Kiln's errors for users. Python errors from inside Kiln, crashes and hangs are faults.
"""

import argparse
import collections
import itertools
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from hunting import Machine  # noqa: E402
from random_kernels import generator, mutator  # noqa: E402

OPTIONS = [{"opt_level": 0, "launch": False}]
BATCH = 100


def program(seed):
    return mutator.mutant(generator.program(seed), seed)


class Hunt:
    def __init__(self, machine, log=print, size=BATCH):
        self.machine = machine
        self.log = log
        self.size = size
        self.counts = collections.Counter()
        self.faults = []

    def batch(self, seeds):
        programs = {}
        while len(programs) < self.size:
            seed = next(seeds)
            text = program(seed)
            if text is not None:
                programs[f"mutant{seed}"] = text
        found = self.machine.run(programs, OPTIONS, timeout=120)
        for name, text in programs.items():
            result = found.get(name, [None])[0]
            self.counts["mutants"] += 1
            words = fault(result)
            if words:
                self.counts["faults"] += 1
                self.faults.append((name, words, text))
                self.log(f"FAULT {name}: {words}")
            elif "error" in result:
                self.counts["refused"] += 1
            else:
                self.counts["compiled"] += 1


def fault(result):
    """Describes Kiln's fault in handling a mutant; empty if there is none."""
    if result is None:
        return "nothing came back"
    if "error" not in result or result["class"] == "user":
        return ""
    return f"{result['class']}: {result['error']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, metavar="SEED")
    options = parser.parse_args()
    if options.show is not None:
        print(program(options.show))
        return 0
    with tempfile.TemporaryDirectory(prefix="kiln-mutants-", ignore_cleanup_errors=True) as home:
        machine = Machine(home, "random_kernels.batch")
        hunt = Hunt(machine, log=lambda words: print(words, flush=True))
        start = time.monotonic()
        seeds = itertools.count(options.seed)
        try:
            while time.monotonic() - start < options.seconds:
                hunt.batch(seeds)
        finally:
            machine.stop()
    print(", ".join(f"{count} {what}" for what, count in hunt.counts.items()))
    return int(bool(hunt.faults))


if __name__ == "__main__":
    sys.exit(main())
