"""Checks that the table of diagnostics contains all texts, and that tests show all of its rows."""

import ast
import importlib
import pathlib
import re
import string
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "client_py" / "kiln"
EXPECTED = [ROOT / "tests" / "e2e" / part / "expected" for part in ("language", "snodes")]

# Parts that are not the language; their errors are ordinary errors of a library.
LIBRARY = (
    "algorithms.py",
    "cli.py",
    "commands/",
    "compat/__init__.py",
    "compat/lang/",
    "compat/ui.py",
    "errors.py",
    "gui.py",
    "picture.py",
    "png.py",
    "provided.py",
    "raster.py",
    "__init__.py",
    "film.py",
    "linalg/",
    "profiler/",
    "tools/",
    "windows/",
    "warm/",  # only KILN_WARM=check raises, for a wrong record
)


def _load_table():
    """Loads kiln.diagnostics without its package, whose native part may not be built."""
    for name, path in (("table", PACKAGE), ("table.diagnostics", PACKAGE / "diagnostics")):
        module = types.ModuleType(name)
        module.__path__ = [str(path)]
        sys.modules[name] = module
    source = (PACKAGE / "diagnostics" / "__init__.py").read_text()
    module = sys.modules["table.diagnostics"]
    exec(compile(source, "diagnostics", "exec"), module.__dict__)
    importlib.import_module("table.errors")
    return module.rows()


ROWS = _load_table()


def _language_files():
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(("diagnostics/", *LIBRARY)):
            yield place, ast.parse(path.read_text())


def _words(node):
    """Whether the expression contains a text for users, rather than names of functions or files."""
    return any(
        isinstance(n, ast.Constant)
        and isinstance(n.value, str)
        and re.search("[a-z] ?[a-z]", n.value)
        for n in ast.walk(node)
    )


