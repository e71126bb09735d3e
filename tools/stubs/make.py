#!/usr/bin/python3
"""Writes the stubs of the package, from which editors and type checkers learn its names.

The package imports most names at their first use, so tools that only read its files do not see
them. This tool imports the package, and writes client_py/kiln/**/*.pyi: the names that `dir()`
shows, with their signatures and docstrings. Types come from the files kiln.pyi, math.pyi, … beside
this one; all others are Any.

    ./kiln python tools/stubs/make.py          writes the stubs
    ./kiln python tools/stubs/make.py --check  only lists those that are out of date
"""

import argparse
import ast
import importlib
import inspect
import json
import math
import pathlib
import re
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGE = ROOT / "client_py" / "kiln"
COMMAND = "./kiln python tools/stubs/make.py"

# The modules with stubs, below the package.
MODULES = (
    "ad algorithms aot compat errors events experimental graph linalg math profiler simt "
    "simt.block simt.grid simt.subgroup simt.warp sparse tools types types.quant ui"
).split()
# Names that programs use although `dir()` does not show them.
HIDDEN = {
    "": "cfg compat errors from_dlpack".split(),
    "types": "ArgPackType CompoundType MatrixType NdarrayType StructType VectorType".split(),
}

HEAD = f"""\
# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `{COMMAND}` writes it again.
"""
OPERATORS = (
    "__call__ __contains__ __enter__ __exit__ __getattr__ __getitem__ __iter__ __len__ "
    "__matmul__ __setitem__ __add__ __sub__ __mul__ __radd__ __rmul__ __truediv__"
).split()
RETURNS = {"__exit__": "None", "__init__": "None", "__len__": "int", "__setitem__": "None"}


def load(name):
    """The package, or the module `name` below it."""
    return importlib.import_module(f"kiln.{name}" if name else "kiln")


def public_names(name):
    """The names of a module that its stub has."""
    module = load(name)
    shown = {found for found in dir(module) if not found.startswith("_")}
    if "__dir__" not in vars(module):
        shown = {found for found in shown if _is_own(getattr(module, found), module)}
    return sorted(shown | set(HIDDEN.get(name, ())))


def _is_own(value, module):
    """Whether a value is the module's, rather than one of its imports."""
    key = "__name__" if isinstance(value, types.ModuleType) else "__module__"
    of = getattr(value, key, module.__name__)
    return f"{of}.".startswith(f"{module.__name__}.")


def path_of(name):
    """The file of a module's stub."""
    path = PACKAGE.joinpath(*name.split(".")) if name else PACKAGE
    is_package = not name or path.is_dir() or any(m.startswith(f"{name}.") for m in MODULES)
    return path / "__init__.pyi" if is_package else path.with_suffix(".pyi")


# ---- definitions by hand


class Hand:
    """The definitions of a module that are written by hand."""

    def __init__(self, name):
        file = HERE / f"{name or 'kiln'}.pyi"
        self.imports, self.private, self.named = [], [], {}
        if not file.exists():
            return
        for node in ast.parse(file.read_text()).body:
            names = _names_of(node)
            if not names:
                self.imports.append(ast.unparse(node))
            elif names[0].startswith("_"):
                self.private.append(unparsed(node))
            else:
                self.named.setdefault(names[0], []).append(node)


def _names_of(node):
    """The names that a statement defines; imports define none that are public."""
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets]
    if isinstance(node, ast.AnnAssign):
        return [node.target.id]
    return [node.name] if hasattr(node, "name") else []


# ---- from the package


class Stub:
    """The stub of one module."""

    def __init__(self, name, homes):
        self.name = name
        self.module = load(name)
        self.homes = homes
        self.hand = Hand(name)
        self.lines = []

    def text(self):
        for name in public_names(self.name):
            self.define(name)
        body = "\n".join(self.lines)
        imports = dict.fromkeys(["from typing import Any", *self.hand.imports])
        parts = [HEAD + module_docstring(self.module), "\n".join(imports), *self.hand.private, body]
        return "\n".join(part for part in parts if part) + "\n"

    def define(self, name):
        value = getattr(self.module, name)
        if name in self.hand.named:
            self.lines += self.by_hand(name, value)
        elif isinstance(value, types.ModuleType):
            self.lines.append(self.of_module(name))
        elif self.homes.get(id(value), (self.name, name)) != (self.name, name):
            self.lines.append(self.imported(name, *self.homes[id(value)]))
        elif isinstance(value, type):
            self.lines += class_lines(name, value, self.homes_of_bases(value))
        elif callable(value) and _signature(value) and hasattr(value, "__name__"):
            self.lines += function_lines(name, value)
        else:
            plain = type(value) if type(value) in (str, int, float) else None
            shadowed = plain is not None and plain.__name__ in dir(self.module)
            self.lines.append(f"{name}: {plain.__name__ if plain and not shadowed else 'Any'}")

    def of_module(self, name):
        full = f"{self.name}.{name}" if self.name else name
        return f"from . import {name} as {name}" if full in MODULES else f"{name}: Any"

    def imported(self, name, module, original):
        """An import of a name that another stub defines."""
        if module == self.name:
            return f"{name} = {original}"
        here = self.name.split(".") if self.name else []
        if here and path_of(self.name).name != "__init__.pyi":
            here = here[:-1]
        dots = "." * (len(here) + 1)
        return f"from {dots}{module} import {original} as {name}"

    def homes_of_bases(self, cls):
        """{public base class: its name in this module}"""
        found = {}
        for base in cls.__mro__[1:]:
            module, own_name = self.homes.get(id(base), (None, None))
            if module == self.name:
                found[base] = own_name
        return found

    def by_hand(self, name, value):
        for node in self.hand.named[name]:
            if isinstance(node, ast.ClassDef) and isinstance(value, type):
                yield from class_lines(name, value, self.homes_of_bases(value), node)
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                # Of several signatures, the first has the docstring.
                yield from documented(node, value if node is self.hand.named[name][0] else None)
            else:
                yield ast.unparse(node)


