"""Fixtures: Kiln in this process, with a separate home and therefore a separate daemon."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
CLIENT = TESTS.parent.parent / "client_py"
_home = None


def pytest_configure(config):
    # Set before kiln is imported by any test.
    global _home
    _home = tempfile.mkdtemp(prefix="kiln-test-")
    os.environ["KILN_HOME"] = _home
    # Import kiln itself, and the modules with tables of cases in the tests' folders.
    for path in (str(CLIENT), str(TESTS)):
        if path not in sys.path:
            sys.path.insert(0, path)


def pytest_unconfigure(config):
    runtime = sys.modules.get("kiln.runtime")
    if runtime is not None and runtime._sessions:
        next(iter(runtime._sessions.values())).stop_daemon()
    else:  # programs of tests may have started one
        subprocess.run([CLIENT.parent / "kiln", "stop"], capture_output=True)
    shutil.rmtree(_home, ignore_errors=True)


@pytest.fixture
def ti():
    """Kiln after a fresh `init`."""
    import kiln

    kiln.init(kiln.cpu)
    yield kiln
    kiln.reset()


@pytest.fixture
def torch(monkeypatch):
    """torch, or its stand-in: also where torch was built for another NumPy."""
    try:
        import torch

        torch.zeros(1).numpy()
    except (ImportError, RuntimeError):
        import torch_stand_in

        torch = torch_stand_in.module()
        monkeypatch.setitem(sys.modules, "torch", torch)
    return torch


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in a fresh interpreter; returns its standard output. What the checks of CUDA's
    emulator find is an error."""

    def run(program, name="program.py", check=True, **environment):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(program)
        done = subprocess.run(
            [sys.executable, str(path)],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONPATH": str(CLIENT), **environment},
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{path} ended with {done.returncode}:\n{done.stderr}")
        settings = environment.get("KILN_FAKE_CUDA", "")
        # A test that names a file for the reports reads them itself.
        if check and "check=" in settings and "reports=" not in settings:
            assert "fake CUDA: " not in done.stderr, done.stderr
        return done.stdout if check else done

    return run


@pytest.fixture(scope="session")
def emulator():
    """The path of a driver of CUDA that needs no device."""
    root = CLIENT.parent
    subprocess.run([root / "kiln", "build", "emulator"], check=True, capture_output=True)
    return root / ".kiln" / "bin" / "libcuda-emulator.so"


@pytest.fixture
def run_on_emulator(run_python, emulator, tmp_path):
    """Runs a program that emulated.START and ti.init precede, as run_python does. settings: of
    KILN_FAKE_CUDA, besides the log. init: arguments of ti.init besides `arch`."""
    from emulated import START

    def run(program, settings="", arch="cuda", init="", **options):
        log = tmp_path / "log"
        log.touch()
        environment = {
            "CUDA_ARRAYS": str(TESTS),
            "CUDA_ARRAYS_DRIVER": str(emulator),
            "KILN_CUDA_DRIVER": "emulator",
            "KILN_FAKE_CUDA": f"log={log};{settings}",
            "LOG": str(log),
        }
        init = f"ti.init(arch=ti.{arch}, {init})\n"
        return run_python(START + init + program, **environment, **options)

    return run


@pytest.fixture
def run_with_arrays(run_python, emulator):
    """Runs a program that emulated.START_WITH_ARRAYS precedes, as run_python does."""
    from emulated import START_WITH_ARRAYS

    def run(program, **environment):
        for_arrays = {"CUDA_ARRAYS": str(TESTS), "CUDA_ARRAYS_DRIVER": str(emulator)}
        environment = {"KILN_CUDA_DRIVER": "emulator", "KILN_SERVER": "off", **environment}
        return run_python(START_WITH_ARRAYS + program, **for_arrays, **environment)

    return run


@pytest.fixture(params=["seed=3;threads=1", "check=race,init"])
def compare_with_cpu(run_python, emulator, request):
    """Runs a program whose CASES (emulated.COMPARE_CASES) must give on CUDA what they give on the
    CPU: with the blocks in another order, and with the emulator's checks."""
    from emulated import COMPARE_CASES

    def compare(program):
        out = run_python(
            program + COMPARE_CASES,
            KILN_CUDA_DRIVER="emulator",
            KILN_SERVER="off",
            KILN_FAKE_CUDA=request.param,
        )
        assert out == "equal\n"

    return compare


class XServer:
    """A display without hardware: `name` is for DISPLAY, `stop` ends it; `folder` receives what it
    shows."""

    def __init__(self, folder):
        self.folder = folder
        if not shutil.which("Xvfb"):
            pytest.fail("there is no Xvfb: see tools/packages_test.txt")
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "640x480x24"]
        self._process = subprocess.Popen(
            [*command, "-nolisten", "tcp", "-fbdir", str(folder)],
            pass_fds=[write],
            stderr=subprocess.DEVNULL,
        )
        os.close(write)
        with open(read) as ready:
            number = ready.readline().strip()
        assert number, "Xvfb does not start"
        self.name, self.pid = f":{number}", self._process.pid

    def stop(self):
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="session")
def screen(tmp_path_factory):
    """The name of a display without hardware."""
    server = XServer(tmp_path_factory.mktemp("screen"))
    yield server.name
    server.stop()


@pytest.fixture
def own_screen(tmp_path):
    """An X server that the test may stop."""
    server = XServer(tmp_path)
    yield server
    server.stop()
