"""Sources of kernels: files, sessions, notebooks, registered text; and unsupported ones."""

# ruff: noqa: E701, E702
import importlib.util
import linecache
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

from harness import case, ti

MADE = []


def define(text, name=None, known=True):
    """What `exec` of the text defines; `known`: its lines are registered, as notebooks do."""
    name = name or f"<cell {len(MADE)}>"
    MADE.append(name)
    if known:
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"ti": ti, "__name__": "made"}
    exec(compile(text, name, "exec"), space)
    return space


def run(text, *options, stdin=False):
    """Output and errors' last line of a program, given as a file or typed in."""
    package = ti.__name__
    head = f"import {package} as ti\nti.init(arch=ti.cpu)\n"
    environment = {**os.environ, "TI_LOG_LEVEL": "error", "ENABLE_TAICHI_HEADER_PRINT": "0"}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.py"
        path.write_text(head + text)
        command = [sys.executable, *options] if stdin else [sys.executable, *options, str(path)]
        done = subprocess.run(
            command,
            input=head + text + "\n" if stdin else "",
            capture_output=True,
            text=True,
            env=environment,
        )
    errors = [x for x in done.stderr.splitlines() if "Error" in x]
    out = [x for x in done.stdout.splitlines() if not x.startswith("[Taichi]")]
    return out, [x.split(":")[0] for x in errors[-1:]]


@case()
def text_registered_with_linecache(show):
    k = define("@ti.kernel\ndef k(a: ti.i32) -> ti.i32:\n    return a * 3\n")["k"]
    show(k(2))


@case()
def a_module_edited_after_a_traceback(show):
    """A shown traceback keeps the file's lines; what runs are those of the file."""
    text = "import traceback\nimport {} as ti\n@ti.kernel\ndef k() -> ti.i32:\n    return {}\n"
    text += "def fail():\n    raise ValueError\n"

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "edited_module.py"
        path.write_text(text.format(ti.__name__, 1))
        loader = importlib.util.spec_from_file_location("edited_module", path)
        module = importlib.util.module_from_spec(loader)
        loader.loader.exec_module(module)
        show(module.k())
        try:
            module.fail()
        except ValueError:
            show("raise ValueError" in traceback.format_exc())
        path.write_text(text.format(ti.__name__, 22222))
        loader.loader.exec_module(module)
        show(module.k())


@case()
def notebook_cells(show):
    first = define("@ti.func\ndef f(a):\n    return a + 1\n", "<ipython-input-1-abc>")
    second = define("@ti.kernel\ndef k() -> ti.i32:\n    return 7\n", "/tmp/ipykernel_7/42.py")
    show(second["k"]())

    @ti.kernel
    def k() -> ti.i32:
        return first["f"](1)

    show(k())


@case()
def cell_run_again_with_another_text(show):
    name = "<cell that changes>"
    show(define("@ti.kernel\ndef k() -> ti.i32:\n    return 1\n", name)["k"]())
    show(define("@ti.kernel\ndef k() -> ti.i32:\n    return 2\n", name)["k"]())


@case(differs="source of kernels")
def text_that_is_kept_nowhere(show):
    k = "@ti.kernel\ndef k() -> ti.i32:\n    return 1\n"
    show.error(lambda: define(k, "<text kept nowhere>", known=False)["k"]())


@case()
def exec_without_source(show):
    def make():
        return define("@ti.kernel\ndef k() -> ti.i32:\n    return 1\n", known=False)["k"]()

    try:
        make()
    except Exception as error:
        show(isinstance(error, (OSError, ti.TaichiSyntaxError)))


@case()
def func_without_source(show):
    try:
        f = define("@ti.func\ndef f():\n    return 1\n", known=False)["f"]

        @ti.kernel
        def k() -> ti.i32:
            return f()

        k()
    except Exception as error:
        show(isinstance(error, (OSError, ti.TaichiCompilationError)))


@case()
def errors_in_a_cell_show_its_line(show):
    k = define("@ti.kernel\ndef k():\n    a = 1\n    b = a + nowhere\n", "<cell with a fault>")["k"]
    show.error(k)


@case()
def match_statement(show):
    text = "@ti.kernel\ndef k():\n    a = 1\n    match a:\n        case 1:\n            a = 2\n"
    if sys.version_info >= (3, 10):
        show.error(define(text)["k"])


@case(differs="plain Python")
def kernels_in_functions_and_classes(show):
    def outer():
        def inner():
            @ti.kernel
            def k() -> ti.i32:
                return 5

            return k

        return inner()

    class Space:
        class Inner:
            @staticmethod
            @ti.kernel
            def k() -> ti.i32:
                return 6

    show(outer()(), Space.Inner.k())


