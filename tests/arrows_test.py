"""Checks the dependencies between rooms (docs/architecture.md) by queries to Bazel."""

import ast
import collections
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
LLVM = "@debian//:llvm + @debian//:lld"
GRPC = "'@debian//:grpc++'"
CONTRACT = "//common/language/... + //common/layout/... + //common/unit/... + //common/artifact/..."
FRONTS = "//server/grpc_front/... + //server/web_front/..."


def query(expression):
    """The labels that a Bazel query returns."""
    done = subprocess.run(
        [ROOT / "tools" / "bazel.sh", "query", "--noshow_progress", expression],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "sources, forbidden",
    [
        # No LLVM, MLIR or gRPC in a client's process; none of the server either.
        ("//client_cpp/... + //client_py/...", f"{LLVM} + {GRPC}"),
        ("//client_cpp/... + //client_py/...", "//server/..."),
        ("//runtime/...", f"{LLVM} + {GRPC} + //server/..."),
        # Windows know nothing of Kiln, and nothing but their binding knows them.
        (
            "//window/...",
            "//client_cpp/... + //client_py/... + //runtime/... + //server/... + //proto/...",
        ),
        ("//client_py/native:_native.so + //client_cpp/...", "//window/..."),
        ("//runtime/...", "//client_cpp/... + //client_py/..."),
        # A small library for programs without protobuf and Abseil can hold the runtime.
        ("//runtime/...", "//proto/... + @debian//:absl + @debian//:protobuf"),
        ("//common/... + //proto/...", "//runtime/... + //server/... + //client_cpp/..."),
        ("//common/...", f"{LLVM} + {GRPC}"),
        ("//common/base/...", "//common/... except //common/base/... + //proto/..."),
        ("//common/wire/... + //common/home/...", CONTRACT),
        ("//common/language/...", "//common/layout/... + //common/unit/..."),
        ("//common/layout/...", "//common/unit/..."),
        (CONTRACT, "//common/wire/..."),
        ("//common/language/... + //common/layout/... + //common/unit/...", "//common/home/..."),
        ("//common/artifact/...", "//common/unit/... + //common/layout/..."),
        ("//server/cache/...", f"//server/compiler/... + //server/daemon/... + {LLVM} + {GRPC}"),
        ("//server/remote/...", "//server/daemon/... + //server/compiler/..."),
        (FRONTS, f"//server/daemon/... + //server/cache/... + //server/compiler/... + {LLVM}"),
        ("//server/events/... + //server/observe/...", "//server/daemon/... + //server/front/..."),
        ("//server/front/...", f"//server/daemon/... + {GRPC} + @debian//:microhttpd"),
        ("//server/compiler/...", f"//server/cache/... + //server/daemon/... + {GRPC}"),
        ("//server/worker/...", f"//server/cache/... + //server/daemon/... + {GRPC}"),
        ("//server/daemon/...", f"//server/compiler/... + {LLVM}"),
        # Fronts are separate processes: the daemon contains neither gRPC nor HTTP.
        ("//server/daemon:kilnd", f"{GRPC} + @debian//:microhttpd"),
    ],
)
def test_no_arrow(sources, forbidden):
    # Tests may depend on other rooms (a client's test starts a daemon); shipped code may not.
    shipped = f"({sources}) except tests({sources}) except attr(testonly, 1, {sources})"
    assert query(f"somepath({shipped}, {forbidden})") == []


def test_other_workspaces_may_use_the_client():
    client = "//client_cpp:kiln"
    assert query(f"attr(visibility, '//visibility:public', {client})") == [client]


def test_code_in_programs_that_fork_uses_no_mutex_of_abseil():
    """A forked child may wait for ever for the locks inside absl::Mutex (client_cpp/mutex.h)."""
    rooms = [ROOT / "client_cpp", ROOT / "client_py" / "native"]
    files = [file for room in rooms for file in [*room.rglob("*.h"), *room.rglob("*.cc")]]
    assert len(files) > 50
    inside = ("absl/synchronization/", "absl/base/call_once.h")
    ours = [f for f in files if not f.name.endswith("_test.cc")]
    assert not [f for f in ours if any(i in f.read_text() for i in inside)]


