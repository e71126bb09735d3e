"""Debug mode: bounds, overflow, division, assert; and the results in release mode."""

import numpy as np
from harness import case, ti


@case(debug=True)
def bounds_of_fields(show):
    x = ti.field(ti.i32, shape=(4, 5), name="x")

    @ti.kernel
    def read(i: ti.i32, j: ti.i32) -> ti.i32:
        return x[i, j]

    @ti.kernel
    def write(i: ti.i32, j: ti.i32):
        x[i, j] = 3

    show(read(3, 4))
    show.error(read, 4, 0)
    show.error(read, 0, -1)
    show.error(write, 7, 9)
    show(read(1, 1))


@case(debug=True)
def bounds_with_offsets(show):
    x = ti.field(ti.i32, shape=(4, 5), offset=(-2, 3))

    @ti.kernel
    def read(i: ti.i32, j: ti.i32) -> ti.i32:
        return x[i, j]

    show(read(-2, 3), read(1, 7))
    show.error(read, 2, 3)
    show.error(read, -3, 3)
    show.error(read, 0, 2)


@case(debug=True)
def bounds_of_vector_fields(show):
    v = ti.Vector.field(3, ti.f32, shape=4)

    @ti.kernel
    def element(i: ti.i32) -> ti.f32:
        return v[i].x

    @ti.kernel
    def component(i: ti.i32) -> ti.f32:
        return v[0][i]

    show(element(3), component(2))
    show.error(element, 4)


@case(debug=True)
def bounds_in_parallel_loops(show):
    x = ti.field(ti.i32, shape=16)

    @ti.kernel
    def k(n: ti.i32):
        for i in range(n):
            x[i] += 1

    k(16)
    show.error(k, 17)
    k(16)
    show(x[3] >= 2)


@case(check_out_of_bound=True, differs="`check_out_of_bound` alone")
def bounds_without_debug(show):
    x = ti.field(ti.i32, shape=4)

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        return x[i]

    show(k(3))
    show.error(k, 4)


@case(debug=True)
def bounds_of_ndarrays(show):
    @ti.kernel
    def k(x: ti.types.ndarray(), i: ti.i32, j: ti.i32) -> ti.i32:
        return x[i, j]

    array = np.zeros((2, 3), np.int32)
    show(k(array, 1, 2))
    show.error(k, array, 2, 0)
    show.error(k, array, 0, -1)
    show.error(k, ti.ndarray(ti.i32, (2, 2)), 0, 5)


@case(debug=True)
def bounds_in_functions(show):
    x = ti.field(ti.i32, shape=4)

    @ti.func
    def inner(i):
        return x[i]

    @ti.func
    def outer(i):
        return inner(i + 1)

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        return outer(i)

    show(k(2))
    show.error(k, 3)


@case(debug=True)
def asserts(show):
    @ti.kernel
    def plain(n: ti.i32):
        assert n > 0

    @ti.kernel
    def said(n: ti.i32):
        assert n > 0, "n must be positive"

    plain(1)
    said(1)
    show.error(plain, 0)
    show.error(said, -1)
    said(1)


@case(debug=True)
def asserts_with_values(show):
    @ti.kernel
    def k(n: ti.i32, x: ti.f32):
        assert n < 3, f"n is {n} and x {x}"

    k(1, 2.0)
    show.error(k, 5, 1.5)


@case(debug=True)
def asserts_with_formats(show):
    x = ti.field(ti.i32, shape=4)

    @ti.kernel
    def method(a: ti.i32):
        assert a < 0, "a is {} and x {}".format(a, x[1])

    @ti.kernel
    def one(a: ti.i32):
        assert a < 0, "a is %d" % a

    @ti.kernel
    def of_a_field():
        assert x[1] < 0, "x is %d" % x[1]

    @ti.kernel
    def two(a: ti.i32, b: ti.f32):
        assert a < 0, "a is %d, b %f" % (a, b)

    show.error(method, 3)
    show.error(one, 3)
    show.error(of_a_field)
    show.error(two, 3, 1.5)


@case(debug=True)
def asserts_in_functions_by_reference(show):
    x = ti.field(ti.i32, shape=4)

    @ti.real_func
    def inner(i: ti.i32) -> ti.i32:
        assert i < 3, f"i is {i}"
        return i

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        return inner(i) + x[i]

    show(k(2))
    show.error(k, 3)


@case(debug=True, differs="bounds in real functions in debug mode")
def bounds_in_functions_by_reference(show):
    x = ti.field(ti.i32, shape=4)

    @ti.real_func
    def inner(i: ti.i32) -> ti.i32:
        return x[i]

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        return inner(i)

    show(k(3))
    show.error(k, 4)


