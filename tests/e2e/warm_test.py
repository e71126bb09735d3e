"""Warm starts: they detect changes that affect a kernel, and run no front end for other changes.

Every program runs in a fresh process, and prints its results and then the number of kernels that
went through the front end. A changed program runs with the records of the original; it must print
the same results as without records.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

HEAD = "import kiln as ti\nti.init(ti.cpu)\n"
TAIL = "\nfrom kiln.runtime import session_stats\nprint(session_stats()['transformed'])\n"


class Programs:
    """Runs texts as programs, with one home for all of an object's runs."""

    def __init__(self, folder, home):
        self.folder = folder
        self.environment = {
            **os.environ,
            "KILN_HOME": str(home),
            "PYTHONPATH": f"{ROOT / 'client_py'}:{folder}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def __call__(self, text, name="program.py", check=True, modules=(), cwd=None, **environment):
        """Returns the program's output and the number of transformed kernels."""
        for module, source in dict(modules).items():
            (self.folder / module).write_text(source)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + TAIL)
        done = subprocess.run(
            [sys.executable, str(path)],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=cwd,
            env={**self.environment, **environment},
        )
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        *output, transformed = done.stdout.splitlines()
        return output, int(transformed)


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory):
    """A home with a daemon, shared by the tests that need no separate home."""
    home = tmp_path_factory.mktemp("home")
    yield home
    environment = {**os.environ, "KILN_HOME": str(home)}
    subprocess.run([ROOT / "kiln", "stop"], env=environment, check=False)


@pytest.fixture
def run(tmp_path, shared_home):
    return Programs(tmp_path, shared_home)


@pytest.fixture
def run_alone(tmp_path):
    """Runs in a separate home, without a daemon."""
    programs = Programs(tmp_path, tmp_path / "home")
    programs.environment["KILN_SERVER"] = "off"
    return programs


@pytest.fixture
def cold(tmp_path, run):
    """Runs without records, to get the right results."""
    return lambda text, **options: run(text, KILN_WARM="off", **options)


def _changes():
    """name -> (program that contains the text A, A, its replacement, whether it is recorded)"""
    text = (pathlib.Path(__file__).parent / "warm_changes.txt").read_text()
    found = {}
    for case in text.split("\n=== ")[1:]:
        head, _, program = case.partition("\n")
        name, before, after, *rest = head.split(" | ")
        found[name] = (program, before, after, rest != ["not recorded"])
    return found


CHANGES = _changes()


@pytest.mark.parametrize("case", CHANGES)
def test_a_change_is_noticed(run, cold, case):
    text, before, after, recorded = CHANGES[case]
    first, second = (HEAD + re.sub(r"\bA\b", part, text) for part in (before, after))
    want_first, want_second = cold(first)[0], cold(second)[0]
    assert run(first)[0] == want_first
    again, transformed = run(first)
    assert again == want_first, "from the record"
    assert transformed == (0 if recorded else 1)
    changed, transformed = run(second)
    assert changed == want_second, "with the record of the other"
    # Another layout or type may give the same result by other code.
    assert want_first != want_second or transformed == 1
    assert run(first)[0] == want_first, "and back"


MESH = """
import sys
sys.path.append(E2E)
from mesh_patches import grid, metadata
data = metadata(grid(SIZE), num_patches=3, relations=RELATIONS)
mesh = ti.Mesh._create_instance(ti.Mesh.generate_meta(data))
mesh.verts.place({"x": TYPE, "y": ti.f64}, reorder=ORDER)
@ti.kernel
def k(name: ti.template()):
    for v in mesh.verts:
        for u in getattr(v, name):
            v.x += u.id / 3
            v.y += v.id + ti.mesh_patch_idx()
        mesh.verts.x[0] += 1
k(NAME)
print(mesh.verts.x, mesh.verts.y)
"""


def _mesh(**changed):
    values = {"SIZE": 3, "RELATIONS": ["VV", "VE"], "TYPE": "ti.f32", "ORDER": False}
    values.update(NAME="verts", E2E=str(ROOT / "tests" / "e2e"))
    text = HEAD + MESH
    for name, value in {**values, **changed}.items():
        text = re.sub(rf"\b{name}\b", value if name == "TYPE" else repr(value), text)
    return text


