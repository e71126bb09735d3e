"""Matrices of more than 32 elements, which kernels keep in memory and compute in loops."""

import itertools

import kiln as ti
import numpy as np
import pytest


class Data:
    """Fields of n x n matrices with random content, made after init."""

    def __init__(self, n, layout):
        self.n = n
        self.x = ti.Matrix.field(n, n, ti.f32, shape=4, layout=layout)
        self.y = ti.Matrix.field(n, n, ti.f32, shape=4, layout=layout)
        self.s = ti.field(ti.f32, shape=16)
        self.a = np.random.default_rng(1).random((4, n, n)).astype(np.float32)
        self.x.from_numpy(self.a)
        self.M = ti.types.matrix(n, n, ti.f32)


CASES = list(itertools.product((12, 64), (ti.Layout.AOS, ti.Layout.SOA), (0, 3)))


@pytest.fixture(params=CASES, ids=lambda c: f"{c[0]}-{c[1].name}-O{c[2]}")
def d(request):
    n, layout, opt_level = request.param
    ti.init(ti.cpu, opt_level=opt_level, debug=opt_level == 0)
    return Data(n, layout)


def same(got, wanted):
    np.testing.assert_allclose(np.asarray(got, dtype=np.float64), wanted, rtol=2e-4, atol=1e-5)


def test_expressions(d):
    x, y, a = d.x, d.y, d.a

    @ti.kernel
    def k():
        for _ in range(1):
            m = x[0] @ x[1] + x[2].transpose() * 2
            m += 1.0
            y[0] = m
            y[1] = ti.sqrt(abs(m - x[3])) + ti.max(m, x[3])
            x[0] = x[0].transpose()
            y[2] = ti.select(x[1] > 0.5, x[1], -1.0)

    k()
    m = a[0] @ a[1] + a[2].T * 2 + 1
    same(y.to_numpy()[0], m)
    same(y.to_numpy()[1], np.sqrt(abs(m - a[3])) + np.maximum(m, a[3]))
    same(x.to_numpy()[0], a[0].T)
    same(y.to_numpy()[2], np.where(a[1] > 0.5, a[1], -1))


def test_reductions(d):
    x, s, a = d.x, d.s, d.a

    @ti.kernel
    def k():
        s[0] = x[0].sum()
        s[1] = x[0].max()
        s[2] = x[0].min()
        s[3] = x[0].norm()
        s[4] = x[0].trace()
        s[5] = ti.cast((x[0] > 2.0).any(), ti.f32)
        s[6] = ti.cast((x[0] >= 0).all(), ti.f32)
        s[7] = x[0][1, :].dot(x[1][:, 2])
        s[8] = (x[0] @ x[1][:, 0])[3]
        s[9] = (x[0][0, :] @ x[1])[2]

    k()
    wanted = [a[0].sum(), a[0].max(), a[0].min(), np.linalg.norm(a[0]), np.trace(a[0]), 0, 1]
    wanted += [a[0][1] @ a[1][:, 2], a[0][3] @ a[1][:, 0], a[0][0] @ a[1][:, 2]]
    same(s.to_numpy()[:10], wanted)


def test_making(d):
    x, y, a, n = d.x, d.y, d.a, d.n

    @ti.kernel
    def k():
        for _ in range(1):
            y[0] = x[0][:, 1].outer_product(x[1][2, :])
            y[1] = ti.Matrix.identity(ti.f32, n) * 3 + ti.Matrix.one(ti.f32, n, n)
            y[2] = ti.Matrix.diag(n, 2.5)
            y[3] = ti.Matrix.zero(ti.f32, n, n)

    k()
    got = y.to_numpy()
    same(got[0], np.outer(a[0][:, 1], a[1][2]))
    same(got[1], np.eye(n) * 3 + 1)
    same(got[2], np.eye(n) * 2.5)
    same(got[3], np.zeros((n, n)))


def test_elements_and_slices(d):
    x, y, a, n = d.x, d.y, d.a, d.n

    @ti.kernel
    def k(i: int, j: int) -> ti.f32:
        m = x[0]
        m[i, j] = 5.0
        m[j, i] += 1.0
        x[2][i, j] = 7.0
        x[2][i, j] += x[1][j, i]
        m[0:8, 1:12:2] = x[1][4:12, 0:6]
        m[8:12, :] = 2.0
        m[:, :] += 1.0
        y[0] = m
        y[1] = ti.Matrix.zero(ti.f32, n, n)
        y[1][0:2, 0:2] = x[0][2:4, 3:5]
        y[1][5, :] = x[0][:, 3]
        return m[i, j] + m[j, i]

    m = a[0].copy()
    m[9, 10] = 5
    m[10, 9] += 1
    m[0:8, 1:12:2] = a[1][4:12, 0:6]
    m[8:12] = 2
    m += 1
    same(k(9, 10), m[9, 10] + m[10, 9])
    same(x.to_numpy()[2][9, 10], 7 + a[1][10, 9])
    same(y.to_numpy()[0], m)
    z = np.zeros((n, n))
    z[:2, :2] = a[0][2:4, 3:5]
    z[5] = a[0][:, 3]
    same(y.to_numpy()[1], z)


