#!/usr/bin/python3
"""Tries Kiln on the GPU of this machine. Runs from a bundle that pack.py made, by its `run`:

    run --out FOLDER [--jobs N] [--minutes M] [--sections NAME...] [--only PART...] [--small]
        [--long] [--taichi FOLDER]

The parts are, of those in the bundle:
  benchmarks   benchmarks.py and the program of peers.cu (--small: with few elements)
  conformance  each case of the language and of SNodes with arch=ti.cuda, compared with what the CPU
               showed; a kernel that the bundle's cache lacks is a fault, which names it. And
               exported modules, as machine code and as PTX, and tests of kernels in C++
  fuzz         random programs, compared with what models of them give
  interop      interop.py: Kiln beside PyTorch and CuPy (--long: its long form)
  libraries    libraries.py: PyTorch, CuPy and Triton beside benchmarks.py
  sanitizer    cases and small benchmarks under NVIDIA's compute-sanitizer: faulty accesses, races
               in shared memory, misused barriers

--taichi: the folder of a Taichi for the machine's python3, to be measured beside.

The last three run under the machine's own python3, the others under the bundle's.

Writes FOLDER/results.json for report.py, also if the time is over before the end.

KILN_CUDA_DRIVER names another driver than libcuda.so.1, such as an emulator.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OWN_PARTS = ("benchmarks", "conformance", "fuzz")  # run under the bundle's Python
MACHINE_PARTS = ("interop", "libraries", "sanitizer")  # under the machine's
PARTS = OWN_PARTS + MACHINE_PARTS
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
    "meshes.meshes_in_modules",
)
CPP_NEEDS_A_COMPILER = (
    "ServiceTest.DevicesAreNotMixed",
    "GradientTest.ArraysWithoutDerivatives",
    "GradientTest.KernelsWithoutGradients",
)
sys.path[:0] = [
    str(ROOT / "tests" / "e2e" / "language"),
    str(ROOT / "tests" / "e2e"),
    str(ROOT / "client_py"),
    str(ROOT / "python" / "numpy"),
    str(ROOT / "tools" / "gpu"),
]
import cuda_outcomes  # noqa: E402
import harness  # noqa: E402
import sanitizer  # noqa: E402


def main():
    options = parse()
    end = time.monotonic() + options.minutes * 60
    options.out.mkdir(parents=True, exist_ok=True)
    machines = set_environment()
    results = {"machine": machine(), "commit": (ROOT / "commit").read_text().strip()}
    print(json.dumps(results, indent=1), flush=True)
    for part in PARTS:
        if part in options.only:
            results[part] = RUN[part](options, machines, end)
            write(options.out, results)
    faults = count_faults(results)
    print(f"{faults} faults")
    return 1 if faults else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count(), 16))
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--sections", nargs="*")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", choices=PARTS, nargs="*")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--taichi", type=pathlib.Path)
    options = parser.parse_args()
    packed = (ROOT / "parts").read_text().split()
    options.only = options.only or packed
    if not set(options.only) <= set(packed):
        parser.error(f"the bundle has {', '.join(packed)}")
    sections = options.sections or (ROOT / "sections").read_text().split()
    options.sections = [section for section in sections if section not in NEED_A_COMPILER]
    return options


def set_environment():
    """Sets the variables of programs under the bundle's Python; returns those of programs under the
    machine's."""
    os.environ.update(
        KILN_CUDA_DRIVER=os.environ.get("KILN_CUDA_DRIVER", "libcuda.so.1"),
        KILN_HOME=str(ROOT / "home"),
        KILN_SERVER="off",
        KILN_CACHE="read-only",
        KILN_TEST_INSIDE="1",
        TI_ARCH="cuda",
    )
    machines = machine_environment()
    os.environ["KILN_BIN"] = str(ROOT / "bin")
    os.environ["PYTHONPATH"] = f"{ROOT / 'client_py'}:{ROOT / 'python' / 'numpy'}"
    return machines


def run_benchmarks(options, machines, end):
    found = benchmarks(end, options.small)
    if options.taichi:
        environment = {**machines, "PYTHONPATH": str(options.taichi.resolve())}
        command = ["python3", str(ROOT / "tools" / "gpu" / "benchmarks.py"), "--taichi"]
        command += ["--small"] if options.small else []
        found["taichi"] = rows(command, end, environment)
    return found


def run_conformance(options, _machines, end):
    found = conformance(options.sections, options.jobs, end)
    return {**found, "exported modules": exported_modules(end), "C++": cpp_tests(end)}


def run_sanitizer(options, machines, end):
    chosen = [section for section in sanitizer.SECTIONS if section in options.sections]
    return sanitizer.run_all(machines, chosen, options.jobs, end)