@case(debug=True, differs="bounds of components in debug mode")
def bounds_of_components(show):
    v = ti.Vector.field(3, ti.i32, shape=4)

    @ti.kernel
    def read(i: ti.i32) -> ti.i32:
        return v[1][i]

    @ti.kernel
    def write(i: ti.i32):
        v[1][i] = 3

    show(read(2))
    show.error(read, 3)
    show.error(write, -1)


@case(debug=True)
def powers_with_negative_exponents(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.i32:
        return a**b

    show(k(2, 10))
    show.error(k, 2, -1)


@case(debug=True)
def asserts_in_loops(show):
    x = ti.field(ti.i32, shape=100)

    @ti.kernel
    def k():
        for i in range(100):
            assert i < 1000
            x[i] = i

    @ti.kernel
    def fails():
        for i in range(100):
            assert i != 50, f"bad {i} of {100}"

    k()
    show(x[99])
    show.error(fails)


@case(debug=True, differs="bounds of local matrices in debug mode")
def bounds_of_local_matrices_of_two_axes(show):
    @ti.kernel
    def read(i: ti.i32, j: ti.i32) -> ti.i32:
        m = ti.Matrix([[1, 2, 3], [4, 5, 6]])
        return m[i, j]

    @ti.kernel
    def write(i: ti.i32, j: ti.i32) -> ti.i32:
        m = ti.Matrix([[1, 2, 3], [4, 5, 6]])
        m[i, j] = 9
        return m.sum()

    show(read(1, 2), write(0, 0))
    show.error(read, 2, 0)
    show.error(read, 0, 3)
    show.error(write, 1, -1)


@case()
def asserts_are_silent_in_release(show):
    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        assert n > 0, "never said"
        return n

    show(k(-1))


@case(debug=True)
def asserts_that_are_known(show):
    @ti.kernel
    def k():
        assert 1 < 2
        assert True, "fine"

    k()


def overflow(show, limits, call):
    """call(function, *arguments) for what overflows."""
    for name, top in limits:
        kind = getattr(ti, name)

        @ti.kernel
        def add(a: kind, b: kind) -> kind:
            return a + b

        @ti.kernel
        def sub(a: kind, b: kind) -> kind:
            return a - b

        @ti.kernel
        def mul(a: kind, b: kind) -> kind:
            return a * b

        low = 0 if name[0] == "u" else -top - 1
        show(name, add(top - 1, 1), sub(low + 1, 1), mul(top // 2, 2))
        call(add, top, 1)
        call(sub, low, 1)
        call(mul, top // 2 + 1, 2)


SIGNED = (("i8", 127), ("i16", 32767), ("i32", 2**31 - 1), ("i64", 2**63 - 1))
UNSIGNED = (("u8", 255), ("u16", 65535), ("u32", 2**32 - 1))


@case(debug=True)
def overflow_of_signed_integers_is_printed(show):
    overflow(show, SIGNED, lambda function, *arguments: show(function(*arguments)))


@case(debug=True)
def overflow_of_unsigned_integers_is_printed(show):
    overflow(show, UNSIGNED, lambda function, *arguments: show(function(*arguments)))


@case(debug=True)
def overflow_of_shifts_is_printed(show):
    for kind in (ti.i32, ti.u32, ti.i64, ti.u64):

        @ti.kernel
        def k(a: kind, b: kind) -> kind:
            return a << b

        @ti.kernel
        def down(a: kind, b: kind) -> kind:
            return a >> b

        show(k(1, 30), k(1, 31), k(3, 31), k(1, 63), down(1, 2))


@case(debug=True)
def overflow_in_functions_names_their_line(show):
    @ti.func
    def hashed(i, j):
        return i * 73856093 ^ j * 19349663

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        return hashed(i, 3) + hashed(2, 3)

    show(k(40), k(400))


@case(debug=True, differs="integer overflow in debug mode")
def overflow_everywhere_has_a_place(show):
    x = ti.field(ti.i32, shape=4)

    @ti.real_func
    def twice(a: ti.i32) -> ti.i32:
        return a * 2

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        b = a
        b += 1
        v = ti.Vector([a, 1, a])
        print("between", b, v + v)
        for i in x:
            x[i] = a + i
        return twice(a) + v.sum()

    show(k(2**31 - 1), x.to_numpy().tolist())


@case(debug=True, check_overflow="error", differs="integer overflow in debug mode")
def overflow_as_an_error(show):
    overflow(show, SIGNED, show.error)


@case(debug=True, check_overflow="error", differs="integer overflow in debug mode")
def overflow_of_unsigned_integers_is_no_error(show):
    overflow(show, UNSIGNED, lambda function, *arguments: show(function(*arguments)))


@case(debug=True, check_overflow="error", differs="integer overflow in debug mode")
def shifts_as_an_error(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.i32) -> ti.i32:
        return a << b

    show(k(1, 30), k(1, 31), k(3, 31))
    show.error(k, 1, 33)
    show.error(k, 1, -1)


@case(debug=True, check_overflow="off", differs="integer overflow in debug mode")
def overflow_without_a_word(show):
    overflow(show, SIGNED, lambda function, *arguments: show(function(*arguments)))


@case(differs="integer overflow in debug mode")
def overflow_is_checked_in_one_of_three_ways(show):
    show.error(ti.init, check_overflow="perhaps")


@case(debug=True, differs="`7 // 0`, `7 % 0` on integers")
def division_by_zero(show):
    @ti.kernel
    def div(a: ti.i32, b: ti.i32) -> ti.i32:
        return a // b

    @ti.kernel
    def mod(a: ti.i32, b: ti.i32) -> ti.i32:
        return a % b

    show(div(7, 2), mod(7, 2))
    show.error(div, 7, 0)
    show.error(mod, 7, 0)
    show.error(div, -(2**31), -1)


@case(differs="`7 // 0`, `7 % 0` on integers")
def division_by_zero_in_release(show):
    @ti.kernel
    def div(a: ti.i32, b: ti.i32) -> ti.i32:
        return a // b

    @ti.kernel
    def mod(a: ti.i32, b: ti.i32) -> ti.i32:
        return a % b

    show(div(7, 0), mod(7, 0), div(-(2**31), -1), mod(-(2**31), -1))


@case()
def division_of_floats_by_zero(show):
    @ti.kernel
    def k(a: ti.f32, b: ti.f32) -> ti.f32:
        return a / b

    show(k(1, 0), k(-1, 0))


@case(debug=True)
def the_first_failure_wins(show):
    x = ti.field(ti.i32, shape=4)

    @ti.kernel
    def k(n: ti.i32):
        assert n > 0, "first"
        assert n > 1, "second"
        x[n + 10] = 3

    show.error(k, -1)
    show.error(k, 1)


@case(debug=True)
def a_process_goes_on_after_failures(show):
    x = ti.field(ti.i32, shape=4)

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        return x[i]

    failed = 0
    for n in range(20):
        try:
            k(n)
        except AssertionError:
            failed += 1
    show(failed)
    x[2] = 7
    show(k(2))


@case(debug=True)
def classes_of_failures(show):
    x = ti.field(ti.i32, shape=4)

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        return x[i]

    try:
        k(9)
    except ti.TaichiAssertionError as error:
        show(isinstance(error, AssertionError), isinstance(error, ti.TaichiRuntimeError))


@case(debug=True)
def bounds_of_atomics(show):
    x = ti.field(ti.i32, shape=4)

    @ti.kernel
    def k(i: ti.i32):
        ti.atomic_add(x[i], 1)

    k(3)
    show.error(k, 4)
    show(x.to_numpy())


@case(debug=True)
def bounds_of_structs(show):
    s = ti.Struct.field({"a": ti.i32, "v": ti.math.vec2}, shape=3)

    @ti.kernel
    def k(i: ti.i32) -> ti.f32:
        return s[i].a + s[i].v.y

    show(k(2))
    show.error(k, 3)


@case(debug=True)
def bounds_that_are_not_reached(show):
    x = ti.field(ti.i32, shape=4)

    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        s = 0
        if i < 4:
            s = x[i]
        return s

    show(k(3), k(100))
    total = 0

    @ti.kernel
    def guarded(i: ti.i32) -> ti.i32:
        return x[i] if i < 4 else -1

    show(guarded(3), guarded(5), total)


@case(debug=True)
def bounds_of_local_matrices(show):
    @ti.kernel
    def k(i: ti.i32) -> ti.i32:
        v = ti.Vector([1, 2, 3])
        return v[i]

    show(k(2))
    show.error(k, 3)
    show.error(k, -1)


@case(debug=True)
def debug_in_many_types(show):
    @ti.kernel
    def f(a: ti.f64, b: ti.f64) -> ti.f64:
        return a / b + a**b

    @ti.kernel
    def u(a: ti.u64, b: ti.u64) -> ti.u64:
        return a // b + a % b

    show(f(1.5, 2.5), u(17, 5))


@case(debug=True)
def indices_out_of_bounds_in_python(show):
    x = ti.field(ti.i32, (3, 4))

    def write():
        x[5, 5] = 1

    for access in (lambda: x[5, 5], lambda: x[-1, 0], write):
        try:
            access()
        except AssertionError:
            show("an AssertionError")
