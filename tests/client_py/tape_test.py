"""What tapes record, and how methods and derivatives of kernels behave as Python objects."""

import gc
import weakref

import numpy as np
import pytest


@pytest.fixture
def fields(ti):
    return [ti.field(ti.f32, (), needs_grad=True) for _ in range(2)]


def test_calls_are_a_sequence_of_pairs(ti, fields):
    x, loss = fields

    @ti.kernel
    def k(a: ti.f32, b: ti.i32):
        loss[None] += x[None] * a * b

    with ti.ad.Tape(loss) as tape:
        k(2.0, 3)
        k(b=4, a=5.0)
        assert len(tape.calls) == 2
    assert tape.calls[0] == (k, (2.0, 3))
    assert tape.calls[-1] == (k, (5.0, 4))
    assert [args for _, args in reversed(tape.calls)] == [(5.0, 4), (2.0, 3)]
    with pytest.raises(IndexError):
        tape.calls[2]
    assert x.grad[None] == 26


def test_calls_that_fail_are_not_recorded(ti, fields):
    _, loss = fields

    @ti.kernel
    def k(a: ti.f32):
        loss[None] += a

    with ti.ad.Tape(loss) as tape:
        with pytest.raises(ti.TaichiRuntimeTypeError):
            k("text")
        with pytest.raises(ti.TaichiCompilationError):
            k(1.0, 2.0)
        assert len(tape.calls) == 0


def test_gradients_are_not_recorded(ti, fields):
    x, loss = fields

    @ti.kernel
    def k():
        loss[None] += x[None]

    with ti.ad.Tape(loss) as tape:
        k()
        k.grad()
    assert len(tape.calls) == 1


def test_values_are_recorded_as_they_were(ti, fields):
    x, loss = fields
    pair = ti.types.struct(a=ti.f32, b=ti.math.vec2)
    pack = ti.types.argpack(scale=ti.f32)

    @ti.kernel
    def k(v: ti.math.vec2, m: ti.math.mat2, s: pair, p: pack):
        loss[None] += x[None] * (v[0] + m[1, 0] + s.b[1] + p.scale)

    v, m = ti.Vector([1.0, 0.0]), [[0, 0], [10, 0]]
    s, p = pair(1.0, [0, 100]), pack(scale=1000)
    with ti.ad.Tape(loss):
        k(v, m, s, p)
        v[0], m[1][0], p.scale = 5, 5, 5
        s.b = [5, 5]
    assert x.grad[None] == 1111


def test_a_tape_frees_what_it_recorded(ti, fields):
    _, loss = fields

    @ti.data_oriented
    class Model:
        @ti.kernel
        def k(self):
            loss[None] += 1

    model = Model()
    gone = weakref.ref(model)
    with ti.ad.Tape(loss) as tape:
        model.k()
    model.tape = tape  # a cycle
    del model, tape
    gc.collect()
    assert gone() is None


def test_bound_kernels(ti, fields):
    x, loss = fields

    @ti.data_oriented
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @ti.kernel
        def k(self, a: ti.f32) -> ti.f32:
            """Adds."""
            loss[None] += x[None] * self.scale * a
            return 1.0

    one, other = Model(2), Model(3)
    assert one.k == one.k and one.k != other.k and hash(one.k) == hash(one.k)
    assert (one.k.__name__, one.k.__doc__, one.k.__self__, one.k.__func__) == (
        "k",
        "Adds.",
        one,
        Model.k,
    )
    bound = one.k
    assert (bound(1.0), bound(a=1.0), one.k.grad(a=1.0)) == (1.0, 1.0, None)
    loss.grad[None] = 1
    for model in (one, other):
        model.k.grad(10.0)
    assert x.grad[None] == 50
    with pytest.raises(AttributeError):
        one.k.nothing


def test_gradients_have_no_gradients(ti):
    @ti.kernel
    def k():
        pass

    assert k.grad is k.grad
    assert k.grad.grad is None
    modes = ti.lang.enums.AutodiffMode
    assert (k.autodiff_mode, k.grad.autodiff_mode) == (modes.NONE, modes.REVERSE)


def test_a_gradient_that_is_placed_later(ti):
    x, loss = ti.field(ti.f32), ti.field(ti.f32, (), needs_grad=True)
    ti.root.place(x)

    @ti.kernel
    def k():
        loss[None] += x[None] * 3

    with ti.ad.Tape(loss):
        k()
    builder = ti.FieldsBuilder()
    builder.place(x.grad)
    builder.finalize()
    with ti.ad.Tape(loss):
        k()
    assert x.grad[None] == 3


