"""Defines language cases, and runs a section of them in a process.

A section is a file beside this one, named for a part of the language; `snodes/NAME` is one in the
folder `snodes` next to this. Its cases are functions that show what happens:

    from harness import case, ti

    @case()
    def floor_division_rounds_down(show):
        @ti.kernel
        def k(a: ti.i32, b: ti.i32) -> ti.i32:
            return a // b

        show(k(-7, 2), k(7, -2))        # values with their types
        show.error(k, 1.5, 2)           # class and message of what a call raises

Each case has a fresh `ti.init(arch=ti.cpu, **options)` with the options given to `case`. What is
shown, what the case prints (descriptor 1 included) and what it raises is its *outcome*: lines of
text. Outcomes are kept in `expected/SECTION.txt`, under the case's name and its reason to differ;
line numbers in messages count from the case's first line. `type_of` and `attempt` help to show
tables. `ti` is Kiln, or Taichi itself with KILN_TEST_REFERENCE=1: the same cases then tell how
the two differ. A case that is meant to differ names the row of docs/differences.md that says why:
`@case(differs="adding bools")`.

    language_test.py                               runs every section three ways (daemon cold,
                                                   again from cache, without a daemon)
    harness.py --update [SECTION...]               records what Kiln does now; review the diff
    tools/compare_with_taichi.py --language        runs all under Taichi and lists what differs
                                 --snodes          those of the folder `snodes`
"""

import argparse
import contextlib
import ctypes
import difflib
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
SUITES = ("language", "snodes")  # folders of sections

if os.environ.get("KILN_TEST_REFERENCE"):
    import taichi as ti
elif os.environ.get("KILN_TEST_INSIDE"):
    import kiln as ti
else:  # only looked at from outside
    ti = None

# How kernels are launched (launch_modes.py); "": by calls.
LAUNCHES = os.environ.get("KILN_TEST_LAUNCHES", "")
CASES = []


class Case:
    def __init__(self, function, differs, options):
        self.name = function.__name__
        self.function = function
        self.differs = differs
        self.options = options


def case(differs=None, **options):
    """Registers a case. differs: the row (its first cell) of docs/differences.md that explains why
    Taichi's outcome is another; options: for `ti.init`."""

    def register(function):
        CASES.append(Case(function, differs, options))
        return function

    return register


# ---- for cases


def scalars(count, **options):
    """Fields of one f32 each, with gradients."""
    return [ti.field(ti.f32, (), needs_grad=True, **options) for _ in range(count)]


def type_of(value):
    """The type of an expression (i32, vec2 f32, mat2x3 u8), for calls under `ti.static`."""
    if hasattr(value, "ptr"):  # Taichi's
        value.ptr.type_check(ti.lang.impl.get_runtime().prog.config())
        name = value.ptr.get_rvalue_type().to_string()
        found = re.fullmatch(r"\[Tensor \(([\d, ]+)\) (\w+)\]", name)
        if found is None:
            return name if re.fullmatch(r"\w+", name) else "struct"
        return _tensor_name(found.group(1).split(", "), found.group(2))
    if hasattr(value, "node"):  # Kiln's
        info = value.type
        if info.members:
            return "struct"
        return _tensor_name(info.shape, info.dtype.name) if info.shape else info.dtype.name
    return f"Python {type(value).__name__}"


def _tensor_name(shape, dtype):
    return f"{'vec' if len(shape) == 1 else 'mat'}{'x'.join(map(str, shape))} {dtype}"


def seen():
    """A list, and a function that adds the type of an expression to it, for `ti.static`."""
    names = []
    return names, lambda value: names.append(type_of(value))


def numbers(array):
    """The elements of a field or ndarray, as Python's."""
    return array.to_numpy().tolist()


def attempt(function, *arguments):
    """The result of a call, or the class of its exception."""
    try:
        return function(*arguments)
    except Exception as error:
        name = type(error).__name__
        # Kiln's builder raises this; with a place in the source it becomes a TaichiTypeError.
        return "TaichiTypeError" if name == "BuilderError" else name


# ---- inside the process that runs a section


