"""Vectors and matrices in Python scope, where they contain NumPy arrays."""

import copy

import numpy as np
from harness import attempt, case, ti

METHODS = (
    "all any cast cols cross determinant diag dot field fill get_shape identity inverse max min "
    "ndarray norm norm_inv norm_sqr normalized one outer_product rows sum to_list to_numpy trace "
    "transpose unit zero"
).split()


KERNELS_ONLY = "functions for kernels in Python scope"


def _table(show, names, *expressions):
    """A line for each expression: what it gives, and what that prints."""
    for text in expressions:
        value = attempt(eval, text, {"ti": ti, "np": np, **names})
        show(text, value)
        if isinstance(value, ti.Matrix):
            show(str(value), str(value) == repr(value))


@case()
def constructors(show):
    _table(
        show,
        {},
        "ti.Vector([1, 2, 3])",
        "ti.Vector([1, 2.5])",
        "ti.Vector([1, 2], dt=ti.f32)",
        "ti.Matrix([[1, 2], [3, 4]])",
        "ti.Matrix([[1, 2.5]], ti.i32)",
        "ti.Matrix([1, 2])",
        "ti.Vector(np.array([1.5, 2.5]))",
        "ti.Matrix(np.arange(4).reshape(2, 2))",
        "ti.Vector((1, 2))",
        "ti.Matrix([[1, 2, 3]])",
        "ti.Vector([True, False])",
        "ti.Matrix.diag(2, 5)",
        "ti.Matrix.rows([[1, 2], [3, 4]])",
        "ti.Matrix.cols([[1, 2], [3, 4]])",
        "ti.Matrix.rows([ti.Vector([1, 2])])",
    )


@case(differs=KERNELS_ONLY)
def constructors_of_kernels(show):
    _table(
        show,
        {},
        "ti.Vector.zero(ti.f32, 2)",
        "ti.Vector.one(ti.i32, 3)",
        "ti.Matrix.zero(ti.f32, 2, 2)",
        "ti.Matrix.one(ti.i64, 2, 3)",
        "ti.Matrix.identity(ti.f32, 2)",
        "ti.Vector.unit(3, 1)",
        "ti.Matrix.unit(3, 0, ti.f32)",
        "ti.Matrix.unit(3, 5)",
    )


@case()
def typed_constructors(show):
    _table(
        show,
        {},
        "ti.math.vec3(1, 2, 3)",
        "ti.math.vec2(1.5)",
        "ti.math.ivec2(1.7, 2)",
        "ti.math.uvec2(1, 2)",
        "ti.math.vec4(ti.math.vec2(1, 2), 3, 4)",
        "ti.math.mat2([[1, 2], [3, 4]])",
        "ti.math.mat2(1, 2, 3, 4)",
        "ti.types.vector(2, ti.i8)(1, 100)",
        "ti.types.matrix(2, 2, ti.f64)([[1, 2], [3, 4]])",
        "ti.types.vector(2, ti.f32)([1, 2])",
        "ti.math.vec3(ti.math.vec3(1, 2, 3))",
        "ti.math.vec2(np.array([1, 2]))",
        "ti.math.vec3()",
    )


@case(differs="matrix arguments of another shape")
def typed_constructors_refuse(show):
    _table(show, {}, "ti.math.vec3(1, 2)", "ti.math.vec3(1, 2, 3, 4)", "ti.math.mat2([[1, 2]])")


@case()
def constructors_refuse(show):
    _table(show, {}, "ti.Vector(5)", "ti.Matrix('abc')", "ti.Matrix.rows([[1, 2], [3]])")


@case()
def elements(show):
    v = ti.Vector([1, 2, 3])
    m = ti.Matrix([[1.5, 2.5], [3.5, 4.5]])
    names = {"v": v, "m": m}
    _table(
        show, names, "v[0]", "v[-1]", "m[0, 1]", "m[1, 0]", "v[0:2]", "m[0, :]", "v[5]", "m[2, 0]"
    )
    _table(show, names, "ti.math.vec3(1, 2, 3)[1]", "ti.math.ivec2(1, 2)[0]", "m[0:1, 0:2]")
    v[0] = 10
    m[0, 1] = 7
    v[1] = 2.9
    show(v, m)


