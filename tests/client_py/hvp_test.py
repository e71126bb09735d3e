"""`ti.ad.hvp`, compared with differences of gradients."""

import numpy as np
import pytest

N = 6
PROGRAMS = {}


def program(function):
    """Registers a program: function(ti, x, y, loss) returns a function that runs kernels."""
    PROGRAMS[function.__name__] = function
    return function


@program
def two_kernels(ti, x, y, loss):
    @ti.kernel
    def first():
        for i in x:
            y[i] = ti.sin(x[i]) * x[(i + 1) % N] ** 2

    @ti.kernel
    def second():
        for i in y:
            loss[None] += y[i] ** 2 * ti.exp(-y[i])

    return lambda: [first(), second()]


@program
def neighbours(ti, x, y, loss):
    @ti.kernel
    def k():
        for i in range(2, N - 1):
            y[i] = ti.exp(ti.sin(x[i - 2] + x[i - 1] - 3 * x[i] + x[i + 1]))
        for i in y:
            loss[None] += y[i] ** 2

    return k


@program
def short_loops(ti, x, y, loss):
    @ti.kernel
    def k():
        for i in range(N):
            t = x[i]
            for j in range(5):
                t = ti.sin(t) * 1.1 + 0.1 * x[(i + j) % N]
            loss[None] += t * t

    return k


@program
def loops_on_tapes(ti, x, y, loss):
    @ti.kernel
    def k():
        for i in range(N):
            t = x[i]
            for j in range(200):
                t = ti.sin(t) * 1.1 + 0.1 * x[(i + j) % N]
                for _ in range(j % 3):
                    t = ti.cos(t)
            loss[None] += t * t

    return k


@program
def breaks(ti, x, y, loss):
    @ti.kernel
    def k():
        for i in range(N):
            t = x[i]
            n = 0
            while t * t < 20 and n < 30:
                t = t * 1.3 + x[(i + n) % N] * 0.1
                n += 1
                if t > 7:
                    break
            loss[None] += t * x[i]

    return k


@program
def local_arrays(ti, x, y, loss):
    @ti.kernel
    def k():
        for i in range(N):
            a = ti.Vector([ti.f64(0.0)] * 8)
            for j in range(40):
                a[j % 8] = a[(j + 3) % 8] * 0.5 + x[(i + j) % N] * ti.cos(a[j % 8])
            loss[None] += a.dot(a)

    return k


@program
def stencils(ti, x, y, loss):
    @ti.kernel
    def first():
        for i in range(1, N - 1):
            y[i] = x[i - 1] * x[i + 1] * x[i]

    @ti.kernel
    def second():
        for i in y:
            loss[None] += y[i] ** 2

    return lambda: [first(), second()]


@program
def pairs(ti, x, y, loss):
    @ti.kernel
    def k():
        for i in range(N):
            for j in range(N):
                if i != j:
                    loss[None] += x[i] * ti.sqrt(x[j]) / (1 + x[i])

    return k


@program
def operations(ti, x, y, loss):
    @ti.kernel
    def k():
        for i in range(N):
            a, b, c = x[i], x[(i + 1) % N], x[(i + 2) % N]
            loss[None] += ti.sqrt(a) * b / c + ti.pow(a, b) + ti.atan2(a, c)
            loss[None] += ti.tanh(a) * ti.log(b) + ti.max(a, b) * ti.abs(c - 1)
            loss[None] += ti.asin(a * 0.2) * ti.acos(b * 0.1) + ti.rsqrt(c)

    return k


@program
def constants(ti, x, y, loss):
    @ti.kernel
    def k():
        for i in x:
            loss[None] += ti.stop_grad(x[i] ** 2) * x[i] ** 3

    return k


@program
def greatest(ti, x, y, loss):
    @ti.kernel
    def k():
        for i in x:
            ti.atomic_max(y[0], x[i] ** 3)

    @ti.kernel
    def end():
        loss[None] += y[0] ** 2

    return lambda: [k(), end()]


