"""Kernels: how they are declared and called, and their results."""

# ruff: noqa: E741, F821, F841
from harness import case, ti


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