@case(differs="columns in Python scope")
def columns(show):
    m = ti.Matrix([[1.5, 2.5], [3.5, 4.5]])
    show(m[:, 1], m[:, 0])


@case()
def iteration(show):
    v = ti.Vector([1, 2, 3])
    show(len(v), list(v), [x for x in ti.Matrix([[1, 2], [3, 4]])], v.n, v.m)
    m = ti.Matrix([[1, 2, 3], [4, 5, 6]])
    show(m.n, m.m, m.ndim, v.ndim, m.get_shape(), v.get_shape(), len(m))
    a, b, c = v
    show(a, b, c)


@case()
def arithmetic(show):
    v, w = ti.Vector([1, 2, 3]), ti.Vector([4, 5, 6])
    f = ti.Vector([0.5, 1.5, 2.5])
    _table(
        show,
        locals(),
        "v + w",
        "v - w",
        "v * w",
        "v / w",
        "w // v",
        "w % v",
        "v**2",
        "2**v",
        "-v",
        "v + 1",
        "1 - v",
    )
    _table(
        show,
        locals(),
        "v / 2",
        "v + f",
        "f * 2",
        "f / 2",
        "7 // v",
        "v & 1",
        "v | 4",
        "v ^ 1",
        "v << 1",
        "v >> 1",
        "~v",
        "abs(-v)",
    )
    _table(
        show,
        locals(),
        "v < w",
        "v == w",
        "v != w",
        "v >= 2",
        "f > 1",
        "v + [1, 1, 1]",
        "v + (1, 1, 1)",
    )
    m = ti.Matrix([[1, 2], [3, 4]])
    _table(
        show, locals(), "m + m", "m * 2", "m / 2", "m @ m", "m @ ti.Vector([1, 2])", "1 / m", "-m"
    )


@case(differs="forms of matrices")
def plus_sign(show):
    show(attempt(lambda: +ti.Vector([1, 2])))


@case()
def shapes_that_do_not_match(show):
    v, w, m = ti.Vector([1, 2, 3]), ti.Vector([4, 5]), ti.Matrix([[1, 2], [3, 4]])
    for text in ("v + w", "v < w", "m @ v", "v.dot(w)", "m + w", "w + m", "v += w"):
        show(text)
        show.error(exec, text, {"v": v, "w": w, "m": m})


@case()
def in_place_operators(show):
    v = ti.Vector([1, 2, 3])
    w = v
    v += 1
    show(v, w)
    v *= 2
    v -= ti.Vector([1, 1, 1])
    show(v, w)
    v /= 2
    show(v)


@case()
def methods(show):
    v, w = ti.Vector([3, 4, 0]), ti.Vector([1.0, 2.0, 3.0])
    m = ti.Matrix([[2.0, 1.0], [1.0, 3.0]])
    _table(show, locals(), "w.norm()", "v.norm_sqr()", "w.normalized()", "v.sum()", "w.max()")
    _table(show, locals(), "v.min()", "v.any()", "v.all()", "v.dot(w)", "v.cross(w)", "m.trace()")
    _table(show, locals(), "v.outer_product(w)", "m.inverse()", "m.transpose()")
    _table(show, locals(), "m.sum()", "m.max()", "v.to_list()")
    _table(show, locals(), "m.to_list()", "v.to_numpy()", "m.to_numpy()", "w.norm(0.1)")
    _table(show, locals(), "w.normalized(0.1)", "w.norm_inv()", "m.norm()", "w.xy.cross(w.yz)")


@case(differs="norms of `f32` vectors in Python scope")
def methods_of_typed_vectors(show):
    v, i = ti.math.vec3(1, 2, 2.5), ti.math.ivec2(3, 4)
    _table(show, locals(), "v.norm()", "v.norm_sqr()", "v.norm_inv()", "v.normalized()", "v.sum()")
    _table(show, locals(), "v.norm(0.1)", "v.max()", "v.dot(v)", "v.cross(v)", "v / 2", "v * 2.5")
    _table(show, locals(), "v + 1", "v**2", "i.norm()", "i / 2", "i * 2.5", "i.sum()", "i + v.xy")


