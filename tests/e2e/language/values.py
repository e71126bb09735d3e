"""Values: constants, coercion, current default types, NaN."""

import math

import numpy as np
from harness import attempt, case, ti, type_of


@case()
def constants_are_computed_in_python(show):
    @ti.kernel
    def k():
        ti.static_print(1 < 2, 1 and 2, min(1, 2), int(2.7), ti.static(7 // 2), 2**0.5)
        a = 7 / 2
        b = 2**-1
        c = 7 // -2
        d = -7 % 3
        print(a, b, c, d, 1 << 3, 5 & 3, not 0)

    k()


@case()
def constants_become_variables_when_assigned(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.func
    def f(n):
        ti.static(note(n))
        return n + 1

    @ti.kernel
    def k() -> ti.i32:
        a = 5
        ti.static(note(a), note(a + 1))
        return f(3) + f(a)

    show(k(), seen)


@case()
def literals_passed_by_value_are_no_constants(show):
    @ti.func
    def total(n):
        s = 0
        for i in ti.static(range(n)):
            s += i
        return s

    @ti.kernel
    def k() -> ti.i32:
        return total(3)

    show.error(k)


@case()
def guarded_operands(show):
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        a = x[i] if i < 3 else -1
        b = 1 if i < 3 and x[i] == 0 else 0
        c = 1 if i >= 3 or x[i] == 0 else 0
        return a * 100 + b * 10 + c

    show(k(0), k(2), k(1000000000))


VECTOR_OF_FLOAT = ti.types.vector(3, float) if ti else None
VECTOR_OF_INT = ti.types.vector(2, int) if ti else None


@case(default_fp=ti.f64 if ti else None, default_ip=ti.i64 if ti else None)
def types_declared_before_init(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(a: float, b: int):
        ti.static(note(VECTOR_OF_FLOAT(1)), note(VECTOR_OF_INT(1)), note(ti.math.vec3(1)))
        ti.static(note(a), note(b), note(float(b)), note(int(a)))

    k(1.0, 2)
    show(seen)


@case()
def types_follow_the_current_init(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(a: float) -> float:
        ti.static(note(a), note(a * 1.0), note(ti.math.vec2(a, a)))
        return a / 3

    show(k(1.0))
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    show(k(1.0) == 1.0 / 3, seen)


@case()
def rounding_differs_in_the_two_scopes(show):
    @ti.kernel
    def k(x: ti.f32):
        print(ti.round(x), ti.floor(-x), ti.ceil(-x))

    k(2.5)
    k(3.5)
    show(float(ti.round(2.5)), round(2.5))


@case(differs="Python's `round` in kernels")
def builtin_round(show):
    @ti.kernel
    def k(x: ti.f32) -> ti.f32:
        return round(x)

    show.error(k, 2.5)


@case()
def negative_powers_of_integers(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.f32:
        return a**b

    @ti.kernel
    def literal() -> ti.f32:
        return 2**-1

    show(literal())


@case(differs="`7 // 0`, `7 % 0` on integers")
def remainders_by_zero(show):
    @ti.kernel
    def k(a: ti.i64, b: ti.u8) -> ti.i64:
        return a // b + a % b

    show(k(7, 0))


@case()
def division_by_zero_of_floats(show):
    @ti.kernel
    def k(a: ti.f32, b: ti.f32):
        print(a / b, -a / b, a // b)

    k(7.0, 0.0)


@case(differs="`isnan`, `isinf` and `fast_math=False`", fast_math=False)
def denormals_are_kept_without_fast_math(show):
    @ti.kernel
    def k(x: ti.f32) -> ti.i32:
        y = x * 0.5
        return (y > 0) + ti.math.isnan(x)

    show(k(1e-38 * 1.5))


@case(fast_math=False)
def nan_is_passed_on(show):
    @ti.kernel
    def k(x: ti.f32):
        y = x + 1
        z = ti.sqrt(y)
        v = ti.Vector([x, 1.0])
        print(ti.math.isnan(y), ti.math.isnan(z), ti.math.isnan(v.sum()), ti.math.isnan(v * 0))

    k(math.nan)


@case()
def results_in_python(show):
    pair = ti.types.struct(a=ti.i32, b=ti.math.vec2)

    @ti.kernel
    def one() -> ti.u1:
        return 1 > 0

    @ti.kernel
    def several() -> tuple[int, float, ti.math.vec2]:
        return 1, 2.5, ti.Vector([1, 2])

    @ti.kernel
    def struct() -> pair:
        return pair(a=1, b=[2, 3])

    @ti.kernel
    def wide() -> ti.u64:
        return ti.u64(2**64 - 1)

    @ti.kernel
    def half() -> ti.f16:
        return 0.1

    @ti.kernel
    def small() -> ti.i8:
        return 200

    show(one(), several(), struct(), wide(), half(), small())


@case()
def arguments_are_converted(show):
    @ti.kernel
    def integer(a: ti.i32) -> ti.i32:
        return a

    @ti.kernel
    def real(a: ti.f32) -> ti.f32:
        return a

    @ti.kernel
    def boolean(a: ti.u1) -> ti.i32:
        return a

    for value in (5, True, np.int64(7), np.uint8(200)):
        show(attempt(integer, value))
    for value in (5, 2.5, True, np.float32(0.5), np.int32(3)):
        show(attempt(real, value))
    for value in (True, False, 1, 0):
        show(attempt(boolean, value))
    for value in (1.5, np.float32(1.5), "1", None, [1]):
        show.error(integer, value)
    for value in ("1", None, [1.0], 1j):
        show.error(real, value)


@case(differs="`np.bool_` as an argument")
def numpy_bools_as_arguments(show):
    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return a

    show.error(k, np.bool_(True))


@case()
def constants_that_are_no_numbers(show):
    def of(value):
        @ti.kernel
        def k() -> ti.i32:
            return 1 + value

        show.error(k)

    for value in ("a", None, 1j, {}, object):
        of(value)


@case()
def scalars_are_no_sequences(show):
    @ti.kernel
    def length(a: ti.i32) -> ti.i32:
        return len(a)

    @ti.kernel
    def spread(a: ti.i32) -> ti.i32:
        return max(*a)

    @ti.kernel
    def unpack(a: ti.i32) -> ti.i32:
        b, c = a
        return b

    for kernel in (length, spread, unpack):
        show.error(kernel, 1)


@case()
def indices_that_are_no_numbers(show):
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def text() -> ti.i32:
        v = ti.Vector([1, 2])
        return v["a"]

    @ti.kernel
    def real(i: ti.f32) -> ti.i32:
        v = ti.Vector([1, 2])
        return v[i]

    @ti.kernel
    def field(i: ti.f32) -> ti.i32:
        return x[i]

    @ti.kernel
    def slices() -> ti.i32:
        return x[0:2]

    show.error(text)
    show.error(real, 1.0)
    show.error(field, 1.0)
    show.error(slices)


@case(differs="functions for kernels in Python scope")
def random_numbers_of_python_code(show):
    show.error(ti.random)


@case(differs="functions for kernels in Python scope")
def bits_of_python_code(show):
    show.error(ti.bit_cast, 1, ti.f32)
    show.error(ti.Matrix.unit, 3, 5)


@case()
def shapes_of_python_matrices(show):
    show.error(ti.Vector, 5)
    show.error(ti.Matrix, 3)


@case(differs="matrices of three dimensions")
def matrices_of_three_dimensions(show):
    show.error(ti.Matrix, [[[1]]])


@case(differs="forms of matrices")
def vectors_of_rows(show):
    show.error(ti.Vector, [[1, 2], [3, 4]])


@case()
def matrices_of_scalars(show):
    @ti.kernel
    def k(a: ti.i32):
        print(ti.Vector(a))

    show.error(k, 1)


@case()
def structs_and_other_values(show):
    pair = ti.types.struct(a=ti.i32, b=ti.f32)

    @ti.kernel
    def number():
        p = pair(a=1, b=2)
        p = 3
        print(p.a)

    show.error(number)


@case()
def numpy_arrays_as_variables(show):
    several, one, none = np.array([1, 2]), np.array([3]), np.array(7)

    @ti.kernel
    def element() -> ti.i32:
        return several[1] + one[0] + none

    @ti.kernel
    def scalar() -> ti.i32:
        a = none
        return a

    @ti.kernel
    def array() -> ti.i32:
        a = several
        return a[0]

    @ti.kernel
    def array_of_one() -> ti.i32:
        a = one
        return a[0]

    show(element(), scalar())
    show.error(array)
    show.error(array_of_one)
