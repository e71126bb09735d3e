"""Functions, kernels, methods and what they give back."""

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
            text = """
no indent here
"""
            ti.static_assert(text == "\nno indent here\n")
            return a + 1

    show(ti.data_oriented(Thing)().run())