@case(differs=KERNELS_ONLY)
def methods_of_kernels(show):
    v, m = ti.Vector([3, 4]), ti.Matrix([[2.0, 1.0], [1.0, 3.0]])
    _table(show, locals(), "m.determinant()", "v.cast(ti.f32)", "m.cast(ti.i32)")


@case()
def norms_of_integers(show):
    v = ti.Vector([3, 4, 0])
    _table(show, locals(), "v.norm()", "v.normalized()", "v.norm_inv()", "v.norm(1)")


@case()
def methods_refuse(show):
    v, m = ti.Vector([1.0, 2.0, 3.0, 4.0]), ti.Matrix([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])
    show.error(v.cross, v)
    show.error(m.trace)
    show.error(m.inverse)
    show.error(v.transpose)
    show.error(lambda: v.no_such_name)


@case()
def fill(show):
    v, m = ti.Vector([1, 2, 3]), ti.Matrix([[1.5, 2.5], [3.5, 4.5]])
    v.fill(7)
    m.fill(0)
    show(v, m)


@case()
def copies(show):
    v = ti.Vector([1, 2, 3])
    w = copy.copy(v)
    x = copy.deepcopy(v)
    y = ti.Vector(v.to_list())
    w[0], x[1] = 100, 200
    show(v, w, x, y)
    a = v.to_numpy()
    a[0] = 50
    show(v)


@case()
def as_arrays(show):
    v, m = ti.Vector([1, 2, 3]), ti.Matrix([[1, 2], [3, 4]])
    show(np.array(v.to_numpy()).sum(), np.linalg.norm(m.to_numpy()))


@case()
def truth(show):
    v = ti.Vector([1, 2, 3])
    show((v == ti.Vector([1, 2, 3])).all(), (v == ti.Vector([1, 2, 4])).all(), (v > 2).any())


@case()
def instances(show):
    v, m = ti.Vector([1, 2]), ti.Matrix([[1, 2], [3, 4]])
    show(isinstance(v, ti.Matrix), isinstance(m, ti.Matrix), isinstance(m, ti.Vector))
    show(isinstance(ti.math.vec2(1, 2), ti.Matrix), issubclass(ti.Vector, ti.Matrix))
    show([name for name in METHODS if not hasattr(v, name)])


@case()
def outside_and_inside_a_kernel(show):
    v = ti.Vector([1, 2, 3])
    m = ti.Matrix([[1.5, 2.0], [3.0, 4.0]])

    @ti.kernel
    def k() -> ti.f32:
        return (v * 2).sum() + (m @ m)[0, 1] + v[1] + v.x

    show(k())


@case()
def elements_of_fields_are_views(show):
    x = ti.Vector.field(2, ti.f32, 3)
    a = x[0]
    x[0] = [9, 9]
    show(a)
    x[0].x = 3
    x[0][1] = 5
    show(x[0], x[0] + 1, x[0][0], x[0].y, x[0].xy, str(x[0]), x[0].norm())
    b = x[0] + 1
    x[0] = [0, 0]
    show(b, a)


@case()
def arithmetic_of_elements_of_fields(show):
    x = ti.Vector.field(2, ti.f32, ())
    m = ti.Matrix.field(2, 2, ti.i32, ())
    x[None] = [1, 2]
    m[None] = [[1, 2], [3, 4]]
    show(x[None] + x[None], x[None] / 2, m[None] * 2, m[None] @ ti.Vector([1, 2]), m[None][0, 1])
    show(-x[None], x[None].dot(x[None]), m[None].to_numpy(), x[None].to_list(), m[None].trace())
    x[None] += ti.Vector([1, 1])
    m[None][1, 1] += 10
    show(x[None], m[None])


@case()
def types_and_their_methods(show):
    vec3 = ti.types.vector(3, ti.f32)
    x = vec3.field(shape=2)
    x[0] = vec3(1, 2, 3)
    show(x, x.shape, vec3.n, vec3.m, str(vec3.dtype))
    mat22 = ti.types.matrix(2, 2, ti.i32)
    y = mat22.field(shape=())
    y[None] = [[1, 2], [3, 4]]
    show(y, mat22.n, mat22.m, vec3.get_shape(), mat22.get_shape())
    show(vec3.ndarray(shape=2).shape)