def test_components_of_matrix_fields(ti, fields):
    _, loss = fields
    v = ti.Vector.field(2, ti.f32, 3, needs_grad=True)

    @ti.kernel
    def k(x: ti.template(), y: ti.template()):
        for i in x:
            loss[None] += x[i] * y[i][0]

    v.from_numpy(np.array([[1, 2], [3, 4], [5, 6]], np.float32))
    with ti.ad.Tape(loss):
        k(v.get_scalar_field(1), v)
    assert v.grad.to_numpy().tolist() == [[2, 1], [4, 3], [6, 5]]
    assert v.get_scalar_field(1).grad.to_numpy().tolist() == [1, 3, 5]


def test_fields_with_offsets(ti, fields):
    _, loss = fields
    x = ti.field(ti.f32, 3, offset=-1, needs_grad=True)

    @ti.kernel
    def k():
        for i in x:
            loss[None] += x[i] * i

    with ti.ad.Tape(loss):
        k()
    assert x.grad.to_numpy().tolist() == [-1, 0, 1]


def test_a_fill_in_forward_mode(ti):
    x, y = (ti.field(ti.f32, (), needs_dual=True) for _ in range(2))

    @ti.kernel
    def k():
        y[None] += x[None]

    with ti.ad.FwdMode(loss=y, param=x):
        k()
        y.fill(0)
        k()
    assert y.dual[None] == 1
    with ti.ad.FwdMode(loss=y, param=x):
        y.copy_from(x)
        k()
    assert y.dual[None] == 2


def test_forward_mode_of_several_fields(ti):
    x, y, z = (ti.field(ti.f32, (), needs_dual=True) for _ in range(3))
    v = ti.Vector.field(2, ti.f32, 2, needs_dual=True)

    @ti.kernel
    def k():
        z[None] = x[None] * y[None] + v[1][0] * x[None]

    x[None], y[None], v[1] = 2, 3, [5, 0]
    with ti.ad.FwdMode(loss=z, param=[x, y]):
        k()
    assert z.dual[None] == 3 + 2 + 5
    with ti.ad.FwdMode(loss=z, param=(x, v), seed=[[1], [0, 0, 10, 0]]) as mode:
        k()
    assert z.dual[None] == 3 + 5 + 20 and mode.seed == [[1], [0, 0, 10, 0]]
    assert v.dual.to_numpy().sum() == 0


def test_forward_mode_of_a_sparse_field(ti):
    """A direction makes only those cells active that it changes."""
    x, loss = ti.field(ti.f32), ti.field(ti.f32, (), needs_dual=True)
    ti.root.pointer(ti.ij, 4).place(x, x.dual, offset=(-2, 0))

    @ti.kernel
    def k():
        for i, j in x:
            loss[None] += x[i, j] * 3 + 1

    x[-1, 2] = 1
    with ti.ad.FwdMode(loss=loss, param=x, seed=[0] * 6 + [2] + [0] * 9):
        k()
    assert (loss[None], loss.dual[None]) == (4, 6)


def test_replaced_functions_in_forward_mode_have_no_duals(ti):
    x, y = (ti.field(ti.f32, (), needs_dual=True) for _ in range(2))

    @ti.kernel
    def k():
        y[None] += x[None]

    @ti.ad.no_grad
    def plain():
        k()

    with ti.ad.FwdMode(loss=y, param=x):
        plain()
        k()
    assert y.dual[None] == 1


def test_the_dual_of_a_kernel_returns_its_results(ti):
    x, y = (ti.field(ti.f32, (), needs_dual=True) for _ in range(2))

    @ti.kernel
    def k() -> ti.f32:
        y[None] = x[None] * 3
        return x[None]

    x[None] = 2
    with ti.ad.FwdMode(loss=y, param=x):
        assert k() == 2
    assert (y[None], y.dual[None]) == (6, 3)


