"""The API reference: pages of Markdown made from the stubs of the Python package and from the
comments of the C and C++ headers. make_site.py puts them into the site."""

import ast
import inspect
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
STUBS = ROOT / "client_py" / "kiln"
# page -> (title, header)
HEADERS = {
    "kiln.h": ("C: kiln.h", "libkiln/include/kiln/kiln.h"),
    "kiln.hpp": ("C++: kiln.hpp", "libkiln/include/kiln/kiln.hpp"),
}
_SECTION = re.compile(r"^/\* -{4} (.+?) -*$")


def pages():
    """{path below the site's root: Markdown} of all pages, the index first."""
    found = {}
    for stub in sorted(STUBS.rglob("*.pyi"), key=_module):
        if stub.name != "_native.pyi" and "as_taichi" not in stub.parts:
            found[f"docs/api/{_module(stub)}.md"] = _python_page(stub)
    for name, (title, header) in HEADERS.items():
        found[f"docs/api/{name}.md"] = _header_page(title, (ROOT / header).read_text())
    index = "".join(
        f"- [{text.partition(chr(10))[0].lstrip('# ')}]({pathlib.Path(path).name})\n"
        for path, text in found.items()
    )
    return {"docs/api/README.md": f"# API reference\n\n{index}", **found}


# ---- Python


def _module(stub):
    """The name of a stub's module, as programs write it: "ti.math"."""
    parts = stub.relative_to(STUBS).with_suffix("").parts
    return ".".join(("ti", *parts)).removesuffix(".__init__")


def _python_page(stub):
    name = _module(stub)
    module = ast.parse(stub.read_text())
    lines = [f"# Python: {name}", "", *_docstring(module)]
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            lines += _definition(name, node)
    return "\n".join(lines) + "\n"


def _definition(owner, node):
    """A function, or a class with its public methods."""
    lines = [f"## {owner}.{node.name}".replace("_", r"\_"), ""]
    if isinstance(node, ast.FunctionDef):
        return lines + _signature(node) + _docstring(node)
    lines += _docstring(node)
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name.startswith("_"):
            continue
        if ast.get_docstring(method):
            title = f"{node.name}.{method.name}".replace("_", r"\_")
            lines += [f"### {title}", "", *_signature(method), *_docstring(method)]
    return lines


def _signature(function):
    """The parameters with their defaults; types of which nothing is known are left out."""
    arguments = ast.unparse(function.args).replace(": Any", "")
    return [f"    {function.name}({arguments})", ""]


def _docstring(node):
    """A docstring as Markdown: its indented blocks are code already."""
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    return [line if line.startswith("    ") else _escaped(line) for line in text.split("\n")] + [""]


def _escaped(line):
    """Prose of comments: names in it are no emphasis and no tags. Code in backquotes stays."""
    pieces = line.split("`")
    pieces[::2] = [re.sub(r"([*_<>\[\]])", r"\\\1", piece) for piece in pieces[::2]]
    return "`".join(pieces)


# ---- C and C++


def _header_page(title, text):
    """Each comment of a header, and the declaration below it."""
    lines = [f"# {title}", ""]
    for block in re.split(r"\n{2,}", text):
        if section := _SECTION.match(block.partition("\n")[0]):
            lines += [f"## {section[1]}", ""]
            continue
        comment, code = _parts(block)
        if comment and (code or len(lines) == 2):
            lines += [line if line.startswith("    ") else _escaped(line) for line in comment]
            lines.append("")
            lines += [*(f"    {line}" for line in code), ""] if code else []
    return "\n".join(lines) + "\n"


def _parts(block):
    """The comment with which a block begins, as lines of Markdown, and the code below it."""
    lines = block.split("\n")
    if not lines[0].startswith("/*"):
        return [], []
    end = next((i for i, line in enumerate(lines) if line.rstrip().endswith("*/")), None)
    if end is None:
        return [], []
    comment = "\n".join(lines[: end + 1]).strip().removeprefix("/*").removesuffix("*/")
    text = [re.sub(r"^ \* ?", "", line).rstrip() for line in comment.split("\n")]
    code = [line for line in lines[end + 1 :] if not line.startswith("#")]
    # Examples are indented by two more.
    return [f"  {line}" if line.startswith("  ") else line.strip() for line in text], code
