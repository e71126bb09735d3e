"""Vectors and matrices in kernels: operators, products and methods."""

from harness import case, seen, ti


@case()
def elementwise_arithmetic(show):
    names, note = seen()

    @ti.kernel
    def k(x: ti.i32, y: ti.f32):
        a = ti.Vector([x, 7, -3])
        b = ti.Vector([2, x, 2])
        c = ti.Vector([y, 1.5, -2.0])
        ti.static(note(a + b), note(a + c), note(a / b), note(a < b), note(a * y), note(2 * a))
        print(a + b, a - b, a * b, a / b, a // b, a % b)
        print(a + c, c - a, a * c, c / a, c // 2, c % 2)
        print(a + 1, 1 - a, 2 * a, a / 2, 7 // b, 7 % b, a**2, 2**b, c**2)
        print(a & 3, a | b, a ^ 1, a << 1, a >> 1, ~a, -a, +a)
        print(a < b, a <= 2, a == b, a != b, c > 0, 1 > c)
        print(a + [1, 2, 3], [1, 2, 3] - a, a * (1, 2, 3))

    k(5, 2.5)
    show(names)


@case()
def matrix_arithmetic(show):
    @ti.kernel
    def k(x: ti.i32):
        a = ti.Matrix([[1, 2], [3, x]])
        b = ti.Matrix([[1.5, 0.5], [0.25, 2.0]])
        print(a + b, a * b, a - 1, 2 * b, b / a, a // 2, a % 2, a**2, -b, a > 1, a == a)
        print(a + [[1, 2], [3, 4]], not a, a & 1)

    k(4)


@case()
def shapes_that_do_not_match(show):
    def one(function):
        @ti.kernel
        def k() -> ti.f32:
            a = ti.Vector([1.0, 2.0])
            b = ti.Vector([1.0, 2.0, 3.0])
            m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
            return function(a, b, m).sum()

        show.error(k)

    one(lambda a, b, m: a + b)
    one(lambda a, b, m: a < b)
    one(lambda a, b, m: m * b)
    one(lambda a, b, m: ti.max(a, b))
    one(lambda a, b, m: a.dot(b))
    one(lambda a, b, m: a.cross(m))
    one(lambda a, b, m: m + a)
    one(lambda a, b, m: a + [1.0, 2.0, 3.0])


@case()
def matrix_products(show):
    names, note = seen()

    @ti.kernel
    def k(x: ti.f32):
        a = ti.Matrix([[1, 2], [3, 4], [5, 6]])
        b = ti.Matrix([[x, 1.0], [0.5, 2.0]])
        v = ti.Vector([1, 2])
        w = ti.Vector([1.0, 2.0, 3.0])
        ti.static(note(a @ b), note(b @ v), note(a @ v), note(v @ v), note(a.transpose() @ w))
        print(a @ b, b @ b, b @ v, a @ v, v @ v)
        print(a.transpose() @ a, a.transpose() @ w, b @ b @ v)

    k(2.0)
    show(names)


@case()
def row_vectors(show):
    @ti.kernel
    def k():
        v = ti.Vector([1, 2])
        m = ti.Matrix([[1, 2], [3, 4]])
        print(v @ m)

    show.error(k)


@case()
def matrix_products_refuse(show):
    @ti.kernel
    def shapes() -> ti.f32:
        m = ti.Matrix([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
        return (m @ m).sum()

    @ti.kernel
    def vector() -> ti.f32:
        m = ti.Matrix([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
        return (m @ ti.Vector([1, 2])).sum()

    @ti.kernel
    def right() -> ti.f32:
        m = ti.Matrix([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
        return (m @ 2).sum()

    @ti.kernel
    def left() -> ti.f32:
        m = ti.Matrix([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
        return (2 @ m).sum()

    for kernel in (shapes, vector, right, left):
        show.error(kernel)


@case()
def methods(show):
    names, note = seen()

    @ti.kernel
    def k(x: ti.f32):
        v = ti.Vector([3.0, x, 0.0])
        w = ti.Vector([1, 2, 3])
        m = ti.Matrix([[2.0, 1.0], [x, 3.0]])
        n = ti.Matrix([[2.0, 0.0, 1.0], [1.0, x, 0.0], [0.0, 1.0, 3.0]])
        print(v.norm(), v.norm_sqr(), v.norm_inv(), v.normalized(), v.norm(1e-3), v.sum(), w.sum())
        print(v.max(), v.min(), w.max(), w.min(), v.any(), v.all(), w.all(), m.max(), m.sum())
        print(v.dot(v), v.dot(w), v.cross(w), w.cross(w), v.outer_product(w))
        print(m.trace(), m.determinant(), m.inverse(), m.transpose(), m.norm(), n.determinant())
        print(n.inverse(), n.trace(), n.transpose(), w.cast(ti.f32), m.cast(int), (w > 1).any())
        print((w > 1).all(), v.normalized(1e-2), v.norm_inv(1e-2))
        ti.static(note(v.norm()), note(w.sum()), note(w.norm()), note(w.max()), note(v.any()))
        ti.static(note(v.dot(w)), note(w.dot(w)), note(m.determinant()), note(w.normalized()))
        ti.static(note(w.norm_sqr()), note(w.cast(ti.u8)))

    k(4.0)
    show(names)


@case()
def inverses_of_all_sizes(show):
    @ti.kernel
    def k(x: ti.f64):
        a = ti.Matrix([[x]])
        b = ti.Matrix([[x, 1.0], [2.0, 5.0]])
        c = ti.Matrix([[x, 1.0, 0.5], [2.0, 5.0, 1.0], [0.0, 1.0, 4.0]])
        d = ti.Matrix(
            [[x, 1.0, 0.5, 1.0], [2.0, 5.0, 1.0, 0.0], [0.0, 1.0, 4.0, 2.0], [1.0, 0.0, 0.0, 3.0]]
        )
        print(a.inverse(), b.inverse(), c.inverse(), d.inverse())
        print(a.determinant(), b.determinant(), c.determinant(), d.determinant())

    k(3.0)


@case()
def two_dimensional_cross_products(show):
    @ti.kernel
    def k() -> ti.f32:
        return ti.Vector([1.0, 2.0]).cross(ti.Vector([3.0, 5.0]))

    show(k())


@case()
def methods_refuse(show):
    def one(function):
        @ti.kernel
        def k() -> ti.f32:
            v = ti.Vector([1.0, 2.0, 3.0, 4.0])
            m = ti.Matrix([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
            print(function(v, m))
            return 1.0

        show.error(k)

    one(lambda v, m: m.trace())
    one(lambda v, m: m.determinant())
    one(lambda v, m: m.inverse())
    one(lambda v, m: v.transpose())
    one(lambda v, m: v.cross(v))
    one(lambda v, m: v.dot(m))
    one(lambda v, m: m.normalized())
    one(lambda v, m: m.outer_product(v))
    one(lambda v, m: v.no_such_method())
    one(lambda v, m: v.xyq)
    one(lambda v, m: v.xyzq)


@case()
def large_inverses_refuse(show):
    @ti.kernel
    def k() -> ti.f32:
        m = ti.Matrix.identity(ti.f32, 5)
        return m.inverse()[0, 0]

    show.error(k)


@case()
def in_place_operators(show):
    @ti.kernel
    def k(x: ti.f32):
        v = ti.Vector([1.0, 2.0])
        v += 1
        v *= ti.Vector([2.0, x])
        v -= [0.5, 0.5]
        v /= 2
        w = ti.Vector([7, 9])
        w //= 2
        w **= 2
        w %= 5
        w <<= 1
        w |= 1
        m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        m += 0.5
        m[0, 1] -= 1
        print(v, w, m)

    show.error(k, 3.0)


@case()
def logical_operators_on_vectors(show):
    @ti.kernel
    def k():
        a = ti.Vector([1, 0, 1])
        b = ti.Vector([1, 1, 0])
        print(a and b, a or b, not a, (a > 0) & (b > 0), (a > 0) | (b > 0))

    show.error(k)


@case()
def minimum_and_maximum(show):
    @ti.kernel
    def k(x: ti.f32):
        v = ti.Vector([x, 2.0, 3.0])
        print(ti.max(v, 2.5), ti.min(v, ti.Vector([2.0, 1.0, 9.0])), max(v, 0), min(v, v, 1.0))

    k(5.0)


@case()
def comparing_is_by_element(show):
    names, note = seen()

    @ti.kernel
    def k():
        a = ti.Vector([1, 2, 3])
        b = a == ti.Vector([1, 0, 3])
        ti.static(note(b))
        c = b[0] and b[2]
        if b[0] and not b[1]:
            print(b, c, b.all(), b.any(), 1 < a)

    k()
    show(names)
