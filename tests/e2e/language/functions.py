"""Functions, kernels, methods and their results."""

# ruff: noqa: E741, F821, F841
import functools
import warnings

from harness import case, ti


def numbers(array):
    return array.to_numpy().tolist()


@case()
def inlined_functions(show):
    @ti.func
    def add(a, b):
        a = a + b
        return a

    @ti.func
    def bump(a: ti.template(), by: ti.i32 = 9):
        a += by

    @ti.func
    def two():
        return 1, 2

    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        x = 1
        y = add(x, 2)
        z = x
        bump(z)
        p, q = two()
        return ti.Vector([y, z, x * p])

    show(list(k()))


@case()
def methods_of_objects(show):
    @ti.data_oriented
    class Thing:
        def __init__(self, n):
            self.n = n
            self.x = ti.field(ti.i32, ())

        @ti.func
        def twice(self, a):
            return a * 2

        @ti.kernel
        def run(self):
            self.x[None] = self.twice(self.n) // 2

    a, b = Thing(3), Thing(6)
    a.run()
    b.run()
    show([a.x[None], b.x[None]])


@case()
def array_argument(show):
    import numpy as np

    @ti.kernel
    def k(a: ti.types.ndarray(), n: ti.i32):
        for i in range(a.shape[0]):
            a[i] += n
        for i in a:
            a[i] += i

    a = np.zeros(3, dtype=np.int32)
    k(a, 3)
    show(a.tolist())


@case()
def function_with_a_loop_at_kernel_top(show):
    x = ti.field(ti.i32, 4)

    @ti.func
    def fill(n, value):
        for i in range(n):
            x[i] = value

    @ti.kernel
    def k(n: ti.i32):
        fill(n, 3)

    k(2)
    show(numbers(x))


@case()
def nested_functions_with_branches(show):
    x = ti.field(ti.i32, 6)

    @ti.func
    def odd(i):
        r = 0
        if i % 2 == 1:
            r = i
        return r

    @ti.func
    def twice_removed(i):
        a = odd(i)
        a = odd(a)
        return a

    @ti.kernel
    def k():
        for i in x:
            x[i] = twice_removed(i)

    k()
    show(numbers(x))


@case()
def through_inlined_functions(show):
    @ti.func
    def inner():
        a = 1 + 2j

    @ti.func
    def outer():
        inner()

    @ti.kernel
    def k():
        outer()

    show.error(k)


