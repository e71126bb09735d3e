"""Gradients of larger kernels in reverse mode, against finite differences, and in forward mode,
against reverse mode."""

import numpy as np
import pytest

N = 5
PROGRAMS = {}


def program(function):
    """Registers a program: function(ti, x, y, loss, idx) returns what runs it. It computes
    loss[None] from x, by y; idx are integers."""
    PROGRAMS[function.__name__] = function
    return function


@program
def break_nested(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            s = x[i]
            for a in range(4):
                for b in range(5):
                    if s > 3.3:
                        break
                    s = s * 1.3 + x[a] * 0.1
                if s > 5.01:
                    break
                s += 0.2 * x[i]
            loss[None] += s * s

    return k


@program
def while_two_breaks(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            s = x[i]
            n = 0
            while True:
                s = ti.sin(s) + x[i] * 0.5
                n += 1
                if s > 1.53:
                    break
                s = s * 1.1
                if n > 6:
                    break
            loss[None] += s * n

    return k


@program
def zero_iterations(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(idx[i]):
                s = s * x[j] + 1
            loss[None] += s

    return k


@program
def indirect(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            y[idx[i]] += x[i] * x[idx[i]]
        for i in x:
            loss[None] += y[i] ** 2

    return k


@program
def local_array(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            a = ti.Vector([0.0] * 8)
            for j in range(8):
                a[j] = x[(i + j) % N] * (j + 1)
            for r in range(3):
                for j in range(7):
                    a[j + 1] = a[j + 1] + ti.sin(a[j]) * 0.3
            loss[None] += a[7] * a[idx[i]]

    return k


@program
def big_local(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            a = ti.Vector([0.0] * 40)
            for j in range(40):
                a[j] = x[(i + j) % N] * (j + 1) * 0.1
            for j in range(39):
                a[j + 1] = a[j + 1] * a[j] + 0.5
            loss[None] += a[39]

    return k


@program
def carried_matrix(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            m = ti.Matrix([[x[i], 1.0], [0.3, x[i] * x[i]]])
            v = ti.Vector([1.0, x[i]])
            for j in range(4):
                v = m @ v
                m = m @ m * 0.3
            loss[None] += v.norm() + m.trace()

    return k


@program
def func_returns(ti, x, y, loss, idx):
    @ti.func
    def f(a):
        r = 0.0
        if a > 1.0:
            r = a * a
        else:
            r = ti.exp(a)
        return r

    @ti.kernel
    def k():
        for i in x:
            loss[None] += f(x[i]) * f(x[i] * 1.2)

    return k


@program
def real_early_return(ti, x, y, loss, idx):
    @ti.real_func
    def f(a: ti.f64, n: ti.i32) -> ti.f64:
        s = a
        for j in range(n):
            if s > 2.01:
                return s * 3
            s = s * 1.4 + a
        return s

    @ti.kernel
    def k():
        for i in x:
            loss[None] += f(x[i], 4) * x[i]

    return k


@program
def own_cell_loops(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            y[i] = 0.0
            for j in range(4):
                y[i] += x[i] * (j + 1)
                y[i] = y[i] * x[i]
        for i in x:
            loss[None] += y[i]

    return k


@program
def while_in_for(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            for j in range(3):
                s = x[i] * (j + 1)
                while s > 0.31:
                    s = s * 0.5
                loss[None] += s * x[j]

    return k


@program
def continue_nested(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(6):
                if j % 3 == 0:
                    continue
                if s > 2.5:
                    s = s * 0.7
                    if j > 3:
                        continue
                s = s * x[j % N] + 0.7
            loss[None] += s

    return k


@program
def serial_top(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        s = 0.0
        for i in range(3):
            s += x[i] * x[i + 1]
        m = s * s
        for i in range(N):
            loss[None] += x[i] * m
        loss[None] += m * s

    return k


@program
def max_reduce(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        m = -1e9
        for i in range(N):
            ti.atomic_max(m, x[i] * ti.sin(x[i] * 3))
        loss[None] += m * m

    return k


@program
def ndranges(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i, j in ti.ndrange(N, N):
            if i != j:
                loss[None] += ti.log((x[i] - x[j]) ** 2 + 0.1)

    return k


@program
def scatter(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in range(N):
            base = int(x[i] * 2)
            f = x[i] * 2 - base
            for o in ti.static(range(2)):
                w = 0.5 * (1 - f) ** 2 if ti.static(o == 0) else 0.75 - (f - 0.3) ** 2
                y[base % N] += w * x[i]

    @ti.kernel
    def g():
        for i in y:
            loss[None] += y[i] * y[i] * (i + 1)

    def run():
        y.fill(0)
        k()
        g()

    return run


@program
def cond_expr(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            a = x[i] if x[i] > 1 and x[i] < 1.5 else x[i] * x[i]
            b = ti.max(a, 0.9) if i % 2 == 0 else ti.min(a, 1.2)
            loss[None] += a * b

    return k


@program
def last_store_wins(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            y[i] = x[i] * 3
            if x[i] > 1:
                y[i] = x[i] ** 2
            loss[None] += y[i]

    return k


@program
def swap(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            a, b = x[i], x[i] ** 2
            for j in range(5):
                a, b = b, a * 0.5 + ti.cos(b)
            loss[None] += a * b

    return k


@program
def parallel_after_serial_field(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        y[0] = x[0] * x[1]
        for i in range(1, N):
            y[i] = y[0] * x[i]
        loss[None] += y[1] * y[2]

    return k


@program
def int_dep(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            n = ti.cast(x[i] * 3, ti.i32)
            s = 1.0
            for j in range(n):
                s *= x[i]
            loss[None] += s

    return k


@program
def idle_loop_beside_changes_in_place(ti, x, y, loss, idx):
    @ti.kernel
    def k():
        for i in x:
            y[i] = x[i] * x[i]
        for i in range(N):
            y[i] += x[i]
            if i > 1:
                for j in range(4):
                    pass  # the gradient leaves nothing else of this loop, and so of the branch
                y[i] += x[i] * x[0]
            if x[4] < 0:
                y[i] = 1.0
        for i in x:
            loss[None] += y[i] * (i + 1)

    return k


@pytest.fixture(params=PROGRAMS)
def made(ti, request):
    """(x, y, loss, run)"""
    ti.init(ti.cpu, default_fp=ti.f64)
    both = {"needs_grad": True, "needs_dual": True}
    x, y, loss = (ti.field(ti.f64, shape, **both) for shape in (N, N, ()))
    idx = ti.field(ti.i32, N)
    x.from_numpy(np.array([0.52, 0.8, 1.1, 1.3, 1.7]))
    idx.from_numpy(np.array([2, 0, 4, 1, 1]))
    return x, y, loss, PROGRAMS[request.param](ti, x, y, loss, idx)


def test_gradient(ti, made):
    x, _, loss, run = made
    ti.ad.check_grad(run, loss, x)


def test_dual(ti, made):
    x, y, loss, run = made
    direction = np.array([0.3, -1.0, 0.5, 0.2, 0.7])
    with ti.ad.Tape(loss):
        run()
    expected = float(x.grad.to_numpy() @ direction)
    y.fill(0)
    loss.fill(0)
    with ti.ad.FwdMode(loss=loss, param=x, seed=list(direction)):
        run()
    assert loss.dual[None] == pytest.approx(expected, rel=1e-9)


def test_recursion_is_refused(ti):
    x, loss = ti.field(ti.f32, (), needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.real_func
    def f(a: ti.f32, n: ti.i32) -> ti.f32:
        r = a
        if n > 0:
            r = f(a * 0.5, n - 1) * a
        return r

    @ti.kernel
    def k():
        loss[None] += f(x[None], 3)

    with pytest.raises(ti.TaichiCompilationError, match="calls itself"):
        k.grad()
