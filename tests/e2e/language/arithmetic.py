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
def remainders_of_floats_have_the_sign_of_the_divisor(show):
    """Also where the quotient was rounded up to a whole number."""
    import numpy as np

    for dtype in (ti.f32, ti.f64):

        @ti.kernel
        def one(a: dtype, b: dtype) -> dtype:
            return a % b

        show([one(a, b) for a, b in ((1.0, 0.1), (-1.0, 0.1), (1.0, -0.1), (0.7, 0.1), (5.1, 1.7))])

        x, y, z = (ti.field(dtype, 1000) for _ in range(3))
        numbers = np.arange(1000, dtype=y.to_numpy().dtype)
        x.from_numpy(numbers * numbers.dtype.type(0.1))

        @ti.kernel
        def many(by: dtype):
            for i in x:
                y[i] = x[i] % 0.1
                z[i] = ti.math.mod(x[i], by)

        many(0.1)
        show(np.sum(y.to_numpy() < 0), np.sum(z.to_numpy() < 0))
        many(-0.1)
        show(np.sum(z.to_numpy() > 0))


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
