"""`ti.ad.checkpoint`: the gradients are those of a plain tape, in the fewest runs of steps."""

import functools
import importlib

import numpy as np
import pytest

module = importlib.import_module("kiln.ad.checkpoint")
N = 4
DT = 0.3


@pytest.fixture
def ti(ti):
    ti.init(ti.cpu, default_fp=ti.f64)
    return ti


class Model:
    """Springs on a ring, whose fields each step overwrites: forces from positions, new velocities,
    new positions."""

    def __init__(self, ti):
        make = functools.partial(ti.field, ti.f64, needs_grad=True)
        self.ti = ti
        self.x, self.v, self.f, self.k = (make(N) for _ in range(4))
        self.loss = make(())
        self.ran = []
        x, v, f, k, loss = self.x, self.v, self.f, self.k, self.loss

        @ti.kernel
        def pull():
            for i in x:
                f[i] = -k[i] * ti.sin(x[i] - 0.5 * x[(i + 1) % N])

        @ti.kernel
        def push(t: ti.i32):
            for i in v:
                v[i] += DT * f[i] * (1 + 0.1 * t)

        @ti.kernel
        def move():
            for i in x:
                x[i] += DT * v[i]

        @ti.kernel
        def total():
            for i in x:
                loss[None] += x[i] ** 2 * (i + 1) + v[i] ** 3

        self.pull, self.push, self.move, self.total = pull, push, move, total
        self.start()

    def start(self):
        self.x.from_numpy(np.linspace(0.2, 1.0, N))
        self.v.from_numpy(np.linspace(1.0, -0.5, N))
        self.k.from_numpy(np.linspace(0.5, 2.0, N))

    def step(self, t):
        self.ran.append(t)
        self.pull()
        self.push(t)
        self.move()

    def loss_and_gradients(self, n, **options):
        self.start()
        with self.ti.ad.Tape(self.loss):
            self.ti.ad.checkpoint(self.step, n, **options)
            self.total()
        return self.results()

    def results(self):
        gradients = [one.grad.to_numpy() for one in (self.x, self.v, self.k)]
        return [self.loss[None], *gradients, self.x.to_numpy(), self.v.to_numpy()]


def expected(n):
    """What `loss_and_gradients` returns, by duals of NumPy numbers."""
    directions = np.eye(3 * N)
    values = np.concatenate(
        [np.linspace(0.2, 1.0, N), np.linspace(1.0, -0.5, N), np.linspace(0.5, 2.0, N)]
    )
    x, v, k = values.reshape(3, N)
    dx, dv, dk = directions.reshape(3, N, 3 * N)
    for t in range(n):
        angle = x - 0.5 * np.roll(x, -1)
        d_angle = dx - 0.5 * np.roll(dx, -1, axis=0)
        f = -k * np.sin(angle)
        df = -dk * np.sin(angle)[:, None] - (k * np.cos(angle))[:, None] * d_angle
        v, dv = v + DT * f * (1 + 0.1 * t), dv + DT * df * (1 + 0.1 * t)
        x, dx = x + DT * v, dx + DT * dv
    scale = np.arange(N) + 1
    loss = (x**2 * scale + v**3).sum()
    gradient = (2 * x * scale) @ dx + (3 * v**2) @ dv
    return [loss, *gradient.reshape(3, N), x, v]


