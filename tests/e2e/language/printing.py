"""print, assert, static_print and static_assert in kernels."""

# ruff: noqa: F522, F523, F524, UP030, UP031, UP032
from harness import case, ti


@case()
def numbers_of_all_types(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.f32, c: ti.f64, d: ti.u8, e: ti.i64):
        print(a, b, c, d, e)
        print(a > 1, not a)
        print(ti.cast(b, ti.f16), ti.u64(7))

    k(-3, 1.5, 2.25, 200, 1 << 40)


@case()
def texts_and_constants(show):
    n = 4

    @ti.kernel
    def k():
        print("text", n, 1.5, True, "a" + "b")
        print("percent % and {braces}")

    k()


@case()
def sep_and_end(show):
    @ti.kernel
    def k(a: ti.i32):
        print(a, a + 1, sep=", ", end=";")
        print(a, a, sep="")
        print("x", end="")
        print("y", a, end="!\n")

    k(1)


@case()
def vectors_and_matrices(show):
    @ti.kernel
    def k():
        print(ti.Vector([1, 2, 3]), ti.Vector([1.5, 2.0]))
        print(ti.Matrix([[1, 2], [3, 4]]))
        print("v =", ti.Vector([1.0, 2.0]) * 2, sep="|")

    k()


@case()
def lists_and_tuples(show):
    @ti.kernel
    def k(a: ti.i32):
        print([a, 2], (a, 3))

    k(1)


@case(differs="printing a struct in a kernel")
def structs(show):
    Pair = ti.types.struct(a=ti.i32, b=ti.types.vector(2, ti.f32))

    @ti.kernel
    def k():
        p = Pair(a=1, b=[2, 3])
        print(p)

    show.error(k)


@case()
def f_strings(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.f32):
        print(f"a = {a}, b = {b}")
        print(f"{a}", f"{b}", sep=";")
        print(f"{b:.3f} {a:05d} {b:e} {b:.2}")
        print(f"sum {a + b} {ti.Vector([a, 2])}")
        print(f"{'text'} {3}")

    k(7, 2.5)


@case(differs="plain Python")
def braces_in_f_strings(show):
    @ti.kernel
    def k(a: ti.i32):
        print(f"{{}} {a}", None)

    show.error(k, 1)


@case()
def formats_of_unsigned_numbers(show):
    @ti.kernel
    def k(a: ti.u32):
        print(f"{a:u} {a:x} {a:X} {a:o} {a:08x}")

    k(250)


@case()
def formats(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.f32):
        print("{} and {}".format(a, b))
        print("{:.2f} {:d}".format(b, a))
        print("{1} {0}".format(a, b))
        print("{x} {y:.1f}".format(x=a, y=b))
        print("{}".format("constant"))

    k(7, 2.5)


@case()
def too_few_values_for_a_format(show):
    @ti.kernel
    def k(a: ti.i32):
        print("{} {}".format(a))

    show.error(k, 1)


@case()
def too_many_values_for_a_format(show):
    @ti.kernel
    def k(a: ti.i32):
        print("{}".format(a, a))

    show.error(k, 1)


@case()
def format_without_its_keyword(show):
    @ti.kernel
    def k(a: ti.i32):
        print("{x}".format(y=a))

    show.error(k, 1)


@case()
def format_with_an_unused_keyword(show):
    @ti.kernel
    def k(a: ti.i32):
        print("{x}".format(x=a, y=a))

    show.error(k, 1)


@case()
def positional_format_out_of_range(show):
    @ti.kernel
    def k(a: ti.i32):
        print("{0} {3}".format(a, a))

    show.error(k, 1)


@case()
def float_format_for_an_integer(show):
    @ti.kernel
    def k(a: ti.i32):
        print(f"{a:.2f}")

    show.error(k, 1)


@case()
def integer_format_for_a_float(show):
    @ti.kernel
    def k(a: ti.f32):
        print(f"{a:d}")

    show.error(k, 1.0)


@case(differs="mistakes without a message")
def unknown_format(show):
    @ti.kernel
    def k(a: ti.i32):
        print(f"{a:q}")

    show.error(k, 1)


@case()
def format_of_a_vector(show):
    @ti.kernel
    def k():
        print(f"{ti.Vector([1.0, 2.0]):.2f}")

    show.error(k)


@case()
def run_time_format(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.f32):
        print(f"{b:.{a}f}")

    show.error(k, 1, 2.0)


@case()
def percent_formats(show):
    @ti.kernel
    def k(a: ti.i32):
        print("%d" % a)

    show.error(k, 1)


@case()
def odd_options_of_print(show):
    @ti.kernel
    def k(a: ti.i32):
        print(a, flush=True)

    show.error(k, 1)


@case(differs="mistakes let pass")
def run_time_separator(show):
    @ti.kernel
    def k(a: ti.i32):
        print(a, a, sep=a)

    show.error(k, 1)


@case()
def printing_a_field(show):
    f = ti.field(ti.i32, 2)

    @ti.kernel
    def k():
        print(f[0])
        print(f)

    show.error(k)


@case()
def printing_in_a_loop_that_runs_serially(show):
    @ti.kernel
    def k():
        ti.loop_config(serialize=True)
        for i in range(3):
            print("i =", i)

    k()


@case()
def printing_from_a_function(show):
    @ti.func
    def f(a):
        print("f", a)
        return a + 1

    @ti.kernel
    def k():
        print("k", f(1))

    k()


@case()
def order_of_prints_and_python(show):
    @ti.kernel
    def k(a: ti.i32):
        print("kernel", a)

    k(1)
    ti.sync()
    k(2)


@case()
def static_prints(show):
    @ti.kernel
    def k(a: ti.i32):
        ti.static_print("compile", 1 < 2, 1 and 2, min(1, 2), int(2.7), ti.sin(1.0) > 0.84)

    k(1)
    k(2)


@case()
def static_assertions(show):
    @ti.kernel
    def good():
        ti.static_assert(1 < 2)
        ti.static_assert(1 < 2, "never shown")

    @ti.kernel
    def bad():
        ti.static_assert(1 > 2, "one is less than two")

    @ti.kernel
    def bare():
        ti.static_assert(1 > 2)

    @ti.kernel
    def run_time(a: ti.i32):
        ti.static_assert(a > 0)

    good()
    show.error(bad)
    show.error(bare)
    show.error(run_time, 1)


@case()
def static_assertion_about_a_field(show):
    f = ti.field(ti.f32, (2, 3))

    @ti.kernel
    def k():
        ti.static_assert(f.shape == (2, 3))
        ti.static_assert(f.dtype == ti.f32)
        ti.static_assert(len(f.shape) == 3, "three axes wanted")

    show.error(k)


@case(debug=True)
def assertions_in_debug_mode(show):
    @ti.kernel
    def k(a: ti.i32):
        assert a > 0
        assert a < 10, "less than ten"
        assert a != 5, f"not {a}"

    k(1)
    for a in (-1, 10, 5):
        try:
            k(a)
        except AssertionError as error:
            show(type(error).__name__, isinstance(error, RuntimeError))
        else:
            show("nothing")


@case()
def assertions_without_debug_mode(show):
    f = ti.field(ti.i32, ())

    @ti.kernel
    def k(a: ti.i32):
        assert a > 0, "not checked"
        assert ti.atomic_add(f[None], 1) > 5

    k(-1)
    show(f[None])


@case()
def assertion_about_a_name_that_is_nowhere(show):
    @ti.kernel
    def k():
        assert nowhere > 0  # noqa: F821

    show.error(k)
