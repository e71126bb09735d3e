"""Gradients of loops that read neighbours' cells, or cells that other iterations read, too: the
compiler turns their scattered additions into sums. Compared with differences along a direction."""

import numpy as np
import pytest

SIDE = 40


@pytest.fixture
def data(ti):
    class Data:
        random = np.random.default_rng(3)

        def __init__(self):
            new = {"dtype": ti.f64, "needs_grad": True}
            self.a = ti.field(shape=(SIDE, SIDE), **new)
            self.b = ti.field(shape=(SIDE, SIDE), **new)
            self.v = ti.Vector.field(2, shape=(SIDE, SIDE), **new)
            self.w = ti.Vector.field(2, shape=(SIDE, SIDE), **new)
            self.x = ti.field(shape=300, **new)
            self.loss = ti.field(shape=(), **new)

        def check(self, kernel, inputs, out, *args):
            """Compares the gradients of the inputs with differences of a weighted sum of `out`."""
            fields = [*inputs, out]
            start = [np.asarray(self.random.random(one.to_numpy().shape) + 0.5) for one in fields]
            weights = np.asarray(self.random.random(start[-1].shape))

            def value():
                out.from_numpy(start[-1])
                kernel(*args)
                return float((out.to_numpy() * weights).sum())

            for one, numbers in zip(fields, start):
                one.from_numpy(numbers)
                one.grad.fill(0)
            value()
            out.grad.from_numpy(weights)
            kernel.grad(*args)
            for one, numbers in zip(inputs, start):
                direction = self.random.standard_normal(numbers.shape)
                sides = []
                for sign in (1, -1):
                    one.from_numpy(numbers + sign * 1e-6 * direction)
                    sides.append(value())
                one.from_numpy(numbers)
                expected = (sides[0] - sides[1]) / 2e-6
                got = float((one.grad.to_numpy() * direction).sum())
                assert got == pytest.approx(expected, rel=1e-5, abs=1e-5)

    return Data()


def test_stencils(ti, data):
    a, b = data.a, data.b

    @ti.kernel
    def cross():
        for i, j in ti.ndrange((1, SIDE - 1), (1, SIDE - 1)):
            b[i, j] = (a[i + 1, j] + a[i - 1, j] + a[i, j + 1] + a[i, j - 1]) ** 2

    @ti.kernel
    def guarded():
        for i, j in a:
            if i > 1 and j < SIDE - 2:
                b[i, j] = a[i, j] * a[i - 2, j + 2] + ti.sin(a[i - 1, j])
            else:
                b[i, j] += 2 * a[i, j]

    @ti.kernel
    def one_side():
        for i, j in ti.ndrange((3, SIDE), (0, SIDE)):
            b[i, j] += a[i - 3, j] * a[i, j]

    @ti.kernel
    def summed():
        for i in range(1, SIDE - 1):
            for k in range(SIDE):
                b[i, 0] += a[i - 1, k] * a[i + 1, k]

    @ti.kernel
    def of_a_row(t: ti.i32):
        for j in range(1, SIDE - 1):
            b[t + 1, j] = a[t, j - 1] * a[t, j + 1] + a[t + 1, j] ** 2

    for kernel in (cross, guarded, one_side, summed):
        data.check(kernel, [a], b)
    data.check(of_a_row, [a], b, 7)