class Show:
    """Collects a case's outcome."""

    def __init__(self, place):
        self.lines = []
        self._place = place

    def __call__(self, *values):
        """A line for each value: its type and content."""
        self.lines += [describe(value) for value in values]

    def error(self, function, *arguments, **keywords):
        """What the call raises, or that it does not."""
        try:
            value = function(*arguments, **keywords)
        except Exception as error:
            self.raised(error)
        else:
            self.lines.append(f"raises nothing: {describe(value)}")

    def raised(self, error):
        self.lines.append(f"raises {type(error).__name__}")
        text = self._place(str(error))
        self.lines += [f"  | {line}".rstrip() for line in text.splitlines()]


def describe(value):
    """Type and content in one line, the same for both implementations."""
    kind = type(value).__name__
    if ti and isinstance(value, ti.Matrix):  # which class it is says no more than the shape
        kind = "Matrix"
    if kind in ("bool_", "bool") and not isinstance(value, type):
        return f"bool {bool(value)}"
    if type(value) is float:
        return f"float {value:.9g}"
    if value is None or type(value) in (bool, int, str):
        return f"{kind} {value!r}"
    if isinstance(value, (list, tuple)):
        return f"{kind} [" + ", ".join(map(describe, value)) + "]"
    if isinstance(value, dict):
        items = (f"{key}: {describe(item)}" for key, item in value.items())
        return f"{kind} {{" + ", ".join(items) + "}"
    if hasattr(value, "to_dict"):
        return f"struct {describe(value.to_dict())}"
    if hasattr(value, "to_numpy"):
        return f"{kind} {describe(value.to_numpy())}"
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        shape = "x".join(map(str, value.shape))
        return f"{value.dtype} [{shape}] {_plain(value.tolist())}"
    if isinstance(value, type):
        return f"type {value.__name__}"
    return f"{kind} {value!r}" if " at 0x" not in repr(value) else kind


def _plain(value):
    if isinstance(value, list):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return f"{value:.9g}" if isinstance(value, float) else repr(value)


def run_inside(section, start):
    """Runs the section's cases from number `start` on; prints a JSON line for each."""
    sys.path[:0] = [str(_file(section).parent), str(HERE), str(HERE.parent)]
    importlib.import_module(_file(section).stem)
    out = os.fdopen(os.dup(1), "w")
    # `from harness import case` made a second copy of this module: the cases are in that one.
    for number, one in enumerate(sys.modules["harness"].CASES):
        if number < start:
            continue
        record = {"begins": number, "name": one.name, "differs": one.differs}
        print(json.dumps(record), file=out, flush=True)
        print(json.dumps({"lines": outcome(one, section)}), file=out, flush=True)


def _arch_of(section):
    """Where the cases of a section run. Taichi has textures only on Vulkan."""
    is_reference = os.environ.get("KILN_TEST_REFERENCE")
    return "vulkan" if section == "textures" and is_reference else "cpu"


def outcome(one, section):
    first = one.function.__code__.co_firstlineno
    show = Show(lambda text: _relative(text, section, first))
    printed = []
    with _captured(printed):
        try:
            modes = importlib.import_module("launch_modes") if LAUNCHES else None
            if LAUNCHES == "devices":
                modes.next_device()
            ti.init(arch=getattr(ti, _arch_of(section)), **one.options)
            if LAUNCHES in ("graphs", "streams"):
                modes.install(LAUNCHES)
            one.function(show)
        except Exception as error:
            show.raised(error)
        with contextlib.suppress(Exception):
            ti.sync()
    # Lines of Taichi's logger are no part of the program's output.
    text = [x for x in printed if not re.match(r"\[(Taichi|[WEIDT] \d)|\x1b\[", x)]
    return show.lines + [f"prints {_relative(line, section, first)}" for line in text]


@contextlib.contextmanager
def _captured(lines):
    libc = ctypes.CDLL(None)
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            sys.stdout.flush()
            libc.fflush(None)
            os.dup2(saved, 1)
            os.close(saved)
            file.seek(0)
            lines += file.read().decode(errors="replace").splitlines()


