"""Stops kilnd (SIGTERM) again and again while programs compile: no program may fail."""

import os
import signal
import subprocess
import time

from tests.conftest import ROOT
from tests.e2e.upstream_test import Setting, plain

ROUNDS = 6
LONGEST_END = 10

# Compiles one kernel after another in two threads, as long as the file `go` exists.
PROGRAM = """
import os, sys, threading
import taichi as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.i32, shape=2)


def make(at, constant):
    @ti.kernel
    def put():
        x[at] = constant

    return put


made = [0, 0]


def work(at):
    while os.path.exists(sys.argv[1]):
        constant = made[at] + {first}
        make(at, constant)()
        assert x[at] == constant
        made[at] += 1


threads = [threading.Thread(target=work, args=(at,)) for at in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("made", sum(made))
"""


class Programs:
    """Context manager that runs two programs, and then checks their results and output."""

    def __init__(self, kiln, folder, **environment):
        self.kiln = kiln
        self.folder = folder
        self.environment = {**kiln.environment, **environment}

    def __enter__(self):
        self.go = self.folder / "go"
        self.go.touch()
        self.running = []
        for i in (1, 2):
            program = self.folder / f"many{i}.py"
            program.write_text(PROGRAM.format(first=i * 1_000_000))
            command = [ROOT / "kiln", "run", "-q", program, self.go]
            self.running.append(
                subprocess.Popen(
                    command,
                    env=self.environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        return self

    def __exit__(self, kind, *_):
        self.go.unlink()
        self.made = 0
        self.said = set()
        for program in self.running:
            printed, said = program.communicate(timeout=60)
            self.said.update(said.splitlines())
            if kind is None:
                assert program.returncode == 0, said
                self.made += int(printed.removeprefix("made "))


def await_end(pid):
    start = time.monotonic()
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() - start < LONGEST_END
        time.sleep(0.02)


def daemon_of(kiln, other_than=None):
    give_up = time.monotonic() + 20
    while time.monotonic() < give_up:
        try:
            pid = int((kiln.home / "kilnd.pid").read_text())
            if pid != other_than and os.path.exists(f"/proc/{pid}"):
                return pid
        except (OSError, ValueError):
            pass
        time.sleep(0.02)
    raise AssertionError("no daemon is started")


def test_the_daemon_of_the_home(kiln, tmp_path):
    with Programs(kiln, tmp_path) as programs:
        pid = None
        for _ in range(ROUNDS):
            pid = daemon_of(kiln, other_than=pid)
            time.sleep(0.3)
            os.kill(pid, signal.SIGTERM)
            await_end(pid)
    assert programs.said == set()
    assert programs.made >= kiln.stats()["compiles"] > 10 * ROUNDS


def test_the_upstream(tmp_path):
    setting = Setting(tmp_path)
    try:
        plain(setting)
        with Programs(setting.user, tmp_path, KILN_SERVER=f"127.0.0.1:{setting.port}") as programs:
            time.sleep(1)
            for _ in range(ROUNDS):
                setting.server.terminate()
                assert setting.server.wait(LONGEST_END) == 0
                setting.serve(f"--listen=127.0.0.1:{setting.port}")
                time.sleep(0.3)
        # Each program reports at most once that it continues without a daemon.
        assert {
            line for line in programs.said if "compiling without it for now" not in line
        } == set()
        assert programs.made > 10 * ROUNDS
        assert setting.compiled()[0] > 0
    finally:
        setting.end()
