#!/usr/bin/python3
"""Runs programs under Taichi and under Kiln and compares their results.

    tools/compare_with_taichi.py [--frames 3] [--taichi-python python] program.py...
    tools/compare_with_taichi.py --language [SECTION...]
    tools/compare_with_taichi.py --snodes [SECTION...]

A program is a path, or the name of one of the wheel's examples (`simulation/mpm88`). The tool
compares the fields and arrays in its globals (and their attributes) at the end, the images and
circles that it passes to its GUI in the first frames, its output, and its exit status. The
interpreter with Taichi is --taichi-python, else $TAICHI_PYTHON, else `python3`.

With --language or --snodes, the cases of tests/e2e/language or tests/e2e/snodes are run under
Taichi instead, and each difference from what is recorded there for Kiln is listed, with its reason
if it has one.

Random numbers cannot agree, so their results are copied: after each statement that calls a kernel
with `ti.random` or `ti.randn`, Kiln's run takes the fields' values from Taichi's run. Name kernels
that the search for such calls misses with --seeded.

For fields in sparse trees, the tool also compares and copies which elements are active. Data that
parallel loops write in any order, as in dynamic lists, is sorted before the comparison if it is
named with --unordered.

Numbers agree when they differ by at most --tolerance of the array's largest magnitude; of floating
point arrays, --outliers of the elements may differ by more (iteration counts at a fractal's rim).
If they do not agree, Taichi runs again. An array that differs between Taichi's own runs, because
the order of atomic additions is free, agrees within four times that difference, which is shown as
noise.
"""

import argparse
import ast
import fnmatch
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXTURES = r"ti\.Texture|types\.(rw_)?texture"  # in the text of programs
# Of Kiln, whatever a program asks for.
ON_CUDA = {"TI_ARCH": "cuda", "KILN_CUDA_DRIVER": "emulator"}


