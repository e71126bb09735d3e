"""Fixtures of the end-to-end tests: the `kiln` command with a separate home."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Programs under test buffer what they print to a pipe, whatever the caller's shell asks for.
os.environ.pop("PYTHONUNBUFFERED", None)
# Windows of tests are off screen, but for those that name a display.
for _name in ("DISPLAY", "WAYLAND_DISPLAY"):
    os.environ.pop(_name, None)
# Each of several processes that run tests at once has its own home.
if "PYTEST_XDIST_WORKER" in os.environ and "KILN_HOME" in os.environ:
    os.environ["KILN_HOME"] += "/" + os.environ["PYTEST_XDIST_WORKER"]
    os.makedirs(os.environ["KILN_HOME"], exist_ok=True)


class Kiln:
    """`./kiln` with its own KILN_HOME."""

    root = ROOT

    def __init__(self, home):
        self.home = home
        self.environment = {**os.environ, "KILN_HOME": str(home)}

    def __call__(self, *arguments, check=True, timeout=120, command=None, **options):
        """Runs a subcommand; returns the completed process, with its output as text."""
        environment = {**self.environment, **options.pop("env", {})}
        try:
            done = subprocess.run(
                [command or ROOT / "kiln", *map(str, arguments)],
                capture_output=True,
                text=True,
                timeout=timeout,
                env=environment,
                **options,
            )
        except subprocess.TimeoutExpired as error:
            # For example "building", if a source was edited while the tests ran.
            said = (error.stderr or b"").decode(errors="replace") or "nothing"
            message = f"kiln {arguments} took more than {timeout} s, and said:\n{said}"
            raise AssertionError(message) from None
        if check and done.returncode != 0:
            raise AssertionError(f"kiln {arguments} ended with {done.returncode}:\n{done.stderr}")
        return done

    def stats(self):
        import json

        return json.loads(self("cache", "stats", "--json").stdout)


def native_folder():
    """The folder of this checkout's programs."""
    code = "import os, kiln._native as n; print(os.path.dirname(n.__file__))"
    command = [ROOT / "kiln", "python", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return pathlib.Path(done.stdout.strip())


def other_build_id(program):
    """A program's bytes with another build id, as a different build would have."""
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"
    program = bytearray(program)
    program[program.index(note) + len(note)] ^= 1
    return bytes(program)


@pytest.fixture
def kiln(tmp_path):
    """The command, with a fresh home; its daemon is stopped at the end."""
    home = tmp_path / "kiln home"  # with a space, so that every test covers that
    command = Kiln(home)
    yield command
    command("stop", check=False)


@pytest.fixture
def other(kiln, tmp_path):
    """The command with another fresh home, like that of another machine."""
    command = Kiln(tmp_path / "other home")
    yield command
    command("stop", check=False)


# Two kernels, `fill` and `total`.
PROGRAM = """
import taichi as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.f32, shape=8)


@ti.kernel
def fill(a: ti.f32):
    for i in x:
        x[i] = a * i


@ti.kernel
def total() -> ti.f32:
    s = 0.0
    for i in x:
        s += x[i]
    return s


fill(2.0)
print(total())
"""


@pytest.fixture
def program(tmp_path):
    """A file with PROGRAM, which prints 56.0."""
    path = tmp_path / "app.py"
    path.write_text(PROGRAM)
    return path
