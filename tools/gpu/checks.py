"""Checks of a device, each a function, and how a program runs them (interop.py): in processes that
end with the first failure, since a device that failed stays so."""

import argparse
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import time
import traceback

import kiln as ti

SECONDS = 90  # the most that a check may take
LONGER = 20  # so many times as long with --long
FAILED = 4  # the exit status of a process whose last check failed
CHECKS = {}
OPTIONS = argparse.Namespace(long=False)


class Missing(Exception):
    """What a check needs is not here."""


def check(alone=False, stand_in=True, start=True):
    """Registers a check. alone: it needs a process of its own; stand_in: stand_in.py has what it
    needs; start: it begins with ti.init."""

    def register(function):
        function.alone, function.stand_in, function.start = alone, stand_in, start
        CHECKS[function.__name__] = function
        return function

    return register


def run_check(name):
    """Runs a check; returns the line of JSON that says how it went."""
    function, start = CHECKS[name], time.monotonic()
    line = {"name": name, "passed": True}
    try:
        if function.start:
            ti.init(arch=ti.cuda)
            assert ti.lang.impl.current_cfg().arch == ti.cuda, "there is no CUDA device"
        note = function()
        if note is not None:
            line["note"] = note
    except Missing as error:
        line.update(passed=None, why=str(error))
    except BaseException as error:
        place = "".join(traceback.format_exception(error)[-3:])
        why = f"{type(error).__name__}: {error}"[:1500]
        line.update(passed=False, why=f"{why}\n{place[-800:]}")
    return {**line, "seconds": round(time.monotonic() - start, 2)}


def run_inside(names):
    """Runs checks until one fails, and ends the process. Prints which one begins, then its line."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what kernels and libraries print is no line
    for name in names:
        print(json.dumps({"begins": name}), file=out, flush=True)
        signal.alarm(SECONDS * (LONGER if OPTIONS.long else 1))
        line = run_check(name)
        print(json.dumps(line), file=out, flush=True)
        if line["passed"] is False:
            os._exit(FAILED)  # without waiting for a device that may have failed
    out.flush()
    os._exit(0)


def run_apart(names):
    """Runs checks in other processes, as many as failures need; yields their lines."""
    names = list(names)
    while names:
        command = [sys.executable, os.path.abspath(sys.argv[0]), "--inside", *names]
        if OPTIONS.long:
            command.append("--long")
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        begun = None
        for text in done.stdout.splitlines():
            record = json.loads(text)
            if "begins" in record:
                begun = record["begins"]
                names.remove(begun)
            else:
                begun = None
                yield record
        if begun is not None:
            why = f"ends with status {done.returncode}: {done.stderr[-1500:]}"
            yield {"name": begun, "passed": False, "why": why}
        elif done.returncode not in (0, FAILED):
            why = f"ends with status {done.returncode}: {done.stderr[-1500:]}"
            yield {"name": ", ".join(names), "passed": False, "why": why}
            return


def main(doc):
    """The main function of a program whose docstring is `doc`. Returns its exit status."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=CHECKS, default=list(CHECKS))
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--stand-in", action="store_true")
    parser.add_argument("--inside", nargs="+")
    parser.parse_args(namespace=OPTIONS)
    if OPTIONS.inside:
        run_inside(OPTIONS.inside)
    if OPTIONS.stand_in:
        lines = (run_check(name) for name in OPTIONS.only if CHECKS[name].stand_in)
        return show(lines)
    together = [name for name in OPTIONS.only if not CHECKS[name].alone]
    failed = show(run_apart(together))
    alone = [name for name in OPTIONS.only if CHECKS[name].alone]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for lines in pool.map(lambda name: list(run_apart([name])), alone):
            failed |= show(lines)
    return failed


def show(lines):
    """Prints lines; returns whether a check failed."""
    failed = False
    for line in lines:
        failed |= line["passed"] is False
        print(json.dumps(line), flush=True)
    return failed
