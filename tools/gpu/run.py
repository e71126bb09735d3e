#!/usr/bin/python3
"""Tries Kiln on the GPU of this machine. Runs from a bundle that pack.py made, by its `run`:

    run --out FOLDER [--jobs N] [--minutes M] [--sections NAME...] [--only PART...] [--small]

The parts are:
  benchmarks   benchmarks.py and the program of peers.cu (--small: with few elements)
  conformance  each case of the language and of SNodes with arch=ti.cuda, compared with what the CPU
               showed; a kernel that the bundle's cache lacks is a fault, which names it
  fuzz         random programs, compared with what models of them give

Writes FOLDER/results.json for report.py, also if the time is over before the end.

KILN_CUDA_DRIVER names another driver than libcuda.so.1, such as an emulator.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PARTS = ("benchmarks", "conformance", "fuzz")
# Processes with random programs: (program, options, processes).
FUZZERS = (
    ("kernels.py", (), 2),
    ("kernels.py", ("--loose",), 1),
    ("trees.py", (), 1),
    ("gradients.py", (), 1),
)
# Cases that compile for the CPU or are about what the compiler refuses, which a cache cannot show.
NEED_A_COMPILER = (
    "modules",
    "gradients.overwritten_values",
    "initialisation.every_option_is_accepted",
)
sys.path[:0] = [
    str(ROOT / "tests" / "e2e" / "language"),
    str(ROOT / "tests" / "e2e"),
    str(ROOT / "client_py"),
    str(ROOT / "python" / "numpy"),
]
import cuda_outcomes  # noqa: E402
import harness  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count(), 16))
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--sections", nargs="*")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", choices=PARTS, nargs="*", default=PARTS)
    options = parser.parse_args()
    end = time.monotonic() + options.minutes * 60
    options.out.mkdir(parents=True, exist_ok=True)
    environment = {
        "KILN_BIN": str(ROOT / "bin"),
        "KILN_CUDA_DRIVER": os.environ.get("KILN_CUDA_DRIVER", "libcuda.so.1"),
        "KILN_HOME": str(ROOT / "home"),
        "KILN_SERVER": "off",
        "KILN_CACHE": "read-only",
        "KILN_TEST_INSIDE": "1",
        "PYTHONPATH": f"{ROOT / 'client_py'}:{ROOT / 'python' / 'numpy'}",
        "TI_ARCH": "cuda",
    }
    os.environ.update(environment)
    results = {"machine": machine(), "commit": (ROOT / "commit").read_text().strip()}
    print(json.dumps(results, indent=1), flush=True)
    if "benchmarks" in options.only:
        results["benchmarks"] = benchmarks(end, options.small)
        write(options.out, results)
    if "conformance" in options.only:
        sections = options.sections or (ROOT / "sections").read_text().split()
        sections = [section for section in sections if section not in NEED_A_COMPILER]
        results["conformance"] = conformance(sections, options.jobs, end)
        write(options.out, results)
    if "fuzz" in options.only:
        results["fuzz"] = fuzz(options.jobs, end)
        write(options.out, results)
    faults = sum(len(one["faults"]) for one in results.get("conformance", {}).values())
    faults += sum(one["status"] != 0 for one in results.get("fuzz", []))
    print(f"{faults} faults")
    return 1 if faults else 0


def write(folder, results):
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")


def machine():
    """Names of what runs the kernels."""
    facts = {"python": sys.version.split()[0], "date": time.strftime("%Y-%m-%d")}
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=30)
        facts["gpu"] = done.stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        facts["gpu"] = "none that nvidia-smi tells of"
    return facts


def conformance(sections, jobs, end):
    """{section: {"cases": number, "faults": {case: why}, "seconds": s}}"""
    found = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for section, result in zip(sections, pool.map(lambda s: run_section(s, end), sections)):
            found[section] = result
            faults = ", ".join(result["faults"])
            print(f"{section}: {result['cases']} cases in {result['seconds']:.1f} s", faults)
            sys.stdout.flush()
    return found


def run_section(section, end):
    start = time.monotonic()
    expected = harness.expected(section)
    try:
        left = max(end - start, 1)
        outcomes = harness.run_section(section, [sys.executable], {}, timeout=left)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        outcomes, faults = {}, {"(section)": str(error)[-4000:]}
    else:
        faults = {}
    for name, wanted in expected.items():
        if f"{section}.{name}" in NEED_A_COMPILER:
            continue
        if name not in outcomes:
            if not faults:
                faults[name] = "missing"
            continue
        fault = cuda_outcomes.fault(f"{section}.{name}", wanted, outcomes[name], harness.agree)
        if fault is not None:
            faults[name] = fault[:4000]
    return {"cases": len(expected), "faults": faults, "seconds": time.monotonic() - start}


def fuzzers(home):
    """The commands that run random programs: paths in the repository, and arguments."""
    commands = []
    for program, options, processes in FUZZERS:
        for number in range(processes):
            seed = len(commands) * 1_000_000
            options_ = [*options, "--cuda", "--batches", 1, "--seed", seed, "--home", home]
            commands.append([f"tests/fuzz/{program}", *map(str, options_)])
    return commands


def fuzz(jobs, end):
    """[{"command": words, "status": exit status, "output": its last lines}]"""

    def run(command):
        program = [sys.executable, str(ROOT / command[0]), *command[1:]]
        status, output = finished(program, end)
        print(" ".join(command[:1]), output.rstrip().rsplit("\n", 1)[-1], flush=True)
        return {"command": " ".join(command), "status": status, "output": output[-4000:]}

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(run, fuzzers(ROOT / "home")))


def finished(command, end):
    """The exit status and the output of a program, which may run until `end`."""
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=max(end - time.monotonic(), 1),
        )
    except subprocess.TimeoutExpired as error:
        return "out of time", (error.stdout or b"").decode()
    return done.returncode, done.stdout


def benchmarks(end, small):
    """{implementation: {"rows": what it measured, "error": why it did not end well}}"""
    programs = {
        "kiln": [sys.executable, str(ROOT / "tools" / "gpu" / "benchmarks.py")],
        "peers": [str(ROOT / "bin" / "peers")],
    }
    found = {}
    for name, command in programs.items():
        if not pathlib.Path(command[-1]).exists():
            continue
        status, output = finished(command + (["--small"] if small else []), end)
        print(output, flush=True)
        lines = output.splitlines()
        found[name] = {"rows": [json.loads(line) for line in lines if line.startswith("{")]}
        others = [line for line in lines if not line.startswith("{")]
        if status != 0 or others:
            found[name]["error"] = "\n".join([f"status {status}", *others])[-4000:]
    return found


if __name__ == "__main__":
    sys.exit(main())
