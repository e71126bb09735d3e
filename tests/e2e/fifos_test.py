"""FIFOs in place of the files of a home: nothing waits for their other end, and what needs the file
names it."""

import glob
import os
import signal

import pytest

PROGRAM = """
import kiln as ti

ti.init(arch=ti.cpu)


@ti.kernel
def add(a: ti.i32) -> ti.i32:
    return a + {number}


print(add(3))
"""


def put_fifo(path):
    if os.path.lexists(path):
        os.unlink(path)
    os.mkfifo(path)


def write(tmp_path, number):
    path = tmp_path / f"program{number}.py"
    path.write_text(PROGRAM.format(number=number))
    return path


@pytest.fixture
def home(kiln, tmp_path):
    """The home, after a daemon was there."""
    assert kiln("run", write(tmp_path, 1)).stdout == "4\n"
    return kiln.home


def lock_of(kiln):
    """The lock that the running daemon holds."""
    pid = int((kiln.home / "kilnd.pid").read_text())
    held = [os.readlink(fd) for fd in glob.glob(f"/proc/{pid}/fd/*") if os.path.exists(fd)]
    (lock,) = [path for path in held if path.endswith(".lock")]
    return lock


@pytest.mark.parametrize(
    "name",
    ["kilnd.pid", "kilnd.log", "stats", "hits.log", "compiler-id", "socket-directory", "warm"],
)
def test_programs_and_daemons_do_not_wait(kiln, home, tmp_path, name):
    kiln("stop")
    if os.path.isdir(home / name):
        os.rename(home / name, home / "aside")
    put_fifo(home / name)
    assert kiln("run", write(tmp_path, 2), timeout=60).stdout == "5\n"
    assert kiln("run", write(tmp_path, 2), timeout=60).stdout == "5\n"
    kiln("doctor", check=False, timeout=60)
    kiln("stop", timeout=60)


@pytest.mark.parametrize("name", ["kilnd.conf", "trusted.keys"])
def test_files_of_the_user_are_named(kiln, home, tmp_path, name):
    kiln("stop")
    put_fifo(home / name)
    done = kiln("run", write(tmp_path, 2), timeout=60)
    assert done.stdout == "5\n"
    found = kiln("doctor", check=False, timeout=60).stdout
    found += kiln("key", "list", check=False, timeout=60).stderr
    assert f"{home / name}" in found, found


def test_a_lock_is_named(kiln, home, tmp_path):
    lock = lock_of(kiln)
    kiln("stop")
    put_fifo(lock)
    try:
        done = kiln("run", write(tmp_path, 2), timeout=60)
        assert done.stdout == "5\n"
        assert f"{lock} is not a regular file" in done.stderr, done.stderr
    finally:
        os.unlink(lock)


def test_a_stopped_daemon_is_none(kiln, home, tmp_path):
    pid = int((home / "kilnd.pid").read_text())
    put_fifo(home / "kilnd.pid")
    os.kill(pid, signal.SIGSTOP)
    try:
        done = kiln("run", write(tmp_path, 3), timeout=100)
        assert done.stdout == "6\n"
    finally:
        os.kill(pid, signal.SIGCONT)