def _relative(text, section, first):
    """The message with line numbers of this section counted from the case's first line."""
    text = re.sub(
        rf'"[^"]*/{section}\.py", line (\d+)',
        lambda m: f'"{_file(section).name}", line {int(m.group(1)) - first:+d}',
        text,
    )
    text = re.sub(
        rf"(created at )\S*/{section}\.py:(\d+)",
        lambda m: f"{m.group(1)}{_file(section).name}:{int(m.group(2)) - first:+d}",
        text,
    )
    # The block that binds a name.
    text = re.sub(r"(` of line )(\d+)", lambda m: f"{m.group(1)}{int(m.group(2)) - first:+d}", text)
    return text.replace(str(ROOT) + "/", "")


# ---- outside


def sections(suite="language"):
    """Names of a folder's sections; those of others than `language` begin with the folder's."""
    files = sorted((HERE.parent / suite).glob("*.py"))
    prefix = "" if suite == "language" else f"{suite}/"
    return [prefix + file.stem for file in files if file != HERE / "harness.py"]


def _file(section):
    suite, _, name = section.rpartition("/")
    return HERE.parent / (suite or "language") / f"{name}.py"


def _expected_file(section):
    file = _file(section)
    return file.parent / "expected" / f"{file.stem}.txt"


def run_section(section, python, environment, timeout=900, reasons=None):
    """{case: lines} of a section, run by the command `python`. A crash is that case's outcome.
    reasons: is given {case: its `differs`}."""
    found, start = {}, 0
    while True:
        command = [*python, str(HERE / "harness.py"), "--inside", section, "--from", str(start)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            timeout=timeout,
        )
        name = None
        for line in done.stdout.splitlines():
            if not line.startswith("{"):
                continue
            record = json.loads(line)
            if "name" in record:
                name, start = record["name"], record["begins"]
                if reasons is not None and record["differs"]:
                    reasons[name] = record["differs"]
            else:
                found[name] = record["lines"]
                name = None
        if done.returncode == 0:
            return found
        if name is None:
            raise RuntimeError(f"section {section} ended with {done.returncode}:\n{done.stderr}")
        found[name] = [f"crashes with exit status {done.returncode}"]
        start += 1


def run_kiln(section, environment=None, reasons=None):
    python = [str(ROOT / "kiln"), "python"]
    environment = {"KILN_TEST_INSIDE": "1", **(environment or {})}
    return run_section(section, python, environment, reasons=reasons)


def run_reference(section, python):
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "KILN_TEST_REFERENCE": "1",
            # Taichi's search for a GPU may crash on a machine without one.
            "TI_ENABLE_CUDA": "0",
            # Its usual cache answers with the line numbers of earlier versions of a case.
            "TI_OFFLINE_CACHE_FILE_PATH": folder,
        }
        return run_section(section, [python], environment)


def expected(section):
    """{case: lines} as recorded."""
    return {name: lines for name, (reason, lines) in _recorded(section).items()}


def declared(section):
    """{case: its `differs`} as recorded."""
    return {name: reason for name, (reason, lines) in _recorded(section).items() if reason}


def _recorded(section):
    path = _expected_file(section)
    found = {}
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("== "):
                name, _, reason = line[3:].partition(" differs: ")
                lines = []
                found[name] = (reason, lines)
            elif line:
                lines.append(line)
    return found


def record(section, outcomes, reasons):
    text = "\n".join(
        "\n".join([f"== {name}{_reason(reasons.get(name))}", *lines, ""])
        for name, lines in outcomes.items()
    )
    _expected_file(section).write_text(text)


def _reason(differs):
    return f" differs: {differs}" if differs else ""


_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)(?![\w])")


def agree(one, other, messages=True, tolerance=2e-5):
    """Whether two outcomes agree, fractions within a tolerance; with messages=False, errors by
    class."""
    if not messages:
        # Taichi's logger puts empty lines around its errors.
        one, other = (
            [x for x in lines if not x.startswith("  |") and x.strip() != "prints"]
            for lines in (one, other)
        )
    return len(one) == len(other) and all(
        x == y or _same_line(x, y, tolerance) for x, y in zip(one, other)
    )


