"""`kiln warm`: compiles a program's kernels before the program runs.

A manifest (warm/manifest.py) lists the kernels: the given file, or the manifest that the program's
last run left in the home. If there is none, or the program's text has changed since, the command
runs the program first.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from .. import _native, misses, whole_file
from ..warm import manifest, program
from . import reports
from .common import failure, home, print_json, session
from .options import BadOption, any_target, check_folder, count, default_target, parse, target
from .reports import Outcome, Report

_OPTIONS = {
    "--cpu": [],
    "--jobs": "",
    "--json": False,
    "--output": "",
    "--quiet": False,
    "--record": False,
    "--report": [],
    "--require-hit": False,
    "--target": [],
}
_SHORT = {"-j": "--jobs", "-o": "--output", "-q": "--quiet"}


def main(argv):
    options, rest = _parse(argv)
    jobs = count(options["jobs"], "--jobs") if options["jobs"] else os.cpu_count() or 1
    targets = [target(text) for text in options["cpu"]]
    targets += [any_target(text) for text in options["target"]]
    targets = list(dict.fromkeys(targets))
    default_target()
    reports.check_paths(options["report"])
    if options["output"]:
        check_folder("--output", options["output"])
    path = rest[0]
    if wrong := _why_not_writable():
        return failure(wrong)
    try:
        wanted, status = _manifest(path, rest[1:], options["record"])
    except manifest.BadManifest as error:
        return failure(f"{path}: {error}")
    except OSError as error:
        return failure(f"{path}: {error.strerror}")
    if wanted is None:
        return failure(f"{path}: it used no kernels, so there is nothing to compile")
    show = (lambda line: None) if options["quiet"] else _say
    report = Report("warm", path, [])
    try:
        _compile(report, wanted, targets, jobs, options["require_hit"], show)
        if status and not report.status:
            report.status = 1
        if options["output"]:
            carried = manifest.with_recorded(wanted, home()).to_bytes()
            whole_file.write(options["output"], carried)
        report.write(options["report"])
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        return failure(f"{error.filename}: {error.strerror}")
    if options["json"]:
        print_json(reports.as_json(report))
    return report.status


def _why_not_writable():
    """Why nothing can be added to the cache; "" if it can."""
    if wrong := _native.distrust_of(home()):
        return f"nothing can be added to the cache: {wrong}"
    if session().read_only:
        return "KILN_CACHE=read-only: nothing can be added to the cache"
    try:
        os.makedirs(home(), mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=home()):
            pass
    except OSError as error:
        return f"nothing can be added to the cache: {home()}: {error.strerror}"
    return ""


def _parse(argv):
    """Returns (options, the program or manifest and its arguments)."""
    options, rest = parse(argv, _OPTIONS, _SHORT, stop=True)
    if not rest:
        raise BadOption("warm what? A manifest or a program")
    if not os.path.isfile(rest[0]):
        raise BadOption(f"{rest[0]}: no such file")
    if _is_manifest(rest[0]):
        # After a program's name, arguments are the program's; after a manifest's, this command's.
        more, others = parse(rest[1:], _OPTIONS, _SHORT)
        if others:
            raise BadOption(f"'{others[0]}': one manifest at a time")
        for name, value in more.items():
            options[name] = (
                options[name] + value if isinstance(value, list) else value or options[name]
            )
        del rest[1:]
    return options, rest


def _compile(report, wanted, targets, jobs, require_hit, show):
    """Compiles, and fills in the report and its status."""
    start = time.monotonic()
    work = plan(wanted, targets)
    for outcome in compile_all(wanted, work, jobs):
        report.outcomes.append(outcome)
        if outcome.error:
            report.status = 1
        elif require_hit and not outcome.is_hit:
            outcome.error = "it was not in the cache"
        show(_line(outcome, len(report.outcomes), len(work)))
    report.seconds = time.monotonic() - start
    if require_hit and report.misses and not report.status:
        report.status = misses.STATUS
    failed = f"  failed {report.failed}" if report.failed else ""
    counts = f"kernels {len(work)}  hits {report.hits}  compiled {report.misses}"
    show(f"{counts}{failed}  {report.seconds:.1f} s")


def _say(line):
    print(line, file=sys.stderr, flush=True)


def _line(outcome, number, total):
    if outcome.error:
        what = f"failed: {outcome.error}"
    else:
        what = "cached" if outcome.is_hit else f"compiled {outcome.compile_seconds * 1e3:.0f} ms"
    of = f" {outcome.target}" if outcome.target else ""
    return f"[{number}/{total}] {outcome.kernel}{of}  {what}"


# --- the manifest


def _is_manifest(path):
    try:
        with open(path, "rb") as file:
            return file.read(14) == b"kiln-manifest "
    except OSError:
        return False


def _manifest(path, arguments, record):
    """(manifest, exit status of the program if it had to run, otherwise 0)"""
    if _is_manifest(path):
        return manifest.read(path), 0
    if not record and not arguments:
        found = recorded_of(path)
        if found is not None:
            return found, 0
    status = record_program(path, arguments)
    found = _read_home(path)
    if found is not None and not _is_whole(found):
        # Without warm records, so that all kernels go through the front end, which records them.
        status = record_program(path, arguments, KILN_WARM="off")
        found = _read_home(path)
    if found is not None and not program.is_as_it_was(found, path):
        found = None  # from a run of an earlier text of the program
    return found, status


def manifest_of(path):
    """The manifest in a file, or that of a program, which is run if it has none. None for a program
    without kernels. Raises OSError, BadManifest."""
    return _manifest(path, [], False)[0]


def recorded_of(path):
    """The manifest of a program's last run. None if the program or its modules have changed since,
    or if recorded kernels are missing."""
    found = _read_home(path)
    if found is None or not program.is_as_it_was(found, path):
        return None
    return found if _is_whole(found) else None


def record_program(path, arguments, **environment):
    """Runs a program so that it leaves its manifest, with its output on standard error. Returns its
    exit status."""
    command = [sys.executable, "-m", "kiln.cli", "run", "--quiet", path, *arguments]
    # Misses are expected in this run.
    environment = {**os.environ, "KILN_REQUIRE_HIT": "", **environment}
    done = subprocess.run(command, stdout=sys.stderr, env=environment, check=False)
    if done.returncode:
        failure(f"{path} ended with {done.returncode}; what it used until then is compiled")
    return done.returncode


def _read_home(path):
    return program.read(home(), program.note_of(path))


def _is_whole(found):
    return all(manifest.recorded_of(found, home(), unit) is not None for unit in found.units)


# --- compiling


def plan(wanted, targets):
    """[(unit, target)] to compile for a manifest.

    targets: if empty, those of `target_of`. The target "" is this machine's.
    """
    work = {}
    for unit in wanted.units:
        for text in targets or [target_of(unit)]:
            name = unit.recorded if unit.recorded != "-" else unit.key
            work.setdefault((name, text), (unit, text))
    return list(work.values())


def target_of(unit):
    """The target that the program requested for a kernel, or else $KILN_CPU, as for programs."""
    return unit.target if unit.target != "-" else default_target()


def compile_all(wanted, work, jobs):
    """Yields an Outcome for each (unit, target) when it is done."""
    sessions = _Sessions()
    pool = ThreadPoolExecutor(max_workers=max(min(jobs, len(work)), 1))
    try:
        running = [pool.submit(_one, sessions, wanted, *item) for item in work]
        for future in as_completed(running):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


class _Sessions:
    """Sessions of the compiling threads. With a daemon all threads share one session; without one,
    each thread has its own session and worker."""

    def __init__(self):
        self._local = threading.local()
        self._shared = None if os.environ.get("KILN_SERVER") == "off" else session()

    def get(self):
        if self._shared is not None:
            return self._shared
        if not hasattr(self._local, "session"):
            self._local.session = session()
        return self._local.session


def _one(sessions, wanted, unit, text):
    outcome = Outcome(unit.kernel, target=text)
    recorded = manifest.recorded_of(wanted, home(), unit)
    if recorded is None:
        outcome.key = unit.key
        outcome.error = "what it was compiled from is not known any more: warm --record the program"
        return outcome
    try:
        found = sessions.get().warm(recorded, text)
    except (ValueError, RuntimeError, OSError) as error:  # OSError: timeouts and lost connections
        outcome.error = str(error)
        return outcome
    outcome.key, outcome.tier, outcome.wait_seconds, outcome.compile_seconds = found[:4]
    texts = errors_of(found[4])
    if texts:
        outcome.tier, outcome.error = "", "; ".join(texts)
    return outcome


def errors_of(diagnostics):
    """The texts of the errors among `diagnostics`, with their positions."""
    return [_text(d) for d in diagnostics if d.severity == "ERROR"]


def _text(diagnostic):
    if not diagnostic.spans:
        return diagnostic.message
    file, line = diagnostic.spans[0][:2]
    return f"{file}:{line}: {diagnostic.message}"