def test_atomics(d):
    x, y, a, n = d.x, d.y, d.a, d.n

    @ti.kernel
    def shared():
        for i in range(100):
            y[0] += x[0]
            y[1][i % n, i % 3] += 1.0
            ti.atomic_max(y[2], x[0] * i)

    @ti.kernel
    def own():
        for i in x:
            y[i] += x[i]

    shared()
    same(y.to_numpy()[0], a[0] * 100)
    counts = np.zeros((n, n))
    for i in range(100):
        counts[i % n, i % 3] += 1
    same(y.to_numpy()[1], counts)
    same(y.to_numpy()[2], a[0] * 99)
    y.fill(0)
    own()
    same(y.to_numpy(), a)


def test_arguments_results_functions(d):
    x, a, M = d.x, d.a, d.M

    @ti.func
    def f(m, k):
        m[0, 0] = k
        return m * 2

    @ti.kernel
    def k(m: M, c: ti.f32) -> M:
        z = f(m, 9.0) if c > 0 else f(x[1], 2.0)
        return z + m.transpose()

    w = a[0].copy()
    w[0, 0] = 9
    same(k(M(a[0].tolist()), 1.0).to_list(), 2 * w + a[0].T)
    w = a[1].copy()
    w[0, 0] = 2
    same(k(M(a[0].tolist()), -1.0).to_list(), 2 * w + a[0].T)


def test_structs(d):
    x, a, M = d.x, d.a, d.M
    S = ti.types.struct(a=ti.f32, m=M, b=ti.types.vector(3, ti.f32))
    sf = S.field(shape=3)

    @ti.kernel
    def k(i: int):
        for _ in range(1):
            t = S(a=1.0, m=x[0], b=ti.Vector([1.0, 2.0, 3.0]))
            t.m[i, i] = 4.0
            t.b[i] = 9.0
            sf[0] = t
            u = sf[0]
            u.m = u.m.transpose()
            sf[1] = u
            sf[2].m = u.m + t.m

    k(1)
    w = a[0].copy()
    w[1, 1] = 4
    got = sf.m.to_numpy()
    same(got[0], w)
    same(got[1], w.T)
    same(got[2], w + w.T)
    same(sf.b.to_numpy()[0], [1, 9, 3])


def test_arrays(d):
    a, n = d.a, d.n
    M = d.M

    @ti.kernel
    def k(p: ti.types.ndarray(dtype=M, ndim=1), q: ti.types.ndarray(dtype=M, ndim=1)):
        for i in p:
            q[i] = p[i].transpose() + q[i]

    p, q = ti.Matrix.ndarray(n, n, ti.f32, 4), ti.Matrix.ndarray(n, n, ti.f32, 4)
    p.from_numpy(a)
    q.from_numpy(a)
    k(p, q)
    same(q.to_numpy(), a + a.transpose(0, 2, 1))
    k(p, p)
    same(p.to_numpy(), a + a.transpose(0, 2, 1))


def test_loops(d):
    x, y, a = d.x, d.y, d.a

    @ti.kernel
    def k():
        m0 = x[0] * 2
        for i in range(4):
            m = x[i]
            for j in range(3):
                m = m.transpose() * 0.5 + m * j
            y[i] = m + m0

    k()
    for i in range(4):
        m = a[i]
        for j in range(3):
            m = m.T * np.float32(0.5) + m * j
        same(y.to_numpy()[i], m + a[0] * 2)


def test_integers_and_bools():
    ti.init(ti.cpu)
    n = 9
    y = ti.Matrix.field(n, n, ti.i32, shape=3)
    b = ti.Matrix.field(n, n, ti.u1, shape=())

    @ti.kernel
    def k(c: int) -> int:
        m = ti.Matrix([[i * n + j for j in range(n)] for i in range(n)])
        y[0] = m // c
        y[1] = m % c << 1
        y[2] = ti.select(m > 50, m, -m)
        b[None] = m > 50
        return m.sum()

    assert k(7) == n * n * (n * n - 1) // 2
    w = np.arange(n * n).reshape(n, n)
    same(y.to_numpy()[0], w // 7)
    same(y.to_numpy()[1], w % 7 << 1)
    same(y.to_numpy()[2], np.where(w > 50, w, -w))
    same(b.to_numpy(), w > 50)


def test_prints(capfd):
    ti.init(ti.cpu)
    x = ti.Vector.field(40, ti.i32, shape=())

    @ti.kernel
    def k():
        for i in range(40):
            x[None][i] = i
        print("x", x[None] * 2)

    k()
    ti.sync()
    assert capfd.readouterr().out == f"x [{', '.join(str(2 * i) for i in range(40))}]\n"


def test_a_constant_matrix_and_a_long_vector():
    ti.init(ti.cpu)
    n = 8
    c = ti.Matrix(np.arange(n * n, dtype=np.float32).reshape(n, n))
    V = ti.types.vector(n * n, ti.f32)
    s = ti.field(ti.f32, shape=4)

    @ti.kernel
    def k(i: int):
        a = V(3.0)
        for j in range(n * n):
            a[j] += c[j // n, j % n]
        s[0] = a.dot(a)
        s[1] = a[i]
        s[2] = (c + 1).sum()

    k(5)
    a = np.arange(n * n) + 3.0
    same(s.to_numpy()[:3], [a @ a, a[5], np.arange(n * n).sum() + n * n])


def test_matrices_beyond_the_stack_are_refused():
    ti.init(ti.cpu)
    M = ti.types.matrix(256, 256, ti.f64)

    @ti.kernel
    def k() -> ti.f64:
        m = M(1.0)
        for _ in ti.static(range(12)):
            n = m @ m
            m = n * 1e-3
        return m.sum()

    with pytest.raises(ti.TaichiCompilationError, match="more than 4 MiB of matrices"):
        k()