def _same_line(x, y, tolerance):
    if _NUMBER.sub("#", x) != _NUMBER.sub("#", y):
        return False
    for p, q in zip(_NUMBER.findall(x), _NUMBER.findall(y)):
        if p != q and p.lstrip("-").isdigit() and q.lstrip("-").isdigit() and "float" not in x:
            return False
        a, b = float(p), float(q)
        if a != b and (a == a or b == b) and not abs(a - b) <= tolerance * max(abs(a), abs(b), 1):
            return False
    return True


def explained(kiln, taichi):
    """Taichi's outcome with the errors of its own Python code (a bare TaichiCompilationError around
    a traceback) as Kiln's class for the mistake: docs/differences.md has a row for them all."""
    blocks, found = _blocks([x for x in taichi if x != "prints "]), []
    ours = [b for b in _blocks(kiln) if b[0].startswith("raises ")]
    errors = [b for b in blocks if b[0].startswith("raises ")]
    for block in blocks:
        if block[0] == "raises TaichiCompilationError" and len(ours) == len(errors):
            own = ours[[b is block for b in errors].index(True)]
            internal = any("Traceback (most recent call last)" in line for line in block)
            if internal and own[0].startswith("raises Taichi"):
                block = [own[0], *block[1:]]
        found += block
    return found


def differences(section, python):
    """Rows (case, its `differs`, Kiln's lines, Taichi's lines, whether they agree)."""
    recorded, reference = expected(section), run_reference(section, python)
    reasons = declared(section)
    for name, lines in reference.items():
        kiln = recorded.get(name, ["is not recorded"])
        lines = explained(kiln, lines)
        yield name, reasons.get(name), kiln, lines, agree(kiln, lines, messages=False)


def compare_all(python, names, verbose=False):
    """Prints how Kiln's recorded outcomes differ from Taichi's; the number of faults: differences
    without a reason in docs/differences.md, and reasons for what does not differ."""
    rows = (ROOT / "docs" / "differences.md").read_text()
    faults = cases = 0
    for section in names:
        for name, reason, kiln, taichi, same in differences(section, python):
            cases += 1
            if same and not reason:
                if verbose:
                    print(f"{section}.{name}: same")
                continue
            known = reason and f"| {reason} |" in rows
            fault = same or not known
            faults += fault
            what = "says that it differs, but does not" if same else reason or "DIFFERS"
            if reason and not known:
                what = f"{reason}: NO SUCH ROW in docs/differences.md"
            print(f"{section}.{name}: {what}")
            if fault or verbose:
                print_differences(kiln, taichi)
    print(f"{cases} cases compared, {faults} unexplained")
    return faults


def print_differences(kiln, taichi):
    """The lines of two outcomes that do not agree."""
    kiln, taichi = _blocks(kiln), _blocks(taichi)
    matched = kiln
    if len(kiln) == len(taichi):
        matched = [x if agree(x, y, messages=False) else y for x, y in zip(taichi, kiln)]
    ours, theirs = (list(map(tuple, blocks)) for blocks in (matched, taichi))
    for tag, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs, False).get_opcodes():
        if tag != "equal":
            for who, blocks in (("kiln", kiln[a:b]), ("taichi", taichi[c:d])):
                for block in blocks:
                    print(f"    {who:7} {' '.join([block[0], *block[1:][-1:]])}", flush=True)


def _blocks(lines):
    """Lines, each with the message that follows it."""
    found = []
    for line in lines:
        if line.startswith("  |") and found:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*")
    parser.add_argument("--update", action="store_true", help="record what Kiln does now")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--from", dest="start", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return run_inside(options.inside, options.start)
    failed = 0
    for section in options.sections or [name for suite in SUITES for name in sections(suite)]:
        reasons = {}
        outcomes, recorded = run_kiln(section, reasons=reasons), expected(section)
        if options.update:
            record(section, outcomes, reasons)
            print(f"{section}: {len(outcomes)} cases recorded")
            continue
        for name in sorted(set(outcomes) | set(recorded)):
            one, other = (
                recorded.get(name, ["nothing recorded"]),
                outcomes.get(name, ["no such case"]),
            )
            if not agree(one, other):
                failed += 1
                print(f"{section}.{name}\n  expected:")
                print("".join(f"    {line}\n" for line in one) + "  got:")
                print("".join(f"    {line}\n" for line in other), end="")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
