"""Runs every python block of README.md and docs/, and compares its output with its comments.

The blocks of a file run in order, in one process and namespace, so that later blocks can use names
of earlier ones. In a block

    print(x)              # prints: 3            is checked against what the block prints: its
                          # prints: 4            `prints` comments in order, and nothing else
    k(2**40)              # raises: TaichiRuntimeTypeError: a part of its text

The output of a block with `# prints anything` is not checked, for output that depends on the
machine.

Blocks of C and C++ in docs/cpp.md compile without warnings. One with an #include is a file; others
are the body of a function that has a context, a module and a world, or definitions if they begin
with a struct.
"""

import contextlib
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(path, language="python"):
    """(line, text) of each block of a language, the line counted from 1."""
    text = path.read_text()
    for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.M | re.S):
        yield text[: match.start(1)].count("\n") + 1, match.group(1)


# ---- inside the process that runs a file


def run_file(path, folder):
    """Runs a file's blocks; returns their problems as text."""
    namespace = {"__name__": "__main__"}
    for line, text in blocks(path):
        # Kernels need their source: write the block to a file, at its own line number.
        file = pathlib.Path(folder) / f"{path.stem}_{line}.py"
        file.write_text("\n" * (line - 1) + text)
        printed, raised = run_block(file, namespace)
        problem = judge(text, printed, raised)
        if problem:
            yield f"{path.name}, block at line {line}: {problem}"


def run_block(file, namespace):
    raised = None
    lines = []
    with captured(lines):
        try:
            exec(compile(file.read_text(), str(file), "exec"), namespace)
            if "ti" in namespace:
                namespace["ti"].sync()
        except Exception as error:
            raised = error
    return lines, raised


def judge(text, printed, raised):
    """Describes the block's problem; empty if there is none."""
    expected = re.findall(r"# prints: (.*?)\s*$", text, re.M)
    anything = "# prints anything" in text
    errors = re.findall(r"# raises: (\w+)(?:: (.*?))?\s*$", text, re.M)
    if not errors and raised is not None:
        return f"raised {type(raised).__name__}: {raised}"
    if errors:
        name, part = errors[0]
        if type(raised).__name__ != name or part not in re.sub(r"\s+", " ", str(raised)):
            return f"raised {type(raised).__name__}: {raised}\nnot {name}: …{part}…"
    if not anything and printed != expected:
        return "printed\n" + "\n".join(printed) + "\nnot\n" + "\n".join(expected)
    return ""


@contextlib.contextmanager
def captured(lines):
    """Captures the output of the process, including that of kernels."""
    libc = ctypes.CDLL(None)
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            sys.stdout.flush()
            libc.fflush(None)
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            lines += [line.rstrip() for line in file.read().decode().splitlines()]


# ---- blocks of C and C++

# language -> the compiler's command
COMPILERS = {"c": ["gcc", "-xc", "-std=c11"], "cpp": ["g++", "-xc++", "-std=c++17"]}


def complete(text):
    """A block as a file."""
    if "#include" in text:
        return text
    head = "#include <kiln/kiln.hpp>\n\n#include <cstdio>\n"
    if text.startswith("struct "):
        return head + text
    arguments = "kiln::Context& context, kiln::Module& module, kiln::World& world"
    unused = "(void)context, (void)module, (void)world;"
    return f"{head}void block({arguments});\nvoid block({arguments}) {{\n{unused}\n{text}}}\n"


def compiles(language, text):
    """The compiler's complaints; empty if there are none."""
    command = [*COMPILERS[language], "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable"]
    folders = ("libkiln", "client_cpp/dsl")
    command += ["-fsyntax-only", *(f"-I{ROOT / folder / 'include'}" for folder in folders), "-"]
    return subprocess.run(command, input=complete(text), capture_output=True, text=True).stderr


def main(path):
    path = pathlib.Path(path).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # examples save files
        problems = list(run_file(path, folder))
    print("\n".join(problems))
    return int(bool(problems))


# ---- outside

if __name__ != "__main__":
    import pytest

    @pytest.mark.parametrize(
        "path",
        [path for path in FILES if any(blocks(path))],
        ids=lambda path: str(path.relative_to(ROOT)),
    )
    def test_blocks(kiln, path):
        done = kiln("python", __file__, path, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    @pytest.mark.parametrize(
        "path, language, line, text",
        [
            pytest.param(path, language, *block, id=f"{path.stem}-{block[0]}")
            for path in [ROOT / "docs" / "cpp.md"]
            for language in COMPILERS
            for block in blocks(path, language)
        ],
    )
    def test_compiled_blocks(path, language, line, text):
        problem = compiles(language, text)
        assert not problem, f"{path.name}, block at line {line}: {problem}"

    def test_links():
        for path in FILES:
            text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)  # C++ has []()
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
                assert (path.parent / target).exists(), f"{path.name} links to {target}"

    def test_the_chart_shows_the_latest_results():
        draw = [sys.executable, ROOT / "bench" / "chart.py", "--check"]
        assert subprocess.run(draw).returncode == 0, "run bench/chart.py"

    def test_a_wrong_block_is_detected():
        assert judge("print(1)  # prints: 2", ["1"], None)
        assert judge("print(1)", ["1"], None)
        assert judge("k()  # raises: ValueError: odd", [], ValueError("even"))
        assert judge("k()  # raises: ValueError: odd", [], None)
        assert judge("k()", [], ValueError("even"))
        assert not judge("k()  # raises: ValueError: odd", [], ValueError("an odd one"))
        assert not judge("print(1)  # prints: 1", ["1"], None)
        assert compiles("cpp", "world.no_such_function();")
        assert compiles("c", "#include <kiln/kiln.h>\nkiln_no_such_type x;")
        assert not compiles("cpp", "world.prepare();")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
