#!/usr/bin/python3
"""Runs all tests. ./test installs missing packages and then runs this script.

A step is a function that yields results; a result is one test case: a unit test, or a file checked
by a linter. The last line of the output counts them.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree

import tidy_batches

ROOT = pathlib.Path(__file__).resolve().parent.parent
STATE = ROOT / ".kiln" / "test"

Result = collections.namedtuple("Result", "name passed message")


def main():
    options = parse()
    STATE.mkdir(parents=True, exist_ok=True)
    passed, failures = 0, []
    for name, step in STEPS.items():
        if options.steps and name not in options.steps:
            continue
        if options.quick and name in SLOW:
            continue
        start, count = time.monotonic(), 0
        print(f"== {name}: {step.__doc__.splitlines()[0]}", flush=True)
        try:
            for result in step(options):
                count += 1
                if result.passed:
                    passed += 1
                else:
                    failures.append(result)
                    print(f"FAILED {result.name}\n{result.message}".rstrip(), flush=True)
        except Exception as error:  # a broken step must not hide the others
            failures.append(Result(name, False, f"{type(error).__name__}: {error}"))
            print(f"FAILED {name}\n{failures[-1].message}", flush=True)
        print(f"   {count} in {time.monotonic() - start:.0f} s", flush=True)
    for result in failures:
        print(f"FAILED {result.name}")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


def parse():
    parser = argparse.ArgumentParser(prog="./test", description="Runs Kiln's tests.")
    parser.add_argument("--quick", action="store_true", help=f"without {', '.join(sorted(SLOW))}")
    parser.add_argument(
        "--sanitize",
        choices=SANITIZERS,
        help="only the C++ tests of the server, the client and what they share, built with that "
        "sanitizer",
    )
    parser.add_argument(
        "what", nargs="*", help=f"steps ({', '.join(STEPS)}) or folders and files; default: all"
    )
    options = parser.parse_args()
    options.steps = {name for name in options.what if name in STEPS}
    options.paths = [name.rstrip("/") for name in options.what if name not in STEPS]
    for path in options.paths:
        if not (ROOT / path).exists():
            parser.error(f"neither a step nor a file: {path}")
    # Other steps take no paths, and would pass without having looked at these.
    if options.paths and not options.steps & {"unit", "python"}:
        options.steps |= {"unit", "python"}
    if options.sanitize:
        options.steps = {"unit"}
    return options


# ---- linters


def clang_format(_options):
    """C++ is formatted as .clang-format says"""
    files = tracked("*.cc", "*.h", "*.hpp")
    for file, run in each(files, lambda f: ["clang-format-19", "--dry-run", "-Werror", f]):
        yield Result(f"clang-format {file}", run.returncode == 0, run.stderr[:2000])


def python_lint(_options):
    """Python passes ruff, or where that is not installed pyflakes and a look at line lengths"""
    files = tracked("*.py")
    ruff = os.environ.get("RUFF") or shutil.which("ruff")
    print(f"   with {ruff or 'pyflakes3: ruff was not found'}")
    if ruff:
        for verb in (["check"], ["format", "--check", "--diff"]):
            for file, run in each(files, lambda f: [ruff, *verb, "--no-cache", "-q", f]):
                passed = run.returncode == 0
                yield Result(f"ruff {verb[0]} {file}", passed, (run.stdout + run.stderr)[:2000])
        return
    for file, run in each(files, lambda f: ["pyflakes3", f]):
        lines = (ROOT / file).read_text().splitlines()
        complaints = [line for line in run.stdout.splitlines() if not excused(line, file, lines)]
        for number, line in enumerate(lines, 1):
            # Like ruff, excuse comments for linters, and a line of one word: nothing can break it.
            code = re.split(r" *# (?:ruff: )?noqa", line)[0]
            if len(code) > 100 and len(code.split()) > 1:
                complaints.append(f"{file}:{number}: longer than 100 columns")
        yield Result(f"pyflakes {file}", not complaints, "\n".join(complaints) + run.stderr)


def excused(complaint, file, lines):
    """Whether a complaint of pyflakes is one that ruff is configured to ignore."""
    # A package's __init__.py imports names for others to use.
    if file.endswith("__init__.py") or any(line.startswith("# ruff: noqa") for line in lines[:3]):
        return True
    number = re.match(r"[^:]+:(\d+):", complaint)
    return number is not None and "# noqa" in lines[int(number.group(1)) - 1]


def shell_lint(_options):
    """Shell scripts parse"""
    scripts = [f for f in tracked() if (ROOT / f).read_bytes()[:11] == b"#!/bin/bash"]
    for file, run in each([*scripts, "tools/setup.sh"], lambda f: ["bash", "-n", f]):
        yield Result(f"bash -n {file}", run.returncode == 0, run.stderr)


def clang_tidy(_options):
    """C++ passes clang-tidy, but for files with MLIR or LLVM headers, which take too long"""
    subprocess.run([ROOT / "tools" / "compile_commands.py"], check=True, stdout=subprocess.DEVNULL)
    commands = {
        os.path.relpath(entry["file"], ROOT): entry["arguments"]
        for entry in json.loads((ROOT / "compile_commands.json").read_text())
    }
    files = [f for f in commands if not f.endswith("_test.cc") and not includes_llvm(ROOT / f)]
    # Skip files that passed before, as long as neither they nor any header changed.
    headers = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for header in tracked("*.h", "*.proto"):
        headers.update((ROOT / header).read_bytes())
    marks = {f: STATE / f"tidy-{digest(headers, ROOT / f)}" for f in files}
    for file in files:
        if marks[file].exists():
            yield Result(f"clang-tidy {file}", True, "")
    todo = [f for f in files if not marks[f].exists()]
    together = tidy_together(todo, commands)
    for file in together:
        marks[file].touch()
        yield Result(f"clang-tidy {file}", True, "")
    rest = [f for f in todo if f not in together]
    for file, run in each(rest, lambda f: ["clang-tidy-19", "--quiet", "-p", ".", f]):
        if run.returncode == 0:
            marks[file].touch()
        yield Result(f"clang-tidy {file}", run.returncode == 0, run.stdout[:4000])


def tidy_together(files, commands):
    """Those of the files that pass together with others. All others are looked at one by one: what
    complains, and what does not compile because two files use one name for two things."""
    passed = set()
    for size in (24, 4):
        rest = [
            f
            for f in files
            if f not in passed and not tidy_batches.needs_a_run_of_its_own(ROOT / f)
        ]
        batches = tidy_batches.batches_of(rest, commands, size)
        batches = [batch for batch in batches if len(batch) > 1]
        for batch, run in each(batches, lambda batch: tidy_command(batch, commands)):
            if run.returncode == 0:
                passed.update(batch)
    return passed


def tidy_command(batch, commands):
    source = STATE / f"tidy-{batch[0].replace('/', '-')}"
    source.write_text(tidy_batches.source_of(batch))
    tidy = ["clang-tidy-19", "--quiet", f"--config-file={ROOT / '.clang-tidy'}"]
    own = f"--header-filter=^{re.escape(str(ROOT))}/"
    return [*tidy, own, source, "--", *tidy_batches.options_of(batch, commands)]


def includes_llvm(path):
    text = path.read_text()
    if re.search(r'#include "(mlir|llvm|lld)/', text):
        return True
    # The compiler's own headers may include LLVM, too.
    for name in re.findall(r'#include "(server/compiler/[^"]+)"', text):
        header = ROOT / name
        if header.exists() and includes_llvm(header):
            return True
    return "server/compiler/" in str(path) and '.inc"' in text


def digest(base, path):
    both = base.copy()
    both.update(str(path).encode() + path.read_bytes())
    return both.hexdigest()[:32]


# ---- tests


def unit(options):
    """Bazel builds everything; the C++ tests pass"""
    targets = [t for t in map(bazel_pattern, options.paths) if t] or (
        [] if options.paths else SANITIZED if options.sanitize else ["//..."]
    )
    if not targets:
        return
    events = STATE / "events.json"
    events.unlink(missing_ok=True)
    # Use the same seed, locale and home everywhere; tests make their own KILN_HOME.
    command = [ROOT / "tools" / "bazel.sh", "test", "--keep_going", "--test_output=errors"]
    command += [f"--build_event_json_file={events}", "--color=no", "--curses=no"]
    command += ["--show_progress_rate_limit=30", "--local_test_jobs=2"]
    command += [f"--config={options.sanitize}"] if options.sanitize else []
    command += ["--", *targets]
    run = subprocess.run(command, cwd=ROOT)
    yield from bazel_results(events)
    # Exit status 3: some tests failed, as the results show; 4: there are no tests.
    yield Result("bazel build " + " ".join(targets), run.returncode in (0, 3, 4), "see above")


def bazel_pattern(path):
    """The Bazel targets of a folder, or of the folder of a C++ file."""
    if path.endswith(".py"):
        return None
    folder = ROOT / path if (ROOT / path).is_dir() else (ROOT / path).parent
    if not any(folder.rglob("BUILD")):
        return None
    return f"//{folder.relative_to(ROOT).as_posix().strip('.')}/...".replace("///", "//")


def bazel_results(events):
    """The test cases in Bazel's account of a run."""
    for line in events.read_text().splitlines() if events.exists() else []:
        event = json.loads(line)
        label = event["id"].get("testResult", {}).get("label")
        if label:
            status = event["testResult"]["status"]
            outputs = event["testResult"].get("testActionOutput", [])
            uris = [o["uri"] for o in outputs if o["name"] == "test.xml"]
            path = urllib.parse.unquote(urllib.parse.urlparse(uris[0]).path) if uris else None
            cases = list(xml_results(path, label)) if path else []
            if status != "PASSED" and all(case.passed for case in cases):
                cases = [Result(label, False, f"{status}: see its output above")]
            yield from cases or [Result(label, True, "")]
        elif event["id"].get("testSummary") and event["testSummary"]["overallStatus"] in (
            "FAILED_TO_BUILD",
            "NO_STATUS",
        ):
            yield Result(event["id"]["testSummary"]["label"], False, "was not built")


