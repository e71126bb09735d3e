"""Arithmetic on scalars: operators, promotion, rounding."""

from harness import case, ti


@case()
def floor_division_and_modulo_follow_python(show):
    @ti.kernel
    def divide(a: ti.i32, b: ti.i32) -> ti.i32:
        return a // b

    @ti.kernel
    def modulo(a: ti.i32, b: ti.i32) -> ti.i32:
        return a % b

    for a, b in ((7, 2), (-7, 2), (7, -2), (-7, -2)):
        show(divide(a, b), modulo(a, b))


@case()
def division_of_integers_gives_the_default_float(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.f32:
        return a / b

    show(k(7, 2))


@case(differs="adding bools")
def bools_add_as_integers(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.i32:
        return (a > 0) + (b > 0)

    show(k(1, 2))
    print("done")


@case()
def operands_that_have_no_arithmetic(show):
    @ti.kernel
    def k() -> ti.i32:
        a = 1
        return a + "x"

    show.error(k)