def find_homes():
    """{id of a class, function or scalar type: (module, name) of its definition}"""
    homes = {}
    for module in ("", *MODULES):
        for name in public_names(module):
            value = getattr(load(module), name)
            if callable(value):
                kept = homes.setdefault(id(value), (module, name))
                # Of several names in a module, the object's own is the definition.
                own = getattr(value, "__name__", None) or getattr(value, "name", None)
                if kept[0] == module and own == name:
                    homes[id(value)] = (module, name)
    return homes


# ---- functions


def _signature(value):
    try:
        return inspect.signature(value)
    except (TypeError, ValueError):
        return None


def _default(value):
    if type(value) is str:
        return json.dumps(value)
    is_plain = value is None or type(value) in (bool, int)
    return repr(value) if is_plain or (type(value) is float and math.isfinite(value)) else "..."


def parameters(signature, is_method):
    """The parameters as a stub has them. All are Any."""
    found, named_only = [], False
    for position, parameter in enumerate(signature.parameters.values()):
        name, kind = parameter.name, parameter.kind
        if is_method and position == 0 and kind is parameter.POSITIONAL_OR_KEYWORD:
            found.append(name)
            continue
        if kind is parameter.VAR_POSITIONAL:
            found.append(f"*{name}: Any")
            named_only = True
            continue
        if kind is parameter.VAR_KEYWORD:
            found.append(f"**{name}: Any")
            continue
        if kind is parameter.KEYWORD_ONLY and not named_only:
            found.append("*")
            named_only = True
        has_default = parameter.default is not parameter.empty
        found.append(f"{name}: Any" + (f" = {_default(parameter.default)}" if has_default else ""))
    return found


def function_lines(name, value, is_method=False, decorator=None):
    """The definition of a function in a stub."""
    signature = _signature(value)
    given = parameters(signature, is_method) if signature else ["*args: Any", "**kwargs: Any"]
    if signature is None and is_method:
        given.insert(0, "self")
    lines = [f"@{decorator}"] if decorator else []
    doc = docstring(value)
    head = f"def {name}({', '.join(given)}) -> {RETURNS.get(name, 'Any')}:"
    return [*lines, *([head, *doc] if doc else [head + " ..."])]


def documented(node, value):
    """A definition by hand without a body, with the docstring of the package."""
    doc = docstring(value) if value is not None else []
    return [*unparsed(node).split(" ...")[0].split("\n"), *doc] if doc else [unparsed(node)]


def docstring(value):
    """The lines of an object's docstring, indented as in a definition."""
    text = getattr(value, "__doc__", None)
    if not text or (not isinstance(value, type) and text == getattr(type(value), "__doc__", None)):
        return []
    return ["    " + line if line else "" for line in _quoted(inspect.cleandoc(text)).split("\n")]


def module_docstring(module):
    return _quoted(inspect.cleandoc(module.__doc__)) + "\n" if module.__doc__ else ""


def _quoted(text):
    prefix = "r" if "\\" in text else ""
    return f'{prefix}"""{text}"""' if "\n" not in text else f'{prefix}"""{text}\n"""'


# ---- classes