def xml_results(path, prefix):
    """The cases in a JUnit file, as gtest, Bazel and pytest write them."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("skipped") is not None or case.get("status") == "notrun":
            continue
        bad = [child for child in case if child.tag in ("failure", "error")]
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        message = "\n".join((b.text or b.get("message") or "")[-3000:] for b in bad)
        yield Result(f"{prefix} {name}", not bad, message)


def python(options):
    """The Python and end-to-end tests pass, each process in a KILN_HOME of its own"""
    paths = [p for p in options.paths if p.endswith(".py") or any((ROOT / p).rglob("*_test.py"))]
    if options.paths and not paths:
        return
    report = STATE / "pytest.xml"
    report.unlink(missing_ok=True)
    subprocess.run([ROOT / "kiln", "build"], check=True)  # with the servers, too
    command = [ROOT / "kiln", "python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not slow"] if options.quick else []
    # In several processes. Tests of a file run in the same one, as they share what is slow to make.
    command += ["-n", str(os.cpu_count()), "--dist", "loadfile"]
    with tempfile.TemporaryDirectory(prefix="kiln-test-", ignore_cleanup_errors=True) as home:
        environment = {**os.environ, "KILN_HOME": home, "PYTHONDONTWRITEBYTECODE": "1"}
        run = subprocess.run(
            [*command, f"--junitxml={report}", *(paths or ["tests", "tools"])],
            cwd=ROOT,
            env=environment,
        )
        for one in [home, *pathlib.Path(home).glob("gw*")]:  # tests/conftest.py
            environment["KILN_HOME"] = str(one)
            subprocess.run([ROOT / "kiln", "stop"], env=environment, capture_output=True)
    if report.exists():
        yield from xml_results(report, "pytest")
    # 1: some failed, which the report says; 5: none were found.
    yield Result("pytest", report.exists() and run.returncode in (0, 1, 5), "see above")


def fuzz(_options):
    """The fuzzers pass their corpus and ten seconds of new inputs each"""
    sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
    import run as fuzzing

    names = fuzzing.fuzzers()
    fuzzing.build(names)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, (passed, output) in zip(names, pool.map(fuzzing.run, names)):
            yield Result(f"fuzz {name}", passed, output)


def golden(options):
    """kiln-opt's output is what the golden files say"""
    files = tracked("tests/golden/*.mlir", "tests/golden/*.textproto")
    build = [
        ROOT / "tools" / "bazel.sh",
        "build",
        "--noshow_progress",
        "//server/compiler:kiln-opt",
    ]
    subprocess.run(build, cwd=ROOT, check=True)
    kiln_opt = ROOT / ".kiln" / "bazel-bin" / "server" / "compiler" / "kiln-opt"
    for file, run in each(files, lambda f: ["python3", "tests/golden/run.py", kiln_opt, f]):
        yield Result(f"golden {file}", run.returncode == 0, (run.stdout + run.stderr)[-3000:])


