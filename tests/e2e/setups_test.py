"""Unusual set-ups: a home shared by several machines, limits of the shell that starts the daemon,
mistakes in the configuration, threads, Ctrl-C."""

import os
import shutil
import signal
import subprocess
import time

import pytest

PROGRAM = """
import kiln as ti

ti.init()
x = ti.field(ti.f32, shape=100)


@ti.kernel
def fill(a: ti.f32):
    for i in x:
        x[i] = a * i + {number}


fill(2.0)
assert x[7] == 14 + {number}
print("done")
"""


@pytest.fixture
def program(tmp_path):
    """Makes programs, each with another kernel."""

    def make(number=0):
        path = tmp_path / f"program{number}.py"
        path.write_text(PROGRAM.format(number=number))
        return path

    return make


def _in_shell(kiln, line, **options):
    """Runs a line of bash in which $KILN is the command."""
    return subprocess.run(
        ["bash", "-c", line],
        env={**kiln.environment, "KILN": str(kiln.root / "kiln")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def _need_a_mount_namespace():
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no second mount namespace can be made here")


def test_entries_that_cannot_be_deleted_are_named(kiln, program):
    _need_a_mount_namespace()
    kiln("run", program())
    kiln("stop")
    read_only = 'mount --bind "$KILN_HOME" "$KILN_HOME" && mount -o remount,ro,bind "$KILN_HOME"'
    for command in ("cache clear -y", "cache prune --max-size 0"):
        done = _in_shell(kiln, f"unshare -m bash -c '{read_only} && $KILN {command}'")
        assert done.returncode == 1 and done.stdout == ""
        assert "Read-only file system" in done.stderr and ".so" in done.stderr
    assert kiln("cache", "clear", "-y").stdout.startswith("cleared 1 entries")


def test_two_machines_that_share_a_home_have_a_daemon_each(kiln, program):
    _need_a_mount_namespace()
    kiln("run", program(1))
    # With another /tmp, a process looks like one on another machine.
    start = time.monotonic()
    sockets = f"/tmp/kiln-{os.geteuid()}"
    there = _in_shell(
        kiln,
        f"unshare -m bash -c 'mount -t tmpfs -o mode=700 tmpfs {sockets} && "
        f"$KILN run {program(1)} && "
        f"$KILN run {program(2)} && $KILN top --once --json && $KILN stop'",
    )
    assert there.returncode == 0, there.stderr
    assert "without a daemon" not in there.stderr
    assert '"uptime_seconds"' in there.stdout
    assert time.monotonic() - start < 30
    # Both keep one cache, and the first daemon still serves.
    assert "misses 0" in kiln("run", program(2)).stderr
    assert kiln("top", "--once").stdout.startswith("kilnd")


def test_limits_of_a_shell_are_not_the_daemons(kiln, program):
    # Too little memory for the compiler; a hard limit, which children cannot raise.
    first = _in_shell(kiln, f"ulimit -v 150000; $KILN run {program(1)}")
    assert first.returncode == 1 and "does not run" in first.stderr
    assert "error while loading shared libraries" in first.stderr
    # The next program gets another daemon.
    second = kiln("run", program(1))
    assert second.stdout == "done\n" and "without a daemon" not in second.stderr
    kiln("stop")
    # A program's soft limits and processor affinity must not apply to the daemon.
    third = _in_shell(kiln, f"ulimit -S -t 100 -n 64; taskset -c 0 $KILN run {program(2)}")
    assert third.returncode == 0, third.stderr
    pid = int((kiln.home / "kilnd.pid").read_text())
    with open(f"/proc/{pid}/limits", encoding="ascii") as limits:
        soft = {line[:26].strip(): line[26:].split()[0] for line in limits}
    assert soft["Max cpu time"] == "unlimited" and int(soft["Max open files"]) > 64
    assert os.sched_getaffinity(pid) == os.sched_getaffinity(1)


def test_a_limit_on_file_sizes_is_named_and_no_file_is_lost(kiln, program, tmp_path):
    # Pipes are no files, so what the commands print gets through.
    for server in ("", "KILN_SERVER=off"):
        done = _in_shell(kiln, f"ulimit -f 1; {server} $KILN run {program(1)}")
        assert done.returncode == 1
        assert "write files of at most 1024 bytes (ulimit -f)" in done.stderr
    # A compiler raises a soft limit; the program itself cannot write the code to load.
    soft = _in_shell(kiln, f"ulimit -S -f 1; KILN_SERVER=off $KILN run {program(1)}")
    assert "writing a kernel: File too large (this process may write files of at" in soft.stderr
    kiln("run", program(1))
    file = tmp_path / "file"
    limit = f"{file}: File too large (this process may write files of at most 0 bytes, see ulimit"
    for command in (f"cache export {file} --all", f"warm -o {file} {program(1)}"):
        file.write_text("earlier")
        done = _in_shell(kiln, f"ulimit -f 0; $KILN {command}")
        assert done.returncode == 1 and limit in done.stderr
        assert file.read_text() == "earlier" and os.listdir(tmp_path).count("file") == 1
    done = _in_shell(kiln, f"ulimit -f 0; KILN_MANIFEST={file} $KILN run {program(1)}")
    assert done.stdout == "done\n" and f"KILN_MANIFEST={limit}" in done.stderr
    assert file.read_text() == "earlier"


@pytest.mark.parametrize("mask", ["0700", "0777"])
def test_a_home_made_under_any_umask_can_be_used(kiln, program, mask):
    _in_shell(kiln, f"umask {mask}; $KILN run {program(1)}")
    kiln("stop")
    for folder, _, files in os.walk(kiln.home):
        assert os.stat(folder).st_mode & 0o777 == 0o700, folder
        for name in files:
            assert os.stat(os.path.join(folder, name)).st_mode & 0o600 == 0o600, name


def test_a_mistake_in_the_configuration_is_named_and_fails_no_program(kiln, program):
    kiln.home.mkdir()
    conf = kiln.home / "kilnd.conf"
    conf.write_text("memory {\n  max_byts: 5\n}\n")
    done = kiln("run", program())
    assert done.stdout == "done\n"
    said = f"{conf}:2:"
    assert f"compiling without a daemon for now: kilnd did not come up: {said}" in done.stderr
    doctor = kiln("doctor", check=False)
    assert doctor.returncode == 1 and said in doctor.stdout
    conf.unlink()
    done = kiln("run", program(1), env={"KILN_CACHE_BYTES": "1G"})
    assert "KILN_CACHE_BYTES=1G: expected a number of bytes" in done.stderr
    done = kiln("run", program(3), env={"KILN_JOB_SECONDS": "0"})
    assert "KILN_JOB_SECONDS=0: expected a number of seconds, more than 0" in done.stderr
    doctor = kiln("doctor", check=False, env={"KILN_CACHE_BYTES": "1G"})
    assert "KILN_CACHE_BYTES=1G" in doctor.stdout
    strict = kiln("run", program(2), check=False, env={"KILN_JOB_SECONDS": "x", "KILN_STRICT": "1"})
    assert strict.returncode == 1
    assert (
        "no daemon, and KILN_STRICT=1: kilnd did not come up: bad KILN_JOB_SECONDS=x"
        in strict.stderr
    )


@pytest.mark.parametrize(
    "setting",
    [
        "KILN_CACHE=off",
        "KILN_OWNER_CHECK=0",
        "KILN_REQUIRE_HIT=yes",
        "KILN_REQUIRE_SIGNED=on",
        "KILN_SERVER=here",
        "KILN_STAT=1",
        "KILN_STRICT=yes",
        "KILN_TAPE_MB=0",
        "KILN_WARM=0",
    ],
)
def test_a_wrong_variable_ends_run_before_the_program(kiln, program, setting):
    name, value = setting.split("=")
    done = kiln("run", program(), check=False, env={name: value})
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"kiln: {setting}: ") and done.stderr.count("\n") == 1


def test_warm_reports_that_nothing_can_be_stored(kiln, program):
    kiln.home.write_text("a file\n")
    done = kiln("warm", program(), check=False)
    assert done.returncode == 1
    assert done.stderr == f"kiln: nothing can be added to the cache: {kiln.home}: File exists\n"
    kiln.home.unlink()


def test_a_removed_home_is_created_again(kiln, program):
    kiln("run", program(1))
    shutil.rmtree(kiln.home)
    kiln("run", program(2))
    assert "misses 0" in kiln("run", program(2)).stderr
    assert kiln("doctor").returncode == 0


def test_threads_of_a_fresh_process_compile_at_once(kiln, tmp_path):
    kernels = "".join(
        f"@ti.kernel\ndef k{n}(a: ti.f32) -> ti.f32:\n"
        f"    return a + ti.Vector([{n}.0, 1.0])[0]\n\n\n"
        for n in range(16)
    )
    path = tmp_path / "threads.py"
    path.write_text(
        "import threading\n\nimport kiln as ti\n\nti.init()\nfound = {}\n\n\n" + kernels + "\n"
        "def work(n):\n    found[n] = globals()[f'k{n}'](1.0)\n\n\n"
        "threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]\n"
        "for thread in threads:\n    thread.start()\n"
        "for thread in threads:\n    thread.join()\n"
        "assert found == {n: n + 1.0 for n in range(16)}, found\n"
    )
    for server in ("", "off"):
        kiln("run", path, env={"KILN_SERVER": server})
        kiln("cache", "clear", "-y")


@pytest.mark.parametrize("server", ["", "off"])
def test_ctrl_c_ends_a_long_compilation(kiln, tmp_path, server):
    path = tmp_path / "long.py"
    path.write_text(
        "import kiln as ti\n\nti.init(unrolling_limit=0)\nx = ti.field(ti.f32, shape=10)\n\n\n"
        "@ti.kernel\ndef long(a: ti.f32):\n    for i in x:\n"
        "        for j in ti.static(range(16000)):\n            x[i] += ti.sin(a * j + x[i])\n\n\n"
        'print("begin", flush=True)\nlong(2.0)\nprint("end")\n'
    )
    process = subprocess.Popen(
        [kiln.root / "kiln", "run", path],
        env={**kiln.environment, "KILN_SERVER": server},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells start background jobs, perhaps these tests, with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "begin\n"
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and out == ""
    assert time.monotonic() - start < 3
