#!/usr/bin/python3
"""Runs mypy over the programs of the documentation, with the package's stubs.

    tools/stubs/check.py [--mypy COMMAND] [--pyright] [FILE...]

Checks all Python blocks of README.md and docs/, and the programs of examples/; with files, only
those. Prints what mypy finds under the documents' names and lines. The mypy of the arguments, or of
this Python: `apt-get install mypy`, or `pip install mypy numpy` in a virtual environment.
"""

import argparse
import os
import pathlib
import re
import shlex
import subprocess
import symtable
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from docs_test import blocks  # noqa: E402

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))

# As docs/language/running.md recommends; and also checks functions without annotations.
MYPY = f"""\
[mypy]
plugins = {ROOT}/client_py/kiln/checkers/mypy_plugin.py
disable_error_code = valid-type, syntax
mypy_path = {ROOT}/client_py:{ROOT}/client_py/kiln/as_taichi
check_untyped_defs = True
ignore_missing_imports = True
"""
# Some examples take `ti` as a parameter, which is no module to mypy.
UNTYPED = "\n# mypy: check_untyped_defs=False, disable-error-code=name-defined\n"
# Lines of documents with errors that are meant: the language differs from Python.
MEANT = {
    "a = 2.9": "variables of kernels keep their type",
    "b: ti.i64 = a": "they convert what they are assigned",
    "total += this_name_need_not_exist": "a static branch that is not taken",
}
PYRIGHT = f"""\
{{
  "extraPaths": ["{ROOT}/client_py", "{ROOT}/client_py/kiln/as_taichi"],
  "reportInvalidTypeForm": false,
  "reportMissingImports": false,
  "reportMissingModuleSource": false
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mypy", default=f"{sys.executable} -m mypy", help="mypy's command")
    parser.add_argument("--pyright", help="pyright's command; runs it instead of mypy")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    files = [file.resolve() for file in options.files] or [*DOCUMENTS, *EXAMPLES]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sources = {}
        for file in files:
            sources.update(modules_of(file))
        for name, (text, _) in sources.items():
            (folder / name).write_text(text)
        (folder / "mypy.ini").write_text(MYPY)
        (folder / "pyrightconfig.json").write_text(PYRIGHT)
        command = [*shlex.split(options.mypy), "--no-error-summary", *sources]
        if options.pyright:
            command = [*shlex.split(options.pyright), "-p", str(folder)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if re.search(r"[:-] error: ", line)]
    for line in errors:
        if not is_meant(line, sources):
            print(in_documents(line, folder, sources))
    sys.stderr.write(done.stderr)
    failed = done.returncode != 0 and not errors
    return int(failed or not all(is_meant(line, sources) for line in errors))


def is_meant(error, sources):
    """Whether a document shows the error: in a block that raises, or at a line of MEANT."""
    name, line = re.search(r"(\w+\.pyi?):(\d+)", error).groups()
    if name not in sources:
        return False
    text, file = sources[name]
    source = text.splitlines()[int(line) - 1].split("#")[0].strip()
    return file.suffix == ".md" and ("# raises: " in text or source in MEANT)


def modules_of(file):
    """{name of a module: (its text, the file)} of a program, or of each block of a document."""
    stem = re.sub(r"\W", "_", shown(file))
    if file.suffix != ".md":
        return {f"{stem}.py": (file.read_text() + UNTYPED * (file in EXAMPLES), file)}
    found, homes = {}, {}
    for line, text in blocks(file):
        name = f"{stem}_{line}"
        bound, used = names_in(text)
        # A block may use names of earlier ones. The line before it is free: it begins the block.
        imports = [f"from {homes[n]} import {n}" for n in sorted(used - bound) if n in homes]
        found[f"{name}.py"] = "\n" * (line - 2) + "; ".join(imports) + "\n" + text, file
        homes.update(dict.fromkeys(bound, name))
    return found


def names_in(text):
    """The names that a block binds at its top level, and those that it reads anywhere."""
    top = symtable.symtable(text, "block", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    used, tables = set(), [top]
    while tables:
        table = tables.pop()
        used |= {s.get_name() for s in table.get_symbols() if s.is_global() or table is top}
        tables += table.get_children()
    return bound, used


def in_documents(text, folder, sources):
    """The output of a checker with the documents' names instead of the modules'."""
    for name, (_, file) in sources.items():
        text = text.replace(f"{folder}{os.sep}{name}", name)
        text = re.sub(rf"\b{re.escape(name)}\b", shown(file), text)
    return text


def shown(file):
    """A file's name in messages."""
    return str(file.relative_to(ROOT) if file.is_relative_to(ROOT) else file)


if __name__ == "__main__":
    sys.exit(main())