def main():
    options = parse()
    if options.inside:
        return inside(options)
    if options.language or options.snodes:
        sys.path.insert(0, str(ROOT / "tests" / "e2e" / "language"))
        import harness

        suite = "snodes" if options.snodes else "language"
        sections = options.programs or harness.sections(suite)
        faults = harness.compare_all(options.taichi_python, sections, options.verbose)
        return int(faults > 0)
    rows, good = [], True
    for program in options.programs:
        row = compare(find_program(program, options), options)
        good &= row["agrees"]
        rows.append({"program": program, **row})
        print_rows(rows[-1:], header=len(rows) == 1)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if good else 1


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", help="programs; sections with --language, --snodes")
    parser.add_argument("--language", action="store_true", help="compare the language cases")
    parser.add_argument("--snodes", action="store_true", help="compare the cases of SNodes")
    parser.add_argument(
        "--verbose", action="store_true", help="with --language, --snodes: what agrees, too"
    )
    parser.add_argument("--frames", type=int, default=3)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--outliers", type=float, default=2e-3)
    parser.add_argument("--seeded", action="append", default=[], metavar="KERNEL")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="FIELD", help="a field that may differ"
    )
    parser.add_argument(
        "--unordered",
        action="append",
        default=[],
        metavar="PATTERN",
        help="arrays whose rows have no order: field/NAME or gui/FRAME/NUMBER/KIND/NAME, with *",
    )
    parser.add_argument(
        "--clock", action="store_true", help="the program's time passes as it asks for it"
    )
    parser.add_argument(
        "--cuda",
        dest="environment",
        action="store_const",
        const=ON_CUDA,
        default={},
        help="Kiln runs on CUDA's emulator (./kiln build emulator)",
    )
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--json", help="also write the table there")
    parser.add_argument("--taichi-python", default=os.environ.get("TAICHI_PYTHON", "python3"))
    parser.add_argument("--inside", choices=("taichi", "again", "kiln"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- both runs, seen from outside


def find_program(name, options):
    path = pathlib.Path(name)
    if path.exists():
        return path.resolve()
    where = "import os, taichi; print(os.path.dirname(taichi.__file__))"
    output = subprocess.run(
        [options.taichi_python, "-c", where], check=True, capture_output=True, text=True
    ).stdout
    path = pathlib.Path(output.split()[-1]) / "examples" / f"{name}.py"
    if not path.exists():
        sys.exit(f"no such program or example: {name}")
    return path


def compare(program, options):
    """Runs `program` under both; returns a row of the table."""
    with tempfile.TemporaryDirectory(prefix="kiln-compare-") as folder:
        # Taichi runs first: it saves the states that Kiln's run takes over.
        runs = {side: run(side, program, folder, options) for side in ("taichi", "kiln")}
        arrays = {side: load(folder, side, options) for side in runs}
        row = compare_arrays(arrays["taichi"], arrays["kiln"], {}, options)
        if row["wrong"]:
            run("again", program, folder, options)
            again = load(folder, "again", options)
            row = compare_arrays(arrays["taichi"], arrays["kiln"], again, options)
        row["files"], wrong_files = compare_files(folder)
        row["wrong"] += wrong_files
    row["output"] = same_text(runs["taichi"]["out"], runs["kiln"]["out"], options.tolerance)
    row["exit"] = (runs["taichi"]["code"], runs["kiln"]["code"])
    row["seconds"] = (runs["taichi"]["seconds"], runs["kiln"]["seconds"])
    row["agrees"] = not row["wrong"] and row["output"] and row["exit"] == (0, 0)
    # The number of things compared: without any, the verdict means nothing.
    row["lines"] = sum(not t.startswith("[Taichi]") for t in runs["taichi"]["out"].splitlines())
    if not row["agrees"]:
        row["detail"] = detail(runs)
    return row


def _arch_of(program):
    """Where Taichi runs a program. Its search for a GPU may crash on a machine without one, so
    programs get the CPU, but for those with textures, which it has on Vulkan alone."""
    return "vulkan" if re.search(TEXTURES, pathlib.Path(program).read_text()) else "x64"


def run(side, program, folder, options, attempts=3):
    command = [str(ROOT / "kiln"), "python"] if side == "kiln" else [options.taichi_python]
    command += [__file__, "--inside", side, "--folder", folder, str(program)]
    for kernel in options.seeded:
        command += ["--seeded", kernel]
    for field in options.ignore:
        command += ["--ignore", field]
    command += ["--clock"] if options.clock else []
    environment = {**os.environ, "KILN_GUI_FRAMES": str(options.frames), "TI_GUI_SHOW": "0"}
    # Replace ffmpeg by a stand-in that only creates the files.
    environment["PATH"] = f"{ROOT / 'tools' / 'stand_ins'}:{environment['PATH']}"
    environment.update(options.environment if side == "kiln" else {"TI_ARCH": _arch_of(program)})
    made = pathlib.Path(folder) / f"{side}_files"  # what the program writes
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    start = time.monotonic()
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment,
            timeout=options.timeout,
            cwd=made,
        )
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, out, err = "timeout", "", ""
    if side != "kiln" and isinstance(code, int) and code < 0 and attempts > 1:
        # Taichi occasionally dies by a signal if a program reads beyond a field.
        return run(side, program, folder, options, attempts - 1)
    return {"code": code, "out": out, "err": err, "seconds": time.monotonic() - start}


def load(folder, side, options):
    """The arrays of one run by name. Unordered rows are sorted, each column separately."""
    import numpy as np

    path = pathlib.Path(folder) / f"{side}.npz"
    if not path.exists():
        return {}
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    for name in arrays:
        if any(fnmatch.fnmatch(name, pattern) for pattern in options.unordered):
            arrays[name] = np.sort(arrays[name], axis=0)
    return arrays


# Other libraries compress these files, so only their existence can be compared.
_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".mp4")


def compare_files(folder):
    """The number of files that both runs wrote, and what is wrong with them."""
    roots = [pathlib.Path(folder) / f"{side}_files" for side in ("taichi", "kiln")]
    names = [{p.relative_to(r).as_posix() for p in r.rglob("*") if p.is_file()} for r in roots]
    wrong = [f"file {name}: only one run wrote it" for name in sorted(names[0] ^ names[1])]
    for name in sorted(names[0] & names[1]):
        if name.endswith(_PICTURES):
            continue
        if (roots[0] / name).read_bytes() != (roots[1] / name).read_bytes():
            wrong.append(f"file {name}: differs")
    return len(names[0] & names[1]), wrong


