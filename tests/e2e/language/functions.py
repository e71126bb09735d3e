"""Functions, kernels, methods and their results."""

# ruff: noqa: E741, F821, F841
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


# --- classes


@case()
def data_oriented_classes(show):
    @ti.data_oriented
    class Base:
        scale = 3

        def __init__(self, n):
            self.n = n
            self.x = ti.field(ti.i32, n)

        @ti.func
        def value(self, i):
            return i * self.scale

        @ti.kernel
        def run(self):
            for i in self.x:
                self.x[i] = self.value(i)

        @property
        def half(self):
            return self.n // 2

        @staticmethod
        @ti.func
        def twice(a):
            return a * 2

        @ti.kernel
        def count(self, a: ti.i32) -> ti.i32:
            return self.twice(a) + self.half

    @ti.data_oriented
    class Derived(Base):
        scale = 5

        @ti.func
        def value(self, i):
            return i * self.scale + 1

    a, b = Base(3), Derived(4)
    a.run()
    b.run()
    show(a.x, b.x, a.count(4), b.count(4))


@case(differs="plain Python")
def classmethods_and_static_kernels(show):
    @ti.data_oriented
    class Tools:
        factor = 4

        @staticmethod
        @ti.kernel
        def add(a: ti.i32, b: ti.i32) -> ti.i32:
            return a + b

        @classmethod
        def make(cls):
            return cls()

        @ti.kernel
        def times(self, a: ti.i32) -> ti.i32:
            return a * self.factor

    show(Tools.add(1, 2), Tools().add(3, 4), Tools.make().times(2))


@case()
def super_and_methods_of_the_base(show):
    @ti.data_oriented
    class Base:
        @ti.func
        def f(self, a):
            return a + 1

        @ti.kernel
        def run(self, a: ti.i32) -> ti.i32:
            return self.f(a)

    @ti.data_oriented
    class Derived(Base):
        @ti.func
        def g(self, a):
            return self.f(a) * 10

        @ti.kernel
        def both(self, a: ti.i32) -> ti.i32:
            return self.g(a) + self.run_twice(a)

        @ti.func
        def run_twice(self, a):
            return self.f(self.f(a))

    show(Derived().run(1), Derived().both(1))


@case()
def kernel_member_without_data_oriented(show):
    class Plain:
        @ti.kernel
        def run(self) -> ti.i32:
            return 1

    show.error(lambda: Plain().run())


@case()
def attributes_read_by_kernels_are_bound_once(show):
    @ti.data_oriented
    class Thing:
        def __init__(self):
            self.n = 1

        @ti.kernel
        def read(self) -> ti.i32:
            return self.n

    thing = Thing()
    first = thing.read()
    thing.n = 5
    show(first, thing.read(), Thing().read())


@case()
def swapping_fields_of_an_object(show):
    @ti.data_oriented
    class Pair:
        def __init__(self):
            self.a = ti.field(ti.i32, ())
            self.b = ti.field(ti.i32, ())

        @ti.kernel
        def step(self):
            self.a[None] += 1

        def swap(self):
            self.a, self.b = self.b, self.a

    p = Pair()
    p.step()
    p.swap()
    p.step()
    show(p.a[None], p.b[None])


@case()
def missing_attribute_of_self(show):
    @ti.data_oriented
    class Thing:
        def __init__(self):
            self.velocity = 3

        @ti.kernel
        def read(self) -> ti.i32:
            return self.velocty

    show.error(Thing().read)


# --- kernels