def test_code_in_programs_that_fork_guards_no_static_variable():
    """A forked child may wait for ever for its first use (common/base/first_use.h)."""
    module = ROOT / ".kiln" / "bin" / "_native.so"
    command = ["readelf", "--symbols", "--wide", "--demangle", module]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    guards = [line for line in lines if "guard variable for kiln::" in line]
    # Those of the bindings are used up when Python imports the module.
    at_import = re.compile(r"kiln::Bind\w+\(pybind11::module_&\)::")
    shared = {line for line in guards if " TLS " not in line}
    assert len(shared) > 2
    assert not {line.split(" for ")[1] for line in shared if not at_import.search(line)}


def test_the_runtime_reads_no_environment():
    """Programs that embed it decide for themselves what their environment means."""
    files = [f for f in (ROOT / "runtime").rglob("*") if f.suffix in (".h", ".cc")]
    shipped = [f for f in files if not f.name.endswith("_test.cc")]
    assert len(shipped) > 50
    reading = re.compile(r"\b(secure_)?getenv\b|\benviron\b")
    assert not [f for f in shipped if reading.search(f.read_text())]


@pytest.mark.parametrize(
    "rooms",
    [
        ("common", "runtime", "client_cpp", "client_py/native"),
        ("common", "server/compiler", "server/worker"),
        ("common", "server/cache", "server/daemon", "server/events", "server/front"),
    ],
)
def test_no_program_has_two_classes_of_one_name(rooms):
    """The linker would take the functions of one for those of the other, without a word."""
    declared = re.compile(r"^(?:class|struct) (\w+)(?: final)?(?: : [^;{]*)? \{", re.M)
    found = collections.defaultdict(list)
    for header in (h for room in rooms for h in (ROOT / room).rglob("*.h")):
        text = header.read_text()
        namespace = re.search(r"^namespace ([\w:]+)", text, re.M)
        for name in declared.findall(text):
            found[namespace and namespace[1], name].append(header)
    assert len(found) > 50
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


# --- The Python package: its imports, including those inside functions
# -----------------------------

PACKAGE = ROOT / "client_py" / "kiln"

# Imports inside functions cost a look-up at each call, and hide a module's dependencies. They are
# for modules that many programs never need: NumPy and similar packages, which may be missing, and
# modules that would delay the first launch.
LATE_FROM_OUTSIDE = frozenset(
    "IPython PIL _ast ast atexit builtins ctypes difflib importlib inspect io itertools json "
    "linecache matplotlib numbers numpy operator os paddle re resource shutil string struct sys "
    "tempfile time tokenize torch types warnings weakref zipfile".split()
)
# Importer -> modules of the package that it imports inside functions. A module of `commands` is one
# command, and may import anything when it runs.
LATE = {
    "ad.ahead": "ad.background",
    "aot.load": "aot.signed",
    "aot.module": "aot.access frontend.report",
    "arguments": "frontend.pack frontend.texture frontend.triplets",
    "compat.lang": "compat",
    "compat.lang.impl": "compat data.trees ops",
    "compat.lang.misc": "compat",
    "compat.lang.util": "compat values.matrix",
    "explain": "commands.common",
    "frontend.call": "math",
    "frontend.source": "frontend.history runtime",
    "frontend.texture": "values.texels",
    "func": "frontend.report",
    "gui": "windows.painting",
    "instance": "frontend.build frontend.companions frontend.context frontend.report "
    "frontend.trace",
    "kernel": "frontend.report printing",
    "misses": "explain runtime",
    "notebook": "cli explain",
    "printing": "frontend.report",
    "profiler.kernel_metrics": "runtime",
    "profiler.memory_profiler": "runtime",
    "static": "frontend.expr ops values.matrix",
    "tools.image": "gui notebook",
    "types": "compat",
    "warm.program": "warm.manifest",
    "warm.records": "frontend.report",
    "windows.camera": "values.matrix",
    "windows.canvas": "picture",
    "windows.frames": "film notebook picture",
    "windows.gui_drawing": "picture raster",
    "windows.painting": "raster",
    "windows.scene": "windows.display",
    "windows.software": "raster",
    "windows.widgets": "windows.display",
}


