"""Vectors and matrices in kernels: making, reading, assigning and passing them."""

import numpy as np
from harness import attempt, case, seen, ti


@case()
def constructors(show):
    names, note = seen()
    vec3i, mat23 = ti.types.vector(3, ti.i32), ti.types.matrix(2, 3, ti.f32)

    @ti.kernel
    def k(x: ti.i32, y: ti.f32):
        a = ti.Vector([x, 2, 3])
        b = ti.Vector([x, y])
        c = ti.Matrix([[x, 1], [2, 3]])
        d = ti.Vector([1, 2, 3], dt=ti.f32)
        e = ti.Matrix([[1.5, 2.5]], ti.i32)
        f = vec3i(x, 2.7, 3)
        g = vec3i(y)
        h = mat23(x)
        i = mat23([[1, 2, 3], [x, 5, 6]])
        j = mat23(1, 2, 3, 4, 5, y)
        n = ti.Vector([i + x for i in range(4)])
        m = ti.Matrix([[i * j + x for j in range(2)] for i in range(3)])
        for v in ti.static((a, b, c, d, e, f, g, h, i, j, n, m)):
            ti.static(note(v))
        print(a, b, c, d)
        print(e, f, g, h)
        print(i, j, n, m)

    k(7, 2.5)
    show(names)


@case()
def vectors_made_of_vectors(show):
    vec4, ivec4 = ti.types.vector(4, ti.f32), ti.types.vector(4, ti.i32)

    @ti.kernel
    def k(x: ti.f32):
        v2 = ti.math.vec2(x, 2)
        v3 = ti.math.vec3(v2, 3)
        a = ti.math.vec4(v2, v2)
        b = ti.math.vec4(v3, 9)
        c = ti.math.vec4(0, v3)
        d = ti.math.vec4(0, v2, 1)
        e = vec4(v2.yx, v2)
        f = ivec4(v3, 4.9)
        h = ti.Matrix.rows([v2, v2 * 3])
        i = ti.Matrix.cols([v3, v3])
        j = ti.math.mat2(v2, v2)
        g = ti.math.mat3(v3, v3 + 1, v3 + 2)
        print(v3, a, b, c, d, e, f)
        print(g, h, i, j)

    k(1.5)


@case()
def constructors_from_arrays(show):
    array = np.array([[1, 2], [3, 4]])
    row = np.array([1.5, 2.5], dtype=np.float32)
    outer = ti.Matrix([[1, 2], [3, 4]])

    @ti.kernel
    def k():
        a = ti.Matrix(array)
        b = ti.Vector(row)
        d = outer
        e = d + 1
        print(a, b, d, e)

    show.error(k)


@case(differs="forms of matrices")
def matrices_made_of_vectors(show):
    @ti.kernel
    def k(x: ti.f32):
        v = ti.math.vec2(x, 2)
        print(ti.Matrix([v, v * 2]))

    show.error(k, 1.5)


@case(differs="forms of matrices")
def matrices_made_of_matrices(show):
    outer = ti.Matrix([[1, 2], [3, 4]])

    @ti.kernel
    def k():
        print(ti.Matrix(outer), ti.Matrix(outer + 1, ti.f32))

    show.error(k)


@case(differs="forms of matrices")
def products_with_lists(show):
    @ti.kernel
    def k():
        m = ti.Matrix([[1, 2], [3, 4]])
        print(m @ [1, 2])

    show.error(k)


@case(differs="forms of matrices")
def product_in_place(show):
    @ti.kernel
    def k():
        m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        m @= ti.Matrix([[0.0, 1.0], [1.0, 0.0]])
        print(m)

    show.error(k)


@case(differs="forms of matrices")
def nested_lists_as_arguments(show):
    mat23 = ti.types.matrix(2, 3, ti.i32)

    @ti.kernel
    def k(m: mat23) -> mat23:
        return m * 2

    show.error(k, [[1, 2, 3], [4, 5, 6]])


