"""Expressions: operators, built-ins, choices."""

# ruff: noqa: E741, F821, F841
from harness import case, numbers, ti


@case()
def atomics_return_the_old_value(show):
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k():
        x[0] = 10
        x[1] = 3
        old = ti.atomic_add(x[0], 5)
        x[2] = ti.atomic_max(x[1], 7) + 2
        x[3] = x[1]
        x[0] = old
        x[1] = 3

    k()
    show(numbers(x))


@case()
def integer_division(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.types.vector(4, ti.i32):
        return ti.Vector([a // b, a % b, ti.raw_div(a, b), ti.raw_mod(a, b)])

    show(list(k(-10, 3)))


@case()
def float_results(show):
    @ti.kernel
    def k(a: ti.i32, x: ti.f32) -> ti.types.vector(4, ti.f32):
        return ti.Vector([a / 2, x // 2, x**1.5 - x**1.5 + 2**3, ti.sqrt(0.25)])

    show(list(k(5, 4.5)))


@case()
def casts(show):
    @ti.kernel
    def k(x: ti.f32) -> ti.types.vector(4, ti.i32):
        return ti.Vector([int(x), ti.u8(255), ti.cast(-1.5, ti.i32), ti.i32(bool(int(x)))])

    show(list(k(3.7)))


@case()
def bit_cast(show):
    @ti.kernel
    def a() -> ti.i32:
        return ti.bit_cast(1.0, ti.i32)

    @ti.kernel
    def b() -> ti.f32:
        return ti.bit_cast(1065353216, ti.f32)

    show([a(), b()])


@case()
def builtins_in_kernels(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.types.vector(3, ti.i32):
        return ti.Vector([abs(a), pow(a, 2), len(ti.Vector([1, 2]))])

    show(list(k(-5)))


@case()
def min_max_of_many(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.types.vector(3, ti.i32):
        return ti.Vector([ti.max(a, b, 3), min(a, b), ti.min(a, b, 1)])

    show(list(k(4, 2)))


@case()
def narrow_and_wide_integers(show):
    x = ti.field(ti.i64, 4)

    @ti.kernel
    def k(a: ti.u8, b: ti.i8, c: ti.u32):
        x[0] = a + ti.u8(100)
        x[1] = b + ti.i8(100)
        x[2] = c - 2
        x[3] = ti.i64(1) << 40

    k(200, 100, 1)
    show(numbers(x))


@case()
def double_precision(show):
    @ti.kernel
    def k(a: ti.f64) -> ti.types.vector(2, ti.f64):
        b = a * ti.f64(0.1) * 10
        return ti.Vector([b * b, 1 / (b * b)])

    show([round(x, 12) for x in k(2.0)])


@case()
def wrong_number_of_indices(show):
    x = ti.field(ti.i32, (2, 2))

    @ti.kernel
    def k():
        x[0] = 1

    show.error(k)


@case()
def literal_out_of_range(show):
    @ti.kernel
    def k():
        a = 2147483648

    show.error(k)


@case()
def shift_of_floats(show):
    @ti.kernel
    def k(a: ti.f32):
        b = a << 1

    show.error(k, 1.0)


@case(differs="order of evaluation")
def operands_are_evaluated_left_to_right(show):
    x = ti.field(ti.i32, ())

    @ti.func
    def bump(a: ti.template(), by):
        a += by
        return a

    @ti.kernel
    def k() -> ti.i32:
        a = 1
        return a + bump(a, 1)

    @ti.kernel
    def m() -> ti.i32:
        return x[None] * 1000 + bump(x[None], 5) * 10 + x[None]

    x[None] = 1
    show(k(), m())


@case(differs="operands not needed")
def operands_of_choices_run_only_when_chosen(show):
    x = ti.field(ti.i32, ())

    @ti.func
    def count():
        x[None] += 1
        return 1

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        r = count() if a > 0 else 0
        if a > 0 and count() == 1:
            r += 1
        if a == 0 or count() == 1:
            r += 1
        return r

    show(k(0), x[None])
    show(k(1), x[None])
