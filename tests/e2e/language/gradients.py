"""`ti.ad`: tapes, gradients of kernels, gradients that functions replace, forward mode, checks."""

import os
import re
import sys
import types
import warnings

import numpy as np
from harness import case, ti


def without_lines(error):
    """The text of an error that names lines of this file in its middle."""
    return re.sub(r"\S*gradients\.py:\d+", "a line", str(error))


def scalars(count, **options):
    return [ti.field(ti.f32, (), needs_grad=True, **options) for _ in range(count)]


@case()
def tape_of_one_kernel(show):
    x = ti.field(ti.f32, 3, needs_grad=True)
    (loss,) = scalars(1)

    @ti.kernel
    def k(scale: ti.f32):
        for i in x:
            loss[None] += scale * x[i] ** 2

    x.from_numpy(np.array([1, 2, 3], np.float32))
    loss[None] = 100
    with ti.ad.Tape(loss=loss) as tape:
        k(2.0)
    show(loss[None], loss.grad[None], x.grad)
    show(len(tape.calls), list(tape.calls[0][1]), tape.gradient_evaluated, tape.entered)
    show([mode == ti.lang.enums.AutodiffMode.NONE for mode in tape.modes])
    with ti.ad.Tape(loss):
        k(1.0)
        k(1.0)
    show(loss[None], x.grad)


@case()
def gradients_are_cleared_or_kept(show):
    x, loss = scalars(2)

    @ti.kernel
    def k():
        loss[None] += x[None] * 3

    for clear in (True, False, False, True):
        with ti.ad.Tape(loss, clear_gradients=clear):
            k()
        show(x.grad[None])
    ti.ad.clear_all_gradients()
    show(x.grad[None], loss.grad[None])


@case()
def gradient_kernels_by_hand(show):
    x, y, loss = scalars(3)

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    @ti.kernel
    def add(scale: ti.f32):
        loss[None] += y[None] * scale

    x[None] = 3
    square()
    add(2.0)
    loss.grad[None] = 1
    add.grad(2.0)
    show(y.grad[None])
    square.grad()
    show(x.grad[None], y.grad[None], loss.grad[None])
    square.grad()
    show(x.grad[None])


@case()
def gradients_of_methods_and_templates(show):
    @ti.data_oriented
    class Model:
        def __init__(self):
            self.w = ti.field(ti.f32, 2, needs_grad=True)

        @ti.kernel
        def apply(self, x: ti.template(), scale: ti.f32):
            for i in self.w:
                loss[None] += self.w[i] * x[i] * scale

    (loss,) = scalars(1)
    x = ti.field(ti.f32, 2, needs_grad=True)
    one, other = Model(), Model()
    x.fill(2)
    one.w.fill(3)
    other.w.fill(5)
    with ti.ad.Tape(loss):
        one.apply(x, 10.0)
        other.apply(x, scale=1.0)
    show(loss[None], x.grad, one.w.grad, other.w.grad)
    one.apply.grad(x, 1.0)
    show(x.grad)


@case()
def vector_and_matrix_fields(show):
    (loss,) = scalars(1)
    v = ti.Vector.field(2, ti.f32, 2, needs_grad=True)
    m = ti.Matrix.field(2, 2, ti.f32, 2, needs_grad=True, layout=ti.Layout.SOA)

    @ti.kernel
    def k():
        for i in v:
            loss[None] += (m[i] @ v[i]).dot(v[i])

    v.from_numpy(np.array([[1, 2], [3, 4]], np.float32))
    m.from_numpy(np.arange(8, dtype=np.float32).reshape(2, 2, 2))
    with ti.ad.Tape(loss):
        k()
    show(loss[None], v.grad, m.grad)


@case()
def fields_of_trees(show):
    (loss,) = scalars(1)
    x, y, z = (ti.field(ti.f32) for _ in range(3))
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x, x.grad)
    builder = ti.FieldsBuilder()
    builder.dense(ti.i, 8).place(y)
    builder.lazy_grad()
    tree = builder.finalize()
    ti.root.dense(ti.i, 8).place(z)
    ti.root.dense(ti.i, 8).place(z.grad)

    @ti.kernel
    def k():
        for i in x:
            loss[None] += x[i] * y[i] * z[i]

    x[3] = 2
    y.fill(3)
    z.fill(4)
    with ti.ad.Tape(loss):
        k()
    show(loss[None], x.grad, y.grad, z.grad)
    tree.destroy()


