"""What a tape says of gradients that need values which later kernels overwrite."""

import warnings

import pytest

N = 6


@pytest.fixture
def loss(ti):
    return ti.field(ti.f32, (), needs_grad=True)


@pytest.fixture
def overwriting(ti, loss):
    """A field, a kernel whose gradient reads it again, and one that changes it."""
    x = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def use():
        loss[None] += x[None] ** 2

    @ti.kernel
    def change():
        x[None] += 1

    return x, use, change


def conflicts(ti, loss, body, access="error"):
    """The texts of a tape's warnings or of its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with ti.ad.Tape(loss, access=access):
                body()
        except RuntimeError as error:
            return [str(error)]
    return [str(one.message) for one in caught]


def test_steps_with_cells_of_their_own(ti, loss):
    x = ti.field(ti.f32, (N + 1, 8), needs_grad=True)
    y = ti.Vector.field(2, ti.f32, (N, 8), needs_grad=True)

    @ti.kernel
    def step(t: ti.i8):
        for i in range(1, 7):
            x[t + 1, i] = x[t, i - 1] * x[t, i] * x[t, i + 1]

    @ti.kernel
    def mirrored(t: ti.i32):
        for i in range(8):
            y[N - 2 - t, i] = y[N - 1 - t, i] ** 2

    def forwards():
        for t in range(N):
            step(t)

    def backwards():
        for t in range(N - 1):
            mirrored(t)

    assert conflicts(ti, loss, forwards) == []
    assert conflicts(ti, loss, backwards) == []
    # The same cells in the other order.
    assert len(conflicts(ti, loss, lambda: [step(t) for t in (3, 2)])) == 1
    assert len(conflicts(ti, loss, lambda: [mirrored(t) for t in (3, 2)])) == 1


def test_cells_that_steps_share(ti, loss):
    x = ti.field(ti.f32, (N + 1, 4), needs_grad=True)
    grid = ti.field(ti.f32, 4, needs_grad=True)

    @ti.kernel
    def put(t: ti.i32):
        for i in grid:
            grid[i] = x[t, i] ** 2

    @ti.kernel
    def get(t: ti.i32):
        for i in grid:
            x[t + 1, i] = grid[i] ** 2

    @ti.kernel
    def clear():
        for i in grid:
            grid[i] = 0

    def steps():
        for t in range(N):
            put(t)
            get(t)

    (text,) = conflicts(ti, loss, steps)
    assert "the gradient of kernel 'get' reads memory again at" in text
    assert "which the later kernel 'put' may have overwritten at" in text
    assert text.count("overwritten_launches_test.py:") == 2
    # One warning, not one a step.
    assert len(conflicts(ti, loss, steps, "warn")) == 1
    assert conflicts(ti, loss, steps, "ignore") == []
    # What is written before it is read is fine, however often.
    assert conflicts(ti, loss, lambda: [clear(), clear(), put(0), get(0)]) == []
    assert len(conflicts(ti, loss, lambda: [put(0), get(0), clear()])) == 1


def test_what_a_gradient_does_not_need(ti, loss):
    x, w = (ti.field(ti.f32, 4, needs_grad=True) for _ in range(2))

    @ti.kernel
    def linear():
        for i in x:
            loss[None] += 3 * x[i]

    @ti.kernel
    def product():
        for i in x:
            loss[None] += w[i] * x[i]

    @ti.kernel
    def change(a: ti.template()):
        for i in a:
            a[i] += 1

    assert conflicts(ti, loss, lambda: [linear(), change(x)]) == []
    assert len(conflicts(ti, loss, lambda: [product(), change(x)])) == 1
    assert len(conflicts(ti, loss, lambda: [product(), change(w)])) == 1


def test_members_and_components(ti, loss):
    cell = ti.types.struct(a=ti.f32, b=ti.types.vector(2, ti.f32))
    s = cell.field(shape=4, needs_grad=True)

    @ti.kernel
    def use_a():
        for i in s:
            loss[None] += s[i].a ** 2

    @ti.kernel
    def write_a():
        for i in s:
            s[i].a = 1

    @ti.kernel
    def write_b(c: ti.i32):
        for i in s:
            s.b[i][c] = 1

    @ti.kernel
    def use_b1():
        for i in s:
            loss[None] += s.b[i][1] ** 2

    @ti.kernel
    def write_b0():
        for i in s:
            s.b[i][0] = 1

    @ti.kernel
    def write_all():
        for i in s:
            s[i] = cell(1, [2, 3])

    assert conflicts(ti, loss, lambda: [use_a(), write_b(0)]) == []
    assert conflicts(ti, loss, lambda: [use_b1(), write_b0(), write_a()]) == []
    assert len(conflicts(ti, loss, lambda: [use_a(), write_a()])) == 1
    assert len(conflicts(ti, loss, lambda: [use_b1(), write_b(0)])) == 1
    assert len(conflicts(ti, loss, lambda: [use_a(), write_all()])) == 1
    assert len(conflicts(ti, loss, lambda: [use_b1(), write_all()])) == 1


def test_arrays(ti, loss):
    a, b = (ti.ndarray(ti.f32, 4, needs_grad=True) for _ in range(2))
    v = ti.ndarray(ti.types.vector(2, ti.f32), 4, needs_grad=True)

    @ti.kernel
    def use(a: ti.types.ndarray()):
        for i in range(2):
            loss[None] += a[i] ** 2

    @ti.kernel
    def write(a: ti.types.ndarray(), first: ti.i32, last: ti.i32):
        for i in range(first, last):
            a[i] = 1.0

    clamped = ti.types.ndarray(boundary="clamp")

    @ti.kernel
    def write_clamped(a: clamped, i: ti.i32):
        a[i] = 1.0

    @ti.kernel
    def use_second(v: ti.types.ndarray()):
        for i in range(4):
            loss[None] += v[i][1] ** 2

    @ti.kernel
    def write_component(v: ti.types.ndarray(), c: ti.template()):
        for i in range(4):
            v[i][c] = 1.0

    assert conflicts(ti, loss, lambda: [use(a), write(b, 0, 4)]) == []
    assert conflicts(ti, loss, lambda: [use(a), write(a, 2, 4)]) == []
    assert conflicts(ti, loss, lambda: [use(a), write(a, 1, 1)]) == []
    assert len(conflicts(ti, loss, lambda: [use(a), write(a, 1, 4)])) == 1
    assert len(conflicts(ti, loss, lambda: [use(a), write_clamped(a, -1)])) == 1
    assert conflicts(ti, loss, lambda: [use_second(v), write_component(v, 0)]) == []
    assert len(conflicts(ti, loss, lambda: [use_second(v), write_component(v, 1)])) == 1


def test_trees(ti, loss):
    x, y, z = (ti.field(ti.f32, needs_grad=True) for _ in range(3))
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 4).place(x, y, x.grad, y.grad)
    block.dense(ti.i, 4).place(z, z.grad)

    @ti.kernel
    def use(f: ti.template()):
        for i in x:
            loss[None] += f[i] ** 2

    @ti.kernel
    def write(f: ti.template()):
        for i in range(16):
            f[i] = i * 1.0

    write(x)
    for f in (x, y, z):
        for g in (x, y, z):
            assert len(conflicts(ti, loss, lambda f=f, g=g: [use(f), write(g)])) == (f is g)


def test_gradients_of_a_program_are_not_watched(ti, loss, overwriting):
    x, use, change = overwriting
    kept = ti.field(ti.f32, ())

    @ti.ad.grad_replaced
    def both():
        use()
        change()

    @ti.ad.grad_for(both)
    def both_back():
        x[None] = kept[None]
        use.grad()

    assert conflicts(ti, loss, lambda: [both(), both()]) == []
    # Between functions, recorded kernels are compared as ever.
    assert len(conflicts(ti, loss, lambda: [use(), both(), change()])) == 1


def test_an_error_stops_the_tape(ti, loss, overwriting):
    x, use, change = overwriting
    assert len(conflicts(ti, loss, lambda: [use(), change()])) == 1
    with ti.ad.Tape(loss):
        use()
    assert x.grad[None] == 2 * x[None]


PROGRAM = """
import warnings
import kiln as ti
ti.init()
x = ti.field(ti.f32, 4, needs_grad=True)
loss = ti.field(ti.f32, (), needs_grad=True)
@ti.kernel
def use():
    for i in x:
        loss[None] += x[i] ** 2
@ti.kernel
def change():
    for i in x:
        x[i] += 1
with warnings.catch_warnings(record=True) as caught:
    with ti.ad.Tape(loss):
        use()
        change()
print(len(caught), "again at" in str(caught[0].message))
"""


@pytest.mark.parametrize("server", ["", "off"])
def test_accesses_of_cached_gradients(run_python, tmp_path, server):
    for _ in range(3):  # cold, from warm records, again
        found = run_python(PROGRAM, KILN_HOME=str(tmp_path / "home"), KILN_SERVER=server)
        assert found == "1 True\n"
