"""Vectors and matrices inside kernels."""

# ruff: noqa: E741, F821, F841
from harness import case, numbers, ti


@case()
def matrix_product(show):
    @ti.kernel
    def k() -> ti.types.matrix(2, 2, ti.i32):
        a = ti.Matrix([[1, 2], [3, 4]])
        b = ti.Matrix([[5, 6], [7, 8]])
        return a @ b

    show(k().to_list())


@case()
def matrix_methods(show):
    @ti.kernel
    def k() -> ti.types.vector(6, ti.f32):
        v = ti.Vector([3.0, 4.0])
        a = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        w = a @ ti.Vector([1.0, 1.0]) + a.transpose() @ ti.Vector([0.0, 0.0])
        i = a @ a.inverse()
        return ti.Vector(
            [v.norm(), v.dot(ti.Vector([1.0, 2.0])), w[0], v.max(), a.determinant(), i[0, 0]]
        )

    show([round(x, 4) for x in k()])


@case()
def vector_products(show):
    r = ti.Vector.field(3, ti.f32, ())
    o = ti.Matrix.field(2, 2, ti.f32, ())
    t = ti.field(ti.f32, ())
    n = ti.Vector.field(2, ti.f32, ())

    @ti.kernel
    def k():
        r[None] = ti.Vector([1.0, 0.0, 0.0]).cross(ti.Vector([0.0, 1.0, 0.0]))
        o[None] = ti.Vector([1.0, 2.0]).outer_product(ti.Vector([4.0, 5.0]))
        t[None] = ti.Matrix([[1.0, 2.0], [0.0, 3.0]]).trace()
        n[None] = ti.Vector([3.0, 4.0]).normalized()

    k()
    n0 = [round(float(x), 5) for x in n[None]]
    show([numbers(r), [x for row in numbers(o) for x in row], t[None], n0])


@case()
def swizzles(show):
    v = ti.Vector.field(3, ti.i32, 3)

    @ti.kernel
    def k():
        a = ti.Vector([1, 2, 3])
        v[0] = a.zyx
        a.zy = ti.Vector([8, 9])
        v[1] = a
        v[2] = ti.Vector([1, 2, 3])
        v[2].xz += 10

    k()
    show(numbers(v))


@case()
def dynamic_matrix_index(show):
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def k():
        v = ti.Vector([4, 8, 15])
        for i in range(3):
            w = ti.Vector([4, 8, 15])
            w[2] = 20
            x[i] = w[i]
        x[0] = v[0]

    k()
    show(numbers(x))


@case()
def slices(show):
    r = ti.Vector.field(2, ti.i32, 3)

    @ti.kernel
    def k():
        a = ti.Matrix([[1, 2, 3], [4, 5, 6]])
        r[0] = a[0, 0:2]
        r[1] = a[1, :2]
        r[2] = a[:, 1]

    k()
    show(numbers(r))


@case()
def reductions(show):
    @ti.kernel
    def k() -> ti.types.vector(5, ti.i32):
        v = ti.Vector([1, 2, 3])
        return ti.Vector([(v > 0).all(), (v == 2).any(), v.sum(), v.min(), max(v[0], v[1], v[2])])

    show(list(k()))


@case()
def list_operands(show):
    v = ti.Vector.field(2, ti.f32, 2)

    @ti.kernel
    def k():
        v[0] = [1, 2]
        v[0] += 1
        v[1] = v[0] * [2, 2]

    k()
    show(numbers(v))


@case()
def math_module(show):
    v = ti.Vector.field(2, ti.f32, 3)
    s = ti.field(ti.f32, 2)

    @ti.kernel
    def k():
        a = ti.math.vec2(0.0, 1.0)
        b = ti.math.vec2(1.0, 2.0)
        v[0] = ti.math.mix(a, b, 0.5)
        v[1] = ti.math.clamp(ti.math.vec2(-3, 5), 0.0, 1.0)
        v[2] = ti.math.step(a, 0.5)
        s[0] = ti.math.fract(3.25)
        s[1] = ti.math.smoothstep(0.0, 1.0, 0.5)

    k()
    show([*numbers(v), *numbers(s)])


@case()
def complex_numbers(show):
    v = ti.Vector.field(2, ti.f32, 4)

    @ti.kernel
    def k():
        a = ti.math.vec2(1.0, 2.0)
        b = ti.math.vec2(3.0, 4.0)
        v[0] = ti.math.cmul(a, b)
        v[1] = ti.math.cdiv(a, a) + ti.math.vec2(0.0, 1.0)
        v[2] = ti.math.csqrt(ti.math.vec2(3.0, 4.0))
        v[3] = ti.math.cexp(ti.math.vec2(0.0, ti.math.pi / 2))

    k()
    show([[round(x, 4) + 0.0 for x in row] for row in numbers(v)])


@case()
def vector_types(show):
    @ti.kernel
    def k() -> ti.types.vector(4, ti.f32):
        a = ti.math.vec2(1, 2)
        return ti.math.vec4(a, 3, a.x)

    show(list(k()))


@case()
def matrix_local_aug_assign(show):
    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        v = ti.Vector([1, 2])
        for _ in range(1):
            w = ti.Vector([0, 0])
            for i in range(2):
                w[i] += 10 * (i + 1)
            v += w
        return v

    show(list(k()))


@case()
def identity_in_a_kernel(show):
    @ti.kernel
    def k() -> ti.types.matrix(2, 2, ti.i32):
        return ti.Matrix.identity(ti.i32, 2)

    show(k().to_list())


@case()
def matrix_field_elements(show):
    m = ti.Matrix.field(2, 2, ti.i32, 2)

    @ti.kernel
    def k():
        for i in range(2):
            for j in range(2):
                if i == 0:
                    m[i][j, 1] = 10 + j
                else:
                    m[i][1, j] += 100
        m[1][1, 1] = 5

    k()
    show(numbers(m))


@case()
def vector_atomics_in_parallel(show):
    v = ti.Vector.field(2, ti.f32, 1)

    @ti.kernel
    def k():
        for i in range(6):
            v[0] += ti.Vector([1.0, 2.0])

    k()
    show(numbers(v))


@case()
def large_local_matrix(show):
    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        a = ti.Matrix([[0 for _ in range(8)] for _ in range(8)])
        s = 0
        t = 0
        for _ in range(1):
            for i in range(8):
                for j in range(8):
                    a[i, j] = i * (i == j)
            b = a + ti.Matrix.identity(ti.i32, 8)
            for i in range(8):
                s += a[i, i]
                t += b[i, i] - a[i, i]
        return ti.Vector([s, t])

    show(list(k()))


@case()
def transpose_of_a_vector(show):
    @ti.kernel
    def k():
        a = ti.Vector([1, 2]).transpose()

    show.error(k)


@case()
def negative_index(show):
    @ti.kernel
    def k():
        a = ti.Vector([1, 2])
        b = a[-1]

    show.error(k)


@case(differs="forms of matrices")
def selects_of_lists(show):
    @ti.kernel
    def k(a: ti.i32):
        print(ti.select(True, [1, 2], [3, 4]), ti.select(False, [a, 2], (3, a)))
        print(ti.select(a > 1, [a, 2], (3, 4)), ti.select([a > 1, a > 9], 1, [3, 4]))
        print(ti.select([True, False], [a, 3], [1, 5]), ti.max([a, 3], [1, 9]))

    k(5)
    k(0)
