"""Arguments of functions and kernels: by value, by template, defaults and keywords."""

# ruff: noqa: E741, F821, F841
from harness import case, ti


@case()
def arguments_by_value(show):
    @ti.func
    def change(a, v):
        a += 1
        v[0] += 1
        return a + v[0]

    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        a = 1
        v = ti.Vector([1, 2])
        b = change(a, v)
        return ti.Vector([a, v[0], b])

    show(k())


@case()
def templates_are_by_reference(show):
    f = ti.field(ti.i32, 2)

    @ti.func
    def change(a: ti.template(), v: ti.template(), e: ti.template()):
        a += 1
        v[0] += 1
        e += 5

    @ti.kernel
    def k() -> ti.types.vector(2, ti.i32):
        a = 1
        v = ti.Vector([1, 2])
        change(a, v, f[1])
        return ti.Vector([a, v[0]])

    show(k(), f)


@case()
def annotated_parameters_cast(show):
    @ti.func
    def half(a: ti.i32, b: ti.f32) -> ti.f32:
        return a / 2 + b

    @ti.kernel
    def k() -> ti.f32:
        return half(3.7, 1)

    show(k())


@case()
def vector_parameters(show):
    @ti.func
    def total(v: ti.types.vector(2, ti.f32), m: ti.types.matrix(2, 2, ti.f32)) -> ti.f32:
        return v.sum() + m.sum()

    @ti.kernel
    def k() -> ti.f32:
        return total(ti.Vector([1, 2]), ti.Matrix([[1, 2], [3, 4]]))

    show(k())


@case()
def vector_parameters_of_wrong_shapes(show):
    @ti.func
    def vec(v: ti.types.vector(2, ti.f32)):
        return v.sum()

    @ti.func
    def mat(m: ti.types.matrix(2, 3, ti.f32)):
        return m.sum()

    @ti.kernel
    def number() -> ti.f32:
        return vec(1.0)

    @ti.kernel
    def longer() -> ti.f32:
        return vec(ti.Vector([1, 2, 3]))

    @ti.kernel
    def matrix() -> ti.f32:
        return vec(ti.Matrix([[1, 2], [3, 4]]))

    @ti.kernel
    def rows() -> ti.f32:
        return mat(ti.Matrix([[1, 2], [3, 4], [5, 6]]))

    @ti.kernel
    def columns() -> ti.f32:
        return mat(ti.Matrix([[1, 2], [3, 4]]))

    for kernel in (number, longer, matrix, rows, columns):
        show.error(kernel)


@case()
def arrays_of_other_elements(show):
    import numpy as np

    @ti.func
    def numbers(a: ti.types.ndarray(dtype=ti.f32)):
        return a[0]

    @ti.func
    def vectors(a: ti.types.ndarray(dtype=ti.math.vec2, ndim=1)):
        return a[0].sum()

    @ti.kernel
    def of_numbers(a: ti.types.ndarray()) -> ti.f32:
        return numbers(a)

    @ti.kernel
    def of_vectors(a: ti.types.ndarray()) -> ti.f32:
        return vectors(a)

    two = ti.Vector.ndarray(2, ti.f32, 3)
    two.fill(1)
    show(of_numbers(np.ones(2, np.float32)), of_vectors(two))
    for array in (two, np.ones(2, np.int32), ti.ndarray(ti.f64, 2)):
        show.error(of_numbers, array)
    for array in (np.ones(2, np.float32), ti.Matrix.ndarray(2, 2, ti.f32, 3)):
        show.error(of_vectors, array)


@case()
def defaults_and_keywords(show):
    @ti.func
    def f(a, b=2, c: ti.i32 = 3):
        return a * 100 + b * 10 + c

    @ti.kernel
    def k() -> ti.types.vector(4, ti.i32):
        return ti.Vector([f(1), f(1, c=5), f(c=1, a=2, b=3), f(1, 4, 6)])

    show(k())


@case()
def wrong_arguments_of_a_func(show):
    @ti.func
    def f(first, second=2):
        return first + second

    @ti.kernel
    def too_many() -> ti.i32:
        return f(1, 2, 3)

    @ti.kernel
    def too_few() -> ti.i32:
        return f()

    @ti.kernel
    def unknown() -> ti.i32:
        return f(1, secnd=2)

    @ti.kernel
    def twice() -> ti.i32:
        return f(1, first=2)

    for kernel in (too_many, too_few, unknown, twice):
        show.error(kernel)


