"""Functions that kernels call: where they may return, what they give, recursion, closures."""

# ruff: noqa: E741, F821, F841
from harness import case, numbers, ti


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


@case()
def annotated_result_casts(show):
    @ti.func
    def whole(a) -> ti.i32:
        return a

    @ti.kernel
    def k() -> ti.f32:
        return whole(3.7) / 2

    show(k())


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
