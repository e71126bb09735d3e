"""The stubs, from which editors and type checkers learn the package's names."""

import ast
import importlib.util
import os
import pathlib
import subprocess
import sys

import kiln
import public_names
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "client_py" / "kiln"
TOOLS = ROOT / "tools" / "stubs"
STUBS = sorted(file for file in PACKAGE.rglob("*.pyi") if file.name != "_native.pyi")
AGAIN = "write the stubs again: ./kiln python tools/stubs/make.py"

needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None, reason="mypy is not installed"
)


def stub_of(module):
    """The stub of a public module; the package's own name is empty."""
    path = PACKAGE.joinpath(*module.split("."))
    package = path / "__init__.pyi"
    return package if package.exists() else path.with_suffix(".pyi")


def names_in(file):
    """The public names that a stub defines or imports from other stubs."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname for alias in node.names if alias.asname}
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets}
        elif isinstance(node, ast.AnnAssign):
            found.add(node.target.id)
        elif hasattr(node, "name"):
            found.add(node.name)
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize("module", ["", *public_names.MODULES])
def test_stubs_have_the_names_of_the_package(module):
    found = public_names.find(kiln, module) if module else kiln
    shown = set(public_names.names_of(found, module))
    stubs = names_in(stub_of(module))
    assert shown - stubs == set(), AGAIN
    assert {name for name in stubs if not hasattr(found, name)} == set(), AGAIN


@pytest.mark.parametrize("path", public_names.CLASSES)
def test_stubs_have_the_members_of_classes(path):
    """Swizzles and what depends on the object come from `__getattr__` or a base of type Any."""
    module, _, name = path.rpartition(".")
    cls = public_names.find(kiln, path)
    classes = {
        n.name: n for n in ast.parse(stub_of(module).read_text()).body if hasattr(n, "bases")
    }
    if name not in classes:
        assert name in names_in(stub_of(module)) and not isinstance(cls, type), path
        return
    members, todo = set(), [name]
    while todo:
        node = classes.get(todo.pop())
        if node is not None:
            members |= {m.name for m in node.body if hasattr(m, "name")}
            members |= {m.target.id for m in node.body if isinstance(m, ast.AnnAssign)}
            todo += [base.id for base in node.bases if isinstance(base, ast.Name)]
    shown = {n for n in public_names.names_of(cls, path) if not hasattr(Exception, n)}
    assert shown - public_names.SWIZZLES - members == set(), AGAIN


def test_stubs_are_python():
    for file in STUBS:
        ast.parse(file.read_text(), str(file))


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="each Python documents its module `math` differently"
)
def test_the_tool_would_write_the_same_stubs():
    done = run_tool("make.py", "--check")
    assert done.returncode == 0, f"{AGAIN}\n{done.stdout}{done.stderr}"


def test_the_package_says_that_it_has_types():
    assert (PACKAGE / "py.typed").exists()
    assert (PACKAGE / "as_taichi" / "taichi" / "py.typed").exists()


def run_tool(name, *arguments, **environment):
    path = os.pathsep.join([str(ROOT / "client_py"), *sys.path])
    return subprocess.run(
        [sys.executable, TOOLS / name, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )


@pytest.fixture(scope="session")
def check(tmp_path_factory):
    """Runs tools/stubs/check.py. The runs share what mypy knows of NumPy."""
    cache = tmp_path_factory.mktemp("mypy")
    return lambda *files: run_tool("check.py", *files, MYPY_CACHE_DIR=str(cache))


@needs_mypy
def test_the_programs_of_the_documentation_have_no_type_errors(check):
    done = check()
    assert done.returncode == 0, done.stdout + done.stderr


# Without type errors; it never runs.
CORRECT = """
import kiln as ti
import numpy as np
import taichi
import taichi.math as tm
from taichi.math import vec3

ti.init(arch=ti.cpu)
vec2 = ti.types.vector(2, ti.f32)
Row = ti.types.struct(a=ti.f32, v=vec2)
x = ti.field(ti.f32, shape=(4, 4), needs_grad=True)
v = ti.Vector.field(3, dtype=ti.f32, shape=4)
loss = ti.field(float, ())
rows = Row.field(shape=3)
ti.root.dense(ti.ij, 8).place(x, x.grad)
image = ti.Texture(ti.Format.rgba8, (4, 4))
image.from_numpy(image.to_numpy())
Image = ti.types.texture(num_dimensions=2)


