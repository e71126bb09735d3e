"""Warm starts: what changes a kernel is noticed, what does not change it costs no front end.

Every program runs in a fresh process, and prints its results and then how many kernels went through
the front end. A changed program is run with the records of the one before it; it must print what it
prints without records.
"""

import os
import pathlib
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
        """What the program printed, and the number of kernels that were transformed."""
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
    """One home, and so one daemon, for tests that need no home of their own."""
    home = tmp_path_factory.mktemp("home")
    yield home
    environment = {**os.environ, "KILN_HOME": str(home)}
    subprocess.run([ROOT / "kiln", "stop"], env=environment, check=False)


@pytest.fixture
def run(tmp_path, shared_home):
    return Programs(tmp_path, shared_home)


@pytest.fixture
def run_alone(tmp_path):
    """In a home of its own, without a daemon."""
    programs = Programs(tmp_path, tmp_path / "home")
    programs.environment["KILN_SERVER"] = "off"
    return programs


@pytest.fixture
def cold(tmp_path, run):
    """Runs without records: what the results should be."""
    return lambda text, **options: run(text, KILN_WARM="off", **options)


# name -> (program with the text A in it, A, what takes its place)
CHANGES = {
    "global": ("N = A\n@ti.kernel\ndef k() -> int:\n    return N\nprint(k())", "1", "2"),
    "int to bool": (
        "N = A\n@ti.kernel\ndef k() -> float:\n    return N + N\nprint(k())",
        "1",
        "True",
    ),
    "int to float": (
        "N = A\n@ti.kernel\ndef k() -> float:\n    return 3 / 2 * N // 2 + N\nprint(k())",
        "1",
        "1.0",
    ),
    "sign of zero": (
        "N = A\n@ti.kernel\ndef k() -> float:\n    return ti.atan2(N, -1.0)\nprint(k())",
        "0.0",
        "-0.0",
    ),
    "closure": (
        "def make(n):\n    @ti.kernel\n    def k() -> float:\n        return n / 2\n    return k\nprint(make(A)())",
        "1",
        "3",
    ),
    "closure to bool": (
        "def make(n):\n    @ti.kernel\n    def k() -> float:\n        return n + n\n    return k\nprint(make(A)())",
        "1",
        "True",
    ),
    "called function": (
        "@ti.func\ndef f(x):\n    return x + A\n@ti.kernel\ndef k() -> int:\n    return f(1)\nprint(k())",
        "1",
        "2",
    ),
    "two levels deep": (
        "@ti.func\ndef g(x):\n    return x * A\n@ti.func\ndef f(x):\n    return g(x) + 1\n"
        "@ti.kernel\ndef k() -> int:\n    return f(3)\nprint(k())",
        "1",
        "2",
    ),
    "global of a function": (
        "M = A\n@ti.func\ndef g(x):\n    return x * M\n@ti.func\ndef f(x):\n    return g(x) + 1\n"
        "@ti.kernel\ndef k() -> int:\n    return f(3)\nprint(k())",
        "1",
        "2",
    ),
    "default of a function": (
        "@ti.func\ndef f(x, y=A):\n    return x * y\n@ti.kernel\ndef k() -> int:\n    return f(3)\nprint(k())",
        "1",
        "2",
    ),
    "annotation of a function": (
        "T = A\n@ti.func\ndef f(x: T):\n    return x * 0.5\n@ti.kernel\ndef k() -> float:\n    return f(3.5)\nprint(k())",
        "ti.f32",
        "ti.i32",
    ),
    "return type of a function": (
        "T = A\n@ti.func\ndef f(x) -> T:\n    return x * 0.5\n@ti.kernel\ndef k() -> float:\n    return f(3.5)\nprint(k())",
        "ti.f32",
        "ti.i32",
    ),
    "by reference": (
        "T = A\n@ti.func\ndef f(x: T):\n    x += 1\n@ti.kernel\ndef k() -> int:\n    a = 1\n    f(a)\n    return a\nprint(k())",
        "ti.template()",
        "ti.i32",
    ),
    "parameter's type": (
        "T = A\n@ti.kernel\ndef k(a: T) -> float:\n    return a / 2\nprint(k(3))",
        "ti.i32",
        "ti.f32",
    ),
    "return type": (
        "T = A\n@ti.kernel\ndef k() -> T:\n    return 3 / 2\nprint(k())",
        "ti.f32",
        "ti.f64",
    ),
    "local annotation": (
        "@ti.kernel\ndef k() -> float:\n    x: A = 2.7\n    return x\nprint(k())",
        "ti.f32",
        "ti.i32",
    ),
    "method": (
        "@ti.data_oriented\nclass S:\n    @ti.func\n    def f(self, x):\n        return x + A\n"
        "    @ti.kernel\n    def k(self) -> int:\n        return self.f(1)\nprint(S().k())",
        "1",
        "2",
    ),
    "override": (
        "@ti.data_oriented\nclass S:\n    @ti.func\n    def f(self, x):\n        return x + 1\n"
        "    @ti.kernel\n    def k(self) -> int:\n        return self.f(1)\n"
        "class T(S):\n    @ti.func\n    def f(self, x):\n        return x + 5\nprint(A().k())",
        "S",
        "T",
    ),
    "attribute of an instance": (
        "@ti.data_oriented\nclass S:\n    def __init__(self):\n        self.n = A\n"
        "    @ti.kernel\n    def k(self) -> int:\n        return self.n\nprint(S().k())",
        "1",
        "2",
    ),
    "attribute of a class": (
        "@ti.data_oriented\nclass S:\n    n = A\n    @ti.kernel\n    def k(self) -> int:\n        return self.n\nprint(S().k())",
        "1",
        "2",
    ),
    "instance hides class": (
        "@ti.data_oriented\nclass S:\n    n = 1\n    def __init__(self):\n        self.A = 2\n"
        "    @ti.kernel\n    def k(self) -> int:\n        return self.n\nprint(S().k())",
        "m",
        "n",
    ),
    "class by name": (
        "class C:\n    n = A\n@ti.kernel\ndef k() -> int:\n    return C.n\nprint(k())",
        "1",
        "2",
    ),
    "property": (
        "value = A\n@ti.data_oriented\nclass S:\n    @property\n    def n(self):\n        return value\n"
        "    @ti.kernel\n    def k(self) -> int:\n        return self.n\nprint(S().k())",
        "1",
        "2",
    ),
    "__getattr__": (
        "value = A\n@ti.data_oriented\nclass S:\n    def __getattr__(self, name):\n        return value\n"
        "    @ti.kernel\n    def k(self) -> int:\n        return self.n\nprint(S().k())",
        "1",
        "2",
    ),
    "Python function": (
        "value = A\ndef f():\n    return value\n@ti.kernel\ndef k() -> int:\n    return ti.static(f())\nprint(k())",
        "1",
        "2",
    ),
    "lambda": (
        "f = lambda: A\n@ti.kernel\ndef k() -> int:\n    return ti.static(f())\nprint(k())",
        "1",
        "2",
    ),
    "partial": (
        "from functools import partial\n@ti.func\ndef g(a, b):\n    return a + b\nf = partial(g, A)\n"
        "@ti.kernel\ndef k() -> int:\n    return f(2)\nprint(k())",
        "1",
        "2",
    ),
    "operator of a class": (
        "value = A\nclass C:\n    def __add__(self, other):\n        return value\nc = C()\n"
        "@ti.kernel\ndef k() -> int:\n    return c + 1\nprint(k())",
        "1",
        "2",
    ),
    "equality of a class": (
        "value = A\nclass C:\n    def __eq__(self, other):\n        return value\nc = C()\n"
        "@ti.kernel\ndef k() -> int:\n    x = 0\n    if ti.static(c == 1):\n        x = 1\n    return x\nprint(k())",
        "True",
        "False",
    ),
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    n: int = A\nc = C()\n"
        "@ti.kernel\ndef k() -> int:\n    return c.n\nprint(k())",
        "1",
        "2",
    ),
    "named tuple": (
        "from collections import namedtuple\nP = namedtuple('P', 'a b')\np = P(A, 2)\n"
        "@ti.kernel\ndef k() -> int:\n    return p.a\nprint(k())",
        "1",
        "5",
    ),
    "list": ("L = [1, A]\n@ti.kernel\ndef k() -> int:\n    return L[1]\nprint(k())", "1", "2"),
    "list's length": (
        "L = [1, A]\n@ti.kernel\ndef k() -> int:\n    s = 0\n    for i in ti.static(L):\n        s += i\n    return s\nprint(k())",
        "1",
        "1, 1",
    ),
    "nested list": (
        "L = [[1, (A,)], 2]\n@ti.kernel\ndef k() -> int:\n    return L[0][1][0]\nprint(k())",
        "1",
        "2",
    ),
    "dict": ("D = {'a': A}\n@ti.kernel\ndef k() -> int:\n    return D['a']\nprint(k())", "1", "2"),
    "order of a dict": (
        "D = {A}\n@ti.kernel\ndef k() -> int:\n    s = 0\n    for x in ti.static(D):\n        s = s * 10 + D[x]\n    return s\nprint(k())",
        "'a': 1, 'b': 2",
        "'b': 2, 'a': 1",
    ),
    "array": (
        "import numpy as np\na = np.array([1, A])\n@ti.kernel\ndef k() -> int:\n    return ti.static(a[1])\nprint(k())",
        "1",
        "2",
    ),
    "array's type": (
        "import numpy as np\na = np.A(3)\n@ti.kernel\ndef k() -> float:\n    return a / 2\nprint(k())",
        "int32",
        "float32",
    ),
    "large array": (
        "import numpy as np\na = np.zeros(1000)\na[999] = A\n@ti.kernel\ndef k() -> float:\n    return ti.static(a[999])\nprint(k())",
        "1",
        "2",
    ),
    "matrix": (
        "m = ti.Vector([1, A])\n@ti.kernel\ndef k() -> int:\n    return m[1]\nprint(k())",
        "1",
        "2",
    ),
    "struct": (
        "S = ti.types.struct(a=ti.i32)\ns = S(a=A)\n@ti.kernel\ndef k() -> int:\n    return s.a\nprint(k())",
        "1",
        "2",
    ),
    "method of a struct": (
        "@ti.dataclass\nclass S:\n    a: ti.i32\n    @ti.func\n    def f(self):\n        return self.a * A\n"
        "@ti.kernel\ndef k() -> int:\n    s = S(a=2)\n    return s.f()\nprint(k())",
        "1",
        "2",
    ),
    "enum": (
        "from enum import IntEnum\nclass E(IntEnum):\n    X = A\n@ti.kernel\ndef k() -> int:\n    return E.X\nprint(k())",
        "1",
        "2",
    ),
    "enum's value": (
        "from enum import Enum\nclass E(Enum):\n    X = A\n@ti.kernel\ndef k() -> int:\n    return E.X.value\nprint(k())",
        "1",
        "2",
    ),
    "shadowed builtin": (
        "A\n@ti.kernel\ndef k() -> int:\n    return max(1, 2)\nprint(k())",
        "pass",
        "max = min",
    ),
    "name that appears": (
        "class C:\n    pass\nc = C()\nA\n@ti.kernel\ndef k() -> int:\n    x = 0\n"
        "    if ti.static(hasattr(c, 'n')):\n        x = 1\n    return x\nprint(k())",
        "pass",
        "c.n = 1",
    ),
    "getattr with a default": (
        "class C:\n    pass\nc = C()\nA\n@ti.kernel\ndef k() -> int:\n    return ti.static(getattr(c, 'n', 7))\nprint(k())",
        "pass",
        "c.n = 1",
    ),
    "isinstance": (
        "class C:\n    pass\nclass D:\n    pass\nc = A()\n@ti.kernel\ndef k() -> int:\n    x = 0\n"
        "    if ti.static(isinstance(c, C)):\n        x = 1\n    return x\nprint(k())",
        "C",
        "D",
    ),
    "patched function of ti": (
        "A\n@ti.kernel\ndef k() -> float:\n    return ti.sin(1.0)\nprint(k())",
        "pass",
        "ti.sin = ti.cos",
    ),
    "patched by a lambda": (
        "A\n@ti.kernel\ndef k() -> float:\n    return ti.sin(1.0)\nprint(k())",
        "pass",
        "ti.sin = lambda x: 7.0",
    ),
    "template scalar": (
        "@ti.kernel\ndef k(n: ti.template()) -> float:\n    return n + n\nprint(k(A))",
        "1",
        "True",
    ),
    "template of another type": (
        "@ti.kernel\ndef k(n: ti.template()) -> float:\n    return 3 / n\nprint(k(A))",
        "2",
        "2.0",
    ),
    "template function": (
        "@ti.func\ndef f(x):\n    return x + 1\n@ti.func\ndef g(x):\n    return x + 2\n"
        "@ti.kernel\ndef k(h: ti.template()) -> int:\n    return h(1)\nprint(k(A))",
        "f",
        "g",
    ),
    "field's type": (
        "x = ti.field(A, 4)\n@ti.kernel\ndef k():\n    for i in x:\n        x[i] = i / 2\nk()\nprint(x[3])",
        "ti.f32",
        "ti.i32",
    ),
    "field's layout": (
        "x = ti.Vector.field(2, ti.f32, 4, layout=ti.Layout.A)\n@ti.kernel\ndef k():\n    for i in x:\n"
        "        x[i] = [i, 2 * i]\nk()\nprint(x.to_numpy().tolist())",
        "AOS",
        "SOA",
    ),
    "field's order": (
        "x = ti.field(ti.i32, (3, 4), order='A')\n@ti.kernel\ndef k():\n    for i, j in x:\n"
        "        x[i, j] = i * 10 + j\nk()\nprint(x.to_numpy().tolist())",
        "ij",
        "ji",
    ),
    "field's shape where it is read": (
        "x = ti.field(ti.i32, A)\n@ti.kernel\ndef k() -> int:\n    return x.shape[0]\nprint(k())",
        "4",
        "5",
    ),
    "field's extents, inner": (
        "x = ti.field(ti.i32, (3, A))\n@ti.kernel\ndef k():\n    for i, j in x:\n        x[i, j] = i * 10 + j\n"
        "k()\nprint(x.to_numpy().tolist())",
        "4",
        "5",
    ),
    "field's offset": (
        "x = ti.field(ti.i32, 4, offset=A)\n@ti.kernel\ndef k():\n    for i in x:\n        x[i] = i\n"
        "k()\nprint(x.to_numpy().tolist())",
        "0",
        "-2",
    ),
    "another field bound": (
        "x, y = ti.field(ti.i32, 4), ti.field(ti.i32, 4)\nz = A\n@ti.kernel\ndef k():\n    for i in z:\n"
        "        z[i] = i\nk()\nprint(x[3], y[3])",
        "x",
        "y",
    ),
    "fields swapped": (
        "@ti.data_oriented\nclass S:\n    def __init__(self):\n        self.a, self.b = ti.field(ti.i32, 4), ti.field(ti.i32, 4)\n"
        "        self.x, self.y = A\n    @ti.kernel\n    def k(self):\n        for i in self.x:\n            self.x[i] = i + 1\n"
        "            self.y[i] = i + 5\ns = S()\ns.k()\nprint(s.a[3], s.b[3])",
        "self.a, self.b",
        "self.b, self.a",
    ),
    "one field for two": (
        "x, y = ti.field(ti.i32, 4), ti.field(ti.i32, 4)\nz = A\n@ti.kernel\ndef k():\n    for _ in range(1):\n"
        "        x[0] = 1\n        z[0] = 2\n        x[1] = x[0]\nk()\nprint(x[1])",
        "y",
        "x",
    ),
    "component of a matrix field": (
        "m, y = ti.Vector.field(2, ti.i32, 4), ti.Vector.field(2, ti.i32, 4)\nz = A.get_scalar_field(0)\n"
        "@ti.kernel\ndef k():\n    for _ in range(1):\n        m[0].x = 1\n        z[0] = 2\n        m[1].x = m[0].x\n"
        "k()\nprint(m[1].x)",
        "y",
        "m",
    ),
    "a list of fields": (
        "x, y = ti.field(ti.i32, 4), ti.field(ti.i32, 4)\nL = [A]\n@ti.kernel\ndef k():\n    for i in range(4):\n"
        "        for j in ti.static(range(len(L))):\n            L[j][i] = i + j * 10\nk()\nprint(x[3], y[3])",
        "x, y",
        "y, x",
    ),
    "struct field's member": (
        "S = ti.types.struct(a=ti.i32, b=A)\nx = S.field(shape=4)\n@ti.kernel\ndef k():\n    for i in x:\n"
        "        x[i].b = i / 2\nk()\nprint(x[3].b)",
        "ti.f32",
        "ti.i32",
    ),
    "array argument": (
        "import numpy as np\n@ti.kernel\ndef k(a: ti.types.ndarray()):\n    for i in a:\n        a[i] = i / 2\n"
        "a = np.zeros(4, np.A)\nk(a)\nprint(a.tolist())",
        "float32",
        "int32",
    ),
    "array's axes": (
        "import numpy as np\n@ti.kernel\ndef k(a: ti.types.ndarray()):\n    for I in ti.grouped(a):\n        a[I] = I[0] + 1\n"
        "a = np.zeros(A, np.int32)\nk(a)\nprint(a.tolist())",
        "4",
        "(2, 2)",
    ),
    "boundary mode": (
        "import numpy as np\nT = ti.types.ndarray(A)\n@ti.kernel\ndef k(a: T) -> int:\n    return a[2]\n"
        "print(k(np.array([[1, 2, 3], [4, 5, 6]], np.int32)[0]))",
        "ti.i32, ndim=1",
        "ti.i32, ndim=1, boundary='clamp'",
    ),
    "decorator": (
        "def twice(f):\n    return f\ndef other(f):\n    g = lambda *a: f(*a) + 1\n    return g\n"
        "@A\n@ti.kernel\ndef k() -> int:\n    return 1\nprint(k())",
        "twice",
        "other",
    ),
    "pyfunc for func": (
        "@ti.A\ndef f(x):\n    return x + 1\n@ti.kernel\ndef k() -> int:\n    return f(1)\nprint(k())",
        "func",
        "pyfunc",
    ),
    "kernel's own text": ("@ti.kernel\ndef k() -> int:\n    return A\nprint(k())", "1", "2"),
    "string with a comment's sign": (
        "@ti.kernel\ndef k():\n    print('a # A')\nk()\nti.sync()",
        "1",
        "2",
    ),
    "depth of a line": (
        "@ti.kernel\ndef k() -> int:\n    x = 0\n    if x:\n        x = 1\nA    x += 1\n    return x\nprint(k())",
        "    ",
        "",
    ),
    "enclosing function binds the name": (
        "n = 1\ndef make():\n    A = 2\n    @ti.kernel\n    def k() -> int:\n        return n\n    return k\nprint(make()())",
        "m",
        "n",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_change_is_noticed(run, cold, case):
    text, before, after = CHANGES[case]
    first, second = (HEAD + text.replace("A", part) for part in (before, after))
    want_first, want_second = cold(first)[0], cold(second)[0]
    assert run(first)[0] == want_first
    assert run(first)[0] == want_first, "from the record"
    assert run(second)[0] == want_second, "with the record of the other"
    assert run(first)[0] == want_first, "and back"