def compare_arrays(want, got, again, options):
    """Counts, the worst error relative to its array's magnitude, and what is wrong.

    `again` has the arrays of a second run of the reference, whose differences are noise.
    """
    import numpy as np

    row = {
        "fields": sum(name.startswith("field/") for name in want),
        "images": sum(name.startswith("gui/") for name in want),
        "worst": 0.0,
        "outliers": 0.0,
        "noise": 0.0,
    }
    wrong = [f"{name}: only one has it" for name in sorted(set(want) ^ set(got))]
    for name in sorted(set(want) & set(got)):
        a, b = want[name], got[name]
        if a.shape != b.shape:
            wrong.append(f"{name}: shape {a.shape}, {b.shape}")
            continue
        exact = a.dtype.kind != "f"
        a, b = a.astype(np.float64), b.astype(np.float64)
        magnitude = np.abs(a[np.isfinite(a)]).max(initial=0.0) or 1.0
        with np.errstate(invalid="ignore"):
            error = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b) / magnitude)
        error = np.nan_to_num(error, nan=np.inf)
        noise = 0.0
        if not exact and name in again and again[name].shape == a.shape:
            noise = float(np.nan_to_num(np.abs(again[name] - a)).max(initial=0.0)) / magnitude
            row["noise"] = max(row["noise"], noise)
        far = error > (0 if exact else max(options.tolerance, 4 * noise))
        share = float(far.mean()) if far.size else 0.0
        row["worst"] = max(row["worst"], float(error.max(initial=0.0)))
        row["outliers"] = max(row["outliers"], share)
        if share > (0 if exact else options.outliers):
            first = tuple(int(i) for i in np.unravel_index(far.argmax(), far.shape))
            wrong.append(f"{name}{list(first)}: {a[first]:.8g}, {b[first]:.8g}; {share:.2%} differ")
    row["wrong"] = wrong
    return row


_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)")


def same_text(a, b, tolerance):
    """Whether two outputs agree, their numbers within the tolerance."""
    a, b = ([t for t in x.splitlines() if not t.startswith("[Taichi]")] for x in (a, b))
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if _NUMBER.sub("#", x) != _NUMBER.sub("#", y):
            return False
        for p, q in zip(map(float, _NUMBER.findall(x)), map(float, _NUMBER.findall(y))):
            if p != q and not (p != p and q != q) and abs(p - q) > tolerance * max(abs(p), 1e-3):
                return False
    return True


def detail(runs):
    lines = []
    for side, done in runs.items():
        for stream in ("out", "err"):
            tail = [t for t in done[stream].splitlines() if not t.startswith("[Taichi]")][-12:]
            lines += [f"    {side} {stream}: {line}" for line in tail]
    return lines


def print_rows(rows, header):
    if header:
        print(
            f"{'program':32} {'fields':>6} {'images':>6} {'worst':>9} {'outliers':>8} {'noise':>8} "
            f"{'output':>6} {'exit':>5} {'Taichi':>7} {'Kiln':>7}"
        )
    for row in rows:
        exits = "same" if len(set(row["exit"])) == 1 else "/".join(map(str, row["exit"]))
        print(
            f"{row['program'][-32:]:32} {row['fields']:6} {row['images']:6} {row['worst']:9.1e} "
            f"{row['outliers']:8.2%} {row['noise']:8.1e} "
            f"{'same' if row['output'] else 'DIFFER':>6} {exits:>5} {row['seconds'][0]:6.1f}s "
            f"{row['seconds'][1]:6.1f}s  {'agrees' if row['agrees'] else 'DIFFERS'}"
        )
        for line in row["wrong"][:8]:
            print(f"    {line}")
        for line in row.get("detail", []):
            print(line)
        sys.stdout.flush()


# ---- one run, from inside its process


def inside(options):
    """Runs the program under one implementation and saves what it showed."""
    import random

    import numpy as np

    gui = prepare(options.inside)
    shown = {}
    gui.observers.append(
        lambda window, kind, arrays: shown.update(
            {
                f"gui/{window.frame:04}/{len(shown):04}/{kind}/{name}": np.asarray(value)
                for name, value in arrays.items()
            }
        )
    )
    np.random.seed(0)
    random.seed(0)
    if options.clock:
        time.time = time.perf_counter = itertools.count(1.0, 1 / 60).__next__
    path = options.programs[0]
    tree = ast.parse(pathlib.Path(path).read_text(), path)
    insert_seeding(tree, random_kernels(tree) | set(options.seeded))
    program = types.ModuleType("__main__")
    program.__file__ = path
    states = _States(options, program)
    program.__dict__["_take_state"] = states.take
    sys.modules["__main__"] = program
    sys.argv = [path]
    sys.path[0] = os.path.dirname(path)
    code = 0
    try:
        exec(compile(tree, path, "exec"), program.__dict__)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    fields = states.read(vars(program))
    np.savez(os.path.join(options.folder, options.inside), **shown, **fields)
    return code


def _flatten(name, value, into):
    """Adds arrays by name; struct fields have a name for each member."""
    if isinstance(value, dict):
        for member, part in value.items():
            _flatten(f"{name}.{member}", part, into)
    else:
        into[name] = value


def _unflatten(name, arrays):
    """The inverse of _flatten; None if nothing has that name."""
    if name in arrays:
        return arrays[name]
    start = f"{name}."
    members = {key[len(start) :].split(".")[0] for key in arrays if key.startswith(start)}
    return {m: _unflatten(start + m, arrays) for m in sorted(members)} or None


