"""Runs cases, cooperation.py and small benchmarks under NVIDIA's compute-sanitizer, for run.py."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Programs beside the sections below, under the machine's Python.
PROGRAMS = {
    "cooperation": ("tools/gpu/cooperation.py",),
    "benchmarks": ("tools/gpu/benchmarks.py", "--small"),
}
# Sections of cases, with what uses shared memory, reductions and lists of cells first.
SHARED = (
    "atomics",
    "tasks",
    "snodes/activation",
    "snodes/dynamic_nodes",
    "snodes/loops",
    "loops",
)
SECTIONS = (
    *SHARED,
    "snodes/trees",
    "snodes/nesting",
    "snodes/quantised",
    "snodes/bit_vectorised",
    "snodes/quantised_below_sparse",
    "graphs",
    "gradients",
    "gradients_of_arrays",
    "tapes",
    "forward_mode",
    "random_numbers",
    "real_functions",
    "ndarrays",
    "arguments",
    "fields",
    "field_elements",
    "field_copies",
    "fields_in_kernels",
    "structs_in_kernels",
    "tensors_in_kernels",
    "scalar_types",
    "snodes/python_scope",
)
TOOLS = ("memcheck", "racecheck", "synccheck")  # for sections beyond SHARED the first alone
SECONDS = 150  # of a section under a tool
FOLDERS = ("/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer")
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")
# The first line of a report, and where it places the access: "at kernel(int)+0x70 in file", or of
# older versions "at 0x70 in kernel".
_REPORT = re.compile(
    r"=+ (?:Error: |Warning: )?"
    r"(?:Invalid|Race|Potential|Barrier|Program hit|Out-of-range|Misaligned|Divergent|Host API)\b"
)
_PLACE = re.compile(r"\bat (?:0x[0-9a-f]+ in )?([A-Za-z_][\w$.]*)(?:\(.*?\))?(?:\+0x|\s*$)")
# What the tool says of itself.
_NOTICE = re.compile(r"=+ (?:Error:|Internal|Unable|Device not)")


def program():
    """The path of compute-sanitizer; None if the machine has none."""
    return shutil.which("compute-sanitizer", path=":".join([os.environ["PATH"], *FOLDERS]))


def run_all(environment, sections, jobs, end):
    """Rows {"tool", "section", "errors": number of reports, "kernels": {name: reports}, "seconds",
    "status": "0", another exit status or "out of time", "text": the first reports}. Each section
    has a limit, and none begins after `end`."""
    found = program()
    if found is None:
        print("there is no compute-sanitizer")
        return []
    first = [*PROGRAMS, *(name for name in sections if name in SHARED)]
    work = [(tool, name) for tool in TOOLS for name in first]
    work += [("memcheck", name) for name in sections if name not in SHARED]
    rows = []
    with concurrent.futures.ThreadPoolExecutor(min(jobs, 12)) as pool:
        for row in pool.map(lambda one: run_one(found, *one, environment, end), work):
            rows.append(row)
            kernels = ", ".join(f"{name} ({count})" for name, count in row["kernels"].items())
            print(
                f"{row['tool']} {row['section']}: {row['errors']} reports in "
                f"{row['seconds']:.0f} s, status {row['status']} {kernels}",
                flush=True,
            )
    return rows


def run_one(sanitizer, tool, section, environment, end):
    start = time.monotonic()
    row = {"tool": tool, "section": section, "errors": 0, "kernels": {}, "text": ""}
    limit = min(SECONDS, end - start)
    if limit < 5:
        return {**row, "status": "out of time", "seconds": 0}
    with tempfile.TemporaryDirectory() as folder:
        command = [sanitizer, "--tool", tool, "--log-file", f"{folder}/%p", "--print-limit", "200"]
        # Kiln asks the driver of addresses of the host, too, which is no mistake.
        if tool == "memcheck":
            command += ["--report-api-errors", "no"]
        if section in PROGRAMS:
            name, *options = PROGRAMS[section]
            command += ["python3", str(ROOT / name), *options]
        else:
            harness = ROOT / "tests" / "e2e" / "language" / "harness.py"
            command += ["python3", str(harness), "--inside", section, "--from", "0"]
        status, said = finished(command, environment, limit)
        text = "".join(
            file.read_text(errors="replace") for file in sorted(pathlib.Path(folder).iterdir())
        )
    row.update(reports(text), status=status, seconds=time.monotonic() - start)
    if status != "0":
        row["text"] += said[-1000:]
    return row


def finished(command, environment, limit):
    """The exit status and standard error of a command, which ends with its children."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        try:
            status = str(process.wait(limit))
        except subprocess.TimeoutExpired:
            status = "out of time"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        return status, said.read().decode(errors="replace")


def reports(text):
    """What a log has: {"errors": reports, "kernels": {name: reports}, "text": the first ones}"""
    lines = text.splitlines()
    kernels, first = {}, []
    for number, line in enumerate(lines):
        if _REPORT.match(line):
            block = lines[number : number + 12]
            place = next(filter(None, map(_PLACE.search, block)), None)
            name = place.group(1) if place else "(no kernel)"
            kernels[name] = kernels.get(name, 0) + 1
        elif _NOTICE.match(line):
            block = [line]
        else:
            continue
        if len(first) < 5:
            first.append("\n".join(block))
    # A program that is stopped has no summary, and one with very many prints only the first.
    told = sum(map(int, _SUMMARY.findall(text)))
    return {
        "errors": max(told, sum(kernels.values())),
        "kernels": kernels,
        "text": "\n\n".join(first)[:6000],
    }