@pytest.mark.parametrize(
    "changed, transformed",
    [
        ({"SIZE": 4}, 0),
        ({"RELATIONS": ["VE", "VV", "FV"]}, 1),
        ({"ORDER": True}, 1),
        ({"TYPE": "ti.f64"}, 1),
        ({"NAME": "edges"}, 1),
    ],
)
def test_a_changed_mesh_is_noticed(run, cold, changed, transformed):
    first, second = _mesh(), _mesh(**changed)
    want = cold(first)[0]
    assert run(first)[0] == want
    assert run(first) == (want, 0)
    assert run(second) == (cold(second)[0], transformed)
    assert run(first)[0] == want


BASE = """
x = ti.field(ti.f32, shape=(4, 8), name='x')
N = 3


@ti.func
def scaled(a, b):
    c = a * b
    return c + N


@ti.data_oriented
class Solver:
    def __init__(self, n):
        self.n = n
        self.x = x

    @ti.kernel
    def step(self, a: ti.f32):
        for i, j in self.x:
            if i < self.n:
                self.x[i, j] = scaled(a, i) + ti.sqrt(float(j))


s = Solver(2)
s.step(1.5)
print(x.to_numpy().sum())
"""
COMMENTED = BASE.replace("    c = a * b\n", "    # the product\n\n    c = a * b  # of both\n")
COMMENTED = COMMENTED.replace(
    "            if i < self.n:\n", "  # odd\n\n            if i < self.n:  # !\n"
)


@pytest.mark.parametrize(
    "what",
    ["nothing", "comments", "moved", "renamed", "folder", "threads", "seed", "directory", "order"],
)
def test_irrelevant_changes_do_not_run_the_front_end(run_alone, tmp_path, what):
    run = run_alone
    program, options = HEAD + BASE, {}
    expected = run(program)
    assert expected[1] == 1
    if what == "comments":
        program = HEAD + COMMENTED
    elif what == "moved":
        program = HEAD + "\n# far below\n" * 50 + "y = ti.field(ti.i32, 3)\n" + BASE
    elif what == "renamed":
        options["name"] = "another.py"
    elif what == "folder":
        options["name"] = "deep/below/program.py"
    elif what == "threads":
        options["TI_CPU_MAX_NUM_THREADS"] = "1"
    elif what == "seed":
        options["TI_RANDOM_SEED"] = "9"
    elif what == "directory":
        options["cwd"] = "/"
    elif what == "order":
        program = HEAD + "z = ti.field(ti.f32, 7)\nz[0] = 1\n" + BASE
    assert run(program, **options) == (expected[0], 0)


OPTIONS = {
    "fast_math=False": "-> float:\n    a = x[0]\n    return a / a",
    "debug=True": "-> float:\n    return x[0]",
    "default_fp=ti.f64": "-> float:\n    return 0.1",
    "default_ip=ti.i64": "-> ti.i64:\n    return 3",
    "unrolling_limit=7": "-> float:\n    return x[0]",
    "opt_level=0": "-> float:\n    return x[0]",
    "check_out_of_bound=True": "-> float:\n    return x[0]",
}


@pytest.mark.parametrize("option", OPTIONS)
def test_settings_are_noticed(run, cold, option):
    name = "k_" + option.partition("=")[0]
    body = f"x = ti.field(ti.f32, 4)\n@ti.kernel\ndef {name}() {OPTIONS[option]}\nprint({name}())"
    plain, changed = HEAD + body, HEAD.replace("ti.cpu", f"ti.cpu, {option}") + body
    assert run(plain) == (cold(plain)[0], 1)
    assert run(changed) == (cold(changed)[0], 1)
    assert run(plain)[1] == 0 and run(changed)[1] == 0


def test_environment_variables_are_settings(run):
    program = HEAD + "@ti.kernel\ndef k_fp() -> float:\n    return 0.1\nprint(k_fp())"
    run(program)
    assert run(program, TI_DEFAULT_FP="64")[1] == 1


def test_imported_modules(run, cold):
    program = HEAD + (
        "import settings\nfrom settings import M, f\n"
        "@ti.kernel\ndef k() -> int:\n    return settings.N * 100 + M * 10 + f(1)\nprint(k())"
    )
    source = "import kiln as ti\nN = {}\nM = {}\n@ti.func\ndef f(x):\n    return x + {}\n"
    seen = set()
    for numbers in ((1, 2, 3), (2, 2, 3), (2, 3, 3), (2, 3, 4), (1, 2, 3)):
        modules = {"settings.py": source.format(*numbers)}
        wanted = cold(program, modules=modules)[0]
        output, transformed = run(program)
        assert output == wanted
        assert transformed == (0 if numbers in seen else 1)
        seen.add(numbers)
    # A program may edit its modules while it runs; the text that was read counts.
    edited = program.replace(
        "import settings\n", "open('other.py', 'w').write('N = 5')\nimport other\n"
    )
    edited = edited.replace("settings.N", "other.N")
    assert run(edited, cwd=run.folder)[0] == cold(edited, cwd=run.folder)[0]