@case()
def decorator_in_other_spellings(show):
    kernel = ti.kernel

    @kernel
    def first() -> ti.i32:
        return 1

    def plain() -> ti.i32:
        return 2

    second = ti.kernel(plain)

    # fmt: off
    @ti.kernel

    def third(
        a: ti.i32,
        b: ti.i32,  # with a comment
    ) -> ti.i32: return a + b
    # fmt: on

    show(first(), second(), third(1, 2))


@case()
def odd_layouts(show):
    # fmt: off
    @ti.kernel
    def one() -> ti.i32: return 1

    @ti.kernel
    def continued(a: ti.i32) -> \
            ti.i32:
        b = a + \
            2
        c = (b
             + 3)
        if a > 0: c += 1
        x = 1; y = 2
        return c + x + y
    # fmt: on

    show(one(), continued(1))


@case(differs="source of kernels")
def texts_of_several_lines(show):
    @ti.kernel
    def k() -> ti.i32:
        """A docstring
        of two lines."""
        ti.static_print("""first
second""")
        return 1

    show(k())


@case()
def program_in_a_file(show):
    show(run("@ti.kernel\ndef k() -> ti.i32:\n    return 4\n\n\nprint(k())\n"))


@case(differs="source of kernels")
def program_typed_in(show):
    text = "@ti.kernel\ndef k() -> ti.i32:\n    return 4\n\nprint(k())\n"
    out, errors = run(text, "-i", "-q", stdin=True)
    show([x for x in out if "4" in x], errors)


@case(differs="source of kernels")
def program_on_the_command_line(show):
    out, errors = run(
        "@ti.kernel\ndef k() -> ti.i32:\n    return 4\n\nprint(k())\n", "-", stdin=True
    )
    show(out, errors)


@case(differs="source of kernels")
def future_annotations(show):
    text = "from __future__ import annotations\n"
    text += "@ti.kernel\ndef k(a: ti.i32) -> ti.i32:\n    return a\n"
    show.error(lambda: define(text)["k"](3))


@case(differs="source of kernels")
def future_annotations_of_structs(show):
    text = """from __future__ import annotations

def make():
    pair = ti.types.vector(2, ti.f32)

    @ti.dataclass
    class Ball:
        at: pair
        r: ti.f32

        @ti.func
        def far(self: Ball, k: ti.f32) -> ti.f32:
            return self.at.sum() * k + self.r

    f = Ball.field(shape=2)

    @ti.kernel
    def k() -> ti.f32:
        f[1] = Ball(pair(1, 2), 0.5)
        return f[1].far(2)

    return Ball, k

def misspelt():
    @ti.dataclass
    class Wrong:
        m: ti.math.mat9
"""
    made = define(text)
    ball, k = made["make"]()
    quoted = define('@ti.dataclass\nclass Quoted:\n    m: "ti.math.mat2"\n')["Quoted"]
    show(k(), ball(at=[1, 2], r=3), quoted().m)
    show.error(made["misspelt"])


@case(differs="source of kernels")
def future_annotations_of_local_types(show):
    text = """from __future__ import annotations

word = ti.i32

def make():
    pair = ti.types.vector(2, ti.f32)
    word = ti.f32

    @ti.func
    def twice(p: pair) -> pair:
        return p * 2

    @ti.kernel
    def k(p: pair, s: word) -> pair:
        return twice(p) + s

    pair = word = None
    return k

class Data:
    Row = ti.types.vector(3, ti.i32)

    @ti.func
    def sum(row: Row) -> ti.i32:
        return row.sum()

@ti.kernel
def whole(x: word) -> ti.i32:
    return x

def misspelt():
    @ti.kernel
    def k(p: par):
        pass
    k(1)
"""
    made = define(text)
    total = made["Data"].sum

    @ti.kernel
    def of_class() -> ti.i32:
        return total(ti.Vector([1, 2, 3]))

    show(made["make"]()([1, 2], 0.5), made["whole"](3), of_class())
    show.error(made["misspelt"])


@case(differs="source of kernels")
def file_edited_after_its_import(show):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "edited_module.py"
        package = ti.__name__
        text = f"import {package} as ti\n\n\n@ti.kernel\ndef k() -> ti.i32:\n    return %d\n"
        path.write_text(text % 1)
        sys.path.insert(0, folder)
        try:
            import edited_module

            path.write_text(text % 2)
            show(edited_module.k())
        finally:
            sys.path.remove(folder)
            del sys.modules["edited_module"]
