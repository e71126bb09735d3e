"""Gradients of the kernels in gradient_probes.py.

Each kernel runs in reverse and in forward mode; the expected numbers are central differences of a
Python function that computes the same in f64.
"""

import numpy as np
import pytest
from gradient_probes import PROBES, Data


@pytest.fixture
def data(ti, name):
    ti.init(ti.cpu, default_fp=ti.f64, offline_cache=False)
    return getattr(PROBES[name], "data", Data)(ti)


def total(found):
    return sum((j + 1) * v for j, v in enumerate(found)) if isinstance(found, list) else found


def derivatives(function, start):
    """The central differences of the loss."""
    step = 1e-6
    found = []
    for i in range(len(start)):
        ends = []
        for sign in (1, -1):
            at = [float(v) for v in start]
            at[i] += sign * step
            ends.append(total(function(at)))
        found.append((ends[0] - ends[1]) / (2 * step))
    return np.array(found)


def prepared(data, name):
    kernel, function = PROBES[name](data)
    ti, y, loss = data.ti, data.y, data.loss

    @ti.kernel
    def add():
        for j in y:
            loss[None] += (j + 1) * y[j]

    for i, value in enumerate(data.start):  # activates the elements of sparse fields
        data.x[i] = value
    fills = isinstance(function([float(v) for v in data.start]), list)

    def run():
        kernel()
        if fills:
            add()

    return run, function


@pytest.mark.parametrize("name", PROBES)
def test_gradient(data, name):
    run, function = prepared(data, name)
    with data.ti.ad.Tape(data.loss):
        run()
    assert data.loss[None] == pytest.approx(total(function([float(v) for v in data.start])))
    expected = derivatives(function, data.start)
    assert data.x.grad.to_numpy() == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", PROBES)
def test_dual(data, name):
    run, function = prepared(data, name)
    direction = np.array([0.3, -1.0, 0.5, 0.2, 0.7])
    with data.ti.ad.FwdMode(loss=data.loss, param=data.x, seed=list(direction)):
        run()
    expected = float(derivatives(function, data.start) @ direction)
    assert data.loss[None] == pytest.approx(total(function([float(v) for v in data.start])))
    assert data.loss.dual[None] == pytest.approx(expected, rel=1e-6, abs=1e-7)


# --- vectors and matrices in memory


@pytest.mark.parametrize("layout", ["AOS", "SOA", "ndarray"])
@pytest.mark.parametrize("how", ["read", "written", "added to"])
def test_components_by_an_index(ti, layout, how):
    ti.init(ti.cpu, default_fp=ti.f64)
    if layout == "ndarray":
        v, w = (ti.ndarray(ti.types.vector(3, ti.f64), 4, needs_grad=True) for _ in range(2))
        kind = ti.types.ndarray()
    else:
        options = {"needs_grad": True, "layout": getattr(ti.Layout, layout)}
        v, w = (ti.Vector.field(3, ti.f64, 4, **options) for _ in range(2))
        kind = ti.template()
    loss = ti.field(ti.f64, (), needs_grad=True)
    v.from_numpy(np.arange(12.0).reshape(4, 3) + 1)

    @ti.kernel
    def read(v: kind, w: kind, n: ti.i32):
        for i in v:
            for j in range(n):
                loss[None] += v[i][j] * v[i][j]

    @ti.kernel
    def written(v: kind, w: kind, n: ti.i32):
        for i in v:
            for j in range(n):
                w[i][j] = v[i][0] * v[i][j]

    @ti.kernel
    def added_to(v: kind, w: kind, n: ti.i32):
        for i in v:
            for j in range(n):
                w[i][j] += v[i][j] * (j + 1)

    @ti.kernel
    def total(w: kind):
        for i in w:
            loss[None] += w[i].dot(w[i])

    kernel = {"read": read, "written": written, "added to": added_to}[how]

    def run():
        w.fill(0.0)
        kernel(v, w, 2)
        total(w)

    ti.ad.check_grad(run, loss, v)
    assert v.grad.to_numpy().any()


@pytest.mark.parametrize("n", [2, 6, 9])
def test_matrices_of_every_size(ti, n):
    ti.init(ti.cpu, default_fp=ti.f64)
    m = ti.Matrix.field(n, n, ti.f64, 2, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    m.from_numpy(np.random.default_rng(1).random((2, n, n)))

    @ti.kernel
    def k():
        for i in m:
            a = m[i] @ m[i].transpose()
            for j in range(n):
                a[j, 1] = a[j, 1] * a[0, j]
            loss[None] += a.sum() + (m[i] * m[i])[1, 1]

    ti.ad.check_grad(k, loss, m)
    assert m.grad.to_numpy().all()


# --- kinks, refusals


def test_power_of_zero_by_a_field(ti):
    x, e, loss = (ti.field(ti.f64, (), needs_grad=True) for _ in range(3))

    @ti.kernel
    def k():
        loss[None] += x[None] ** e[None]

    e[None] = 2.0
    with ti.ad.Tape(loss):
        k()
    assert (x.grad[None], e.grad[None]) == (0.0, 0.0)


def test_atomic_product_is_refused(ti):
    x, loss = ti.field(ti.f32, 4, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def k():
        for i in x:
            ti.atomic_mul(loss[None], x[i])

    with pytest.raises(ti.TaichiCompilationError, match="atomic"):
        k.grad()


def test_maximum_that_changes_later_is_refused(ti):
    d = Data(ti)
    x, loss = d.x, d.loss

    @ti.kernel
    def k():
        for i in x:
            ti.atomic_max(loss[None], x[i] * x[i])
        loss[None] = loss[None] * 2

    k()
    with pytest.raises(ti.TaichiCompilationError, match="overwrites it later"):
        k.grad()


def test_old_value_of_an_add_to_a_shared_element_is_refused(ti):
    x, loss = ti.field(ti.f32, 4, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)
    y = ti.field(ti.f32, 4, needs_grad=True)

    @ti.kernel
    def k():
        for i in x:
            y[i] = ti.atomic_add(loss[None], x[i]) * x[i]

    with pytest.raises(ti.TaichiCompilationError, match="atomic"):
        k.grad()


def test_random_numbers_are_refused(ti):
    x, loss = ti.field(ti.f32, 4, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def k():
        for i in x:
            loss[None] += x[i] * ti.random()

    with pytest.raises(ti.TaichiCompilationError, match="RandStmt not supported") as raised:
        k.grad()
    # As Taichi's programs expect of what its compiler refuses.
    assert isinstance(raised.value, RuntimeError)


def test_an_error_in_a_tape_runs_no_gradients(ti):
    x, loss = ti.field(ti.f32, (), needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def k():
        loss[None] += x[None] * x[None]

    x[None] = 3.0
    with pytest.raises(KeyError):
        with ti.ad.Tape(loss):
            k()
            raise KeyError
    assert x.grad[None] == 0
    with ti.ad.Tape(loss):
        k()
    assert x.grad[None] == 6