def test_a_module_that_is_loaded_again(run, cold):
    program = HEAD + (
        "import importlib, os\n"
        "TEXT = 'import kiln as ti\\n@ti.kernel\\ndef k() -> int:\\n    return '\n"
        "def write(text):\n    open('again.py', 'w').write(text)\n"
        "write(TEXT + '1\\n')\nimport again\nprint(again.k())\n"
        "write('# longer\\n\\n' + TEXT + '22\\n')\nimportlib.reload(again)\nprint(again.k())\n"
    )
    for _ in range(2):
        assert run(program, cwd=run.folder)[0] == ["1", "22"]


def test_the_first_binding_stays_and_later_instances_read_anew(run, cold):
    program = HEAD + (
        "N = 1\n@ti.kernel\ndef k(a: ti.template()) -> int:\n    return N * 10 + a\n"
        "print(k(1))\nN = 5\nprint(k(1), k(2))"
    )
    for _ in range(2):
        output, transformed = run(program)
        assert output == ["11", "11 52"]
    assert transformed == 0


def test_sizes_that_no_kernel_reads_change_nothing(run):
    program = HEAD + (
        "import sys\nn = int(sys.argv[1]) if len(sys.argv) > 1 else SIZE\nx = ti.field(ti.f32, n)\n"
        "@ti.kernel\ndef k():\n    for i in x:\n        x[i] = i\nk()\nprint(x[n - 1])"
    )
    assert run(program.replace("SIZE", "100"))[1] == 1
    for size in (50, 1000, 12345):
        assert run(program.replace("SIZE", str(size))) == ([f"{size - 1}.0"], 0)


def test_records_can_be_checked(run):
    program = HEAD + BASE
    expected = run(program)[0]
    assert run(program, KILN_WARM="check") == (expected, 1)
    wrong = program + (
        "from kiln.warm import records\nrecords._check = lambda record, source, *_: next(\n"
        "    (d for d in [records.Describer()] if not d.start(source)))\n"
        "@ti.kernel\ndef other(n: ti.template()) -> int:\n    return n\nprint(other(1), other(2))"
    )
    assert run(wrong)[0][-1] == "1 1", "a check that is blind takes any record"
    done = run(wrong, check=False, KILN_WARM="check")
    assert "the warm record of kernel 'other' is wrong" in done.stderr


def test_a_warm_process_loads_no_front_end(run):
    program = HEAD + BASE + "import sys\nprint(sorted(m for m in sys.modules if m in FRONT_END))"
    front_end = [f"kiln.frontend.{name}" for name in ("transformer", "call", "context", "trace")]
    program = program.replace("FRONT_END", repr(front_end))
    assert run(program, KILN_WARM="off")[0][-1] == str(sorted(front_end))
    run(program)
    output, transformed = run(program)
    assert (output[-1], transformed) == ("[]", 0)


def test_the_reason_for_a_missing_record_can_be_shown(run):
    program = HEAD.replace("ti.cpu", "ti.cpu, log_level=ti.DEBUG") + (
        "def f():\n    return 3\n@ti.kernel\ndef k() -> int:\n    return ti.static(f())\nprint(k())"
    )
    done = run(program, check=False)
    assert "kernel 'k' has no warm record, because of a call of f\n" in done.stderr


def test_threads_share_a_first_call(run):
    program = HEAD + (
        "from threading import Thread\nx = ti.field(ti.i32, 8)\n@ti.kernel\ndef k(i: ti.i32):\n"
        "    x[i] = i + 1\nthreads = [Thread(target=k, args=(i,)) for i in range(8)]\n"
        "[t.start() for t in threads]\n[t.join() for t in threads]\nprint(x.to_numpy().sum())"
    )
    assert run(program) == (["36"], 1)
    assert run(program) == (["36"], 0)


def test_a_module_may_be_imported_while_a_record_is_sought(run):
    # A scope that stands for another thread: Kiln reads it, and meanwhile a module is imported.
    program = HEAD + (
        "from kiln import originals\nclass Scope(dict):\n    def get(self, name):\n"
        "        originals.keep({'__name__': 'meanwhile'})\n        return self[name]\n"
        "originals.keep(Scope(__name__='first', f=len))\n"
        "@ti.kernel\ndef k() -> int:\n    return 3\nprint(k())"
    )
    assert run(program) == (["3"], 1)