@case()
def return_in_branch(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        if a > 0:
            return 1
        return 0

    show.error(k, 1)


@case()
def nested_function(show):
    @ti.kernel
    def k():
        def f():
            pass

    show.error(k)


@case()
def return_without_annotation(show):
    @ti.kernel
    def k():
        return 1

    show.error(k)


@case()
def kernel_in_kernel(show):
    @ti.kernel
    def a():
        pass

    @ti.kernel
    def k():
        a()

    show.error(k)


@case(differs="source of kernels")
def comments_at_column_zero_in_a_method(show):
    class Thing:
        @ti.kernel
        def run(self) -> ti.i32:
            a = 1
            # a comment at column 0, as some editors leave it
            ti.static_print("""
no indent here
""")
            return a + 1

    show(ti.data_oriented(Thing)().run())


# --- func


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
def annotated_result_casts(show):
    @ti.func
    def whole(a) -> ti.i32:
        return a

    @ti.kernel
    def k() -> ti.f32:
        return whole(3.7) / 2

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


@case(differs="mistakes without a message")
def func_without_a_result_used_as_a_value(show):
    @ti.func
    def nothing():
        pass

    @ti.kernel
    def k() -> ti.i32:
        a = nothing()
        return a + 1

    show.error(k)


@case()
def func_that_returns_in_some_branches(show):
    @ti.func
    def f(a):
        if a > 0:
            return 1
        return 2

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return f(a)

    show.error(k, 1)


@case()
def func_that_returns_in_a_loop(show):
    @ti.func
    def f(n):
        for i in range(n):
            return i
        return 0

    @ti.kernel
    def k() -> ti.i32:
        return f(3)

    show.error(k)


@case()
def several_results(show):
    @ti.func
    def f(a):
        return a, a * 2.5, ti.Vector([a, a])

    @ti.kernel
    def k() -> ti.f32:
        a, b, v = f(2)
        return a + b + v.sum()

    show(k())


@case()
def result_as_a_tuple(show):
    @ti.func
    def f(a):
        return a, a + 1

    @ti.kernel
    def k() -> ti.i32:
        both = f(3)
        return both[0] * 10 + both[1]

    show(k())


@case()
def func_called_from_python(show):
    @ti.func
    def f(a):
        return a

    show.error(f, 1)


@case()
def pyfunc_in_both_scopes(show):
    @ti.pyfunc
    def f(a, b):
        return a * b + 1

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return f(a, 3)

    show(f(2, 3), k(2))


@case()
def recursion_without_end(show):
    @ti.func
    def f(a):
        return f(a - 1)

    @ti.kernel
    def k() -> ti.i32:
        return f(3)

    try:
        k()
    except ti.TaichiCompilationError as error:
        show(type(error).__name__, "f(a - 1)" in str(error))


@case()
def template_recursion_ends(show):
    @ti.func
    def power(a, n: ti.template()):
        r = 1
        if ti.static(n > 0):
            r = a * power(a, n - 1)
        return r

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return power(a, 5)

    show(k(3))


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
def closures_over_python_values(show):
    def make(n):
        @ti.func
        def add(a):
            return a + n

        @ti.kernel
        def k(a: ti.i32) -> ti.i32:
            return add(a) * n

        return k

    show(make(2)(1), make(3)(1))


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
def elements_that_functions_return_can_be_written_to(show):
    Ball = ti.types.struct(mass=ti.f32, speed=ti.math.vec2)
    balls = Ball.field(shape=3)
    x = ti.field(ti.i32, 3)

    @ti.func
    def ball(i):
        return balls[i]

    @ti.func
    def number(i):
        return x[i]

    @ti.func
    def same(a: ti.template()):
        return a

    @ti.func
    def add(a: ti.template(), by):
        a += by

    @ti.kernel
    def k() -> ti.f32:
        for i in range(3):
            ball(i).mass = i
            ball(i).speed += 1
            ball(i).speed[1] = 7
            ti.atomic_add(number(i), 10)
            add(number(i), i)
            add(same(same(number(2))), 1)
            value = number(i)
            value = 0
        own = Ball(1, ti.math.vec2(2, 3))
        same(own).mass += 4
        return own.mass

    show(k(), balls.mass.to_numpy().tolist(), balls.speed.to_numpy().tolist(), numbers(x))


@case()
def methods_that_return_elements(show):
    @ti.dataclass
    class Ball:
        mass: ti.f32

        @ti.func
        def grow(self, by):
            self.mass += by

    @ti.data_oriented
    class Balls:
        def __init__(self):
            self.of = Ball.field(shape=3)

        @ti.func
        def at(self, i):
            return self.of[i]

        @ti.kernel
        def run(self):
            for i in self.of:
                self.at(i).grow(i)
                self.at(i).mass *= 2

    balls = Balls()
    balls.run()
    show(balls.of.mass.to_numpy().tolist())


@case(differs="mistakes let pass")
def assignment_to_a_copy_that_a_function_returns(show):
    f = ti.Struct.field({"a": ti.i32}, shape=2)

    @ti.func
    def copy(i):
        element = f[i]
        return element

    @ti.kernel
    def k():
        copy(1).a = 9

    show.error(k)


@case()
def objects_with_elements(show):
    """`o[i]` of an object whose class defines `__getitem__` as a @ti.func."""
    Ball = ti.types.struct(mass=ti.f32, speed=ti.math.vec2)

    @ti.data_oriented
    class Balls:
        def __init__(self):
            self.of = Ball.field(shape=3)

        @ti.func
        def __getitem__(self, i: ti.i32):
            return self.of[i]

    @ti.data_oriented
    class Grid:
        def __init__(self):
            self.x = ti.field(ti.i32, (2, 3))

        @ti.func
        def __getitem__(self, at):
            return self.x[at[0], at[1]]

    balls, grid = Balls(), Grid()

    @ti.kernel
    def k() -> ti.f32:
        for i in range(3):
            balls[i] = Ball(i, ti.math.vec2(i, 1))
            balls[i].mass += 10
            balls[i].speed.x = 5
        for i, j in ti.ndrange(2, 3):
            grid[i, j] = i * 10 + j
            grid[i, j] += grid[i, j]
        for i in range(100):
            grid[0, 0] += 1
        return balls[2].mass + grid[1, 2]

    show(k(), balls.of.mass.to_numpy().tolist(), balls.of.speed.to_numpy().tolist())
    show(grid.x.to_numpy().tolist())


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


@case()
def functions_decorated_twice(show):
    def f(a: ti.i32) -> ti.i32:
        return a + 1

    twice = ti.func(ti.pyfunc(f)), ti.func(ti.kernel(f)), ti.real_func(ti.func(f))

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return twice[0](a) + twice[1](a) + twice[2](a)

    show(k(3), ti.kernel(ti.kernel(f))(3), ti.kernel(ti.func(f))(3))


@case(differs="mistakes without a message")
def decorated_things_that_are_no_functions(show):
    for decorator in (ti.kernel, ti.func, ti.pyfunc, ti.real_func):
        show.error(decorator, staticmethod)
        show.error(decorator, None)
        show.error(decorator, len)


@case(differs="mistakes without a message")
def static_methods_decorated_in_the_wrong_order(show):
    for decorator in (ti.kernel, ti.func):
        for kind in (staticmethod, classmethod):
            try:
                decorator(kind(len))
            except TypeError as error:
                show(str(error).partition(";")[2])


def wrapped(function):
    @functools.wraps(function)
    def call(*arguments, **named):
        print("this does not run")
        return function(*arguments, **named)

    return call


@case(differs="decorators below `@ti.kernel`")
def wrappers_are_left_out_with_a_warning(show):
    class Box:
        def __init__(self):
            self.n = 4

        @ti.kernel
        @wrapped
        def grow(self, by: ti.i32) -> ti.i32:
            return self.n + by

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")

        @ti.func
        @wrapped
        @wrapped
        def twice(a):
            return a + a

        @ti.kernel
        @functools.lru_cache
        def k(a: ti.i32) -> ti.i32:
            return twice(a) + 1

        show(k(3), k(4), ti.data_oriented(Box)().grow(2))
    for one in said:
        show(one.category.__name__, str(one.message), one.lineno > 0)
