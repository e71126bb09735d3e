"""`ti.ad`: tapes, gradients of kernels, gradients that functions replace, forward mode, checks."""

import numpy as np
from harness import case, scalars, ti


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
def gradients_that_are_not_placed(show):
    x = ti.field(ti.f32, 3)

    @ti.kernel
    def k():
        for i in x:
            x.grad[i] = 1

    show.error(k)


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