def test_instances_are_counted(run):
    program = HEAD + (
        "from kiln.lang.impl import get_runtime\n@ti.kernel\ndef k(a: ti.template()) -> int:\n"
        "    return a\nprint(k(1), k(2), k(1), get_runtime().get_num_compiled_functions())"
    )
    assert run(program) == (["1 2 1 2"], 2)
    assert run(program) == (["1 2 1 2"], 0)


def test_output_of_the_compilation_is_shown_again(run):
    program = HEAD + (
        "import warnings\nwarnings.simplefilter('always')\nn = 2\n@ti.kernel\ndef k() -> int:\n"
        "    ti.static_print('n is', n, sep='=')\n    s = 0\n"
        "    for i in ti.static(range(40)):\n        s += i\n    return s\nprint(k())"
    )
    first = run(program, check=False)
    moved = program.replace("n = 2\n", "n = 2\n\n# moved\n\n").replace(
        "    s = 0\n", "    # and\n    s = 0\n"
    )
    second = run(moved, check=False)
    assert first.stdout.splitlines()[:2] == ["n is=2", "780"]
    assert second.stdout.splitlines()[:3] == ["n is=2", "780", "0"]
    assert "program.py:10: SyntaxWarning: You are unrolling" in first.stderr
    assert "program.py:14: SyntaxWarning: You are unrolling" in second.stderr


FAILING = """
x = ti.field(ti.i32, 4, name='x')
@ti.func
def f(i):
    return x[i + 2]
@ti.kernel
def k(n: ti.i32):
    for i in range(n):
        assert i < 3, f'i is {i}'
        x[i] = f(i)
try:
    k(COUNT)
except ti.TaichiAssertionError as error:
    print(error)
"""


@pytest.mark.parametrize("count", ["3", "4"])
def test_errors_at_run_time_show_the_present_lines(run_alone, count):
    run = run_alone
    head = HEAD.replace("ti.cpu", "ti.cpu, debug=True, cpu_max_num_threads=1")
    program = head + FAILING.replace("COUNT", count)
    moved = program.replace("@ti.func", "\n\n\n# moved\n@ti.func").replace(
        "    for i", "    # further\n\n    for i"
    )
    shown = run(program, KILN_WARM="off")[0]
    assert len(shown) > 5
    assert run(program) == (shown, 1)
    output, transformed = run(moved, name="elsewhere.py")
    assert transformed == 0
    assert output == run(moved, name="elsewhere.py", KILN_WARM="off")[0]
    assert "elsewhere.py" in "".join(output) and output != shown


NAMED = """
ti.init(ti.cpu, debug=True)
block = ti.root.pointer(ti.i, 4)
x, y = ti.field(ti.i32, name='NAME'), ti.field(ti.i32, name='y')
block.dense(ti.i, 2).place(x)
ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(y)
z = ti.Vector.field(2, ti.f32, shape=3, offset=-1, name='NAME too')
@ti.kernel
def into(field: ti.template(), i: ti.i32):
    field[i] = 1
@ti.kernel
def one(i: ti.i32, k: ti.i32):
    z[i][k] = 1
@ti.kernel
def cell(i: ti.i32):
    ti.activate(block, i)
calls = ((into, (x, 8)), (into, (y, -1)), (one, (2, 0)), (one, (0, 2)), (cell, [4]))
for kernel, arguments in calls:
    try:
        kernel(*arguments)
    except ti.TaichiAssertionError as error:
        print(str(error).splitlines()[2])
"""


@pytest.mark.parametrize("alone", [False, True])
def test_checks_name_the_present_fields(run, run_alone, alone):
    programs = run_alone if alone else run
    # The kernel over y equals that over x, so its record is valid.
    for name, transformed in (("a", 3), ("b", 0)):
        lines, count = programs("import kiln as ti\n" + NAMED.replace("NAME", name))
        assert count == transformed
        assert lines == [
            f"Out of bound access on axis 0 of field '{name}': index (8) of shape (8)",
            "Out of bound access on axis 0 of field 'y': index (-1) of shape (8)",
            f"Out of bound access on axis 0 of field '{name} too': "
            "index (2) of shape (3), offset (-1)",
            f"Out of bound access to a [2] matrix of field '{name} too' with index [2]",
            "Out of bound access on axis 0 of SNode ti.root => pointer [4] "
            f"with {name}: index (4) of shape (4)",
        ]