def check(found, n):
    for one, other in zip(found, expected(n), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("slots", [1, 2, 3, 5, 100, None])
def test_gradients_are_right(ti, slots):
    model = Model(ti)
    for n in (0, 1, 2, 3, 4, 5, 7, 11, 23):
        check(model.loss_and_gradients(n, state=[model.x, model.v], slots=slots), n)


@functools.lru_cache(None)
def fewest(n, slots):
    """The fewest runs of steps before the gradient of the last one, and between gradients. The
    first copy takes a slot."""
    if n <= 1:
        return 0
    if slots == 1:
        return n * (n - 1) // 2
    return min(m + fewest(n - m, slots - 1) + fewest(m, slots) for m in range(1, n))


def test_the_schedule_needs_the_fewest_runs(ti, monkeypatch):
    class Counted(module.Contents):
        alive = most = 0

        def __init__(self, values):
            super().__init__(values)
            Counted.alive += 1
            Counted.most = max(Counted.most, Counted.alive)

        def __del__(self):
            Counted.alive -= 1

    x, loss = (ti.field(ti.f64, (), needs_grad=True) for _ in range(2))
    ran = []
    for slots in (1, 2, 3, 4, 7, 20):
        for n in (1, 2, 3, 6, 10, 15, 21, 33):
            ran.clear()
            with ti.ad.Tape(loss) as tape:
                ti.ad.checkpoint(ran.append, n, state=[x], slots=slots)
                assert ran == list(range(n))
            # What follows the loop is like a step: the forward sweep ends where it begins.
            assert len(ran) == fewest(n + 1, slots) + n, (n, slots)
            del tape
    monkeypatch.setattr(module, "Contents", Counted)
    with ti.ad.Tape(loss):
        ti.ad.checkpoint(ran.append, 50, state=[x], slots=4)
        Counted.most = Counted.alive
    assert Counted.most <= 4 + 1  # with the last state


def test_slots_by_default():
    for n in (1, 2, 3, 10, 100):
        assert fewest(n + 1, module.default_slots(n)) <= 2 * n
    assert [module.default_slots(n) for n in (1, 2, 100, 1000)] == [1, 1, 13, 44]


def test_memory_is_as_the_steps_left_it(ti):
    model = Model(ti)
    model.loss_and_gradients(6, state=[model.x, model.v], slots=2)
    after = [one.to_numpy() for one in (model.x, model.v, model.f)]
    model.start()
    for t in range(6):
        model.step(t)
    for one, other in zip((model.x, model.v, model.f), after):
        np.testing.assert_array_equal(one.to_numpy(), other)


@pytest.mark.parametrize("slots", [1, 2, 9])
@pytest.mark.parametrize("left_out", ["x", "v"])
def test_state_that_is_left_out_is_found(ti, slots, left_out):
    model = Model(ti)
    listed = [model.v if left_out == "x" else model.x]
    with pytest.raises(RuntimeError, match="left other values in|an earlier step has written"):
        model.loss_and_gradients(8, state=listed, slots=slots)
    assert ti._native.watcher() is None
    check(model.loss_and_gradients(5, state=[model.x, model.v]), 5)


def test_a_sum_over_the_steps(ti):
    x, y, loss = (ti.field(ti.f64, (), needs_grad=True) for _ in range(3))

    @ti.kernel
    def advance():
        y[None] = ti.sin(x[None])

    @ti.kernel
    def add():
        loss[None] += x[None]

    def step(i):
        advance()
        x.copy_from(y)
        add()

    def run(state):
        x[None] = 1.0
        with ti.ad.Tape(loss):
            ti.ad.checkpoint(step, 6, state=state, slots=2)

    with pytest.raises(RuntimeError, match="left other values in the field"):
        run([x])
    run([x, loss])
    value, slope, total, gradient = 1.0, 1.0, 0.0, 0.0
    for _ in range(6):
        value, slope = np.sin(value), slope * np.cos(value)
        total, gradient = total + value, gradient + slope
    assert (loss[None], x.grad[None]) == (pytest.approx(total), pytest.approx(gradient))


def test_kernels_before_the_loop(ti):
    """Their gradients see the state from before the first step."""
    model = Model(ti)
    model.start()
    with ti.ad.Tape(model.loss):
        model.total()
        ti.ad.checkpoint(model.step, 4, state=[model.x, model.v], slots=2)
    x, v = np.linspace(0.2, 1.0, N), np.linspace(1.0, -0.5, N)
    np.testing.assert_allclose(model.x.grad.to_numpy(), 2 * x * (np.arange(N) + 1))
    np.testing.assert_allclose(model.v.grad.to_numpy(), 3 * v**2)

    def with_forces():
        with ti.ad.Tape(model.loss):
            model.pull()
            ti.ad.checkpoint(model.step, 4, state=[model.x, model.v])

    with pytest.raises(RuntimeError, match="which kernel 'pull' used before the loop"):
        with_forces()


def test_errors_in_steps(ti):
    model = Model(ti)

    def failing(t):
        model.step(t)
        if len(model.ran) == stop:
            raise KeyError("stop")

    for stop in (3, 12):  # in the forward sweep, in the gradient
        model.start()
        model.ran.clear()
        with pytest.raises(KeyError):
            with ti.ad.Tape(model.loss) as tape:
                ti.ad.checkpoint(failing, 6, state=[model.x, model.v], slots=2)
                model.total()
        assert not tape.gradient_evaluated and ti._native.watcher() is None
    model.start()
    final = [model.x.to_numpy(), model.v.to_numpy()]
    stop = 0
    ti.ad.checkpoint(model.step, 6, state=[model.x, model.v])
    final = model.x.to_numpy()
    model.start()
    stop, model.ran = 12, []
    with pytest.raises(KeyError):
        with ti.ad.Tape(model.loss):
            ti.ad.checkpoint(failing, 6, state=[model.x, model.v], slots=2)
    np.testing.assert_array_equal(model.x.to_numpy(), final)


def test_tapes_do_not_nest(ti):
    model = Model(ti)

    def step(t):
        with ti.ad.Tape():
            model.step(t)

    with pytest.raises(RuntimeError, match="inside another Tape"):
        model.loss_and_gradients(0, state=[model.x])
        with ti.ad.Tape(model.loss):
            ti.ad.checkpoint(step, 3, state=[model.x, model.v])


def test_loops_in_steps(ti):
    model = Model(ti)
    state = [model.x, model.v]

    def outer(t):
        ti.ad.checkpoint(lambda i: model.step(3 * t + i), 3, state=state, slots=2)

    model.start()
    with ti.ad.Tape(model.loss):
        ti.ad.checkpoint(outer, 4, state=state, slots=2)
        model.total()
    check(model.results(), 12)


def test_two_loops(ti):
    model = Model(ti)
    state = [model.x, model.v]
    model.start()
    with ti.ad.Tape(model.loss):
        ti.ad.checkpoint(model.step, 4, state=state, slots=2)
        ti.ad.checkpoint(lambda t: model.step(t + 4), 5, state=state, slots=1)
        model.total()
    check(model.results(), 9)


def test_replaced_functions_in_steps(ti):
    model = Model(ti)

    @ti.ad.grad_replaced
    def forward(t):
        model.push(t)
        model.move()

    @ti.ad.grad_for(forward)
    def backward(t):
        model.move.grad()
        model.push.grad(t)

    def step(t):
        model.pull()
        forward(t)

    model.start()
    with ti.ad.Tape(model.loss):
        ti.ad.checkpoint(step, 5, state=[model.x, model.v], slots=2)
        model.total()
    check(model.results(), 5)


def test_without_a_tape(ti):
    model = Model(ti)
    ti.ad.checkpoint(model.step, 5, state=[model.x, model.v])
    assert model.ran == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(model.x.to_numpy(), expected(5)[4])


def test_forward_mode(ti):
    x, y = (ti.field(ti.f64, (), needs_dual=True) for _ in range(2))

    @ti.kernel
    def k():
        y[None] = x[None] ** 2

    def step(i):
        k()
        x.copy_from(y)

    x[None] = 1.5
    with ti.ad.FwdMode(loss=y, param=x):
        ti.ad.checkpoint(step, 3, state=[x])
    assert y.dual[None] == pytest.approx(8 * 1.5**7)


def test_checks_and_products_run_the_loop_again(ti):
    model = Model(ti)

    def run():
        ti.ad.checkpoint(model.step, 4, state=[model.x, model.v], slots=2)
        model.total()

    model.start()
    ti.ad.check_grad(run, model.loss, [model.x, model.k])
    model.start()
    with ti.ad.Tape(model.loss, grad_check=[model.k]):
        run()
    model.start()

    def steps():
        ti.ad.checkpoint(model.step, 4, state=[model.x, model.v], slots=2)

    jacobian = ti.ad.jacobian(steps, model.x, model.k)
    product = np.array([1.0, -2.0, 3.0, 0.5])
    model.start()
    np.testing.assert_allclose(ti.ad.vjp(steps, model.x, model.k, product), product @ jacobian)


def test_state_of_every_form(ti):
    """A struct field with a matrix, an ndarray as an argument, integers."""
    pair = ti.types.struct(a=ti.f64, m=ti.math.mat2)
    s = pair.field(shape=3, needs_grad=True)
    a = ti.ndarray(ti.f64, 3, needs_grad=True)
    count = ti.field(ti.i32, ())
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def k(a: ti.types.ndarray()):
        for i in a:
            a[i] += s.a[i] * s.m[i][0, 1]

    @ti.kernel
    def turn(a: ti.types.ndarray(), c: ti.template()):
        for i in s:
            s.m[i] += ti.Matrix([[0.0, ti.sin(a[i])], [0.0, 1.0]]) * c[None]

    @ti.kernel
    def add():
        count[None] += 1

    @ti.kernel
    def total(a: ti.types.ndarray()):
        for i in a:
            loss[None] += a[i] ** 2

    def start():
        s.a.from_numpy(np.array([1.0, 2.0, 3.0]))
        s.m.fill(0.5)
        a.fill(0.1)
        count[None] = 1

    def run(body):
        start()
        a.grad.fill(0)
        with ti.ad.Tape(loss):
            body()
            total(a)
        return s.a.grad.to_numpy(), loss[None], count[None], a.grad.to_numpy()

    def step(_):
        k(a)
        turn(a, count)
        add()

    found = run(lambda: ti.ad.checkpoint(step, 5, state=[s, a, count], slots=2))
    assert found[2] == 6
    eps = 1e-6
    losses = []
    for change in (eps, -eps):
        start()
        s.a[1] += change
        loss[None] = 0
        for i in range(5):
            step(i)
        total(a)
        losses.append(loss[None])
    assert found[0][1] == pytest.approx((losses[0] - losses[1]) / (2 * eps), rel=1e-7)


def test_random_numbers_in_steps(ti):
    x, noise, loss = (ti.field(ti.f64, (), needs_grad=True) for _ in range(3))

    @ti.kernel
    def draw():
        noise[None] = ti.random()

    @ti.kernel
    def walk():
        x[None] += noise[None]

    @ti.kernel
    def total():
        loss[None] += x[None] ** 2

    @ti.ad.no_grad
    def drawn():
        draw()

    def step(_):
        drawn()
        walk()

    with pytest.raises(RuntimeError, match="left other values"):
        with ti.ad.Tape(loss):
            ti.ad.checkpoint(step, 4, state=[x])
            total()


def test_sparse_fields_of_steps(ti):
    model = Model(ti)
    g = ti.field(ti.f64)
    block = ti.root.pointer(ti.i, N)
    block.place(g, g.grad)

    @ti.kernel
    def scatter():
        for i in model.x:
            g[i] = model.x[i] ** 2

    @ti.kernel
    def gather():
        for i in g:
            model.x[i] += 0.1 * g[i]

    def step(_):
        block.deactivate_all()
        scatter()
        gather()

    model.start()
    with ti.ad.Tape(model.loss):
        ti.ad.checkpoint(step, 3, state=[model.x], slots=1)
        model.total()
    x, slope = np.linspace(0.2, 1.0, N), np.ones(N)
    for _ in range(3):
        x, slope = x + 0.1 * x**2, slope * (1 + 0.2 * x)
    np.testing.assert_allclose(model.x.grad.to_numpy(), 2 * x * (np.arange(N) + 1) * slope)

    def twice(_):
        scatter()
        gather()
        scatter()

    with pytest.raises(RuntimeError, match="Only dense fields can be restored"):
        with ti.ad.Tape(model.loss):
            ti.ad.checkpoint(twice, 3, state=[model.x])


def test_elements_that_python_writes(ti):
    x, energy, t, loss = (ti.field(ti.f64, (), needs_grad=i != 2) for i in range(4))

    @ti.kernel
    def add():
        energy[None] += x[None] ** 2 * t[None]

    @ti.kernel
    def move():
        x[None] += 0.1 * energy[None]

    @ti.kernel
    def total():
        loss[None] += x[None]

    def run(step):
        x[None] = 1.0
        with ti.ad.Tape(loss):
            ti.ad.checkpoint(step, 3, state=[x])
            total()
        return x.grad[None]

    def right(i):
        t[None] = 1.0  # without a gradient, and before it is used
        energy.fill(0.0)
        add()
        move()

    value, slope = 1.0, 1.0
    for _ in range(3):
        value, slope = value + 0.1 * value**2, slope * (1 + 0.2 * value)
    assert run(right) == pytest.approx(slope)

    def unrecorded(i):
        energy[None] = 0.0
        add()
        move()

    def overwritten(i):
        right(i)
        t[None] = 2.0

    for step in (unrecorded, overwritten):
        with pytest.raises(RuntimeError, match="Python writes single elements of the field"):
            run(step)


def test_gradients_of_deactivated_cells(ti):
    """Outside of the cells of their field, gradients would outlive the cells."""
    x, loss = (ti.field(ti.f64, (), needs_grad=True) for _ in range(2))
    g = ti.field(ti.f64)
    cells, of_gradients = (ti.root.pointer(ti.i, 2) for _ in range(2))
    cells.place(g)
    of_gradients.place(g.grad)

    @ti.kernel
    def scatter():
        g[1] += x[None] ** 2

    @ti.kernel
    def gather():
        x[None] += 0.1 * g[1]

    @ti.kernel
    def activate():
        g.grad[1] = 0.0

    @ti.kernel
    def total():
        loss[None] += x[None]

    def step(_):
        cells.deactivate_all()
        scatter()
        gather()

    activate()
    x[None] = 1.0
    with ti.ad.Tape(loss):
        ti.ad.checkpoint(step, 3, state=[x])
        total()
    value, slope = 1.0, 1.0
    for _ in range(3):
        value, slope = value + 0.1 * value**2, slope * (1 + 0.2 * value)
    assert x.grad[None] == pytest.approx(slope)


def test_fields_of_some_steps(ti):
    """What only some steps write is found, and left as they left it."""
    model = Model(ti)
    every = ti.field(ti.f64, N, needs_grad=True)

    @ti.kernel
    def save():
        for i in every:
            every[i] = model.x[i] ** 2

    @ti.kernel
    def add():
        for i in every:
            model.x[i] += 0.01 * every[i]

    def step(t):
        model.step(t)
        if t % 4 == 2:
            save()
        if t > 2:
            add()

    model.start()
    with pytest.raises(RuntimeError, match="an earlier step has written"):
        with ti.ad.Tape(model.loss):
            ti.ad.checkpoint(step, 10, state=[model.x, model.v], slots=2)
            model.total()
    model.start()
    ti.ad.checkpoint(step, 10, state=[model.x])
    after = every.to_numpy()

    def run():
        ti.ad.checkpoint(step, 10, state=[model.x, model.v, every], slots=2)
        model.total()

    model.start()
    ti.ad.check_grad(run, model.loss, [model.x, model.k])
    np.testing.assert_array_equal(every.to_numpy(), after)


@pytest.mark.filterwarnings("error")
def test_large_and_infinite_values(ti):
    x, y = (ti.field(ti.f32, 3000, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def double():
        for i in x:
            y[i] = 2 * x[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    def step(_):
        double()
        x.copy_from(y)

    x.fill(1e30)
    x[5], x[2000] = np.inf, np.nan
    with ti.ad.Tape(loss):
        ti.ad.checkpoint(step, 9, state=[x], slots=2)
        total()
    assert (x.grad.to_numpy() == 2.0**9).all()