def _said():
    """(place, id, names of the fields, or None where they are not written out)"""
    for place, tree in _language_files():
        calls = {n.func: n for n in ast.walk(tree) if isinstance(n, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "say":
                call = calls.get(node)
                fields = {k.arg for k in call.keywords} if call else {None}
                where = f"{place}:{node.lineno}"
                yield where, node.attr, None if None in fields else fields


def _fields(template):
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def test_no_text_outside_the_table():
    found = []
    for place, tree in _language_files():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rpartition(".")[2]
            if re.fullmatch(r"\w*(Error|Exception)", name) and any(map(_words, node.args)):
                found.append(f"{place}:{node.lineno}: {ast.unparse(node)}")
    assert not found, "not in kiln/diagnostics:\n" + "\n".join(found)


def test_uses_fit_their_rows():
    found = []
    for where, id, fields in _said():
        if id not in ROWS:
            found.append(f"{where}: no row '{id}'")
        elif fields is not None and fields != _fields(ROWS[id][1]):
            found.append(f"{where}: '{id}' has fields {_fields(ROWS[id][1])}, given {fields}")
    assert not found, "\n".join(found)


def test_hints_are_separate_sentences():
    """`near` returns " Did you mean …?", which must follow a full stop."""
    wrong = [id for id, (_, text) in ROWS.items() if "{hint}" in text and ".{hint}" not in text]
    assert not wrong


def test_every_row_is_used():
    assert not set(ROWS) - {id for _, id, _ in _said()}


ANY = r".{0,400}?"


def _pattern(template):
    """The template as a regular expression for a recorded outcome."""
    pieces = []
    for text, name, _, _ in string.Formatter().parse(template):
        pieces.append(r"\s+".join(re.escape(word) for word in re.split(r"\s+", text)))
        if name is not None:
            pieces.append(ANY)
    return re.compile("".join(pieces).removeprefix(ANY).removesuffix(ANY), re.DOTALL)


def _recorded():
    """The recorded outcomes of the language cases, without their line marks."""
    texts = []
    for path in sorted(path for folder in EXPECTED for path in folder.glob("*.txt")):
        for outcome in path.read_text().split("\n== "):
            texts.append(re.sub(r"^(  \| ?|prints )", "", outcome, flags=re.MULTILINE))
    return texts


# Rows that no single-threaded program can trigger, and why.
NEVER_SEEN = {
    "arguments_kernel_changed_while_was_compiled": "another thread changes an argument",
    "array_on_other_device": "of CUDA: cuda_devices_test.py",
    "check_failed": "the text for checks without a specific one",
    "deactivate_all_of_open_builder": "said on standard error",
    "deactivate_all_of_root": "said on standard error",
    "export_of_graph_with_texture_of_any_format": "of modules: texture_test.py",
    "file_is_not_regular": "of commands: fifos_test.py",
    "field_cannot_use_its_places": "what passes the checks of places before it",
    "field_got_no_memory": "of CUDA: cuda_faults_test.py",
    "gone_memory_was_given_back": "an ndarray keeps its memory while it lives",
    "graph_failed": "of CUDA: captured_graph_test.py",
    "has_no_memory": "an ndarray gets its memory when it is made",
    "name_not_supported": "of names without an implementation: names_test.py",
    "ndarray_is_read_only": "of CUDA: cuda_interop_test.py",
    "read_only_elements_only_by_interface": "of CUDA: cuda_interop_test.py",
    "shared_array_outside_loops": "of CUDA: cuda_simt_test.py",
    "simt_operand_of_other_type": "of CUDA: cuda_simt_test.py",
    "simt_operation_outside_kernels": "of CUDA: cuda_simt_test.py",
    "invalid_index_for": "what passes the checks before it",
    "program_of_other_encoding": "of the program's file: run_test.py",
    "source_changed_since_loaded": "said on standard error: run_test.py",
    "texture_from_image_of_other_size": "of PIL's pictures: texture_test.py",
    "variable_is_not_utf8": "of the environment: run_test.py",
}


def test_every_row_is_shown_by_a_language_case():
    recorded = _recorded()
    shown = {id for id, (_, t) in ROWS.items() if any(map(_pattern(t).search, recorded))}
    missing = sorted(set(ROWS) - shown - set(NEVER_SEEN))
    assert set(NEVER_SEEN) <= set(ROWS) - shown
    assert not missing, f"no language case shows these {len(missing)} rows: {missing}"


# --- common/language/diagnostics.h

NATIVE = (
    "client_cpp/kernel_builder.cc",
    "client_cpp/kernel_builder_control.cc",
    "client_cpp/kernel_builder_function.cc",
    "client_cpp/kernel_builder_memory.cc",
    "client_cpp/kernel_builder_values.cc",
    "common/language/type_rules.cc",
)
NATIVE_TESTS = ("client_cpp/kernel_builder_test.cc", "common/language/type_rules_test.cc")


def _native_rows():
    text = (ROOT / "common" / "language" / "diagnostics.h").read_text()
    found = re.findall(r'constexpr char (k\w+)\[\] =\s*((?:"(?:[^"\\]|\\.)*"\s*)+);', text)
    return {
        name: "".join(ast.literal_eval(part) for part in parts.split("\n")) for name, parts in found
    }


def test_native_texts_are_in_their_table():
    texts = {place: (ROOT / place).read_text() for place in NATIVE}
    assert not [place for place, text in texts.items() if "InvalidArgumentError(" in text]
    used = set(re.findall(r"(?:Refuse|Substitute)\((k\w+)", "".join(texts.values())))
    assert used == set(_native_rows())


def test_every_native_row_is_shown():
    """A language case shows each row. Rows that the Python client detects first are shown by a test
    of the builder."""
    shown = _recorded() + [(ROOT / place).read_text() for place in NATIVE_TESTS]
    missing = []
    for name, text in _native_rows().items():
        pattern = re.compile(re.sub(r"\\\$\d", ANY, re.escape(text)).removeprefix(ANY))
        if not any(map(pattern.search, shown)):
            missing.append(name)
    assert not missing, f"nothing shows these rows of common/language/diagnostics.h: {missing}"
