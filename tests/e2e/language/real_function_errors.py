"""Mistakes in and with `@ti.real_func`."""

# ruff: noqa: F841
from harness import case, ti

vec3 = ti.types.vector(3, ti.f32)


@case()
def signatures_are_checked_when_decorated(show):
    def unannotated():
        @ti.real_func
        def f(a) -> ti.i32:
            return a

    def bad():
        @ti.real_func
        def f(a: str) -> ti.i32:
            return a

    def spread():
        @ti.real_func
        def f(*a) -> ti.i32:
            return a

    show.error(unannotated)
    show.error(bad)
    show.error(spread)


@case()
def wrong_number_of_arguments(show):
    @ti.real_func
    def f(a: ti.i32) -> ti.i32:
        return 1

    @ti.kernel
    def many() -> ti.i32:
        return f(2, 3)

    @ti.kernel
    def few() -> ti.i32:
        return f()

    show.error(many)
    show.error(few)


@case()
def parameters_by_value_are_immutable(show):
    @ti.real_func
    def f(a: ti.i32) -> ti.i32:
        a += 5
        return a

    @ti.real_func
    def loop(a: ti.i32) -> ti.i32:
        for a in range(3):
            pass
        return a

    @ti.kernel
    def k() -> ti.i32:
        return f(4)

    @ti.kernel
    def m() -> ti.i32:
        return loop(4)

    show.error(k)
    show.error(m)


@case()
def results_need_annotations(show):
    @ti.real_func
    def f(a: ti.i32):
        return a

    @ti.kernel
    def k() -> ti.i32:
        return f(2)

    show.error(k)


@case(differs="a real function whose end is reached")
def function_without_any_return(show):
    @ti.real_func
    def f(a: ti.i32) -> ti.i32:
        b = a

    @ti.kernel
    def k() -> ti.i32:
        return f(2)

    show.error(k)


@case()
def results_of_other_types(show):
    @ti.real_func
    def scalar(i: ti.i32) -> ti.i32:
        return ti.Vector([i, i])

    @ti.real_func
    def vector(i: ti.i32) -> vec3:
        return ti.Vector([i, i])

    @ti.real_func
    def count(i: ti.i32) -> (ti.i32, ti.i32):
        return i, i, i

    @ti.kernel
    def a() -> ti.i32:
        return scalar(2)

    @ti.kernel
    def b() -> vec3:
        return vector(2)

    @ti.kernel
    def c() -> ti.i32:
        x, y = count(2)
        return x

    show.error(a)
    show.error(b)
    show.error(c)


@case(differs="arguments of real functions")
def arguments_of_other_types(show):
    left = ti.types.struct(a=ti.i32)
    right = ti.types.struct(b=ti.f32)

    @ti.real_func
    def scalar(a: ti.i32) -> ti.i32:
        return a

    @ti.real_func
    def vector(a: vec3) -> ti.f32:
        return a.sum()

    @ti.real_func
    def struct(s: left) -> ti.i32:
        return s.a

    @ti.real_func
    def array(s: ti.types.ndarray()) -> ti.i32:
        return s[0]

    @ti.kernel
    def a() -> ti.i32:
        return scalar(ti.Vector([1, 2]))

    @ti.kernel
    def b() -> ti.f32:
        return vector(ti.Vector([1, 2]))

    @ti.kernel
    def c() -> ti.i32:
        return struct(right(3))

    @ti.kernel
    def d() -> ti.i32:
        return array(3)

    @ti.kernel
    def e() -> ti.f32:
        return vector([1, 2, 3])

    show.error(a)
    show.error(c)
    show.error(d)
    show.error(b)
    show(e())


@case(differs="references (`ti.ref`)")
def references_need_addresses(show):
    @ti.real_func
    def inc(a: ti.ref(ti.i32)):
        a += 5

    @ti.real_func
    def forwards(a: ti.i32):
        inc(a)

    @ti.kernel
    def constant():
        inc(1)

    @ti.kernel
    def expression():
        x = 3
        inc(x + 1)

    @ti.kernel
    def parameter(x: ti.i32):
        inc(x)

    @ti.kernel
    def by_value():
        forwards(1)

    @ti.kernel
    def other_type():
        x = 1.5
        inc(x)

    def of_vector():
        @ti.real_func
        def f(a: ti.ref(vec3)):
            a += 5

    show.error(constant)
    show.error(parameter, 1)
    show.error(by_value)
    show.error(of_vector)
    show.error(other_type)
    show.error(expression)


@case()
def templates_must_be_known(show):
    @ti.real_func
    def f(a: ti.template()):
        a += 1

    @ti.kernel
    def k():
        x = 1
        f(x)

    show.error(k)


@case()
def template_recursion_without_end(show):
    @ti.real_func
    def f(n: ti.template()) -> ti.i32:
        return f(n + 1)

    @ti.kernel
    def k() -> ti.i32:
        return f(0)

    show.error(k)


@case(differs="number of real functions")
def too_many_functions(show):
    @ti.real_func
    def f(n: ti.template()) -> ti.i32:
        return n

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in ti.static(range(1100)):
            s += f(i)
        return s

    show.error(k)


@case(differs="errors in the reference's own Python code")
def field_loops_are_the_kernels(show):
    x = ti.field(ti.i32, 4)

    @ti.real_func
    def f():
        for i in x:
            x[i] = i

    @ti.kernel
    def k():
        f()

    show.error(k)


@case()
def only_in_kernels(show):
    @ti.real_func
    def f(i: ti.i32) -> ti.i32:
        return i

    show.error(f, 3)