# The function of each part: of the options, the environment of the machine's Python, and the end.
RUN = {
    "benchmarks": run_benchmarks,
    "conformance": run_conformance,
    "fuzz": lambda options, machines, end: fuzz(options.jobs, end),
    "interop": lambda options, machines, end: interop(machines, options.long, end),
    "libraries": lambda options, machines, end: libraries(machines, end, options.small),
    "sanitizer": run_sanitizer,
}


def count_faults(results):
    faults = sum(len(one["faults"]) for one in results.get("conformance", {}).values())
    faults += sum(one["status"] != 0 for one in results.get("fuzz", []))
    found = results.get("interop", {})
    faults += sum(row["passed"] is False for row in found.get("rows", [])) + ("error" in found)
    return faults + sum(one["errors"] for one in results.get("sanitizer", []))


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


def machine_environment():
    """For programs that run under the machine's own python3."""
    environment = {**os.environ, "KILN_BIN": str(ROOT / "native")}
    environment["PYTHONPATH"] = f"{ROOT / 'client_py'}:{os.environ.get('PYTHONPATH', '')}"
    if (ROOT / "python").exists():  # the launcher's, for the bundle's Python
        del environment["PYTHONHOME"]
        environment["LD_LIBRARY_PATH"] = environment["LD_LIBRARY_PATH"].partition(":")[2]
    return environment


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


def exported_modules(end):
    """As run_section, of the modules that pack.py has exported."""
    start, folder, faults = time.monotonic(), ROOT / "modules", {}
    modules = sorted(folder.glob("*.kiln"))
    expected = (folder / "printed").read_text()
    for module in modules:
        command = [ROOT / "tests" / "sdk" / "modules" / "load.py", module, module.stem]
        status, output = finished([sys.executable, *map(str, command)], end)
        if status != 0 or output != expected:
            faults[module.stem] = output[-4000:]
    return {"cases": len(modules), "faults": faults, "seconds": time.monotonic() - start}


def cpp_tests(end):
    """As run_section, of the tests of kernels in C++."""
    start = time.monotonic()
    command = [str(ROOT / "bin" / "cpp_tests"), "--gtest_brief=1"]
    command.append("--gtest_filter=-" + ":".join(CPP_NEEDS_A_COMPILER))
    status, output = finished(command, end, {**os.environ, "KILN_TEST_ARCH": "cuda"})
    failed = set(re.findall(r"^\[  FAILED  \] (\w+\.\w+)", output, re.M))
    faults = {test: output[-4000:] for test in failed}
    if status != 0 and not faults:
        faults["(all)"] = f"status {status}: {output[-4000:]}"
    cases = re.search(r"^\[==========\] (\d+) tests .* ran", output, re.M)
    seconds = time.monotonic() - start
    return {"cases": int(cases[1]) if cases else 0, "faults": faults, "seconds": seconds}


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


def finished(command, end, environment=None):
    """The exit status and the output of a program, which may run until `end`."""
    try:
        done = subprocess.run(
            command,
            env=environment,
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
        if pathlib.Path(command[-1]).exists():
            found[name] = rows(command + (["--small"] if small else []), end)
    return found


def interop(environment, long, end):
    """{"rows": the lines of interop.py, "error": why it did not end well}"""
    command = ["python3", str(ROOT / "tools" / "gpu" / "interop.py"), *(["--long"] if long else [])]
    return rows(command, end, environment, statuses=(0, 1))


def libraries(environment, end, small):
    """As `benchmarks`, for those of Kiln with the others' arrays, and for the other libraries."""
    folder, options = ROOT / "tools" / "gpu", ["--small"] if small else []
    command = ["python3", str(folder / "benchmarks.py"), "--only", "bandwidths", "launches"]
    own = rows(command + options, end, environment)
    found = {
        name: rows(["python3", str(folder / "libraries.py"), name, *options], end, environment)
        for name in ("kiln", "torch", "cupy", "triton")
    }
    found["kiln"]["rows"] = own["rows"] + found["kiln"]["rows"]
    if "error" in own:
        found["kiln"]["error"] = "\n".join([own["error"], found["kiln"].get("error", "")])
    return found


def rows(command, end, environment=None, statuses=(0,)):
    """{"rows": the JSON lines of a program, "error": other lines and a status that is none of
    `statuses`}"""
    status, output = finished(command, end, environment)
    print(output, flush=True)
    lines = output.splitlines()
    found = {"rows": [json.loads(line) for line in lines if line.startswith("{")]}
    others = [line for line in lines if not line.startswith("{")]
    if status not in statuses or others:
        found["error"] = "\n".join([f"status {status}", *others])[-4000:]
    return found


if __name__ == "__main__":
    sys.exit(main())