@case()
def members_of_structs(show):
    (loss,) = scalars(1)
    ball = ti.types.struct(mass=ti.f32, at=ti.math.vec2)
    balls = ball.field(shape=2, needs_grad=True)

    @ti.kernel
    def k():
        for i in balls:
            loss[None] += balls[i].mass * balls[i].at.dot(balls[i].at)

    balls.mass.fill(2)
    balls.at.fill(3)
    with ti.ad.Tape(loss):
        k()
    show(loss[None], balls.mass.grad, balls.grad.at)


@case()
def kernels_without_gradients_are_skipped(show):
    x, loss = scalars(2)
    plain = ti.field(ti.f32, 2)

    @ti.kernel
    def noise():
        for i in plain:
            plain[i] = plain[i] + 1

    @ti.kernel
    def k():
        loss[None] += x[None] * plain[0]

    plain.fill(4)
    with ti.ad.Tape(loss):
        noise()
        k()
    show(x.grad[None], len(plain.to_numpy()))


@case(differs="fills and copies under a tape")
def fills_and_copies_are_recorded(show):
    x = ti.field(ti.f32, 2, needs_grad=True)
    y = ti.field(ti.f32, 2, needs_grad=True)
    (loss,) = scalars(1)

    @ti.kernel
    def k():
        for i in x:
            y[i] += x[i] * 2

    @ti.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    x.fill(3)
    with ti.ad.Tape(loss):
        y.fill(0)
        k()
        total()
        y.fill(0)
        k()
        k()
        total()
    show(loss[None], x.grad, y.grad)
    with ti.ad.Tape(loss):
        y.copy_from(x)
        total()
    show(loss[None], x.grad, y.grad)


@case()
def replaced_gradients(show):
    x, loss = scalars(2)
    log = []

    @ti.kernel
    def k(scale: ti.f32):
        loss[None] += x[None] * scale

    @ti.ad.grad_replaced
    def forward(scale):
        log.append("forward")
        k(scale)

    @ti.ad.grad_for(forward)
    def backward(scale):
        log.append("backward")
        x.grad[None] += 100 * scale

    x[None] = 7
    with ti.ad.Tape(loss) as tape:
        forward(2.0)
        k(1.0)
    show(x.grad[None], loss[None], log, len(tape.calls))


@case()
def replaced_gradients_of_methods(show):
    @ti.data_oriented
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @ti.kernel
        def k(self):
            loss[None] += x[None] * self.scale

        @ti.ad.grad_replaced
        def forward(self):
            self.k()

        @ti.ad.grad_for(forward)
        def backward(self):
            self.k.grad()
            self.k.grad()

    x, loss = scalars(2)
    with ti.ad.Tape(loss):
        Model(5).forward()
    show(x.grad[None])


@case()
def functions_without_gradients(show):
    x, loss = scalars(2)

    @ti.kernel
    def k():
        loss[None] += x[None] * 3

    @ti.ad.no_grad
    def skipped():
        k()

    x[None] = 7
    with ti.ad.Tape(loss):
        skipped()
        k()
    show(loss[None], x.grad[None])


@case()
def mistakes_with_replaced_gradients(show):
    @ti.kernel
    def k():
        pass

    def plain():
        pass

    def backward():
        pass

    show.error(ti.ad.grad_for(k), backward)
    show.error(ti.ad.grad_for(plain), backward)


@case(differs="functions without `grad_for`")
def missing_replacements(show):
    (loss,) = scalars(1)

    @ti.ad.grad_replaced
    def forward():
        pass

    def run():
        with ti.ad.Tape(loss):
            forward()

    show.error(run)


def enter(*arguments, **keywords):
    with ti.ad.Tape(*arguments, **keywords):
        pass


@case()
def losses_that_are_none(show):
    show.error(enter, ti.field(ti.f32, 3, needs_grad=True))
    show.error(enter, ti.field(ti.f32, ()))
    show.error(enter, ti.ndarray(ti.f32, 3, needs_grad=True))
    show.error(enter, ti.ndarray(ti.f32, 1))


@case(differs="losses of other types")
def losses_of_other_types(show):
    show.error(enter, 3)


