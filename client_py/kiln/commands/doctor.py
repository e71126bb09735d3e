"""`kiln doctor`: reports problems of this set-up.

Each check returns (verdict, text); the verdict is "good", "note" or "bad".
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time

from .. import regular_file
from .common import home, print_json, session, size
from .options import parse, words

LEAST_DISK_BYTES = 500_000_000
WORKER_SECONDS = 30
SERVERS_SECONDS = 120


def main(argv):
    options, rest = parse(argv, {"--json": False})
    words(rest, "doctor")
    findings = []
    # Each line is printed as its check ends: some checks wait for servers, and a silent minute
    # would look like a hang.
    for name, check in CHECKS.items():
        try:
            verdict, text = check()
        except Exception as error:  # report a check that fails, and continue with the others
            verdict, text = "bad", f"cannot tell: {type(error).__name__}: {error}"
        findings.append({"check": name, "verdict": verdict, "text": text})
        if not options["json"]:
            print(f"{MARKS[verdict]:7} {name:14} {text}", flush=True)
    bad = [finding for finding in findings if finding["verdict"] == "bad"]
    if options["json"]:
        print_json({"well": not bad, "findings": findings})
    else:
        print(f"\n{len(bad)} thing(s) to mend." if bad else "\nAll is well.")
    return 1 if bad else 0


MARKS = {"good": "ok", "note": "note", "bad": "WRONG"}


def check_home():
    path = home()
    if not os.path.exists(path):
        # The folders above the home may be missing too: the nearest one that exists decides whether
        # the home can be made.
        parent = path
        while not os.path.exists(parent):
            parent = os.path.dirname(parent)
        if not os.access(parent, os.W_OK):
            return "bad", f"{path} is not there and cannot be made: {parent} is not writable"
        return "good", f"{path} will be made by the first program"
    # Imported by the checks that need it: where the extension module cannot be loaded, these say so
    # and the others still run.
    from .. import _native

    if wrong := _native.distrust_of(path):
        return "bad", wrong
    if not os.access(path, os.W_OK | os.X_OK):
        return "bad", f"{path} is not writable: nothing is kept, each process compiles anew"
    return "good", path


def check_disk():
    path = home()
    while not os.path.exists(path):
        path = os.path.dirname(path)
    free = shutil.disk_usage(path).free
    if free < LEAST_DISK_BYTES:
        return "bad", f"only {size(free)} free at {path}: entries may not be kept"
    options = _mount_options(path)
    if "noexec" in options:
        return "note", f"{size(free)} free; {path} is mounted noexec: code is copied before it runs"
    return "good", f"{size(free)} free"


def _mount_options(path):
    """The mount options of the file system of `path`, from /proc/mounts."""
    best, options = "", ""
    real = os.path.realpath(path)
    try:
        with open("/proc/mounts", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                point, found = line.split()[1], line.split()[3]
                # The slash keeps /home2 out of /home. Of several mounts that contain the path the
                # deepest counts, and of several at the same point the last, which covers the
                # others.
                inside = real == point or real.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, options = point, found
    except OSError:
        pass
    return options.split(",")


def check_settings():
    server = os.environ.get("KILN_SERVER", "")
    if server == "off":
        return "note", "KILN_SERVER=off: no daemon, each process compiles for itself"
    from ..runtime import option_variables

    known = KNOWN_VARIABLES | option_variables()
    unknown = sorted(n for n in os.environ if n.startswith("KILN_") and n not in known)
    if unknown:
        return "note", f"nothing reads {', '.join(unknown)}: misspelt?"
    wrong = _wrong_configuration()
    if wrong:
        return "bad", f"no daemon starts: {wrong}"
    given = sorted(n for n in os.environ if n in known)
    return "good", ", ".join(given) if given else "no KILN_ variables: all defaults"


def _wrong_configuration():
    """kilnd's error about its configuration file, variables or keys; "" if it has none."""
    try:
        # The daemon's own parser judges the file: a second one here would come to differ from it.
        done = _kilnd("--check", timeout=WORKER_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return ""  # check_programs reports this
    # For root, kilnd reports that it refuses root, but exits with 0 if the configuration is valid.
    said = done.returncode or done.stderr.startswith("kilnd: ")
    return _last_error_line(done) if said else ""


def _kilnd(*flags, timeout):
    return subprocess.run(
        [_program("kilnd"), f"--home={home()}", *flags],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def _last_error_line(done):
    return done.stderr.strip().rpartition("\n")[2].removeprefix("kilnd: ")


def check_servers():
    """Checks the configured shared tiers, upstreams and cluster, and the server in KILN_SERVER."""
    configuration = os.path.join(home(), "kilnd.conf")
    text = ""
    if os.path.exists(configuration):
        opener = regular_file.opened
        with open(configuration, encoding="utf-8", errors="replace", opener=opener) as file:
            text = file.read()
    rows = _probe_servers() if text else []
    named = os.environ.get("KILN_SERVER", "")
    # A server that the configuration also contains was checked with the configuration's options.
    if named not in ("", "off") and f'"{named}"' not in text:
        from .. import _native

        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            # As a configuration of its own, so that the address is tried by the same code as the
            # tiers of the file.
            file.write(_native.upstream_tier(named))
            file.flush()
            rows += [row for row in _probe_servers(f"--config={file.name}") if row not in rows]
    if not rows:
        return "good", "none are configured"
    said = "; ".join(f"{name}: {words}" for name, verdict, words in rows if verdict != "good")
    well = ", ".join(name for name, verdict, _ in rows if verdict == "good")
    verdicts = {verdict for _, verdict, _ in rows}
    # One row for all servers; its verdict is that of the worst.
    worst = next(v for v in ("bad", "note", "good") if v in verdicts)
    return worst, "; ".join(filter(None, [said, f"{well} answered" if well else ""]))


def _probe_servers(*flags):
    """[(name, verdict, text)] of a configuration's servers; contacts each once."""
    done = _kilnd("--try", *flags, timeout=SERVERS_SECONDS)
    if done.returncode:
        raise RuntimeError(_last_error_line(done))
    return [tuple(line.split("\t", 2)) for line in done.stdout.splitlines()]


# All variables that Kiln reads (docs/how_to.md, docs/operations.md), except those for options of
# `ti.init`.
KNOWN_VARIABLES = frozenset(
    """
    KILN_BIN KILN_CACHE KILN_CACHE_BYTES KILN_CPU KILN_CUDA_DRIVER KILN_CUDA_TOOLKIT KILN_DISK_CACHE
    KILN_GLIBC KILN_GUI KILN_GUI_FRAMES KILN_GUI_SAVE KILN_HOME KILN_JOBS KILN_JOB_SECONDS KILN_LIB
    KILN_LOG KILN_MANIFEST KILN_OWNER_CHECK KILN_REQUIRE_HIT KILN_REQUIRE_SIGNED KILN_SERVER
    KILN_SERVER_CA KILN_SERVER_CERTIFICATE KILN_SERVER_KEY KILN_SERVER_TOKEN_FILE KILN_STAT
    KILN_STRICT KILN_TAPE_MB KILN_TRUSTED_KEYS KILN_WARM
    """.split()
)


def check_programs():
    directory = os.path.dirname(_program("kilnd"))
    if _cannot_run("kilnd"):
        return "bad", f"kilnd cannot be run in {directory}: build, or set KILN_BIN"
    if _cannot_run("kiln-worker"):
        verdict, text = _no_compiler()
        return verdict, f"{directory}, without kiln-worker: {text}"
    fronts = [name for name in ("kilnd-grpc", "kilnd-web", "kilnd-remote") if _cannot_run(name)]
    if fronts:
        return (
            "note",
            f"{directory}, without {', '.join(fronts)}, which serve other machines and ask shared "
            "tiers: ./kiln build makes them",
        )
    return "good", directory


def _program(name):
    """The path of one of Kiln's programs, whether it is there or not."""
    from .. import _native

    return _native.program(name)


def _cannot_run(name):
    return not os.access(_program(name), os.X_OK)


def _no_compiler():
    """What to report without a compiler: a server may compile instead."""
    named = os.environ.get("KILN_SERVER", "") not in ("", "off")
    return (
        "note" if named else "bad",
        "no compiler on this machine: `pip install kiln-lang[compiler]`, or name a server "
        "(KILN_SERVER=host:port)",
    )


def check_worker():
    """Checks that the worker and its libraries load, and that it reports its id."""
    program = _program("kiln-worker")
    if _cannot_run("kiln-worker"):
        return _no_compiler()
    start = time.monotonic()
    try:
        done = subprocess.run(
            [program, "--print-compiler-id"],
            capture_output=True,
            text=True,
            timeout=WORKER_SECONDS,
            check=False,
        )
    except OSError as error:
        return "bad", f"{program} cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return "bad", f"{program} did not answer within {WORKER_SECONDS} s"
    if done.returncode != 0:
        # The loader's messages about missing libraries come last.
        why = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return "bad", f"{program} ended with {done.returncode}: {why}"
    # The first line has the ids; the others are the files that they were computed from, and behind
    # a dash those of a CUDA toolkit that were absent.
    compiler, *files = done.stdout.split("\n")
    missing = [f for f in files if f and not f.startswith("- ") and not os.path.exists(f)]
    if missing:
        return "bad", f"libraries that the compiler is made of are gone: {', '.join(missing)}"
    return "good", f"compiler {compiler[:16]}, asked in {time.monotonic() - start:.2f} s"


def _ask_worker(option):
    """What a worker that is started here prints."""
    done = subprocess.run(
        [_program("kiln-worker"), option],
        capture_output=True,
        text=True,
        timeout=WORKER_SECONDS,
        check=True,
    )
    return done.stdout


def _of_daemon(metric):
    """The values of a metric by label; none if no daemon answers, which check_daemon reports."""
    try:
        return session().daemon_metrics().get(metric, {})
    except (RuntimeError, ConnectionError, TimeoutError):
        return {}


def check_confinement():
    """Checks which restrictions of the sandbox do not work here, or did not in the daemon's
    workers."""
    if _cannot_run("kiln-worker"):
        return "note", "no compiler runs on this machine"
    told = _ask_worker("--print-gaps")
    gaps = dict(line.split("\t", 1) for line in told.splitlines())
    # The daemon may run elsewhere, as in a container: its workers may have reported other gaps than
    # one that is started here.
    for name in _of_daemon("kiln_worker_gaps"):
        gaps.setdefault(name, f"{name} (of the daemon's workers; see {_log()})")
    if gaps:
        return "note", "; ".join(gaps.values())
    return "good", "workers give up all that they should"


def check_cuda():
    """Reports what makes code for CUDA: in the daemon's workers, else in one started here."""
    found = _of_daemon("kiln_cuda_toolchain")
    told = next((text for text, is_now in found.items() if text and is_now), "")
    if told:
        return "good", told
    if _cannot_run("kiln-worker"):
        return "note", "no compiler runs on this machine"
    return "good", _ask_worker("--print-cuda").strip()


def check_daemon():
    try:
        metrics = session().daemon_metrics()
    except (RuntimeError, ConnectionError, TimeoutError) as error:
        text = str(error)
        # The normal state of a machine on which no program has run for a while.
        if "no daemon listens" in text:
            return "good", "none runs; the first program that compiles starts it"
        return "bad", text
    version = next(iter(metrics["kiln_build_info"]), "?")
    deaths = int(metrics["kiln_worker_deaths_total"][""])
    fallbacks = int(metrics["kiln_fallbacks_total"][""])
    corrupt = int(sum(metrics["kiln_cache_corrupt_total"].values()))
    checked = metrics.get("kiln_entries_checked_total", {})
    refused = int(checked.get("unsigned", 0) + checked.get("untrusted", 0))
    troubles = [
        f"{count} {what}"
        for count, what in (
            (deaths, "deaths of workers"),
            (fallbacks, "compilations that clients had to run themselves"),
            (corrupt, "entries that were damaged"),
            (refused, "entries from elsewhere refused, as no trusted key signed them"),
        )
        if count
    ]
    up = time.time() - metrics["kiln_start_time_seconds"][""]
    if troubles:
        return (
            "note",
            f"kilnd {version} serves; since its start: {', '.join(troubles)}; see {_log()}",
        )
    return "good", f"kilnd {version} serves, since {up:.0f} s"


def _log():
    return os.path.join(home(), "kilnd.log")


def check_clock():
    """Checks that the clock is not far behind the times of files, which determine evictions."""
    newest = 0
    for name in ("kilnd.log", "stats", "kilnd.pid"):
        try:
            newest = max(newest, os.stat(os.path.join(home(), name)).st_mtime)
        except OSError:
            pass
    ahead = newest - time.time()
    # A minute, as file systems of other machines may have clocks of their own.
    if ahead > 60:
        return "bad", f"the clock is {ahead:.0f} s behind files in {home()}: was it set back?"
    # September 2020, before the first version of Kiln: such a clock was never set.
    if time.time() < 1_600_000_000:
        return "bad", "the clock is years behind: certificates will not be accepted"
    return "good", time.strftime("%Y-%m-%d %H:%M:%S %Z")


def check_version():
    """Reports Kiln's own version and the language's."""
    from .. import __version__, kiln_version

    return "good", f"{kiln_version}, language {'.'.join(map(str, __version__))}"


def check_processor():
    from .. import _native

    target = _native.host_target()
    # The cores that this process may use, as in a container, not those of the machine.
    cores = len(os.sched_getaffinity(0))
    if target not in _native.TARGETS:
        return "bad", f"{target}: Kiln compiles for {', '.join(_native.TARGETS)}"
    return "good", f"{target}, {cores} core(s)"


def check_memory():
    with open("/proc/meminfo", encoding="ascii") as info:
        kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in info}
    available = kilobytes.get("MemAvailable", 0) * 1024
    if available < 500_000_000:
        return "bad", f"only {size(available)} available: a compilation may be killed"
    return "good", f"{size(available)} available"


def check_python():
    """Reports which Python runs programs, and whether it is the active environment's."""
    python = f"{sys.version.split()[0]}, {sys.executable}"
    active = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    # The usual reason why a program finds no Kiln or no NumPy although both are installed.
    if active and os.path.realpath(active) != os.path.realpath(sys.prefix):
        wanted = "%d.%d" % sys.version_info[:2]
        return "note", f"{python}, and not that of {active}, which has no Python {wanted}"
    try:
        import numpy
    except ImportError:
        return "note", f"{python}, without NumPy: no to_numpy, no ndarrays"
    return "good", f"{python}, NumPy {numpy.__version__}"


def check_trust():
    """Reports whose signed code this user's programs run."""
    from .. import _native

    files = _native.key_files(home())
    missing = [path for path in files if not os.path.exists(path)]
    if missing:
        return "bad", f"KILN_TRUSTED_KEYS names {missing[0]}, which is not there"
    if not files:
        return "good", "no trusted keys: only what this user's own daemon made is run"
    try:
        count = _native.count_keys(home())
    except (RuntimeError, ValueError) as error:
        return "bad", str(error)
    return "good", f"{count} trusted key(s) in {' and '.join(files)}"


def check_leftovers():
    """Reports, among other leftovers, a lock of the home that another machine or container
    holds."""
    pid_file = os.path.join(home(), "kilnd.pid")
    try:
        with open(pid_file, encoding="ascii", opener=regular_file.opened) as file:
            pid = int(file.read())
    except (OSError, ValueError):
        return "good", "none"
    if os.path.exists(f"/proc/{pid}"):
        return "good", f"kilnd is process {pid}"
    return "note", f"kilnd {pid} ended without taking leave; the next one takes over"


CHECKS = {
    "version": check_version,
    "home": check_home,
    "disk": check_disk,
    "settings": check_settings,
    "programs": check_programs,
    "worker": check_worker,
    "confinement": check_confinement,
    "CUDA": check_cuda,
    "daemon": check_daemon,
    "processes": check_leftovers,
    "clock": check_clock,
    "processor": check_processor,
    "memory": check_memory,
    "Python": check_python,
    "trust": check_trust,
    "servers": check_servers,
}
