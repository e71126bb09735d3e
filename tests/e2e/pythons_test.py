"""Which Python runs a program: the active environment's if it fits; otherwise a message says why
not."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

CLIENT = pathlib.Path(__file__).resolve().parent.parent.parent / "client_py"
VERSION = "%d.%d" % sys.version_info[:2]
# A kernel of a program whose environment has a package that no other has.
PROGRAM = """
import only_there, sys
import taichi as ti
ti.init()

@ti.kernel
def k() -> int:
    return only_there.NUMBER

print(k(), sys.prefix)
"""


@pytest.fixture
def environment(tmp_path):
    """A virtual environment with a module `only_there`."""
    folder = tmp_path / "my environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (folder / "lib" / f"python{VERSION}" / "site-packages" / "only_there.py").write_text(
        "NUMBER = 42\n"
    )
    return folder


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_programs_run_with_the_python_of_the_active_environment(
    kiln, tmp_path, environment, variable
):
    program = tmp_path / "app.py"
    program.write_text(PROGRAM)
    active = {variable: str(environment)}
    done = kiln("run", "-q", program, env=active)
    assert (done.stdout, done.stderr) == (f"42 {environment}\n", "")
    printed = kiln("python", "-c", "import only_there, kiln; print(only_there.NUMBER)", env=active)
    assert (printed.stdout, printed.stderr) == ("42\n", "")
    assert "hits 1" in kiln("warm", program, env=active).stderr
    doctor = kiln("doctor", check=False, env=active).stdout
    assert f"{environment}/bin/python{VERSION}" in doctor


def test_an_environment_of_another_python_is_named_and_left_alone(kiln, tmp_path, program):
    other = tmp_path / "other"
    (other / "bin").mkdir(parents=True)
    (other / "bin" / "python3.1").symlink_to(sys.executable)
    active = {"VIRTUAL_ENV": str(other)}
    done = kiln("run", "-q", program, env=active)
    assert done.stdout == "56.0\n"
    assert done.stderr == (
        f"kiln: {other} has no Python {VERSION}, so /usr/bin/python3 runs, "
        "without that environment's packages\n"
    )
    assert kiln("cache", "path", env=active).stderr == ""
    doctor = kiln("doctor", check=False, env=active).stdout
    assert f"not that of {other}, which has no Python {VERSION}" in doctor


def test_another_python_is_told_which_one_kiln_is_built_for(tmp_path):
    # The loader fails for a module of another Python like this.
    (tmp_path / "_native.so").write_text("no shared object")
    (tmp_path / "python").write_text("3.1 /usr/bin/python3.1\n")
    environment = {**os.environ, "KILN_LIB": str(tmp_path), "PYTHONPATH": str(CLIENT)}

    def last_line(python):
        command = [python, "-c", "import kiln"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return done.stderr.strip().rpartition("\n")[2]

    said = "ImportError: Kiln is built for Python {}, and this is Python {}"
    assert last_line(sys.executable).startswith(said.format("3.1", VERSION))
    del environment["KILN_LIB"]
    for minor in range(8, 16):
        python = shutil.which(f"python3.{minor}")
        if minor == sys.version_info[1] or python is None:
            continue
        if subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
            assert last_line(python).startswith(said.format(VERSION, f"3.{minor}"))


def test_a_checkout_that_is_not_built_says_so(tmp_path):
    shutil.copytree(CLIENT / "kiln", tmp_path / "client_py" / "kiln")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "client_py")}
    environment.pop("KILN_BIN", None)
    command = [sys.executable, "-c", "import kiln"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "ImportError: Kiln's native module is not built: run `./kiln build`" in done.stderr