def test_prints_of_kernels(run):
    program = HEAD + (
        "@ti.kernel\ndef k(a: ti.f32):\n    print('a', a, ti.Vector([1, 2]), f'{a:.2f}', sep='|')\n"
        "k(1.5)"
    )
    expected = (["a|1.500000|[1, 2]|1.50"], 1)
    assert run(program) == expected
    assert run(program) == (expected[0], 0)


def _records(home):
    folders = [p for p in (home / "warm").iterdir() if p.name not in ("programs", "units")]
    return [path for folder in folders for path in folder.iterdir()]


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign", "folder"])
def test_damaged_records_are_replaced(run_alone, tmp_path, damage):
    program = HEAD + BASE
    expected = run_alone(program)[0]
    (path,) = _records(tmp_path / "home")
    whole = path.read_bytes()
    if damage in ("cut", "flip"):
        places = range(0, len(whole), max(len(whole) // 12, 1))
        damaged = [
            whole[:at]
            if damage == "cut"
            else whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :]
            for at in places
        ]
    else:
        damaged = [{"empty": b"", "foreign": b"{}" * 300, "folder": None}[damage]]
    for data in damaged:
        path.unlink()
        if data is None:
            path.mkdir()
        else:
            path.write_bytes(data)
        assert run_alone(program) == (expected, 1)
        if data is None:
            path.rmdir()
            run_alone(program)
        assert run_alone(program) == (expected, 0), "healed"


def test_a_damaged_manifest_does_nothing(run_alone, tmp_path):
    program = HEAD + BASE
    expected = run_alone(program)[0]
    (path,) = (tmp_path / "home" / "warm" / "programs").iterdir()
    lines = path.read_text().splitlines()
    assert lines[0] == "kiln-manifest 3"
    assert [line.split()[0] for line in lines[1:]] == ["program", "compiler", "unit"]
    for data in (b"", b"\xff" * 9, b"kiln-manifest 3\nunit zz - k\nunit\n", b"kiln-manifest 4\n"):
        path.write_bytes(data)
        assert run_alone(program) == (expected, 0)


def test_a_cleared_cache_is_filled_again(kiln, tmp_path):
    programs = Programs(tmp_path, kiln.home)
    program = HEAD + BASE
    expected = programs(program)[0]
    kiln("cache", "clear", "-y")
    assert programs(program)[0] == expected
    assert kiln.stats()["entries"] == 1


def _remove_entries(home):
    for path in (home / "cache").rglob("*.so"):
        path.unlink()


def test_entries_that_the_disk_lacks_come_from_the_daemon(kiln, tmp_path):
    programs = Programs(tmp_path, kiln.home)
    program = HEAD + BASE
    expected = programs(program)[0]
    before = kiln.stats()
    _remove_entries(kiln.home)
    assert programs(program) == (expected, 0)
    after = kiln.stats()
    assert after["compiles"] == before["compiles"]
    assert after["hits_by_tier"]["memory"] == before["hits_by_tier"].get("memory", 0) + 1
    # After the front end, the session also looks up the key before it sends the unit.
    _remove_entries(kiln.home)
    assert programs(program, KILN_WARM="off") == (expected, 1)
    assert kiln.stats()["compiles"] == before["compiles"]


def test_records_without_artifacts_are_misses(run_alone, tmp_path):
    program = HEAD + BASE
    expected = run_alone(program)[0]
    _remove_entries(tmp_path / "home")
    assert run_alone(program) == (expected, 1)
    assert run_alone(program) == (expected, 0)


def test_editing_one_kernel_of_many_compiles_one(kiln, tmp_path):
    programs = Programs(tmp_path, kiln.home)
    kernel = (
        "@ti.kernel\ndef k{0}(a: ti.f32):\n    for i in x:\n        x[i] = a * {1} + i\nk{0}(1)\n"
    )
    text = HEAD + "x = ti.field(ti.f32, 8)\n" + "".join(kernel.format(n, n) for n in range(20))
    assert programs(text)[1] == 20
    compiled = kiln.stats()["compiles"]
    edited = text.replace("a * 7 + i", "a * 77 + i")
    assert programs(edited)[1] == 1
    assert kiln.stats()["compiles"] == compiled + 1
    assert programs(edited)[1] == 0


def test_processes_may_write_concurrently(run_alone):
    program = HEAD + (
        "import sys\n@ti.kernel\ndef k(a: ti.template()) -> int:\n    return a\n"
        "print([k(i + int(sys.argv[1])) for i in range(8)])"
    )
    run_alone(HEAD + BASE)  # records the compiler's id
    path = run_alone.folder / "many.py"
    path.write_text(program + TAIL)
    command = [sys.executable, str(path)]
    for _ in range(2):
        started = [
            subprocess.Popen(
                [*command, str(first)],
                stdout=subprocess.PIPE,
                env=run_alone.environment,
                text=True,
            )
            for first in (0, 0, 4, 8)
        ]
        for first, process in zip((0, 0, 4, 8), started):
            output = process.communicate(timeout=120)[0].splitlines()
            assert output[0] == str(list(range(first, first + 8)))


def test_an_unwritable_home(run_alone, tmp_path):
    program = HEAD + BASE
    expected = run_alone(program)[0]
    other = program.replace("N = 3", "N = 4")
    wanted = run_alone(other, KILN_WARM="off")[0]
    warm = tmp_path / "home" / "warm"
    for folder in [warm, *[p for p in warm.iterdir() if p.is_dir()]]:
        folder.chmod(0o500)
    try:
        assert run_alone(program) == (expected, 0)
        assert run_alone(other)[0] == wanted
    finally:
        for folder in [warm, *[p for p in warm.iterdir() if p.is_dir()]]:
            folder.chmod(0o700)


def test_many_instances_of_one_kernel(run):
    program = HEAD + (
        "@ti.kernel\ndef k(a: ti.template()) -> int:\n    return a * 2\n"
        "print(sum(k(i) for i in range(30)))"
    )
    assert run(program) == (["870"], 30)
    assert run(program) == (["870"], 0)


def test_kernels_made_by_exec_and_in_functions(run):
    program = HEAD + (
        "import linecache\n"
        "text = '@ti.kernel\\ndef k() -> int:\\n    return 7\\n'\n"
        "linecache.cache['<made>'] = (len(text), None, text.splitlines(True), '<made>')\n"
        "exec(compile(text, '<made>', 'exec'))\nprint(k())\n"
        "def test():\n    n = 3\n    @ti.kernel\n    def inner() -> int:\n        return n\n"
        "    return inner()\nprint(test())"
    )
    assert run(program) == (["7", "3"], 2)
    assert run(program) == (["7", "3"], 0)


def test_changed_files_of_kiln_invalidate_records(run_alone, tmp_path):
    program = HEAD + BASE
    expected = run_alone(program)[0]
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "client_py" / "kiln", copy / "kiln", copy_function=shutil.copy2)
    environment = {"PYTHONPATH": str(copy), "KILN_BIN": str(ROOT / ".kiln" / "bin")}
    assert run_alone(program, **environment) == (expected, 0), "the same files elsewhere"
    with open(copy / "kiln" / "frontend" / "control.py", "a") as file:
        file.write("# changed\n")
    assert run_alone(program, **environment) == (expected, 1)


