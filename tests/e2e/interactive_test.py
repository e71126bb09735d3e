"""Kernels typed into an interactive interpreter at a terminal."""

import os
import pty
import select
import time

PROMPTS = (b">>> ", b"... ")


def converse(command, lines, environment):
    """The terminal's output of a session in which the lines are typed, each after a prompt."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvpe(command[0], command, {**environment, "TERM": "dumb"})
    shown = _until_prompt(terminal)
    for line in lines:
        os.write(terminal, line.encode() + b"\n")
        shown += _until_prompt(terminal)
    os.close(terminal)
    os.waitpid(process, 0)
    return shown.decode(errors="replace").replace("\r\n", "\n")


def _until_prompt(terminal, seconds=60):
    shown, end = b"", time.monotonic() + seconds
    while not shown.endswith(PROMPTS) and time.monotonic() < end:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # the interpreter has ended
            break
        if not data:
            break
        shown += data
    return shown


def session(kiln, *lines, start=()):
    command = [str(kiln.root / "kiln"), "python", "-q", *start]
    typed = ["import kiln as ti", "ti.init(arch=ti.cpu)", *lines, "exit()"]
    return converse(command, typed, kiln.environment)


KERNEL = ("@ti.kernel", "def k(a: ti.i32) -> ti.i32:", "    b = a * 2", "    return b + 1", "")


def test_kernels_run_and_may_be_typed_again(kiln):
    again = [line.replace("b + 1", "b + 2") for line in KERNEL]
    shown = session(kiln, *KERNEL, "k(4)", *again, "k(4)", "old = 1")
    assert ">>> k(4)\n9\n" in shown and ">>> k(4)\n10\n" in shown


def test_methods_and_functions(kiln):
    shown = session(
        kiln,
        "@ti.func",
        "def double(x): return x * 2",
        "",
        "@ti.data_oriented",
        "class A:",
        "    @ti.kernel",
        "    def run(self, a: ti.i32) -> ti.i32:",
        "        return double(",
        "            a)",
        "",
        "A().run(21)",
    )
    assert ">>> A().run(21)\n42\n" in shown


def test_errors_show_what_was_typed(kiln):
    shown = session(kiln, "@ti.kernel", "def k():", "    a = nothing_of_that_name", "", "k()")
    assert 'File "<stdin>", line 3, in k:\n    a = nothing_of_that_name\n        ^^^^' in shown


def test_the_console_of_the_library(kiln):
    start = ("-c", "import code, readline; code.interact('')")
    shown = session(kiln, *KERNEL, "k(4)", start=start)
    assert ">>> k(4)\n9\n" in shown


def test_functions_that_were_not_typed_have_no_source(kiln):
    made = "exec('@ti.kernel\\ndef made():\\n    pass')"
    shown = session(kiln, *KERNEL, made, "made()")
    assert "TaichiSyntaxError" in shown.split(made)[1]
