"""`svd`, `polar_decompose`, `sym_eig`, `eig`, `solve`: checked by recomposing their results."""

from harness import case, ti

MATRICES = {
    2: ([[1.0, 2.0], [3.0, 4.0]], [[2.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [-1.0, 0.0]]),
    3: (
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]],
        [[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]],
        [[0.5, -1.0, 0.25], [1.0, 0.5, 2.0], [0.0, -2.0, 1.5]],
    ),
}
SYMMETRIC = {
    2: ([[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]]),
    3: ([[2.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 1.0]],),
}


def _field(n, dtype, rows):
    a = ti.Matrix.field(n, n, dtype, ())
    a[None] = rows
    return a


def _near_zero(x, dtype):
    # The reference's eigenvectors are accurate to three digits.
    return bool(abs(x) < (2e-2 if dtype is ti.f32 else 1e-6))


def _both(show, table, check):
    for n, matrices in table.items():
        for dtype in (ti.f32, ti.f64):
            for rows in matrices:
                show(f"{n}x{n} {dtype}")
                check(show, _field(n, dtype, rows), n, dtype)


@case()
def singular_values(show):
    def check(show, a, n, dtype):
        vector = ti.types.vector(n, dtype)

        @ti.kernel
        def k() -> vector:
            u, s, v = ti.svd(a[None], dtype)
            d = ti.Vector.zero(dtype, n)
            for i in ti.static(range(n)):
                d[i] = ti.abs(s[i, i])
            return d

        @ti.kernel
        def rest() -> dtype:
            u, s, v = ti.svd(a[None], dtype)
            back = (u @ s @ v.transpose() - a[None]).norm()
            return back + (u @ u.transpose() - ti.Matrix.identity(dtype, n)).norm()

        values = sorted(float(k()[i]) for i in range(n))
        show([round(x, 4) for x in values], _near_zero(rest(), dtype))

    _both(show, MATRICES, check)


@case()
def polar_decompositions(show):
    def check(show, a, n, dtype):
        matrix = ti.types.matrix(n, n, dtype)

        @ti.kernel
        def rotation() -> matrix:
            u, p = ti.polar_decompose(a[None], dtype)
            return u

        @ti.kernel
        def rest() -> dtype:
            u, p = ti.polar_decompose(a[None], dtype)
            return (u @ p - a[None]).norm() + (p - p.transpose()).norm()

        r = rotation()
        show([round(float(r[i, j]), 3) + 0.0 for i in range(n) for j in range(n)])
        show(_near_zero(rest(), dtype))

    _both(show, MATRICES, check)


@case()
def eigenvalues_of_symmetric_matrices(show):
    def check(show, a, n, dtype):
        vector = ti.types.vector(n, dtype)

        @ti.kernel
        def k() -> vector:
            w, v = ti.sym_eig(a[None], dtype)
            return w

        @ti.kernel
        def rest() -> dtype:
            w, v = ti.sym_eig(a[None], dtype)
            d = ti.Matrix.zero(dtype, n, n)
            for i in ti.static(range(n)):
                d[i, i] = w[i]
            return (a[None] @ v - v @ d).norm()

        show([round(x, 4) for x in sorted(float(k()[i]) for i in range(n))])
        show(_near_zero(rest(), dtype))

    _both(show, SYMMETRIC, check)


@case()
def directions_of_eigenvectors(show):
    """A vector and its opposite are both eigenvectors."""
    general, symmetric = ((3.0, 1.0), (2.0, 1.0)), ((2.0, -1.0), (-1.0, 0.5))
    cube = ((2.0, -1.0, 0.5), (-1.0, -0.5, 3.0), (0.5, 3.0, 1.0))
    matrices = [ti.Matrix(rows, dt=ti.f64) for rows in (general, symmetric, cube)]
    turned = ti.Matrix([[symmetric[1][1], 1.0], [1.0, 2.0]], dt=ti.f64)

    @ti.kernel
    def of_any() -> ti.types.matrix(4, 2, ti.f64):
        return ti.eig(matrices[0], ti.f64)[1]

    @ti.kernel
    def of_symmetric() -> ti.types.matrix(2, 2, ti.f64):
        return ti.sym_eig(matrices[1], ti.f64)[1]

    @ti.kernel
    def of_turned() -> ti.types.matrix(2, 2, ti.f64):
        return ti.sym_eig(turned, ti.f64)[1]

    @ti.kernel
    def of_cube(sign: ti.f64) -> ti.types.matrix(3, 3, ti.f64):
        return ti.sym_eig(sign * matrices[2], ti.f64)[1]

    for vectors in (of_any(), of_symmetric(), of_turned(), of_cube(1.0), of_cube(-1.0)):
        show([[round(x, 4) for x in row] for row in vectors.to_list()])


@case()
def eigenvalues(show):
    def check(show, a, n, dtype):
        matrix = ti.types.matrix(2, 2, dtype)

        @ti.kernel
        def k() -> matrix:
            w, v = ti.eig(a[None], dtype)
            return w

        w = k()
        show(sorted([round(float(w[i, 0]), 4), round(float(w[i, 1]), 4)] for i in range(2)))

    _both(show, {2: MATRICES[2]}, check)


@case()
def linear_systems(show):
    def check(show, a, n, dtype):
        vector = ti.types.vector(n, dtype)

        @ti.kernel
        def k() -> vector:
            b = ti.Vector.one(dtype, n)
            for i in ti.static(range(n)):
                b[i] = i + 1
            return ti.solve(a[None], b, dtype)

        x = k()
        show([round(float(x[i]), 4) + 0.0 for i in range(n)])

    _both(show, MATRICES, check)


@case(default_fp=ti.f64 if ti else None)
def the_default_type_is_used(show):
    @ti.kernel
    def k() -> ti.f64:
        a = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        u, s, v = ti.svd(a)
        w, x = ti.sym_eig(ti.Matrix([[2.0, 1.0], [1.0, 2.0]]))
        y = ti.solve(a, ti.Vector([1.0, 2.0]))
        r, p = ti.polar_decompose(a)
        return s[0, 0] * 100 + w.sum() + y[1] + (r @ p)[0, 1]

    show(k())


@case()
def sizes_that_are_not_supported(show):
    @ti.kernel
    def svd():
        u, s, v = ti.svd(ti.Matrix.identity(ti.f32, 4))
        print(s)

    @ti.kernel
    def polar():
        u, p = ti.polar_decompose(ti.Matrix.identity(ti.f32, 4))
        print(p)

    @ti.kernel
    def symmetric():
        w, v = ti.sym_eig(ti.Matrix.identity(ti.f32, 4))
        print(w)

    @ti.kernel
    def general():
        w, v = ti.eig(ti.Matrix.identity(ti.f32, 3))
        print(w)

    @ti.kernel
    def system():
        print(ti.solve(ti.Matrix.identity(ti.f32, 4), ti.Vector([1.0, 2.0, 3.0, 4.0])))

    @ti.kernel
    def shapes():
        print(ti.solve(ti.Matrix.identity(ti.f32, 3), ti.Vector([1.0, 2.0])))

    for kernel in (svd, polar, symmetric, general, system, shapes):
        show.error(kernel)