def test_values_that_several_cells_take(ti, data):
    """The compiler keeps such values in the gradients that the loop clears, if it may."""
    a, b, v, w = data.a, data.b, data.v, data.w
    inner = ((1, SIDE - 1), (1, SIDE - 1))

    @ti.kernel
    def laplacian():
        for i, j in ti.ndrange(*inner):
            b[i, j] = ti.sin(a[i + 1, j] + a[i - 1, j] + a[i, j + 1] + a[i, j - 1] - 4 * a[i, j])

    @ti.kernel
    def of_vectors():
        for i, j in ti.ndrange(*inner):
            w[i, j] = (v[i + 1, j] + v[i - 1, j] - 2 * v[i, j + 1]).normalized()

    @ti.kernel
    def of_two(first: ti.i32, last: ti.i32):
        for i, j in ti.ndrange((first, last), (1, SIDE - 1)):
            s = a[i + 1, j] + a[i - 1, j] - a[i, j + 1] + 3 * a[i, j - 1]
            b[i, j] = ti.exp(ti.sin(s))
            w[i, j] = [ti.cos(s), ti.tanh(s)]

    @ti.kernel
    def sometimes():
        for i, j in ti.ndrange(*inner):
            s = a[i + 1, j] + a[i - 1, j] + a[i, j + 1] + a[i, j - 1]
            if s > 3:
                b[i, j] = ti.exp(ti.sin(s))

    @ti.kernel
    def transposed():
        for i, j in ti.ndrange(*inner):
            s = a[i + 1, j] + a[i - 1, j] + a[i, j + 1] + a[i, j - 1]
            b[j, i] = ti.exp(ti.sin(s))

    @ti.kernel
    def to_every_other():
        for i, j in ti.ndrange((1, SIDE - 1), (1, SIDE // 2)):
            s = a[i + 1, j] + a[i - 1, j] + a[i, j + 1] + a[i, j - 1]
            b[i, 2 * j] = ti.exp(ti.sin(s))

    for kernel in (laplacian, sometimes, transposed, to_every_other):
        data.check(kernel, [a], b)
    data.check(of_vectors, [v], w)
    for bounds in ((1, SIDE - 1), (3, 4), (5, 5), (7, 2)):
        data.check(of_two, [a], b, *bounds)
        data.check(of_two, [a], w, *bounds)


def test_bounds_of_stencils(ti, data):
    a, b = data.a, data.b

    @ti.kernel
    def wide(first: ti.i32, last: ti.i32):
        for i, j in ti.ndrange((first, last), (2, SIDE - 3)):
            b[i, j] = a[i + 1, j + 3] * a[i, j - 2] ** 2

    # Also narrower than the stencil, empty, and reversed.
    for bounds in ((0, SIDE - 1), (3, 4), (3, 5), (5, 5), (7, 2), (10, 13)):
        data.check(wide, [a], b, *bounds)


def test_three_dimensions(ti, data):
    new = {"dtype": ti.f64, "needs_grad": True}
    a, b = ti.field(shape=(8, 9, 10), **new), ti.field(shape=(8, 9, 10), **new)

    @ti.kernel
    def blur():
        for i in ti.grouped(ti.ndrange((1, 7), (1, 8), (1, 9))):
            s = ti.f64(0.0)
            for d in ti.static(ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2)))):
                s += a[i + d] * (d[0] + 2 * d[1] - d[2] + 0.5)
            b[i] = s * s

    data.check(blur, [a], b)


def test_vectors(ti, data):
    v, w = data.v, data.w

    @ti.kernel
    def differences():
        for i, j in ti.ndrange((1, SIDE - 1), (1, SIDE - 1)):
            d = v[i + 1, j] - v[i - 1, j] * v[i, j + 1][1]
            w[i, j] += d * d[0]

    data.check(differences, [v], w)


def test_products(ti, data):
    new = {"dtype": ti.f64, "needs_grad": True}
    m, n, p = 20, 24, 30
    a, b = ti.field(shape=(m, n), **new), ti.field(shape=(n, p), **new)
    c = ti.field(shape=(m, p), **new)
    square = ti.field(shape=(m, m), **new)

    @ti.kernel
    def product():
        for i, j in c:
            s = ti.f64(0.0)
            for k in range(n):
                s += a[i, k] * b[k, j]
            c[i, j] = ti.sin(s)

    @ti.kernel
    def with_itself():
        for i, j in ti.ndrange(m, m):
            for k in range(m):
                c[i, j] += square[i, k] * square[k, j]

    @ti.kernel
    def lower_triangle():
        for i, j in ti.ndrange(m, m):
            for k in range(i):
                c[i, j] += square[i, k] * square[k, j]

    data.check(product, [a, b], c)
    data.check(with_itself, [square], c)
    data.check(lower_triangle, [square], c)


