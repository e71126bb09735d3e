#!/usr/bin/python3
"""Tries Kiln on the GPU of this machine. Runs from a bundle that pack.py made, by its `run`:

    run --out FOLDER [--jobs N] [--minutes M] [--sections NAME...] [--only conformance|benchmarks]
        [--small]

Conformance: each case of the language and of SNodes with arch=ti.cuda, compared with what the CPU
showed. A kernel that the bundle's cache lacks is a fault, which names it. Then benchmarks
(benchmarks.py; --small: with few elements, to try the program). Writes FOLDER/results.json for
report.py, also if the time is over before the end.

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
    parser.add_argument("--only", choices=["conformance", "benchmarks"])
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
    if options.only != "benchmarks":
        sections = options.sections or (ROOT / "sections").read_text().split()
        results["conformance"] = conformance(sections, options.jobs, end)
        write(options.out, results)
    if options.only != "conformance":
        results["benchmarks"] = benchmarks(end, options.small)
    write(options.out, results)
    faults = sum(len(one["faults"]) for one in results.get("conformance", {}).values())
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
        if name not in outcomes:
            if not faults:
                faults[name] = "missing"
            continue
        fault = cuda_outcomes.fault(f"{section}.{name}", wanted, outcomes[name], harness.agree)
        if fault is not None:
            faults[name] = fault[:4000]
    return {"cases": len(expected), "faults": faults, "seconds": time.monotonic() - start}


def benchmarks(end, small):
    """What benchmarks.py measured, or why it did not."""
    command = [sys.executable, str(ROOT / "tools" / "gpu" / "benchmarks.py")]
    command += ["--small"] if small else []
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=max(end - time.monotonic(), 1)
        )
    except subprocess.TimeoutExpired as error:
        return {"error": "out of time", "output": str(error.stdout)[-4000:]}
    print(done.stdout, flush=True)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0:
        return {"error": done.stderr[-4000:], "rows": rows}
    return {"rows": rows}


if __name__ == "__main__":
    sys.exit(main())
