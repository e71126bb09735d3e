"""Functions shared by the benchmarks: running peers in turn, medians, tables, JSON.

Peers run in separate processes in turn (A B C, A B C, …), because the speed of a shared machine
drifts. Figures are medians over the rounds, and ratios of these medians.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
DOCS = ROOT / "docs" / "performance.md"


def arguments(description, **options):
    """Parses the options common to all benchmarks: see `parser`."""
    return parser(description, **options).parse_args()


def parser(description, docs=False, **defaults):
    """Of the options common to all benchmarks; `docs`: it has a table in
    docs/performance.md and takes --docs, too.

    Gives a namespace with `rounds`, `taichi_python` (an interpreter that imports
    taichi, or None: that peer is left out and the table says so) and `json`.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=defaults.get("rounds", 3))
    parser.add_argument(
        "--taichi-python",
        default=os.environ.get("TAICHI_PYTHON") or shutil.which("python-taichi"),
        help="interpreter that has Taichi 1.7.4 installed (default: $TAICHI_PYTHON)",
    )
    parser.add_argument("--json", default=None, help="where to save the figures")
    if docs:
        parser.add_argument("--docs", action="store_true", help=f"write {DOCS.name}")
    return parser


def kiln_python():
    """The command line by which ./kiln starts a Python that can import kiln.

    Peers are started without a launcher, so Kiln is too; bench/startup.py shows what
    the launcher adds.
    """
    subprocess.run([ROOT / "kiln", "python", "-c", "import kiln"], check=True)  # builds
    os.environ["KILN_BIN"] = str(ROOT / ".kiln" / "bin")
    os.environ["PYTHONPATH"] = str(ROOT / "client_py")
    return ["/usr/bin/python3"]


def environment(changes=None):
    """The environment of programs. It lets Python write bytecode, which tests disable."""
    base = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**base, **(changes or {})}


def run_text(command, env=None, timeout=600):
    """Runs a command; returns the last line of its output."""
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        env=environment(env),
        timeout=timeout,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
    return (done.stdout.strip().splitlines() or [""])[-1]


def run_json(command, env=None, timeout=600):
    """Runs a command whose last line of output is JSON; returns the object."""
    return json.loads(run_text(command, env, timeout))


def idle_driver(folder):
    """The environment of programs on a CUDA driver whose calls do nothing, made in the folder."""
    driver = pathlib.Path(folder) / "libcuda.so.1"
    source = ROOT / "runtime" / "cuda" / "testdata" / "fake_driver.c"
    command = ["gcc", "-O2", "-shared", "-fPIC", "-DKILN_EMPTY_LAUNCHES", f"-I{ROOT}"]
    subprocess.run([*command, source, "-o", driver], check=True)
    return {"KILN_CUDA_DRIVER": str(driver)}


def run_quietly(command):
    """Runs a command for cleaning up, whose outcome does not matter."""
    subprocess.run(command, check=False, capture_output=True, timeout=60)


def stop_daemon(home):
    """Ends the daemon of a directory, if there is one."""
    subprocess.run(
        [ROOT / "kiln", "stop"],
        check=False,
        capture_output=True,
        env=environment({"KILN_HOME": str(home)}),
        timeout=60,
    )


def wall(command, env=None, timeout=600):
    """The seconds from the start of a process to its end, as the caller sees them."""
    start = time.perf_counter()
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        env=environment(env),
        timeout=timeout,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr.decode()[-2000:]}")
    return time.perf_counter() - start


def interleave(rounds, peers):
    """peers: name -> callable returning {figure: number}. Returns name -> figure -> median."""
    samples = {name: {} for name in peers}
    for _ in range(rounds):
        for name, call in peers.items():
            for figure, value in call().items():
                samples[name].setdefault(figure, []).append(value)
    return {
        name: {figure: statistics.median(values) for figure, values in figures.items()}
        for name, figures in samples.items()
    }


def table(title, header, rows):
    """Prints rows (lists of str) under a header, columns aligned."""
    widths = [max(len(str(r[i])) for r in [header] + rows) for i in range(len(header))]
    print(f"\n{title}")
    for row in [header, ["-" * w for w in widths]] + rows:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())


def save(name, figures, path=None):
    """Writes the figures together with the facts about the machine and versions."""
    path = pathlib.Path(path) if path else RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {"machine": platform.machine(), "cpus": os.cpu_count(), "cpu": cpu_name()}
    path.write_text(json.dumps({"benchmark": name, **machine, "figures": figures}, indent=1) + "\n")
    print(f"saved {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")


def examples_folder(python):
    """The folder of the example programs of that interpreter's Taichi."""
    where = "import os, taichi; print(os.path.dirname(taichi.__file__))"
    done = subprocess.run([python, "-c", where], check=True, capture_output=True, text=True)
    return pathlib.Path(done.stdout.split()[-1]) / "examples"


def write_docs(benchmark, text):
    """Puts a table between that benchmark's marks in docs/performance.md."""
    begin, end = f"<!-- bench/{benchmark}.py -->\n", "<!-- end -->"
    marks = re.escape(begin) + ".*?" + re.escape(end)
    docs, count = re.subn(marks, lambda _: begin + text + "\n" + end, DOCS.read_text(), flags=re.S)
    if count != 1:
        sys.exit(f"{DOCS} has no place for the table: {begin.strip()}")
    DOCS.write_text(docs)


def against(value, goal, unit):
    """[the goal as text, whether it is met]. goal: an upper limit; if negative, a lower limit; or
    None."""
    if goal is None:
        return ["–", "–"]
    met = value >= -goal if goal < 0 else value <= goal
    wanted = f"≥ {-goal:,}" if goal < 0 else f"≤ {goal:,}"
    return [f"{wanted} {unit}".strip(), "met" if met else "missed"]


def cpu_name():
    """The processor's name as the system gives it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            names = (line.split(":")[1].strip() for line in info if line.startswith("model name"))
            return next(names)
    except (OSError, StopIteration):
        return "unknown"


def budget(value, limit):
    """'ok' or by how much a budget is missed."""
    return "ok" if value <= limit else f"missed: {value / limit:.2f} x"