@case()
def variable_arguments_are_refused(show):
    def positional():
        @ti.func
        def f(*args):
            return 1

    def keywords():
        @ti.func
        def f(**options):
            return 1

    def keyword_only():
        @ti.func
        def f(a, *, b=1):
            return 1

    for make in (positional, keywords, keyword_only):
        show.error(make)


@case()
def variable_arguments_of_a_kernel(show):
    def define(text):
        space = {"ti": ti}
        import linecache

        name = f"<made {hash(text)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec"), space)
        return space["k"]

    show.error(lambda: define("@ti.kernel\ndef k(*args):\n    pass\n")(1))
    show.error(lambda: define("@ti.kernel\ndef k(**options):\n    pass\n")(a=1))
    show.error(lambda: define("@ti.kernel\ndef k(*, a: ti.i32):\n    pass\n")(a=1))


@case()
def functions_as_template_arguments(show):
    @ti.func
    def double(a):
        return a * 2

    @ti.func
    def apply(f: ti.template(), a):
        return f(a)

    @ti.kernel
    def k() -> ti.i32:
        return apply(double, 4)

    show(k())


@case()
def function_in_a_dict(show):
    @ti.func
    def one():
        return 1

    @ti.func
    def two():
        return 2

    table = {"one": one, "two": two}

    @ti.kernel
    def k() -> ti.i32:
        return table["one"]() * 10 + table["two"]()

    show(k())


@case()
def fields_as_func_arguments(show):
    f = ti.field(ti.i32, 3)

    @ti.func
    def fill(x, value):
        for i in x:
            x[i] = value + i

    @ti.func
    def first(x: ti.template()):
        return x[0]

    @ti.kernel
    def k() -> ti.i32:
        fill(f, 7)
        return first(f)

    show(k(), f)


@case()
def text_as_a_func_argument(show):
    @ti.func
    def f(mode):
        return 1

    @ti.func
    def g(mode: ti.template()):
        r = 0
        if ti.static(mode == "fast"):
            r = 1
        return r

    @ti.kernel
    def plain() -> ti.i32:
        return f("fast")

    @ti.kernel
    def template() -> ti.i32:
        return g("fast")

    show.error(plain)
    show(template())


@case()
def assigning_to_a_parameter_of_a_func(show):
    @ti.func
    def f(a: ti.i32):
        a = a + 0.7
        a = a * 2
        return a

    @ti.kernel
    def k() -> ti.i32:
        return f(3)

    show(k())


@case(differs="order of evaluation")
def keyword_arguments_are_evaluated_in_the_order_of_the_call(show):
    x = ti.field(ti.i32, ())

    @ti.func
    def both(a, b):
        return a * 100 + b

    @ti.func
    def next_of(v: ti.template()):
        v += 1
        return v

    @ti.kernel
    def k() -> ti.types.vector(4, ti.i32):
        y = z = 5
        x[None] = 5
        of_field = both(a=x[None], b=next_of(x[None]))
        swapped = both(b=x[None], a=next_of(x[None]))
        unpacked = both(**{"a": z, "b": next_of(z)})
        return ti.Vector([both(a=y, b=next_of(y)), of_field, swapped, unpacked])

    show(list(k()))


@case()
def components_as_template_arguments(show):
    v = ti.Vector.field(3, ti.f32, 2)

    @ti.func
    def add(a: ti.template(), by=1.0):
        a += by

    @ti.kernel
    def k() -> ti.types.vector(3, ti.f32):
        u = ti.Vector([1.0, 2.0, 3.0])
        add(u.zx, ti.Vector([10.0, 20.0]))
        for i in v:
            add(v[i].xy)
            add(a=v[i].yz, by=i)
        return u

    show(list(k()), v.to_numpy().tolist())


@case(differs="mistakes without a message")
def slices_as_template_arguments(show):
    m = ti.Matrix.field(2, 2, ti.f32, ())

    @ti.func
    def change(a: ti.template()):
        a[0] = 9
        a[1] += 2

    @ti.func
    def exchange(a: ti.template(), b: ti.template()):
        c = a
        a = b
        b = c

    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        for _ in range(1):
            change(m[None][1, :])
            change(m[None][:, 0])
        u = ti.Vector([1, 2, 3])
        v = ti.Vector([4, 5, 6])
        exchange(u.xy, v.yz)
        ti.atomic_add(u.zx, 10)
        return u * 100 + v

    show(list(k()), m[None].to_list())

    @ti.kernel
    def twice() -> ti.i32:
        u = ti.Vector([1, 2, 3])
        change(u.xx)
        return u.sum()

    show.error(twice)