def test_weights(ti, data):
    new = {"dtype": ti.f64, "needs_grad": True}
    w, kernel = ti.field(shape=5, **new), ti.field(shape=(3, 3), **new)
    a, b, x, loss = data.a, data.b, data.x, data.loss

    @ti.kernel
    def filtered():
        for i in range(2, 298):
            for k in range(5):
                loss[None] += w[k] * x[i + k - 2] ** 2

    @ti.kernel
    def convolved():
        for i, j in ti.ndrange((1, SIDE - 1), (1, SIDE - 1)):
            s = ti.f64(0.0)
            for k, m in ti.ndrange(3, 3):
                s += kernel[2 - k, m] * a[i + k - 1, j + m - 1]
            b[i, j] = ti.tanh(s)

    @ti.kernel
    def guarded(n: ti.i32):
        for i in range(n):
            for k in range(5):
                if (i + k) % 3 == 0:
                    loss[None] += w[k] * x[i]

    data.check(filtered, [w, x], loss)
    data.check(convolved, [kernel, a], b)
    data.check(guarded, [w], loss, 100)
    data.check(guarded, [w], loss, 0)


def test_pairs(ti, data):
    x, loss = data.x, data.loss

    @ti.kernel
    def energy():
        for i in range(300):
            p = x[i]
            for j in range(300):
                loss[None] += 1 / ti.sqrt((p - x[j]) ** 2 + 0.1)

    @ti.kernel
    def others():
        for i in range(300):
            for j in range(300):
                if i != j:
                    loss[None] += x[i] * x[j] ** 2

    @ti.kernel
    def backwards():
        for i in range(300):
            loss[None] += x[299 - i] * x[i] ** 2

    for kernel in (energy, others, backwards):
        data.check(kernel, [x], loss)


def test_cells_that_the_loop_changes(ti, data):
    """What a value depends on must not have changed when it is computed again."""
    a, b = data.a, data.b

    @ti.kernel
    def reads_what_it_adds_to():
        for j in range(1, SIDE - 1):
            b[0, j] = a[0, j - 1] * a[0, j + 1]
        for j in range(1, SIDE - 1):
            b[1, j] = b[0, j - 1] * b[0, j + 1]

    @ti.kernel
    def clears_twice():
        for j in range(1, SIDE - 1):
            b[0, j] = a[0, j - 1] * a[0, j + 1]
            b[0, j] = a[0, j - 1] * a[0, j + 1] * 2

    @ti.kernel
    def carries():
        for i in range(SIDE):
            t = a[i, 0]
            for j in range(1, SIDE):
                t = ti.sin(t) + a[i, j]
                b[i, j] = t

    for kernel in (reads_what_it_adds_to, clears_twice, carries):
        data.check(kernel, [a], b)


def test_arrays(ti, data):
    a, b = (ti.ndarray(ti.f64, (SIDE, SIDE), needs_grad=True) for _ in range(2))

    @ti.kernel
    def cross(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i, j in ti.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
            b[i, j] = (a[i + 1, j] + a[i - 1, j] + a[i, j + 1] + a[i, j - 1]) ** 2

    data.check(cross, [a], b, a, b)


def test_narrow_indices_wrap(ti, data):
    around = ti.field(ti.f64, 256, offset=-128, needs_grad=True)

    @ti.kernel
    def gather():
        for i in range(1, 299):
            near = ti.cast(i, ti.i8)
            data.x[i] += around[near] * (i + 1) + around[near + ti.cast(1, ti.i8)]

    data.check(gather, [around], data.x)
