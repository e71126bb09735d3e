"""Shared by the fuzzers of programs: processes that run programs, and hunts with a time limit."""

import collections
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Machine:
    """Runs programs in fresh processes, with a separate home for Kiln. cuda: on the driver that
    KILN_CUDA_DRIVER names, by default the emulator of CUDA, instead of the CPU."""

    def __init__(self, home, batch, taichi=None, cuda=False):
        self.home = home
        self.taichi = taichi
        driver = os.environ.get("KILN_CUDA_DRIVER", "emulator")
        self.arch = {"TI_ARCH": "cuda", "KILN_CUDA_DRIVER": driver} if cuda else {}
        self.module = batch  # the module that runs the programs of a file
        self.files = tempfile.TemporaryDirectory(prefix="kiln-fuzz-files-")
        self.count = itertools.count()
        # Build now, so that building does not count towards a batch's time.
        subprocess.run([ROOT / "kiln", "python", "-c", ""], capture_output=True)
        if cuda and driver == "emulator":
            subprocess.run([ROOT / "kiln", "build", "emulator"], capture_output=True, check=True)

    def run(self, programs, options, environment=None, package="kiln", timeout=300):
        """Runs programs {name: text}; returns {name: [result of each run]}. If a process dies or
        hangs, its current program fails, and a new process runs the others."""
        found = collections.defaultdict(lambda: [None] * len(options))
        rest = dict(programs)
        while rest:
            output, end = self._process(rest, options, environment, package, timeout)
            running = None
            for line in output.splitlines():
                if not line.startswith("{"):
                    continue
                record = json.loads(line)
                if "begins" in record:
                    running = record["begins"], record["run"]
                else:
                    found[record["ends"]][record["run"]] = record["found"]
                    running = None
            if end == 0 and running is None:
                break
            if running is None:
                raise RuntimeError(f"the process that runs programs ended with {end}:\n{output}")
            name, number = running
            for k in range(number, len(options)):
                found[name][k] = {"error": f"the process ended with {end}", "class": "crash"}
            names = list(rest)
            rest = {n: rest[n] for n in names[names.index(name) + 1 :]}
        return dict(found)

    def _process(self, programs, options, environment, package, timeout):
        path = pathlib.Path(self.files.name) / f"programs{next(self.count)}.json"
        path.write_text(json.dumps(list(programs.items())))
        python = [str(ROOT / "kiln"), "python"] if package == "kiln" else [self.taichi]
        command = [*python, "-m", self.module, package, str(path)]
        command += map(json.dumps, options)
        environment = {
            **os.environ,
            "KILN_HOME": str(self.home),
            "TI_ENABLE_CUDA": "0",
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
            **(self.arch if package == "kiln" else {}),
            **(environment or {}),
        }
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=timeout
            )
        except subprocess.TimeoutExpired as expired:
            return (expired.stdout or b"").decode(), "a timeout"
        finally:
            path.unlink()
        if done.returncode and "begins" not in done.stdout:
            raise RuntimeError(done.stderr)
        return done.stdout, done.returncode

    def stop(self):
        command = [ROOT / "kiln", "stop"]
        environment = {**os.environ, "KILN_HOME": str(self.home)}
        subprocess.run(command, env=environment, capture_output=True)


def add_arguments(parser, kept=None):
    """The options of every hunt; kept: the folder of failures. Without one, the hunt keeps no
    programs, and Taichi does not run them."""
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="the first; each program has its own")
    parser.add_argument("--batches", type=int, help="so many, however long they take")
    parser.add_argument("--cuda", action="store_true", help="Kiln on CUDA's emulator")
    parser.add_argument("--home", help="of Kiln; by default one that ends with the hunt")
    parser.add_argument("--show", type=int, metavar="SEED")
    if kept is None:
        parser.set_defaults(taichi_python=None, keep=False, again=None)
        return
    parser.add_argument("--taichi-python", help="a Python with Taichi, to be compared as well")
    parser.add_argument("--keep", action="store_true", help=f"reduce failures into {kept.name}")
    parser.add_argument("--loose", action="store_true", help="only what Taichi defines as well")
    parser.add_argument("--again", nargs="+", type=pathlib.Path, metavar="FILE")


def run(options, batch, again, hunt_for):
    """Runs kept programs by again(machine, paths), or hunts by hunt_for(machine, options). The
    module `batch` runs the machine's programs. Returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="kiln-fuzz-", ignore_cleanup_errors=True) as home:
        machine = Machine(options.home or home, batch, options.taichi_python, options.cuda)
        try:
            if options.again:
                problems = again(machine, options.again)
                print("\n".join(problems) or "all agree")
                return int(bool(problems))
            return hunt_for(machine, options)
        finally:
            if options.home is None:
                machine.stop()


def by_the_clock(hunt, options, batch, keep=None):
    """Runs batches until the time or their number is exhausted: batch(number, seeds), then, if the
    options say so, keep(number, failure) for each failure added to hunt.failures. Returns the exit
    status."""
    seeds = itertools.count(options.seed)
    start = time.monotonic()
    for number in itertools.count():
        over = time.monotonic() - start > options.seconds
        if (number >= options.batches) if options.batches else over:
            break
        before = len(hunt.failures)
        batch(number, seeds)
        if keep and options.keep:
            for failure in hunt.failures[before:]:
                keep(number, failure)
    counts = ", ".join(f"{count} {what}" for what, count in hunt.counts.items())
    seconds = time.monotonic() - start
    print(f"{counts}; {len(hunt.failures)} failed; {seconds:.0f} s")
    return int(bool(hunt.failures))