@case()
def kernel_arguments_by_keyword(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.i32:
        return a * 10 + b

    show(k(1, b=2), k(b=3, a=4))


@case()
def wrong_arguments_of_a_kernel(show):
    @ti.kernel
    def k(first: ti.i32, second: ti.i32) -> ti.i32:
        return first + second

    show.error(k)
    show.error(k, 1)
    show.error(k, 1, 2, 3)
    show.error(k, 1, secnd=2)
    show.error(k, 1, first=2)
    show.error(k, 1, "2")
    show.error(k, 1, 2.5)
    show.error(k, 1, None)
    show.error(k, 1, [2])


@case()
def kernel_parameters_need_annotations(show):
    @ti.kernel
    def k(a):
        pass

    show.error(k, 1)


@case()
def kernel_parameters_with_defaults(show):
    def make():
        @ti.kernel
        def k(a: ti.i32 = 3) -> ti.i32:
            return a

        return k()

    show.error(make)


@case()
def odd_annotations_of_kernels(show):
    def number():
        @ti.kernel
        def k(a: 3):
            pass

        return k(3)

    def text():
        @ti.kernel
        def k(a: str):
            pass

        return k("a")

    def listed():
        @ti.kernel
        def k(a: list):
            pass

        return k([1])

    show.error(number)
    show.error(text)
    show.error(listed)


@case()
def results_of_every_kind(show):
    @ti.kernel
    def integer() -> int:
        return 3

    @ti.kernel
    def real() -> float:
        return 2

    @ti.kernel
    def truth(a: ti.i32) -> bool:
        return a > 1

    @ti.kernel
    def small() -> ti.u8:
        return 300

    @ti.kernel
    def pair() -> tuple[int, float]:
        return 1, 2.5

    @ti.kernel
    def mixed() -> (ti.i32, ti.types.vector(2, ti.f32)):
        return 1, ti.Vector([2.0, 3.0])

    show(integer(), real(), truth(3), truth(0), small(), pair(), mixed())


@case()
def results_that_do_not_fit(show):
    @ti.kernel
    def missing() -> ti.i32:
        pass

    @ti.kernel
    def vector() -> ti.i32:
        return ti.Vector([1, 2])

    @ti.kernel
    def number() -> ti.types.vector(2, ti.i32):
        return 1

    @ti.kernel
    def longer() -> ti.types.vector(2, ti.i32):
        return ti.Vector([1, 2, 3])

    @ti.kernel
    def matrix() -> ti.types.vector(2, ti.i32):
        return ti.Matrix([[1, 2], [3, 4]])

    @ti.kernel
    def floats() -> ti.types.vector(2, ti.i32):
        return ti.Vector([1.5, 2.5])

    @ti.kernel
    def too_few() -> (ti.i32, ti.i32):
        return 1

    @ti.kernel
    def too_many() -> (ti.i32, ti.i32):
        return 1, 2, 3

    @ti.kernel
    def empty() -> ti.i32:
        return

    for kernel in (missing, vector, number, longer, matrix, floats, too_few, too_many, empty):
        show.error(kernel)


@case()
def odd_result_annotations(show):
    def text():
        @ti.kernel
        def k() -> str:
            return "a"

        return k()

    def dots():
        @ti.kernel
        def k() -> tuple[int, ...]:
            return 1, 2

        return k()

    show.error(text)
    show.error(dots)


@case(differs="plain Python")
def result_annotation_none(show):
    @ti.kernel
    def k() -> None:
        pass

    show.error(k)


@case()
def return_without_annotation_in_a_kernel(show):
    @ti.kernel
    def k():
        return 1

    show.error(k)


@case()
def return_of_nothing(show):
    @ti.kernel
    def k(a: ti.i32):
        if ti.static(True):
            return
        ti.static_print("never")

    show(k(1))


@case()
def return_in_a_loop_of_a_kernel(show):
    @ti.kernel
    def k() -> ti.i32:
        for i in range(3):
            return i
        return 0

    show.error(k)


@case()
def return_twice(show):
    @ti.kernel
    def k() -> ti.i32:
        return 1
        return 2

    show.error(k)


@case()
def kernel_calls_a_kernel_through_a_func(show):
    @ti.kernel
    def inner():
        pass

    @ti.func
    def f():
        inner()

    @ti.kernel
    def k():
        f()

    show.error(k)


@case()
def globals_are_frozen_per_instance(show):
    class Space:
        g = 1

    @ti.kernel
    def k(n: ti.template()) -> ti.i32:
        return Space.g + n

    first = k(0)
    Space.g = 5
    show(first, k(0), k(1))


@case(differs="template arguments that are equal")
def template_arguments_by_equality(show):
    seen = []

    def note(n):
        seen.append(n)
        return 0

    @ti.kernel
    def k(n: ti.template()) -> ti.i32:
        ti.static_print("instance")
        return 1

    k(1)
    k(1.0)
    k(True)
    k(2)
    k((1, 2))
    k((1, 2))


@case()
def template_arguments_that_may_change(show):
    @ti.kernel
    def k(n: ti.template()):
        pass

    show.error(k, [1, 2])
    show.error(k, {"a": 1})
    show.error(k, ti.ndarray(ti.i32, 2))
    show.error(k, {1, 2})


@case()
def external_function_warns(show):
    import warnings

    def plain(a):
        return a + 1

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return plain(a)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        show(k(1))
    show([str(w.message).strip("\x1b[0m38;5;226m") for w in caught])


@case()
def unrolling_warns(show):
    import warnings

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in ti.static(range(40)):
            s += i
        return s

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        show(k())
    texts = [w.message for w in caught if issubclass(w.category, SyntaxWarning)]
    show([" ".join(str(text).split()) for text in texts])


@case()
def wide_loop_bound_warns(show):
    import warnings

    @ti.kernel
    def k(n: ti.i64) -> ti.i32:
        s = 0
        for i in range(n):
            s += i
        return s

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        show(k(4))
    show(["boundary values from i64 to i32" in str(w.message) for w in caught])


@case()
def function_of_math_with_a_kernel_value(show):
    import math

    @ti.kernel
    def k(a: ti.f32) -> ti.f32:
        return math.sin(a)

    show.error(k, 1.0)


@case()
def defining_a_func_in_a_func(show):
    @ti.func
    def f():
        def g():
            return 1

        return g()

    @ti.kernel
    def k() -> ti.i32:
        return f()

    show.error(k)


@case()
def kernel_name_and_documentation(show):
    @ti.kernel
    def k():
        """What it does."""

    @ti.func
    def f():
        """What f does."""

    show(k.__name__, k.__doc__, f.__name__, f.__doc__)


@case()
def decorators_on_decorated(show):
    def make():
        @ti.kernel
        @ti.kernel
        def k():
            pass

        return k()

    show.error(make)


@case()
def kernel_of_a_lambda(show):
    k = ti.kernel(lambda: 1)
    show.error(k)


@case()
def texts_that_name_no_type(show):
    def member():
        @ti.kernel
        def k(a: "ti.f23"):
            pass

    def unknown():
        @ti.kernel
        def k(a: ti.i32, b: "no_such_type"):
            pass

    def no_expression():
        @ti.func
        def f(a: "ti.f32()"):
            pass

    for define in (member, unknown, no_expression):
        show.error(define)
