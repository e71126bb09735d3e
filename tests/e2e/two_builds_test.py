"""Two builds of Kiln in one home: another compiler, another runtime, one taking over from the
other.

The other build consists of this build's programs with another build id and, in one case, another
digest of the runtime's structs. The programs cannot tell this from a real other build.
"""

import os
import shutil
import struct
import subprocess
import sys
import threading
import time

import pytest

from tests.conftest import ROOT, native_folder, other_build_id

PROGRAM = """
import taichi as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.f32, shape=8)


@ti.kernel
def fill(a: ti.f32):
    for i in x:
        x[i] = a * i + {constant}


fill(2.0)
print(x[3])
"""


class Build:
    """The programs of a build in a separate folder, for one home."""

    def __init__(self, kiln, folder, change=lambda worker: worker):
        self.kiln = kiln
        self.folder = folder
        shutil.copytree(native_folder(), folder)
        worker = folder / "kiln-worker"
        worker.write_bytes(change(worker.read_bytes()))
        self.compiler = self._ask(worker, "--print-compiler-id").split()[0]

    def _ask(self, *command):
        path = [str(ROOT / "client_py"), os.environ.get("PYTHONPATH", "")]
        environment = {
            **self.kiln.environment,
            "KILN_BIN": str(self.folder),
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
        }
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        self.said = done.stderr
        return done.stdout

    def run(self, constant):
        """Runs a different program for each constant; returns its stderr."""
        program = self.folder / f"app{threading.get_ident()}.py"
        program.write_text(PROGRAM.format(constant=constant))
        printed = self._ask(sys.executable, "-m", "kiln.cli", "run", "-q", program)
        assert printed == f"{6 + constant:.1f}\n"
        return self.said

    def take_over(self):
        self._ask(
            self.folder / "kilnd",
            f"--home={self.kiln.home}",
            f"--bin={self.folder}",
            "--daemonize",
            "--take-over",
        )


def compilers(kiln):
    """The compilers that made the home's entries."""
    from kiln import explain

    return {entry["compiler"] for entry in explain.entries(str(kiln.home))}


def starts(kiln):
    return (kiln.home / "kilnd.log").read_text().count(" serves ")


def other_runtime(worker):
    from kiln import _native

    ours = struct.pack("<Q", _native.runtime_abi())
    assert ours in worker
    return other_build_id(worker).replace(ours, struct.pack("<Q", _native.runtime_abi() ^ 1))


@pytest.fixture
def ours(kiln, tmp_path):
    return Build(kiln, tmp_path / "ours")


@pytest.fixture
def others(kiln, tmp_path):
    return Build(kiln, tmp_path / "others", other_build_id)


@pytest.fixture
def strangers(kiln, tmp_path):
    return Build(kiln, tmp_path / "strangers", other_runtime)


def test_alternately(kiln, ours, others):
    assert ours.compiler != others.compiler
    for round in range(4):
        for build in (ours, others):
            assert build.run(round) == ""
            assert build.run(100 + 2 * round + (build is ours)) == ""
    # Either daemon serves both builds, and both find all entries.
    assert starts(kiln) == 1
    assert kiln.stats()["compiles"] == 4 + 8


def test_each_takes_over_under_load(kiln, ours, others):
    ours.run(0)
    wrong = []
    stop = threading.Event()

    def keep(build, first):
        constant = first
        while not stop.is_set():
            try:
                if said := build.run(constant):
                    wrong.append(said)
            except AssertionError as error:
                wrong.append(error)
            constant += 1

    threads = [
        threading.Thread(target=keep, args=(b, f)) for b, f in ((ours, 1000), (others, 2000))
    ]
    for thread in threads:
        thread.start()
    for build in (others, ours, others):
        build.take_over()
        build.run(0)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    # Under load, either build may have replaced the other's daemons before they compiled.
    for constant, build in ((3000, ours), (4000, others)):
        build.take_over()
        build.run(constant)
    before = starts(kiln)
    for round in range(3):
        assert ours.run(round) == others.run(round) == ""
    assert starts(kiln) == before, "one daemon is enough for both"
    assert compilers(kiln) == {ours.compiler, others.compiler}
    assert kiln("cache", "verify").returncode == 0


def test_a_daemon_of_another_runtime_is_replaced(kiln, ours, strangers):
    """Its code would access structs of another layout."""
    strangers.take_over()
    said = ours.run(0)
    for word in ("another build", "runtime", "kiln stop"):
        assert word in said
    # The home now has a record of this build's compiler.
    assert ours.run(1) == ""
    assert starts(kiln) == 2
    assert compilers(kiln) == {ours.compiler}


def test_a_service_of_another_runtime_is_not_used(kiln, ours, strangers):
    kiln.home.mkdir(mode=0o700)
    program = [strangers.folder / "kilnd", f"--home={kiln.home}", f"--bin={strangers.folder}"]
    service = subprocess.Popen(program, stderr=subprocess.DEVNULL)
    try:
        for _ in range(500):
            if (kiln.home / "kilnd.pid").exists():
                break
            time.sleep(0.01)
        for round in range(3):
            assert "another build" in ours.run(round)
        assert service.poll() is None
        assert compilers(kiln) == {ours.compiler}
    finally:
        service.terminate()
        service.wait(30)
