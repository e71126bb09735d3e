"""What the decorators of functions and kernels are applied to, and in which order."""

# ruff: noqa: E741, F821, F841
import functools
import warnings

from harness import case, ti


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