@case()
def tapes_used_twice(show):
    (loss,) = scalars(1)
    tape = ti.ad.Tape(loss)
    show.error(tape.grad)
    with tape:
        pass
    show.error(tape.grad)
    show.error(tape.__enter__)


@case()
def nested_tapes(show):
    (loss,) = scalars(1)

    def run():
        with ti.ad.Tape(loss), ti.ad.Tape(loss):
            pass

    show.error(run)


@case(differs="errors inside a tape")
def errors_inside_a_tape(show):
    x, loss = scalars(2)

    @ti.kernel
    def k():
        loss[None] += x[None] * 3

    def run():
        with ti.ad.Tape(loss):
            k()
            raise KeyError("mine")

    show.error(run)
    show(x.grad[None])


@case(differs="tapes without a loss")
def tape_without_a_loss(show):
    x, y = scalars(2)

    @ti.kernel
    def k():
        y[None] = x[None] * 3

    with ti.ad.Tape() as tape:
        k()
    y.grad[None] = 2
    tape.grad()
    show(x.grad[None])


@case()
def gradients_that_are_not_placed(show):
    x = ti.field(ti.f32, 3)

    @ti.kernel
    def k():
        for i in x:
            x.grad[i] = 1

    show.error(k)


@case()
def ndarrays(show):
    @ti.kernel
    def k(x: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in x:
            loss[0] += x[i] ** 2

    x = ti.ndarray(ti.f32, 3, needs_grad=True)
    loss = ti.ndarray(ti.f32, 1, needs_grad=True)
    x.from_numpy(np.array([1, 2, 3], np.float32))
    for _ in range(2):
        with ti.ad.Tape(loss):
            k(x, loss)
        show(loss[0], x.grad)
    v = ti.ndarray(ti.math.vec2, 2, needs_grad=True)

    @ti.kernel
    def total(v: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in v:
            loss[0] += v[i].dot(v[i])

    v.fill(3)
    with ti.ad.Tape(loss):
        total(v, loss)
    show(loss[0], v.grad)


@case()
def ndarrays_without_gradients(show):
    @ti.kernel
    def k(x: ti.types.ndarray(), y: ti.types.ndarray(needs_grad=False), loss: ti.types.ndarray()):
        for i in x:
            loss[0] += x[i] * y[i]

    x, y = (ti.ndarray(ti.f32, 2, needs_grad=True) for _ in range(2))
    plain = ti.ndarray(ti.f32, 2)
    loss = ti.ndarray(ti.f32, 1, needs_grad=True)
    for array in (x, y, plain):
        array.fill(3)
    for arguments in ((x, y), (plain, y), (x, plain), (x, y)):
        with ti.ad.Tape(loss):
            k(*arguments, loss)
        show(loss[0], x.grad, y.grad)

    @ti.kernel
    def needs(x: ti.types.ndarray(needs_grad=True)):
        pass

    show.error(needs, plain)


@case()
def gradients_of_ndarrays_in_kernels(show):
    @ti.kernel
    def add(x: ti.types.ndarray()) -> ti.f32:
        total = 0.0
        for i in range(3):
            total += x.grad[i]
        return total

    @ti.kernel
    def put(x: ti.types.ndarray()):
        for i in x:
            x.grad[i] = x[i] + 1

    x = ti.ndarray(ti.f32, 3, needs_grad=True)
    x.grad.fill(2)
    show(add(x))
    put(x)
    show(x.grad, add(x))


@case(differs="arrays without a gradient")
def gradients_that_ndarrays_lack(show):
    @ti.kernel
    def add(x: ti.types.ndarray()) -> ti.f32:
        return x.grad[0]

    show.error(add, ti.ndarray(ti.f32, 3))
    x = ti.ndarray(ti.f32, 3, needs_grad=True)
    x.grad.fill(2)
    show(add(x))
    show.error(add, ti.ndarray(ti.f32, 3))
    x._set_grad(ti.ndarray(ti.f32, 2))
    show.error(add, x)


class Tensor:
    """A stand-in for a tensor of PyTorch."""

    def __init__(self, array, requires_grad=True, grad=None):
        self.array, self.requires_grad, self.grad = array, requires_grad, grad

    dtype = property(lambda self: self.array.dtype)
    shape = property(lambda self: self.array.shape)

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def detach(self):
        return Tensor(self.array, requires_grad=False)

    def contiguous(self):
        return self

    def is_floating_point(self):
        return True

    def numel(self):
        return self.array.size

    def is_contiguous(self):
        return self.array.flags.c_contiguous


@case(differs="tensors of other libraries")
def mistakes_with_tensors(show):
    @ti.kernel
    def k(x: ti.types.ndarray()):
        pass

    array = np.ones((2, 3), np.float32)
    show.error(k, Tensor(array, grad=3))
    show.error(k, Tensor(array, grad=Tensor(np.ones((3, 2), np.float32).T)))
    show.error(enter, Tensor(array))
    show.error(enter, Tensor(array[:1, 0], requires_grad=False))


@case(differs="kernels as functions of PyTorch")
def mistakes_with_functions_of_pytorch(show):
    if not hasattr(ti.ad, "torch_function"):
        return

    class Function:
        """A stand-in: `apply` goes forward and back."""

        @classmethod
        def apply(cls, *inputs):
            context = types.SimpleNamespace(saved_tensors=inputs, needs_input_grad=[True])
            context.save_for_backward = context.mark_non_differentiable = lambda *tensors: None
            cls.backward(context, *cls.forward(context, *inputs))

    function = types.SimpleNamespace(Function=Function)
    sys.modules["torch"] = types.SimpleNamespace(
        Tensor=Tensor, autograd=function, is_grad_enabled=lambda: True
    )

    @ti.kernel
    def k(x: ti.types.ndarray(), s: ti.f32, y: ti.types.ndarray()):
        for i in x:
            y[i] = x[i] * s

    @ti.kernel
    def with_result(x: ti.types.ndarray()) -> ti.f32:
        return x[0]

    show.error(ti.ad.torch_function, len, out={"y": "x"})
    show.error(ti.ad.torch_function, with_result, out={"x": "x"})
    show.error(ti.ad.torch_function, k, out="y")
    show.error(ti.ad.torch_function, k, out={"s": "x"})
    show.error(ti.ad.torch_function, k, out={"y": "z"})
    x = Tensor(np.ones(3, np.float32))
    show.error(ti.ad.torch_function(k, out={"y": lambda x, s: x}), x, 1.0)
    f = ti.ad.torch_function(k, out={"y": lambda x, s: Tensor(np.ones(3, np.float32))})
    show.error(f, np.ones(3), 1.0)
    show.error(f, x, x)
    show.error(f, x, 1.0, x)
    show.error(f, x, 1.0)
    with ti.ad.Tape():
        show.error(f, x, 1.0)
    del sys.modules["torch"]


@case(differs="tensors of other libraries")
def converted_tensors(show):
    @ti.kernel
    def k(x: ti.types.ndarray(dtype=ti.math.vec2)):
        pass

    show.error(k.grad, Tensor(np.ones((3, 2)), grad=Tensor(np.ones((3, 2)))))


@case()
def gradients_through_gradients_of_ndarrays(show):
    @ti.kernel
    def k(x: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in x:
            loss[0] += x.grad[i] * x[i]

    x = ti.ndarray(ti.f32, 3, needs_grad=True)
    loss = ti.ndarray(ti.f32, 1, needs_grad=True)
    k(x, loss)
    show.error(k.grad, x, loss)


@case()
def stopped_gradients(show):
    x, y, loss = scalars(3)

    @ti.kernel
    def all_of_it():
        for _ in range(1):
            ti.stop_grad(x)
            loss[None] += x[None] * y[None]

    @ti.kernel
    def after_a_read():
        for _ in range(1):
            loss[None] += x[None] * 3
            ti.stop_grad(x)

    x[None] = 2
    y[None] = 7
    for kernel in (all_of_it, after_a_read):
        with ti.ad.Tape(loss):
            kernel()
        show(loss[None], x.grad[None], y.grad[None])


@case(differs="`ti.stop_grad` in a branch")
def stopped_gradients_in_a_branch(show):
    x, loss = scalars(2)

    @ti.kernel
    def one_block():
        for i in range(2):
            if i == 0:
                ti.stop_grad(x)
                loss[None] += x[None] * 3
            else:
                loss[None] += x[None] * 5

    x[None] = 2
    with ti.ad.Tape(loss):
        one_block()
    show(loss[None], x.grad[None])


@case(differs="`ti.stop_grad` of values")
def stopped_values(show):
    x, loss = scalars(2)

    @ti.kernel
    def k():
        loss[None] += x[None] * ti.stop_grad(x[None])

    x[None] = 2
    with ti.ad.Tape(loss):
        k()
    show(loss[None], x.grad[None])


@case()
def checked_gradients(show):
    x = ti.field(ti.f64, 3, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def k():
        for i in x:
            loss[None] += ti.sin(x[i]) * x[i]

    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    with ti.ad.Tape(loss, grad_check=[x]):
        k()
    show(x.grad, x, loss[None])


@case(differs="gradients that differ from finite differences")
def wrong_gradients(show):
    x = ti.field(ti.f64, (), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def k():
        loss[None] += x[None] * 3

    @ti.ad.grad_replaced
    def forward():
        k()

    @ti.ad.grad_for(forward)
    def backward():
        x.grad[None] = 4

    def run():
        with ti.ad.Tape(loss, grad_check=[x]):
            forward()

    show.error(run)
    if hasattr(ti.ad, "check_grad"):
        show.error(ti.ad.check_grad, forward, loss, x)
        show.error(ti.ad.check_grad, forward, loss, ti.field(ti.f64, ()))


@case()
def checks_that_are_refused(show):
    x, loss = scalars(2)
    show.error(enter, loss, grad_check=x)
    show.error(enter, loss, grad_check=[x])


@case()
def validation_without_debug_mode(show):
    (loss,) = scalars(1)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        ti.ad.Tape(loss, validation=True)
    show([(w.category.__name__, str(w.message)) for w in shown])


@case(debug=True, differs="checks of `Tape(validation=True)`")
def validation_in_debug_mode(show):
    x, loss = scalars(2)

    @ti.kernel
    def use():
        loss[None] += x[None] * 3

    @ti.kernel
    def change():
        x[None] += 1

    def overwritten():
        with ti.ad.Tape(loss, validation=True):
            use()
            change()

    show.error(overwritten)
    with ti.ad.Tape(loss, validation=True):
        change()
        use()
    show(x.grad[None])


@case(debug=True)
def validation_marks_kernels(show):
    x, loss = scalars(2)

    @ti.kernel
    def k():
        loss[None] += x[None] * 3

    modes = ti.lang.enums.AutodiffMode
    with ti.ad.Tape(loss, validation=True) as tape:
        k()
        show([call[0].autodiff_mode == modes.VALIDATION for call in tape.calls])
    show([call[0].autodiff_mode == modes.NONE for call in tape.calls], x.grad[None])


def duals(*shapes):
    return [ti.field(ti.f32, shape, needs_dual=True) for shape in shapes]


@case()
def forward_mode(show):
    x, y = duals(3, 3)

    @ti.kernel
    def k(scale: ti.f32):
        for i in x:
            y[i] = scale * x[i] ** 2

    x.from_numpy(np.array([1, 2, 3], np.float32))
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0, 2.0]):
        k(2.0)
    show(y, y.dual, x.dual)
    p, q, r = duals((), (), ())

    @ti.kernel
    def two():
        q[None] = ti.sin(p[None])
        r[None] = p[None] * p[None]

    p[None] = 2
    with ti.ad.FwdMode(loss=[q, r], param=p):
        two()
    show(q.dual[None], r.dual[None], p.dual[None])


@case()
def forward_mode_misused(show):
    x, y = duals(3, 3)

    def enter(*arguments, **keywords):
        with ti.ad.FwdMode(*arguments, **keywords):
            pass

    show.error(enter, y, x)
    mode = ti.ad.FwdMode(y, x, [1, 1, 1])
    with mode:
        pass
    show.error(mode.__enter__)


@case(differs="mistakes with `FwdMode`")
def forward_mode_refuses(show):
    x, y = duals(3, 3)

    def enter(*arguments, **keywords):
        with ti.ad.FwdMode(*arguments, **keywords):
            pass

    show.error(enter, y, x, seed=[1])
    show.error(enter, y, 3)
    show.error(enter, y, [x, y], seed=[[1, 1, 1]])
    show.error(enter, y, [x, y], seed=[[1, 1, 1], [1]])
    show.error(enter, y, [x, y])
    show.error(enter, ti.field(ti.f32, 3), x, seed=[1, 1, 1])
    show.error(ti.ad.FwdMode(y, x).recover_kernels)


@case(differs="loops with checkpoints")
def mistakes_with_checkpoints(show):
    if not hasattr(ti.ad, "checkpoint"):
        return
    x, y, loss = (ti.field(ti.f32, (), needs_grad=True) for _ in range(3))
    sparse = ti.field(ti.f32)
    ti.root.pointer(ti.i, 4).place(sparse, sparse.grad)

    @ti.kernel
    def k():
        y[None] += x[None] ** 2

    @ti.kernel
    def move():
        x[None] += 0.1 * y[None]

    @ti.kernel
    def scatter():
        for i in range(4):
            sparse[i] = x[None]

    @ti.kernel
    def gather():
        for i in sparse:
            x[None] += sparse[i]

    def step(i):
        k()
        move()

    def with_elements(i):
        k()
        y[None] = 0
        move()

    def with_sparse(i):
        scatter()
        gather()
        scatter()

    def run(step, n=3, state=(x, y), slots=2, first=None):
        x[None] = y[None] = 1
        with ti.ad.Tape(loss):
            if first is not None:
                first()
            ti.ad.checkpoint(step, n, state=state, slots=slots)

    show.error(run, step, -1)
    show.error(run, step, 2.5)
    show.error(run, step, slots=0)
    show.error(run, step, state=None)
    show.error(run, step, state=[])
    show.error(run, step, state=[3])
    show.error(run, step, state=[sparse])
    show.error(run, step, state=[x])
    show.error(run, step, state=[y])
    show.error(run, step, state=[x], first=k)
    show.error(run, with_elements)
    show.error(run, with_sparse)


@case(differs="derivatives of Python functions")
def products_with_jacobians(show):
    if not hasattr(ti.ad, "vjp"):
        return
    x, y = (ti.field(ti.f32, 2, needs_grad=True) for _ in range(2))

    @ti.kernel
    def k():
        for i in x:
            y[i] = x[i] * x[1 - i]

    x.from_numpy(np.array([2, 3], np.float32))
    show(ti.ad.vjp(k, y, x, np.array([1, 10], np.float32)))
    show(ti.ad.vjp(k, y, [x], np.array([1, 10], np.float32)))
    show(ti.ad.jacobian(k, y, x))
    show.error(ti.ad.jacobian, k, y, ti.field(ti.f32, 2))


@case()
def what_snodes_tell(show):
    x = ti.field(ti.f32, (), needs_grad=True)
    y = ti.field(ti.f32)
    ti.root.dense(ti.i, 2).place(y, y.dual)
    kinds = ti.lang.enums.SNodeGradType
    for field, kind in ((x, "PRIMAL"), (x.grad, "ADJOINT"), (y.dual, "DUAL")):
        pointer = field.snode.ptr
        show(pointer.get_snode_grad_type() == getattr(kinds, kind), pointer.is_primal())
        show(pointer.has_adjoint(), pointer.has_adjoint_checkbit(), pointer.is_place())
    show(y.snode.ptr.has_adjoint(), y.snode.ptr.has_dual(), y.snode.parent().ptr.is_place())


@case(debug=True)
def check_bits_of_snodes(show):
    x, loss = scalars(2)

    @ti.kernel
    def k():
        loss[None] += x[None]

    with ti.ad.Tape(loss, validation=True):
        k()
    show(x.snode.ptr.has_adjoint_checkbit())


@case()
def counted_instances(show):
    x, loss = scalars(2)

    @ti.kernel
    def k():
        loss[None] += x[None]

    runtime = ti.lang.impl.get_runtime()
    for kernel in (k, k, k.grad, k.grad):
        kernel()
        show(runtime.get_num_compiled_functions())


@case(differs="gradients of quantised fields")
def quantised_fields(show):
    (loss,) = scalars(1)
    x = ti.field(ti.types.quant.fixed(16, max_value=2.0))
    for field in (x, x.grad):
        pack = ti.BitpackedFields(32)
        pack.place(field)
        ti.root.dense(ti.i, 4).place(pack)

    @ti.kernel
    def k():
        for i in range(4):
            loss[None] += x[i]

    k()
    show.error(k.grad)


@case(differs="gradients of another shape")
def gradients_of_another_shape(show):
    (loss,) = scalars(1)
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, 4).place(x)
    ti.root.dense(ti.i, 3).place(x.grad)
    ti.root.pointer(ti.i, 4).place(y)
    ti.root.dense(ti.i, 4).place(y.grad)

    @ti.kernel
    def k(f: ti.template()):
        for i in range(3):
            loss[None] += f[i]

    show.error(k.grad, x)
    show.error(k.grad, y)


@case(differs="arguments of gradients that share memory")
def arrays_that_share_memory(show):
    a = ti.ndarray(ti.f32, 4, needs_grad=True)
    b = ti.ndarray(ti.f32, 4, needs_grad=True)

    @ti.kernel
    def k(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in x:
            y[i] = x[i] ** 2

    a.fill(3)
    b.grad.fill(1)
    k(a, b)
    k.grad(a, b)
    show(a.grad)
    show.error(k.grad, a, a)


@case(differs="tapes of loops")
def tape_without_room(show):
    x, loss = scalars(2)

    @ti.kernel
    def k(n: ti.i32):
        for _ in range(1):
            v = ti.Vector([1.0] * 32)
            for step in range(n):
                v = v * v * x[None]
            loss[None] += v.sum()

    x[None] = 0.5
    loss.grad[None] = 1
    show.error(k.grad, 2_000_000_000)
    k.grad(1)
    show(x.grad[None])


@case(differs="tapes of loops")
def limits_by_an_option(show):
    for limit in (-1.0, float("nan")):
        show.error(ti.init, ti.cpu, ad_tape_GB=limit)
    for limit in (2**-8, 2**-6, 0):
        ti.init(ti.cpu, ad_tape_GB=limit)
        x, loss = scalars(2)

        @ti.kernel
        def k():
            for _ in range(1):
                y = x[None]
                for step in range(1_500_000):
                    y = y * y * x[None]
                loss[None] += y

        x[None] = 1
        loss.grad[None] = 1
        if limit == 2**-8:
            show.error(k.grad)
        else:
            k.grad()


@case(differs="tapes of loops")
def limit_of_tapes(show):
    @ti.kernel
    def k():
        pass

    for text in ("many", "0", "-1", "1.5"):
        os.environ["KILN_TAPE_MB"] = text
        show.error(lambda: k.grad)
    os.environ["KILN_TAPE_MB"] = "64"
    k.grad()
    del os.environ["KILN_TAPE_MB"]


@case(differs="what a gradient needs is overwritten")
def overwritten_values(show):
    x, loss = scalars(2)
    y = ti.field(ti.f32, 4, needs_grad=True)

    @ti.kernel
    def in_place():
        for i in y:
            y[i] = ti.sin(y[i])

    @ti.kernel
    def later():
        for i in y:
            loss[None] += y[i] ** 2
        for i in y:
            y[i] = 0.0

    show.error(in_place.grad)
    show.error(later.grad)


@case(differs="a later kernel overwrites what a gradient needs")
def overwritten_by_later_kernels(show):
    x, loss = scalars(2)

    @ti.kernel
    def use():
        loss[None] += x[None] ** 2

    @ti.kernel
    def change():
        x[None] += 1

    def launch(access):
        with ti.ad.Tape(loss, access=access):
            use()
            change()
            change()

    try:
        launch("error")
    except RuntimeError as error:
        show(without_lines(error))
    show.error(launch, "save")
    launch("ignore")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        launch("warn")
    show([(type(one.message).__name__, str(one.message).partition(" at ")[0]) for one in caught])


@case(differs="second derivatives")
def second_derivatives_that_are_refused(show):
    both = {"needs_grad": True, "needs_dual": True}
    x, loss = ti.field(ti.f32, 2, **both), ti.field(ti.f32, (), **both)
    (without_dual,) = scalars(1, name="w")
    array = ti.ndarray(ti.f32, 2, needs_grad=True)

    @ti.kernel
    def through_another():
        loss[None] += x[0] * without_dual[None]

    @ti.kernel
    def of_an_array(a: ti.types.ndarray()):
        loss[None] += x[0] * a[0]

    @ti.ad.grad_replaced
    def replaced():
        pass

    v = np.zeros(2, np.float32)
    try:
        ti.ad.hvp(through_another, loss, x, v)
    except RuntimeError as error:
        show(without_lines(error))
    show.error(ti.ad.hvp, lambda: of_an_array(array), loss, x, v)
    show.error(ti.ad.hvp, replaced, loss, x, v)
    show.error(ti.ad.hvp, through_another, loss, array, v)
    show.error(ti.ad.hvp, through_another, x, x, v)