@case()
def printing(show):
    print(ti.Vector([1, 2, 3]), ti.Vector([0.5, 1.0]), ti.Matrix([[1, 2], [3, 4]]))
    print(ti.math.vec3(1, 2, 3), ti.math.mat2(1, 2, 3, 4.5), ti.Vector([1e-8, 1e8]))
    print([ti.Vector([1, 2])], f"{ti.Vector([1, 2])}")


@case()
def functions_of_lists_and_arrays(show):
    _table(
        show,
        {"v": ti.Vector([1.5, -2.5, 0.5]), "n": np.array([1.0, 4.0])},
        "ti.sin([0, 1])",
        "ti.sqrt(n)",
        "ti.max(n, 2.5)",
        "ti.min([1, 5], 3.5)",
        "ti.atan2(n, 1)",
        "ti.raw_div(np.arange(3), 2)",
        "ti.rsqrt(n)",
        "ti.select(n > 2, n, 0.5)",
        "ti.select([True, False, True], v, 1)",
        "ti.select(np.arange(2), 1, 2)",
    )


@case()
def types_of_what_functions_answer(show):
    v = ti.Vector([1.5, -2.5, 3.5])
    a = ti.Vector([1, 2, 3])
    _table(
        show,
        {"v": v, "a": a, "w": ti.math.vec2(1, 2)},
        "ti.min(-3, v)",
        "ti.max(a, v)",
        "ti.max(2, w)",
        "ti.select(True, a, v)",
        "ti.select(0, a, 2)",
        "ti.select(a > 1, a, 0.5)",
        "ti.atan2(w * 0, 1)",
    )
    show(str(ti.min(2, 2.5)), str(ti.max(1, 2.5)), str(ti.min(True, 1)))


@case()
def numbers_outside_of_a_functions_domain(show):
    with np.errstate(all="ignore"):
        for name in "sqrt log asin acos rsqrt".split():
            show(name, np.isnan(getattr(ti, name)(-2.0)))
        show(*map(float, (ti.log(0.0), ti.rsqrt(0.0), ti.exp(1000.0), ti.exp(-1000.0))))
        show([np.isnan(f(float("inf"))) for f in (ti.sin, ti.cos, ti.tan)])
        show(float(ti.floor(float("inf"))), float(ti.ceil(-float("inf"))))
        show(np.isnan(ti.round(float("nan"))))
        show(ti.sqrt(ti.Vector([4.0, -1.0])), ti.log(ti.Vector([1.0, 0.0])))


@case()
def lists_as_subscripts(show):
    a = ti.Vector([1, 2, 3])
    m = ti.Matrix([[1, 2], [3, 4]])
    x = ti.Matrix.field(2, 2, ti.i32, ())
    x[None] = m
    show(a[[1]], m[[0, 1]], int(x[None][[1, 0]]), m[[0, 1], :])
    a[[0]] = 7
    m[[0, 1]] = 9
    x[None][[1, 0]] = 8
    show(a, m, x[None])


@case()
def vectors_from_iterators(show):
    vec3, mat2 = ti.math.vec3, ti.math.mat2
    show(vec3(x for x in range(3)), vec3(map(float, "1 2 3".split())), mat2(iter([1, 2, 3, 4])))
    show(ti.math.ivec2(reversed([1, 2])))


@case()
def shorter_vectors_from_longer_ones(show):
    vec2, vec3 = ti.math.vec2, ti.math.vec3
    show(vec2(vec3(1, 2, 3)), vec3(ti.Vector([1, 2, 3, 4])), ti.math.ivec2(vec3(1.5, 2.5, 3)))


@case(differs="more elements than a vector or matrix has")
def surplus_elements(show):
    vec2, mat2 = ti.math.vec2, ti.math.mat2
    for make in (
        lambda: vec2(1, 2, 3),
        lambda: vec2([1, 2, 3]),
        lambda: vec2(vec2(1, 2), 3),
        lambda: mat2(1, 2, 3, 4, 5),
        lambda: mat2(ti.Vector([1, 2, 3, 4, 5])),
    ):
        show.error(make)