# ---- help for steps


def tracked(*patterns):
    """Files under version control (or about to be), relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted({f for f in output.splitlines() if (ROOT / f).is_file()})


def each(files, command):
    """Runs a command for each file, as many at once as there are cores; yields in order."""

    def run(file):
        return subprocess.run(command(file), cwd=ROOT, capture_output=True, text=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from zip(files, pool.map(run, files))


STEPS = {
    "format": clang_format,
    "lint": python_lint,
    "shell": shell_lint,
    "unit": unit,
    "golden": golden,
    "python": python,
    "fuzz": fuzz,
    "tidy": clang_tidy,
}
SLOW = {"fuzz", "tidy"}

# Configurations of .bazelrc, and what is tested in them: all that others' bytes reach, but for the
# compiler, whose libraries are not built with a sanitizer and take an hour to be.
SANITIZERS = ("address", "undefined", "thread")
SANITIZED = [
    "//common/...",
    "//client_cpp/...",
    "//server/cache/...",
    "//server/daemon/...",
    "//server/events/...",
    "//server/front/...",
    "//server/grpc_front/...",
    "//server/observe/...",
    "//server/remote/...",
    "//server/web_front/...",
    "//server/worker/...",
    "//tests/e2e/server/...",
    "-//server/worker:kiln-worker",
    "-//tests/e2e/server:compiler_test",
]

if __name__ == "__main__":
    sys.exit(main())