@pytest.fixture
def fields(ti):
    new = {"dtype": ti.f64, "needs_grad": True, "needs_dual": True}
    return ti.field(shape=N, **new), ti.field(shape=N, **new), ti.field(shape=(), **new)


@pytest.mark.parametrize("name", PROGRAMS)
def test_differences_of_gradients(ti, fields, name):
    x, y, loss = fields
    run = PROGRAMS[name](ti, *fields)
    random = np.random.default_rng(4)
    start, v = random.random(N) + 0.5, random.standard_normal(N)

    def gradient(at):
        x.from_numpy(at)
        y.fill(0.0)
        with ti.ad.Tape(loss):
            run()
        return x.grad.to_numpy()

    step = 1e-5 * v
    expected = (gradient(start + step) - gradient(start - step)) / 2e-5
    if name == "constants":  # the factor is a constant of the gradient: 3 x^4, of which 3 a x^2
        expected = 6 * start**3 * v
    x.from_numpy(start)
    y.fill(0.0)
    got = ti.ad.hvp(run, loss, x, v)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    assert not x.dual.to_numpy().any()


def test_a_factor_that_is_zero(ti, fields):
    x, _, loss = fields

    @ti.kernel
    def k():
        loss[None] += x[0] * ti.sqrt(x[1])

    x.from_numpy(np.array([0.0, 4, 1, 1, 1, 1]))
    v = np.array([1.0, 0, 0, 0, 0, 0])
    assert ti.ad.hvp(k, loss, x, v).tolist() == [0, 0.25, 0, 0, 0, 0]


def test_vectors_and_sparse_trees(ti):
    v = ti.Vector.field(2, ti.f64)
    s = ti.field(ti.f64)
    loss = ti.field(ti.f64, (), needs_grad=True, needs_dual=True)
    block = ti.root.pointer(ti.i, 2).dense(ti.i, 2)
    block.place(v, s)
    block.lazy_grad()
    block.lazy_dual()

    @ti.kernel
    def fill():
        for i in range(4):
            v[i] = [1.0 + i, 2.0]
            s[i] = 3.0

    @ti.kernel
    def k():
        for i in s:
            loss[None] += v[i][0] ** 2 * v[i][1] * s[i]

    fill()
    direction = np.zeros((4, 2))
    direction[1] = [1.0, 10.0]
    # (2 b, 2 a; 2 a, 0) * 3 with a = 2, b = 2
    assert ti.ad.hvp(k, loss, v, direction)[1].tolist() == [12 + 120, 12]


PROGRAM = """
import numpy as np
import kiln as ti
ti.init()
new = {"needs_grad": True, "needs_dual": True}
x, loss = ti.field(ti.f32, 2, **new), ti.field(ti.f32, (), **new)
@ti.kernel
def product():
    loss[None] += x[0] ** 2 * x[1]
x.from_numpy(np.array([1, 2], np.float32))
print(ti.ad.hvp(product, loss, x, np.array([1, 0])).tolist())
print(ti.runtime.session_stats()["transformed"])
"""


@pytest.mark.parametrize("server", ["", "off"])
def test_other_processes(run_python, tmp_path, server):
    def run():
        home = str(tmp_path / "home")
        return run_python(PROGRAM, KILN_HOME=home, KILN_SERVER=server).splitlines()

    assert run() == ["[4.0, 2.0]", "2"]
    assert run() == ["[4.0, 2.0]", "0"]


def test_what_is_refused_changes_nothing(ti, fields):
    """The texts of all refusals are in the language cases."""
    x, _, loss = fields
    only_grad = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def k():
        loss[None] += x[0] ** 2

    x.grad.fill(5.0)
    with pytest.raises(RuntimeError, match="needs_grad=True and needs_dual=True"):
        ti.ad.hvp(k, loss, only_grad, np.zeros(()))
    with ti.ad.Tape(loss, clear_gradients=False) as tape:
        with pytest.raises(RuntimeError, match="inside another Tape"):
            ti.ad.hvp(k, loss, x, np.zeros(N))
    assert len(tape.calls) == 0
    assert (x.grad.to_numpy() == 5).all()