def class_lines(name, cls, homes, by_hand=None):
    """The definition of a class: what is written by hand, and the members that `dir()` shows."""
    bases, inherited = _bases(cls, homes)
    if by_hand is not None and by_hand.bases:
        bases = [ast.unparse(base) for base in by_hand.bases]
    head = f"class {name}({', '.join(bases)}):" if bases else f"class {name}:"
    own = by_hand.body if by_hand is not None else []
    given = [node for node in own if not isinstance(node, ast.Expr)]
    taken = {found for node in given for found in _names_of(node)} | inherited
    lines = docstring(cls)
    for node in given:
        lines += ["    " + line for line in unparsed(node).split("\n")]
    is_value = bool({"_Value", "Matrix"} & set(bases))  # its operators are written by hand
    if not (is_value or "__init__" in taken or issubclass(cls, BaseException)):
        lines += _indented(_constructor(cls))
    if (cls.__doc__ or "").startswith("Not supported"):
        lines.append("    def __getattr__(self, name: str) -> Any: ...")
        lines.append("    def __setattr__(self, name: str, value: Any) -> None: ...")
    for member in members(cls):
        if member not in taken and not (is_value and member in OPERATORS):
            lines += _indented(member_lines(member, cls))
    return [head, *lines] if lines else [head + " ..."]


def unparsed(node):
    """The text of a definition by hand."""
    return re.sub(r":\n +\.\.\.", ": ...", ast.unparse(node))


def _indented(lines):
    return ["    " + line if line else "" for line in "\n".join(lines).split("\n")]


def _bases(cls, homes):
    """The public bases of a class, and the names that they give it."""
    public = [base for base in cls.__mro__[1:] if base in homes]
    python = [b for b in cls.__mro__[1:] if b.__module__ == "builtins" and b is not object]
    if public:
        base = public[0]
        same = {n for n in dir(base) if getattr_static(cls, n) is getattr_static(base, n)}
        return [homes[base]], same - {"__init__"}
    if python:
        return [python[0].__name__], set(dir(python[0]))
    return [], set()


def getattr_static(cls, name):
    return inspect.getattr_static(cls, name, None)


def members(cls):
    """The public members of a class: those that `dir()` shows, what methods assign to `self`, and
    the operators that Python code of the class defines."""
    swizzle = re.compile(r"[xyzw]{2,4}|[rgba]{2,4}|[stpq]{2,4}")
    shown = {n for n in dir(cls) if not n.startswith("_") and not swizzle.fullmatch(n)}
    if type(cls).__name__ != "Public":  # whose attributes are only Kiln's own
        for base in cls.__mro__:
            shown |= _assigned(base) if base.__module__.startswith("kiln") else set()
    for name in OPERATORS:
        definer = next((base for base in cls.__mro__ if name in vars(base)), object)
        if definer is not object and definer.__module__ != "builtins":
            shown.add(name)
    return sorted(shown)


def _assigned(cls):
    try:
        source = inspect.getsource(cls)
    except (OSError, TypeError):
        return set()
    return set(re.findall(r"^\s+self\.([a-z]\w*) = ", source, re.M))


def member_lines(name, cls):
    value = getattr_static(cls, name)
    if isinstance(value, property):
        if value.fset is not None:
            return [f"{name}: Any"]
        return function_lines(name, value.fget, True, "property")
    if isinstance(value, staticmethod):
        return function_lines(name, value.__func__, decorator="staticmethod")
    if isinstance(value, classmethod):
        return function_lines(name, value.__func__, True, "classmethod")
    if hasattr(value, "__wrapped__"):  # a kernel, or a function with a decorator
        return function_lines(name, value.__wrapped__, True)
    if inspect.isroutine(value):
        return function_lines(name, value, True)
    return [f"{name}: Any"]


def _constructor(cls):
    signature = _signature(cls)
    if signature is None or not signature.parameters:
        return []
    given = ", ".join(["self", *parameters(signature, False)])
    return [f"def __init__({given}) -> None: ..."]


# ---- the files


def stubs():
    """{file: text} of all stubs."""
    homes = find_homes()
    found = {path_of(name): Stub(name, homes).text() for name in ("", *MODULES)}
    # `import taichi` imports Kiln; for editors, as_taichi is on the path.
    taichi = PACKAGE / "as_taichi" / "taichi"
    for name in ("", *MODULES):
        file = taichi / path_of(name).relative_to(PACKAGE)
        own = "" if name else "from kiln import _lib as _lib\n"
        found[file] = f"{HEAD}from kiln{'.' + name if name else ''} import *\n{own}"
    return found


def out_of_date():
    """The files that differ from what the tool writes, those that it would not write included."""
    wanted = stubs()
    written = {f for f in PACKAGE.rglob("*.pyi") if f.name != "_native.pyi"}
    changed = [f for f, text in wanted.items() if not f.exists() or f.read_text() != text]
    return sorted([*changed, *(written - set(wanted))])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only lists files out of date")
    changed = out_of_date()
    if parser.parse_args().check:
        print("\n".join(str(file.relative_to(ROOT)) for file in changed))
        return int(bool(changed))
    wanted = stubs()
    for file in changed:
        if file in wanted:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(wanted[file])
        else:
            file.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