@case()
def named_constructors(show):
    names, note = seen()

    @ti.kernel
    def k(x: ti.f32):
        a = ti.Matrix.zero(ti.f32, 2, 3)
        b = ti.Vector.zero(ti.i32, 3)
        c = ti.Matrix.one(ti.i64, 2)
        d = ti.Matrix.identity(ti.f32, 3)
        e = ti.Matrix.unit(3, 1)
        f = ti.Vector.unit(3, 2, ti.f64)
        g = ti.Matrix.diag(2, x)
        h = ti.Matrix.one(ti.u8, 2, 2)
        i = ti.Vector.one(ti.f32, 4)
        ti.static(note(a), note(b), note(c), note(d), note(e), note(f), note(g), note(h), note(i))
        print(a, b, c, d, e)
        print(f, g, h, i)

    k(2.5)
    show(names)


def _construct(show, *makers):
    for make in makers:

        @ti.kernel
        def k():
            print(make())

        show.error(k)


@case()
def constructors_refuse(show):
    vec3, mat22 = ti.math.vec3, ti.types.matrix(2, 2, ti.f32)
    _construct(
        show,
        lambda: vec3(1, 2),
        lambda: vec3(1, 2, 3, 4),
        lambda: vec3(),
        lambda: mat22(1, 2, 3),
        lambda: vec3(ti.Vector([1, 2]), ti.Vector([1, 2])),
    )


@case()
def ragged_matrices(show):
    @ti.kernel
    def k() -> ti.i32:
        return ti.Matrix([[1, 2], [3]]).sum()

    show.error(k)


@case()
def vectors_of_one_number(show):
    @ti.kernel
    def k() -> ti.i32:
        return ti.Vector(5).sum()

    show.error(k)


@case(differs="operations without code on some types")
def empty_vectors(show):
    @ti.kernel
    def k() -> ti.i32:
        return ti.Vector([]).sum()

    show.error(k)


@case()
def elements_are_promoted_together(show):
    names, note = seen()

    @ti.kernel
    def k(a: ti.i8, b: ti.i64, c: ti.f64, u: ti.u32):
        ti.static(note(ti.Vector([a, b])), note(ti.Vector([a, c])), note(ti.Vector([a, 1])))
        ti.static(
            note(ti.Vector([1, 2.5])), note(ti.Vector([u, 1])), note(ti.Vector([a > 0, b > 0]))
        )

    k(1, 2, 3.0, 4)
    show(names)


@case()
def static_and_dynamic_indices(show):
    @ti.kernel
    def k(i: ti.i32, j: ti.i32) -> ti.i32:
        v = ti.Vector([10, 20, 30])
        m = ti.Matrix([[1, 2, 3], [4, 5, 6]])
        v[i] += 5
        m[i, j] = 77
        m[1, j] *= 2
        m[0, 0] = v[2]
        print(v, m, v[i], m[i, j], m[i, 1], m[ti.Vector([i, j])])
        return v[i] * 1000 + m[i, j]

    show(k(1, 2), k(0, 0))


@case()
def indices_that_do_not_fit(show):
    v = ti.Vector.field(3, ti.i32, ())
    m = ti.Matrix.field(2, 2, ti.i32, ())

    @ti.kernel
    def negative() -> ti.i32:
        return v[None][-1]

    @ti.kernel
    def many() -> ti.i32:
        return v[None][0, 0]

    @ti.kernel
    def one() -> ti.i32:
        return m[None][0]

    @ti.kernel
    def three() -> ti.i32:
        return m[None][0, 1, 1]

    @ti.kernel
    def local() -> ti.i32:
        w = ti.Vector([1, 2])
        return w[-1]

    for kernel in (negative, many, one, three, local):
        show.error(kernel)


@case(differs="static index out of range")
def static_indices_out_of_range(show):
    @ti.kernel
    def k() -> ti.i32:
        v = ti.Vector([1, 2, 3])
        return v[3]

    show.error(k)