def test_other_fields_of_a_tree_do_not_matter(run):
    text = HEAD + (
        "before\n"
        "x = ti.field(int)\n"
        "block = ti.root.pointer(ti.i, 4)\n"
        "block.dense(ti.i, 4).place(x)\n"
        "after\n"
        "@ti.kernel\n"
        "def k() -> int:\n"
        "    x[5] = 3\n"
        "    n = 0\n"
        "    for i in block:\n"
        "        n += i\n"
        "    return n\n"
        "print(k(), x[5])\n"
    )
    beside = "ti.root.{}(ti.i, 3).place(ti.field(ti.f64))"
    plain = text.replace("before\n", "").replace("after\n", "")
    assert run(plain) == (["1 3"], 1)
    assert run(plain) == (["1 3"], 0)
    more = text.replace("before", beside.format("bitmasked")).replace(
        "after", beside.format("dense")
    )
    assert run(more) == (["1 3"], 0)


def test_objects_with_kernels_from_records_are_freed(run):
    text = (
        HEAD
        + """
import gc, weakref
@ti.data_oriented
class Tool:
    @ti.kernel
    def run(self) -> ti.i32: return 1
tools = [Tool() for _ in range(3)]
print([tool.run() for tool in tools])
alive = [weakref.ref(tool) for tool in tools]
del tools
gc.collect()
print([tool() is None for tool in alive])
"""
    )
    expected = ["[1, 1, 1]", "[True, True, True]"]
    assert run(text)[0] == expected
    assert run(text) == (expected, 0)
