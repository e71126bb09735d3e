"""`Tape(validation=True)`: no element of a field with a gradient changes after it was read."""

import pytest


@pytest.fixture
def ti(ti):
    ti.init(debug=True)
    return ti


@pytest.fixture
def loss(ti):
    return ti.field(ti.f32, (), needs_grad=True)


def breaks(ti, loss, body):
    """Whether a validated tape raises an error in its body."""
    try:
        with ti.ad.Tape(loss, validation=True):
            body()
    except ti.TaichiAssertionError as error:
        assert "Breaks the global data access rule. Snode" in str(error)
        assert "validation_test.py" in str(error)
        return True
    return False


def test_elements(ti, loss):
    x = ti.field(ti.f32, 4, needs_grad=True)
    free = ti.field(ti.f32, 4)

    @ti.kernel
    def use(i: ti.i32):
        loss[None] += x[i] * free[i]

    @ti.kernel
    def store(i: ti.i32):
        x[i] = 1.0

    @ti.kernel
    def add(i: ti.i32):
        x[i] += 1.0

    @ti.kernel
    def least(i: ti.i32):
        for _ in range(1):
            ti.atomic_min(x[i], 1.0)

    @ti.kernel
    def change_free(i: ti.i32):
        free[i] = 2.0

    @ti.kernel
    def in_place(i: ti.i32):
        x[i] = ti.sin(x[i])

    assert not breaks(ti, loss, lambda: [use(0), store(1), add(2), least(3)])
    for change in (store, add, least):
        assert breaks(ti, loss, lambda change=change: [use(1), change(1)])
        assert not breaks(ti, loss, lambda change=change: [change(1), use(1), use(1)])
    assert not breaks(ti, loss, lambda: [use(1), change_free(1)])
    assert breaks(ti, loss, lambda: in_place(1))
    # A tape starts anew, and code outside of tapes is free.
    assert not breaks(ti, loss, lambda: store(1))
    use(1)
    store(1)


def test_components_and_members(ti, loss):
    v = ti.Vector.field(2, ti.f32, 3, needs_grad=True)
    s = ti.types.struct(a=ti.f32, m=ti.math.mat2).field(shape=3, needs_grad=True)

    @ti.kernel
    def use_component(c: ti.i32):
        loss[None] += v[1][c]

    @ti.kernel
    def store_component(c: ti.i32):
        v[1][c] = 1.0

    @ti.kernel
    def use_vector():
        loss[None] += v[1].norm()

    @ti.kernel
    def store_vector():
        v[1] = [1.0, 2.0]

    @ti.kernel
    def use_member():
        loss[None] += s[1].m[0, 1]

    @ti.kernel
    def store_other():
        s[1].a = 1.0
        s[1].m[1, 1] = 1.0
        s[0].m[0, 1] = 1.0

    @ti.kernel
    def store_member():
        s[1].m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])

    assert not breaks(ti, loss, lambda: [use_component(0), store_component(1)])
    assert breaks(ti, loss, lambda: [use_component(0), store_component(0)])
    assert breaks(ti, loss, lambda: [use_component(0), store_vector()])
    assert breaks(ti, loss, lambda: [use_vector(), store_component(1)])
    assert not breaks(ti, loss, lambda: [use_member(), store_other()])
    assert breaks(ti, loss, lambda: [use_member(), store_member()])


def test_sparse_trees(ti, loss):
    x = ti.field(ti.f32, needs_grad=True)
    block = ti.root.pointer(ti.i, 4).dense(ti.i, 4)
    block.place(x)
    block.lazy_grad()

    @ti.kernel
    def use():
        for i in x:
            loss[None] += x[i]

    @ti.kernel
    def store(i: ti.i32):
        x[i] = 1.0

    store(5)
    assert x.snode.ptr.has_adjoint_checkbit()
    assert not breaks(ti, loss, lambda: [use(), store(9)])
    assert breaks(ti, loss, lambda: [use(), store(5)])


def test_steps_of_time(ti, loss):
    x = ti.field(ti.f32, (5, 4), needs_grad=True)

    @ti.kernel
    def step(t: ti.i32):
        for i in range(4):
            x[t + 1, i] = x[t, i] ** 2

    assert not breaks(ti, loss, lambda: [step(t) for t in range(4)])
    assert breaks(ti, loss, lambda: [step(t) for t in (0, 1, 0)])


def test_constants_are_not_read(ti, loss):
    x = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def of_a_field():
        ti.stop_grad(x)
        x[None] = x[None] + 1.0

    assert not breaks(ti, loss, of_a_field)


def test_methods_functions_and_results(ti, loss):
    @ti.data_oriented
    class Model:
        def __init__(self):
            self.x = ti.field(ti.f32, 4, needs_grad=True)

        @ti.func
        def double(self, i):
            return self.x[i] * 2

        @ti.kernel
        def use(self, i: ti.i32) -> ti.f32:
            loss[None] += self.double(i)
            return self.x[i] + 1

        @ti.kernel
        def store(self, i: ti.i32):
            self.x[i] = 1.0

    model = Model()
    found = []
    assert breaks(ti, loss, lambda: [found.append(model.use(1)), model.store(1)])
    assert found == [1.0]
    assert not breaks(ti, loss, lambda: [model.use(1), model.store(2)])


def test_replaced_functions_are_exempt(ti, loss):
    x = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def in_place():
        x[None] = x[None] * 2

    @ti.ad.grad_replaced
    def forward():
        in_place()

    @ti.ad.grad_for(forward)
    def backward():
        pass

    assert not breaks(ti, loss, forward)
    assert breaks(ti, loss, in_place)


def test_gradients_are_as_without(ti, loss):
    x = ti.Vector.field(2, ti.f32, 4, needs_grad=True)

    @ti.kernel
    def use():
        for i in x:
            loss[None] += x[i][0] * x[i][1] ** 2

    x.fill(3.0)
    assert not breaks(ti, loss, use)
    assert x.grad.to_numpy().tolist() == [[9.0, 18.0]] * 4


PROGRAM = """
import kiln as ti
ti.init(debug={debug})
x = ti.field(ti.f32, (), needs_grad=True)
loss = ti.field(ti.f32, (), needs_grad=True)
@ti.kernel
def use():
    loss[None] += x[None]
@ti.kernel
def change():
    x[None] += 1
for _ in range(2):
    try:
        with ti.ad.Tape(loss, validation=True):
            use()
            change()
        print("fine")
    except ti.TaichiAssertionError:
        print("broken")
print(ti.runtime.session_stats()["transformed"])
"""


@pytest.mark.parametrize("server", ["", "off"])
def test_other_processes(run_python, tmp_path, server):
    def run(debug):
        program = PROGRAM.format(debug=debug)
        return run_python(program, KILN_HOME=str(tmp_path / "home"), KILN_SERVER=server).split()

    assert run(True) == ["broken", "broken", "2"]
    assert run(True) == ["broken", "broken", "0"]
    assert run(False)[:2] == ["fine", "fine"]
    assert run(True) == ["broken", "broken", "0"]