def test_gradients_of_ndarrays_of_every_form(ti):
    @ti.kernel
    def k(v: ti.types.ndarray(dtype=ti.math.vec2, ndim=2), s: ti.types.ndarray(), n: ti.i32):
        for i, j in v:
            s[0] += v[i, j].dot(v[i, j]) * n

    v = ti.ndarray(ti.math.vec2, (2, 3), needs_grad=True)
    s = ti.ndarray(ti.f32, 1, needs_grad=True)
    v.fill(2)
    with ti.ad.Tape(s):
        k(v, s, 3)
    assert v.grad.to_numpy().ravel().tolist() == [12] * 12


def test_gradients_in_argument_packs(ti):
    pack = ti.types.argpack(a=ti.types.ndarray(ti.f32, 1), scale=ti.f32)

    @ti.kernel
    def k(p: pack, s: ti.types.ndarray()):
        for i in p.a:
            s[0] += p.a[i] * p.scale

    a = ti.ndarray(ti.f32, 2, needs_grad=True)
    s = ti.ndarray(ti.f32, 1, needs_grad=True)
    with ti.ad.Tape(s):
        k(pack(a=a, scale=4), s)
    assert a.grad.to_numpy().tolist() == [4, 4]


def test_numpy_arrays_have_no_gradients(ti, fields):
    x, loss = fields

    @ti.kernel
    def k(a: ti.types.ndarray()):
        for i in range(2):
            loss[None] += x[None] * a[i]

    with ti.ad.Tape(loss):
        k(np.array([2, 3], np.float32))
    assert x.grad[None] == 5


def test_stopped_gradients_of_real_functions_and_arrays(ti, fields):
    x, loss = fields

    @ti.func
    def read():
        return x[None]

    @ti.kernel
    def k():
        for i in range(2):
            if i == 0:
                ti.stop_grad(x)
                loss[None] += read() * 3
            else:
                loss[None] += read() * 5

    with ti.ad.Tape(loss):
        k()
    assert x.grad[None] == 5

    @ti.kernel
    def of_array(a: ti.types.ndarray(), s: ti.types.ndarray()):
        for i in a:
            ti.stop_grad(a)
            s[0] += a[i]

    a, s = ti.ndarray(ti.f32, 2, needs_grad=True), ti.ndarray(ti.f32, 1, needs_grad=True)
    with ti.ad.Tape(s):
        of_array(a, s)
    assert a.grad.to_numpy().tolist() == [0, 0]


PROGRAM = """
import kiln as ti
import numpy as np

ti.init(ti.cpu)
x = ti.field(ti.f32, 3)
if {placed}:
    ti.root.dense(ti.i, 3).place(x.grad)
loss = ti.field(ti.f32, (), needs_grad=True)
a = ti.ndarray(ti.f32, 3, needs_grad={array})

@ti.kernel
def k(a: ti.types.ndarray()):
    for i in x:
        loss[None] += x[i] * x[i] * a[i]

x.fill(2)
a.fill(3)
k(a)
loss.grad[None] = 1
k.grad(a)
found = [x.grad[0] if {placed} else None, a.grad[0] if {array} else None]
print(found, ti.runtime.session_stats()["transformed"])
"""


@pytest.mark.parametrize("server", ["", "off"])
def test_gradients_in_other_processes(run_python, tmp_path, server):
    """A warm record of a gradient holds where the same gradients exist."""

    def run(placed, array):
        program = PROGRAM.format(placed=placed, array=array)
        return run_python(program, KILN_HOME=str(tmp_path / "home"), KILN_SERVER=server).strip()

    assert run(True, True) == "[12.0, 4.0] 2"
    assert run(True, True) == "[12.0, 4.0] 0"
    assert run(False, True) == "[None, 4.0] 1"
    assert run(True, False) == "[12.0, None] 1"
    assert run(False, False) == "[None, None] 1"
    for placed in (True, False):
        for array in (True, False):
            assert run(placed, array).endswith(" 0")


def test_launches_of_graphs_are_recorded(ti, fields):
    x, loss = fields

    @ti.kernel
    def k(a: ti.f32):
        loss[None] += a * x[None] ** 2

    builder = ti.graph.GraphBuilder()
    builder.dispatch(k, ti.graph.Arg(ti.graph.ArgKind.SCALAR, "a", ti.f32))
    graph = builder.compile()
    x[None] = 3.0
    with ti.ad.Tape(loss) as tape:
        graph.run({"a": 2.0})
        graph.run({"a": 1.0})
    assert [args for _, args in tape.calls] == [(2.0,), (1.0,)]
    assert x.grad[None] == 18