@ti.dataclass
class Ball:
    center: ti.math.vec3
    radius: ti.f32

    @ti.func
    def area(self):
        return self.radius**2 * tm.pi


balls = Ball.field(shape=3)


@ti.func
def square(a: ti.f32) -> ti.f32:
    return a * a


@ti.func
def turned(p: ti.math.vec2) -> ti.math.vec2:
    q = tm.vec2(0)
    q = ti.Vector([0.0, 1.0])
    return ti.Vector([-p.y, p.x]) if p.x > q.y else q


@ti.kernel
def copy(tex: Image, to: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8)) -> ti.f32:
    for i, j in to:
        to.store([i, j], tex.fetch([i, j], 0))
    return tex.sample_lod(tm.vec2(0.5), 0.0).x + to.shape[0]


@ti.kernel
def body(n: ti.i32, a: ti.f32, p: ti.math.vec3, w: vec2, ball: Ball, f: ti.template(),
         array: ti.types.ndarray(ti.f32, ndim=1), flag: ti.u1) -> ti.f32:
    s = 0.0
    for i in range(n):
        s += square(i) + ti.f32(i) + ti.i32(a) + ti.sqrt(a) + array[i]
    for i, j in x:
        x[i, j] += ti.sin(a) * i
    for I in ti.grouped(x):
        x[I] = I.sum() + x[I + ti.Vector([0, 1])]
    for i, j in ti.ndrange(3, (1, n)):
        for k in ti.static(range(3)):
            v[i][k] = p[k] + p.xy[0] * w.x
    q = ti.Vector([1.0, 2.0, 3.0]) * 2
    q = 2 * q + p - 1.0
    q.x, q.yz = 1.0, p.xy
    u = turned(w)
    u = turned([1, 2]) * 2 - turned(ti.Vector([1, 2])) + u
    m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]]) @ w
    s += q.norm() + ti.math.dot(q, p) + m[0] + (2 - p).x + ball.area() + ball.radius
    if flag and s > 1 or not flag:
        s = ti.max(s, 1.0, f[None])
    ti.atomic_add(loss[None], s)
    return s


body(3, 0.5, [1, 2, 3], vec2(1), Ball(radius=1), loss, np.ones(3, np.float32), True)
body(np.int32(3), np.float32(1), vec3(0), ti.Vector([1, 2]), balls[0], x, ti.ndarray(ti.f32, 3), 1)
body.grad(3, 0.5, [1, 2, 3], vec2(1), Ball(radius=1), loss, np.ones(3), False)
y = copy(image, image)
y = 1.0 + body(3, 0.5, vec3(1, 2, 3), vec2(1), Ball(1), loss, x.to_numpy(), False)
print(x[0, 0] + loss[None], v[0].x, rows[0].a, x.shape, taichi.f32, x.grad[0, 0])


@ti.data_oriented
class Solver:
    def __init__(self, n: int) -> None:
        self.data = ti.field(ti.i32, n)

    @ti.kernel
    def step(self, dt: ti.f32) -> ti.i32:
        return self.data[0] + ti.cast(dt, ti.i32)

    def run(self) -> None:
        self.step(0.1)
        self.step(np.float32(0.1))
        self.step.grad(dt=0.1)


with ti.ad.Tape(loss=loss):
    Solver(3).run()
gui = ti.GUI("a", res=(4, 4))
while gui.running:
    gui.set_image(x)
    gui.show()
window = ti.ui.Window("a", (4, 4))
window.get_canvas().set_image(x)
window.running = False
taichi._lib.core.print_stat()
"""

# Each line has one error.
WRONG = """
ti.fild(ti.f32, 3)
ti.math.vec5(1)
x.from_numpy()
"""


@needs_mypy
def test_correct_programs_have_no_type_errors(check, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(CORRECT)
    done = check(file)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@needs_mypy
def test_wrong_names_are_type_errors(check, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(f"import kiln as ti\n\nx = ti.field(ti.f32, 3)\n{WRONG}")
    done = check(file)
    assert done.returncode == 1, done.stderr
    assert len(done.stdout.splitlines()) == len(WRONG.split("\n")) - 2
