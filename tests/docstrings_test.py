"""Checks the docstrings of all public names: each has a summary, names every parameter, and has an
example that runs.

An example is an indented block of a docstring. It runs like the blocks of docs/ (see docs_test):
`# prints: 3` and `# raises: ValueError: part of its text` state the outcome. `ti` and `np` are
imported, and each docstring begins with a fresh `ti.init(arch=ti.cpu)`.
"""

import inspect
import os
import pathlib
import re
import sys
import tempfile
import textwrap
import warnings

MODULES = (
    "",
    "ad",
    "algorithms",
    "aot",
    "experimental",
    "graph",
    "linalg",
    "math",
    "profiler",
    "simt.block",
    "simt.grid",
    "sparse",
    "tools",
    "types",
    "types.quant",
    "ui",
)
# Classes that programs do not call, because functions make their objects.
MADE_BY_FUNCTIONS = (
    "ti.Field ti.Layout ti.MatrixField ti.MatrixNdarray ti.Ndarray ti.SNode ti.ScalarField "
    "ti.ScalarNdarray ti.StructField ti.VectorNdarray ti.aot.LoadedModule "
    "ti.graph.ArgKind"
).split()
# The docstrings of unimplemented names begin like this.
ABSENT = ("Not supported", "Not on the CPU", "Raises: there are no")


def public(ti):
    """(name, object) of Kiln's public functions and classes, each once."""
    found = {}
    for path in MODULES:
        module = ti
        for part in filter(None, path.split(".")):
            module = getattr(module, part)
        for name in dir(module):
            if name.startswith("_"):
                continue
            thing = getattr(module, name)
            if is_of_kiln(thing) and (inspect.isclass(thing) or is_function(thing)):
                found.setdefault(id(thing), (".".join(filter(None, ("ti", path, name))), thing))
    return list(found.values())


def is_of_kiln(thing):
    return str(getattr(thing, "__module__", "")).startswith("kiln")


def is_function(thing):
    """Whether it is a function, or a kernel or func of the language."""
    return inspect.isroutine(thing) or hasattr(thing, "__wrapped__")


def methods(cls):
    """(name, object) of a class's public methods and properties that Kiln defines."""
    for name in dir(cls):
        holder = next((base for base in cls.__mro__ if name in vars(base)), None)
        if name.startswith("_") or holder is None or not holder.__module__.startswith("kiln"):
            continue
        thing = vars(holder)[name]
        if isinstance(thing, (property, staticmethod, classmethod)) or inspect.isfunction(thing):
            yield name, thing


def parameters(thing):
    """The names of the parameters that callers pass."""
    thing = getattr(thing, "__func__", thing)
    try:
        names = list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return []
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def document(thing):
    """The docstring without its margin, which the closing quotes determine."""
    text = thing.__doc__ or ""
    margin = re.search(r"\n *$", text)
    return text.replace(margin.group(), "\n").strip() if margin else inspect.cleandoc(text)


def faults(name, thing, needs_example):
    text = document(thing)
    if text.startswith(ABSENT):
        return []
    found = [] if text else ["has no docstring"]
    summary = text.partition("\n\n")[0].partition("\n    ")[0]
    if text and not re.search(r"[.:]$", summary.strip()):
        found.append("has a summary that is no sentence")
    named = set(re.findall(r"\w+", text))
    if not isinstance(thing, property) and name not in MADE_BY_FUNCTIONS:
        found += [f"does not name '{p}'" for p in parameters(thing) if text and p not in named]
    if needs_example and text and not examples(text):
        found.append("has no example")
    return [f"{name} {fault}" for fault in found]


def examples(text):
    """The indented blocks of a docstring."""
    return [
        textwrap.dedent(block)
        for block in re.findall(r"(?:(?<=\n\n)|^)((?: {4}.*\n?|\n)+)", text)
        if block.strip()
    ]


# ---- inside the process that inspects Kiln


def check():
    import kiln

    kiln.init(arch=kiln.cpu)
    for name, thing in public(kiln):
        is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
        yield from faults(name, thing, needs_example=not is_error)
        if inspect.isclass(thing):
            for method, function in methods(thing):
                yield from faults(f"{name}.{method}", function, needs_example=False)


def documented(ti):
    """(name, docstring) of all objects that may have examples."""
    for name, thing in public(ti):
        yield name, document(thing)
        if inspect.isclass(thing):
            for method, function in methods(thing):
                yield f"{name}.{method}", document(function)


def run(part, parts):
    """Runs the examples of every `parts`th docstring; returns their problems."""
    import docs_test
    import kiln
    import numpy

    warnings.simplefilter("ignore")
    seen = {text: name for name, text in documented(kiln) if not text.startswith(ABSENT)}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # examples save files
        for number, (text, name) in enumerate(seen.items()):
            if number % parts != part:
                continue
            kiln.init(arch=kiln.cpu, log_level="error")
            namespace = {"__name__": "__main__", "ti": kiln, "np": numpy}
            for at, example in enumerate(examples(text)):
                file = pathlib.Path(folder) / f"{name}_{at}.py"
                file.write_text(example)
                printed, raised = docs_test.run_block(file, namespace)
                problem = docs_test.judge(example, printed, raised)
                if problem:
                    yield f"{name}: {problem}"


def main(arguments):
    problems = list(run(*map(int, arguments)) if arguments else check())
    print("\n".join(problems))
    return int(bool(problems))


# ---- outside

PARTS = 2

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
else:
    import pytest

    def test_public_names_are_documented(kiln):
        done = kiln("python", __file__, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    @pytest.mark.parametrize("part", range(PARTS))
    def test_examples_of_docstrings_run(kiln, part):
        done = kiln("python", __file__, part, PARTS, check=False, timeout=400)
        assert done.returncode == 0, done.stdout + done.stderr