@case()
def indices_of_scalars(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return a[0]

    show.error(k, 1)


@case()
def slices(show):
    @ti.kernel
    def k(i: ti.i32):
        v = ti.Vector([0, 1, 2, 3, 4, 5])
        m = ti.Matrix([[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]])
        print(v[1:3], v[:2], v[3:], v[::2], v[1::3], v[:])
        print(m[0, :], m[:, 1], m[0:2, 1:3], m[:, ::2], m[i, 1:3], m[1:, i])
        v[1:3] = [100, 200]
        v[4:] += 1
        m[0, :] = ti.Vector([7, 7, 7, 7])
        m[1:3, 0] = [5, 6]
        print(v, m)

    k(1)


@case()
def slices_with_dynamic_bounds(show):
    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        v = ti.Vector([0, 1, 2, 3])
        return v[:i].sum()

    show.error(k, 2)


@case()
def negative_slices(show):
    @ti.kernel
    def k() -> ti.i32:
        v = ti.Vector([0, 1, 2, 3])
        return v[-2:].sum()

    show.error(k)


@case()
def fill_and_metadata(show):
    @ti.kernel
    def k() -> ti.i32:
        v = ti.Vector([1, 2, 3])
        v.fill(9)
        m = ti.Matrix.zero(ti.f32, 2, 3)
        m.fill(1.5)
        print(v, m, m.n, m.m, v.n, len(v), v.get_shape(), m.get_shape())
        return v.n * 10 + m.m

    show.error(k)


@case()
def vectors_are_copied(show):
    @ti.kernel
    def k():
        a = ti.Vector([1, 2])
        b = a
        b[0] = 9
        c = a + 0
        c[1] = 7
        print(a, b, c)

    k()


@case()
def assignment_converts_elements(show):
    @ti.kernel
    def k():
        v = ti.Vector([1, 2])
        v = ti.Vector([1.7, 2.7])
        v[0] = 3.9
        w = ti.Vector([1.5, 2.5])
        w = [1, 2]
        print(v, w)

    k()


@case()
def assignment_of_another_shape(show):
    @ti.kernel
    def k():
        v = ti.Vector([1, 2])
        v = ti.Vector([1, 2, 3])
        print(v)

    show.error(k)


@case()
def scalars_do_not_become_vectors(show):
    @ti.kernel
    def k():
        v = ti.Vector([1, 2])
        v = 3
        print(v)

    show.error(k)


@case(differs="a vector assigned to a scalar")
def vectors_do_not_become_scalars(show):
    @ti.kernel
    def k():
        a = 3
        a = ti.Vector([1, 2])
        print(a)

    show.error(k)


@case()
def lists_coerce_to_vectors(show):
    v = ti.Vector.field(2, ti.f32, 2)

    @ti.kernel
    def k():
        v[0] = [1, 2]
        v[1] = (3, 4)
        v[0] += [0.5, 0.25]
        d = v[0] - [0.5, 1.5]
        e = ([7 >> i for i in range(3)] ^ ti.Vector([1, 1, 1])) & 1
        p, q = v[1]
        print(d, e, p, q)

    k()
    show(v)


@case()
def unpacking(show):
    @ti.kernel
    def k():
        a, b, c = ti.Vector([1, 2, 3])
        x, y = ti.Vector([1.5, 2.5]) * 2
        a, b = b, a
        print(a, b, c, x, y)

    k()


@case()
def unpacking_the_wrong_number(show):
    @ti.kernel
    def k():
        a, b = ti.Vector([1, 2, 3])
        print(a, b)

    @ti.kernel
    def m():
        a, b = ti.Matrix([[1, 2], [3, 4]])
        print(a, b)

    show.error(k)
    show.error(m)


@case()
def loops_over_vectors(show):
    @ti.kernel
    def k() -> ti.i32:
        v = ti.Vector([1, 2, 3])
        total = 0
        for i in ti.static(range(3)):
            total += v[i] * (i + 1)
        for i in range(3):
            total += v[i] * 100
        return total

    show(k())


@case()
def vectors_as_conditions(show):
    @ti.kernel
    def k() -> ti.i32:
        v = ti.Vector([1, 0])
        x = 0
        if v:
            x = 1
        return x

    @ti.kernel
    def m() -> ti.i32:
        v = ti.Vector([1, 0])
        return 1 if v else 2

    show.error(k)
    show.error(m)


@case()
def functions_take_vectors(show):
    @ti.func
    def double(v: ti.math.vec2) -> ti.math.vec2:
        v[0] = 100
        return v * 2

    @ti.func
    def any_shape(v):
        return v.sum(), v * 2

    @ti.kernel
    def k(v: ti.math.vec2) -> ti.f32:
        w = v
        a = double(w)
        s, t = any_shape(w)
        print(v, w, a, s, t)
        return s

    show(k([1, 2]), k(ti.Vector([1.5, 2.5])))


@case()
def functions_check_shapes(show):
    @ti.func
    def double(v: ti.math.vec2):
        return v * 2

    @ti.kernel
    def longer():
        print(double(ti.Vector([1, 2, 3])))

    @ti.kernel
    def scalar():
        print(double(1.0))

    @ti.kernel
    def matrix():
        print(double(ti.Matrix([[1, 2], [3, 4]])))

    show.error(longer)
    show.error(scalar)
    show.error(matrix)


@case()
def arguments_and_results(show):
    mat23 = ti.types.matrix(2, 3, ti.i32)

    @ti.kernel
    def k(m: mat23, v: ti.math.ivec3) -> mat23:
        m2 = m * 2
        m2[0, 0] += v[2]
        return m2

    @ti.kernel
    def v(x: ti.f32) -> ti.math.vec3:
        return ti.Vector([x, x * 2, 3])

    show(k(ti.Matrix([[1, 2, 3], [4, 5, 6]]), ti.Vector([7, 8, 9])), v(1.5))
    show(k(np.arange(6).reshape(2, 3), np.arange(3)))


@case(differs="matrix arguments of another shape")
def arguments_of_wrong_shape(show):
    @ti.kernel
    def k(v: ti.math.vec3) -> ti.f32:
        return v.sum()

    show.error(k, ti.Vector([1, 2]))
    show.error(k, 1.0)
    show.error(k, [1, 2, 3, 4])
    show.error(k, "abc")


@case()
def results_of_wrong_shape(show):
    @ti.kernel
    def k() -> ti.math.vec3:
        return ti.Vector([1, 2])

    @ti.kernel
    def m() -> ti.math.vec3:
        return 1.0

    @ti.kernel
    def s() -> ti.f32:
        return ti.Vector([1, 2])

    show.error(k)
    show.error(m)
    show.error(s)


@case()
def vectors_in_structs_and_lists(show):
    @ti.kernel
    def k():
        vs = [ti.Vector([i, i * 2]) for i in range(3)]
        vs[1][0] = 50
        total = vs[0] + vs[1] + vs[2]
        print(vs[0], vs[1], total)

    k()


@case()
def matrix_rows_by_comprehension(show):
    m = ti.Matrix.field(3, 3, ti.f32, ())

    @ti.kernel
    def k():
        for i, j in ti.static(ti.ndrange(3, 3)):
            m[None][i, j] = i * 10 + j
        r = ti.Vector([m[None][1, j] for j in range(3)])
        print(r, m[None][2, :], m[None] @ r)

    k()


@case()
def static_range_over_metadata(show):
    @ti.kernel
    def k() -> ti.i32:
        m = ti.Matrix([[1, 2, 3], [4, 5, 6]])
        total = 0
        for i in ti.static(range(m.n)):
            for j in ti.static(range(m.m)):
                total += m[i, j] * (i + 1)
        return total

    show(k())


@case()
def truth_of_attempts(show):
    show(attempt(lambda: ti.Vector([1, 2]).dot(ti.Vector([3, 4]))))