def package_modules(folder=PACKAGE):
    """{name below the package: (file, whether it is a package)}; the package itself is ""."""
    found = {}
    for file in folder.rglob("*.py"):
        parts = file.relative_to(folder).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        if "as_taichi" not in parts:
            found[".".join(parts[:-1] if is_package else parts)] = file, is_package
    return found


def package_imports(modules):
    """(importer, imported, whether inside a function); "!name" is imported from outside."""
    for name, (file, is_package) in modules.items():
        here = name.split(".") if name else []
        base = here if is_package else here[:-1]
        nodes = [(ast.parse(file.read_text()), False)]
        while nodes:
            node, late = nodes.pop()
            late = late or isinstance(node, (ast.FunctionDef, ast.Lambda))
            nodes += [(child, late) for child in ast.iter_child_nodes(node)]
            if isinstance(node, ast.Import):
                yield from ((name, "!" + a.name.partition(".")[0], late) for a in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield name, "!" + node.module.partition(".")[0], late
            elif isinstance(node, ast.ImportFrom):
                parent = base[: len(base) - (node.level - 1)]
                target = ".".join([*parent, *([node.module] if node.module else [])])
                for alias in node.names:
                    full = f"{target}.{alias.name}" if target else alias.name
                    yield name, full if full in modules else target, late


def circles(arrows):
    """The sets of modules that depend on each other in a circle."""
    below = {}
    for importer, imported in arrows:
        below.setdefault(importer, set()).add(imported)

    def reached(start):
        found, pending = set(), [start]
        while pending:
            for module in below.get(pending.pop(), ()):
                if module not in found:
                    found.add(module)
                    pending.append(module)
        return found

    all_reached = {module: reached(module) for module in below}
    return {
        frozenset(m for m in found if module in all_reached.get(m, ()))
        for module, found in all_reached.items()
        if module in found
    }


def arrows_of(modules):
    """Pairs (importer, imported). Ignores `from . import _native` and similar imports, and names of
    the package itself, which imports every public module."""
    return {
        (importer, imported)
        for importer, imported, _ in package_imports(modules)
        if importer and imported and importer != imported and imported[0] != "!"
    }


def test_the_python_package_has_no_circle():
    assert circles(arrows_of(package_modules())) == set()


def test_a_circle_is_found(tmp_path):
    (tmp_path / "a.py").write_text("from .b import x\n")
    (tmp_path / "b.py").write_text("def f():\n    from . import c\n")
    (tmp_path / "c.py").write_text("from .a import y\nfrom .d import z\n")
    (tmp_path / "d.py").write_text("")
    assert circles(arrows_of(package_modules(tmp_path))) == {frozenset("abc")}


def test_types_are_at_the_bottom():
    allowed = {
        "active",
        "compat",
        "diagnostics",
        "named",
        "originals",
        "provided",
        "settings",
    }
    above = {
        imported
        for importer, imported in arrows_of(package_modules())
        if importer.partition(".")[0] == "types" and imported.partition(".")[0] != "types"
    }
    assert above <= allowed


def test_imports_inside_functions_are_listed():
    late = {}
    for importer, imported, inside in package_imports(package_modules()):
        if not inside:
            continue
        if imported[0:1] == "!":
            assert imported[1:] in LATE_FROM_OUTSIDE | {"kiln"}, (importer, imported)
        elif imported and importer.partition(".")[0] != "commands":
            late.setdefault(importer, set()).add(imported)
    assert late == {importer: set(names.split()) for importer, names in LATE.items()}