def prepare(side):
    """Makes `import taichi` import the implementation, with Kiln's GUI for both, a window without
    Vulkan for Taichi, and no plots. Returns the GUI's module."""
    import plotting_stub

    plotting_stub.install()
    if side == "kiln":
        from kiln import compat, gui

        compat.install()
        return gui
    # Kiln's GUI needs nothing else of Kiln, so it is loaded as a separate package.
    package = types.ModuleType("kiln_gui")
    package.__path__ = [str(ROOT / "client_py" / "kiln")]
    sys.modules["kiln_gui"] = package
    import headless_window
    import taichi
    from kiln_gui import gui

    taichi.GUI = taichi.ui.GUI = gui.GUI
    headless_window.install(taichi.ui, gui.GUI)
    return gui


def random_kernels(tree):
    """The names of kernels that use random numbers, directly or in a function."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    calls = {
        function.name: {_called(node) for node in ast.walk(function) if isinstance(node, ast.Call)}
        for function in functions
    }
    drawing = {"random", "randn"}
    while True:
        more = {name for name, called in calls.items() if called & drawing} - drawing
        if not more:
            break
        drawing |= more
    return {
        function.name
        for function in functions
        if function.name in drawing
        and any("kernel" in ast.dump(decorator) for decorator in function.decorator_list)
    }


def _called(call):
    target = call.func
    return target.id if isinstance(target, ast.Name) else getattr(target, "attr", None)


def insert_seeding(tree, kernels):
    """Inserts `_take_state(locals())` after each statement that calls one of the kernels, which may
    have names with dots: "graph.run"."""
    for node in ast.walk(tree):
        for part in ("body", "orelse", "finalbody"):
            body = getattr(node, part, None)
            if isinstance(body, list):
                setattr(node, part, [s for old in body for s in _seeded(old, kernels)])
    ast.fix_missing_locations(tree)


def _seeded(statement, kernels):
    yield statement
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        if {_called(statement.value), ast.unparse(statement.value.func)} & kernels:
            call = ast.parse("_take_state(locals())").body[0]
            yield ast.copy_location(call, statement)


class _States:
    """Saves the fields at each seeding point in the first run; restores them in the others."""

    def __init__(self, options, program):
        self._options, self._program, self._count = options, program, 0
        source = pathlib.Path(options.programs[0]).read_text()
        self._elements = None
        # Querying active elements compiles a kernel for each field, so do it only if necessary.
        if re.search(r"\.(pointer|bitmasked|dynamic)\(", source):
            import active_elements

            self._elements = active_elements

    def read(self, variables):
        """The fields' values and, for fields with inactive elements, which are active."""
        found = {}
        for name, field in self._fields(variables).items():
            _flatten(f"field/{name}", field.to_numpy(), found)
            if self._elements and (marks := self._elements.active(field)) is not None:
                found[f"active/{name}"] = marks
        return found

    def take(self, variables):
        import numpy as np

        variables = {**vars(self._program), **variables}
        path = os.path.join(self._options.folder, f"state{self._count}.npz")
        self._count += 1
        if self._options.inside == "taichi":
            np.savez(path, **self.read(variables))
            return
        with np.load(path) as state:
            self._write(state, self._fields(variables))

    def _write(self, state, fields):
        if self._elements:
            sys.modules["taichi"].deactivate_all_snodes()
        for name, field in fields.items():
            value = _unflatten(f"field/{name}", state)
            if value is None:
                continue
            if self._elements and self._elements.active(field) is not None:
                # A sparse field: from_numpy would only write active elements, and none is active.
                self._elements.restore(field, state.get(f"active/{name}"), value)
            else:
                field.from_numpy(value)

    def _fields(self, variables):
        ignored = self._options.ignore
        return {n: f for n, f in fields_of(variables).items() if n not in ignored}


def fields_of(variables):
    """Fields and arrays in variables, in lists, and in attributes of the program's own objects."""
    found, seen = {}, set()

    def add(name, value, depth):
        if id(value) in seen:
            return
        if _is_field(value):
            seen.add(id(value))
            found[name] = value
        elif depth and isinstance(value, (list, tuple)):
            for number, item in enumerate(value[:16]):
                add(f"{name}.{number}", item, depth - 1)
        elif depth and type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
            for key, item in vars(value).items():
                add(f"{name}.{key}", item, depth - 1)

    for name, value in variables.items():
        if not name.startswith("_"):
            add(name, value, 2)
    return found


def _is_field(value):
    kind = type(value)
    return (
        kind.__module__.split(".")[0] in ("taichi", "kiln")
        and hasattr(kind, "to_numpy")
        and hasattr(kind, "from_numpy")
        and getattr(value, "shape", None) is not None
    )


if __name__ == "__main__":
    sys.exit(main())
