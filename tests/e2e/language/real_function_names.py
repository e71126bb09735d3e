"""Names in `@ti.real_func`."""

# ruff: noqa: F841
from harness import case, numbers, ti


@case()
def globals_and_closures(show):
    x = ti.field(ti.i32, ())
    n = 5

    @ti.real_func
    def f(i: ti.i32) -> ti.i32:
        x[None] += i
        return i + n

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in range(10):
            s += f(i)
        return s

    show(k(), x[None])


@case()
def templates(show):
    x = ti.field(ti.i32, 4)
    y = ti.field(ti.i32, 4)

    @ti.real_func
    def put(a: ti.template(), i: ti.i32):
        a[i] += i + 1

    @ti.real_func
    def unrolled(n: ti.template(), i: ti.i32) -> ti.i32:
        s = 0
        for j in ti.static(range(n)):
            s += i + j
        return s

    @ti.real_func
    def factorial(n: ti.template()) -> ti.i32:
        r = 1
        if ti.static(n > 0):
            r = n * factorial(n - 1)
        return r

    @ti.kernel
    def k() -> ti.types.vector(3, ti.i32):
        for i in range(4):
            put(x, i)
            put(y, 3 - i)
        return ti.Vector([unrolled(3, 1), unrolled(4, 1), factorial(5)])

    show(k().to_numpy(), numbers(x), numbers(y))


@case()
def template_values_are_told_apart(show):
    @ti.real_func
    def f(v: ti.template()) -> ti.f32:
        return 7 / v

    @ti.real_func
    def g(t: ti.template()) -> ti.f64:
        return ti.cast(1, t) / 3

    @ti.kernel
    def k() -> ti.types.vector(3, ti.f32):
        return ti.Vector([f(2), f(2.0), f(True)])

    @ti.kernel
    def types() -> ti.f64:
        return g(ti.f32) - g(ti.f64)

    show(k().to_numpy(), types() != 0)


@case()
def arrays(show):
    x = ti.ndarray(ti.i32, 4)
    y = ti.ndarray(ti.i32, 4)

    @ti.real_func
    def f(a: ti.types.ndarray(dtype=ti.i32, ndim=1), i: ti.i32) -> ti.i32:
        a[i] += 3
        return a.shape[0]

    @ti.kernel
    def k(a: ti.types.ndarray(dtype=ti.i32, ndim=1), b: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
        s = 0
        for i in range(4):
            s += f(a, i)
        f(b, 2)
        return s

    show(k(x, y), numbers(x), numbers(y))


@case()
def methods(show):
    @ti.data_oriented
    class Table:
        def __init__(self, n):
            self.n = n
            self.x = ti.field(ti.i32, n)

        @ti.real_func
        def get(self, i: ti.i32) -> ti.i32:
            if i == 0:
                return self.x[i] + self.n
            return self.get(i - 1) * 2

        @ti.kernel
        def run(self) -> ti.i32:
            return self.get(1)

    a, b = Table(3), Table(4)
    a.x[0], b.x[0] = 10, 20
    show(a.run(), b.run(), a.run())


@case()
def funcs_and_real_functions_call_each_other(show):
    @ti.func
    def double(i):
        return i * 2

    @ti.real_func
    def f(i: ti.i32) -> ti.i32:
        if i > 3:
            return double(i)
        return 2

    @ti.func
    def g(i):
        return f(i) + f(i + 1)

    @ti.kernel
    def k() -> ti.i32:
        i = 0
        while f(i) < 9:
            i += 1
        return g(3) * 100 + i

    show(k())


@case()
def print_and_random(show):
    @ti.real_func
    def f(i: ti.i32) -> ti.i32:
        print("in f", i)
        return i

    @ti.real_func
    def draw() -> ti.f32:
        return ti.random()

    @ti.kernel
    def k() -> ti.i32:
        return f(1) + f(2)

    @ti.kernel
    def r() -> ti.i32:
        different = draw() != draw()
        return 0 <= draw() < 1 and different

    show(k(), r())


@case(differs="checks in real functions", debug=True)
def assertions(show):
    @ti.real_func
    def f(i: ti.i32) -> ti.i32:
        assert i < 2, f"bad {i}"
        return i

    @ti.real_func
    def outer(i: ti.i32) -> ti.i32:
        r = f(i)
        print("passed", i)
        return r

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        return outer(i)

    show(k(1))
    show.error(k, 2)


@case(differs="checks in real functions", debug=True)
def bounds_are_checked(show):
    x = ti.field(ti.i32, 4)

    @ti.real_func
    def f(i: ti.i32) -> ti.i32:
        return x[i]

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        return f(i)

    show(k(3))
    show.error(k, 4)


@case()
def in_parallel_loops(show):
    @ti.real_func
    def collatz(n: ti.i32) -> ti.i32:
        if n == 1:
            return 0
        if n % 2 == 0:
            return collatz(n // 2) + 1
        return collatz(3 * n + 1) + 1

    steps = ti.field(ti.i32, 1000)
    longest = ti.field(ti.i32, ())

    @ti.kernel
    def k():
        for i in steps:
            steps[i] = collatz(i + 1)
            ti.atomic_max(longest[None], steps[i])

    k()
    show(longest[None], sum(numbers(steps)))


@case()
def deprecated_name(show):
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        @ti.experimental.real_func
        def f(a: ti.i32) -> ti.i32:
            return a + 1

    @ti.kernel
    def k() -> ti.i32:
        return f(1)

    show(k(), [str(w.message) for w in caught if w.category is DeprecationWarning])
