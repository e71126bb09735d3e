"""The form of error messages and warnings: tracebacks, colours, advice."""

import os
import pathlib
import pty
import subprocess
import sys
import traceback

import pytest


def environment():
    """An environment in which programs can import Kiln."""
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    return {**os.environ, "PYTHONPATH": str(root / "client_py")}


def frames(error):
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


def test_tracebacks_of_mistakes_end_at_the_call(ti):
    @ti.kernel
    def misspelt():
        print(nowhere)  # noqa: F821

    @ti.kernel
    def integer(a: ti.i32) -> ti.i32:
        return a

    def check(kernel, *arguments):
        with pytest.raises(Exception) as raised:
            kernel(*arguments)
        assert set(frames(raised.value)) == {__file__}
        assert raised.value.__cause__ is None

    integer(1)
    check(misspelt)
    check(integer, 1.5)
    check(integer)
    unplaced = ti.field(ti.f32)
    check(integer, 1)
    assert unplaced


def test_tracebacks_of_methods_end_at_the_call(ti):
    class Plain:
        @ti.kernel
        def run(self):
            pass

    with pytest.raises(ti.TaichiSyntaxError) as raised:
        Plain().run()
    assert frames(raised.value) == [__file__]


def test_the_full_traceback_is_shown_on_request(ti):
    ti.init(arch=ti.cpu, print_full_traceback=True)

    @ti.kernel
    def misspelt():
        print(nowhere)  # noqa: F821

    with pytest.raises(ti.TaichiNameError) as raised:
        misspelt()
    assert len(frames(raised.value)) > 1


WARNS = """
import kiln as ti

ti.init(arch=ti.cpu)

def python_function(x):
    return x

@ti.kernel
def k() -> ti.i32:
    return python_function(3)

k()
"""


def test_warnings_are_plain_in_files(run_python):
    for _ in range(2):  # from the front end, then from a warm record
        text = run_python(WARNS, check=False).stderr
        assert 'Calling non-taichi function "python_function"' in text
        assert "\x1b" not in text


def test_warnings_are_yellow_on_terminals(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(WARNS)
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, program], stderr=theirs, env=environment(), check=True)
    os.close(theirs)
    assert "\x1b[38;5;226mCalling non-taichi function" in os.read(ours, 65536).decode()
    os.close(ours)


def test_programs_of_the_command_line_are_told_to_use_a_file():
    text = "import kiln as ti; ti.init(arch=ti.cpu)\n@ti.kernel\ndef k(): pass\nk()"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=environment()
    )
    assert "put them into a file" in done.stderr and "kernel.py" not in done.stderr
