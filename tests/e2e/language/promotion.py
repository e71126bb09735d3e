"""What operators make of operands of all types: result types and values."""

import operator

import numpy as np
from harness import attempt, case, ti, type_of

NAMES = ("u1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64")
TYPES = tuple(getattr(ti, name) for name in NAMES) if ti else ()
SIGNED, UNSIGNED, FLOATS = TYPES[1:5], TYPES[5:9], TYPES[9:]
NUMBERS = TYPES[1:]
INTEGERS = SIGNED + UNSIGNED

BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    **(
        {
            name: getattr(ti, name)
            for name in ("max", "min", "atan2", "raw_div", "raw_mod", "bit_shr")
        }
        if ti
        else {}
    ),
}


def _types_of_all_pairs(show, spelling, types=NUMBERS):
    rows = {}
    function = BINARY[spelling]

    def note(a, b, x):
        rows.setdefault(str(a), []).append(
            attempt(lambda: type_of(function(ti.cast(x, a), ti.cast(x, b))))
        )

    @ti.kernel
    def k(x: ti.i32):
        for a in ti.static(types):
            for b in ti.static(types):
                ti.static(note(a, b, x))

    k(1)
    for name, row in rows.items():
        show(f"{name}: {' '.join(row)}")


@case()
def types_of_compares_and_bitwise_operators_of_bools(show):
    for spelling in ("<", "==", "&", "|", "^"):
        _types_of_all_pairs(show, spelling, TYPES[:1])


@case(differs="adding bools")
def types_of_arithmetic_with_bools(show):
    for spelling in ("+", "-", "*", "/", "//", "%", "**", "<<", "max", "min"):
        show(spelling)
        _types_of_all_pairs(show, spelling, (ti.u1, ti.i8, ti.u8, ti.i32, ti.f32))


@case()
def types_of_add(show):
    _types_of_all_pairs(show, "+")


@case()
def types_of_sub(show):
    _types_of_all_pairs(show, "-")


@case()
def types_of_mul(show):
    _types_of_all_pairs(show, "*")


@case()
def types_of_truediv(show):
    _types_of_all_pairs(show, "/")


@case()
def types_of_floordiv(show):
    _types_of_all_pairs(show, "//")


@case()
def types_of_mod(show):
    _types_of_all_pairs(show, "%")


@case()
def types_of_pow(show):
    _types_of_all_pairs(show, "**")


@case()
def types_of_compares(show):
    for spelling in ("<", "<=", ">", ">=", "==", "!="):
        show(spelling)
        _types_of_all_pairs(show, spelling)


@case()
def types_of_bitwise_operators(show):
    for spelling in ("&", "|", "^"):
        show(spelling)
        _types_of_all_pairs(show, spelling)


@case()
def types_of_shifts(show):
    for spelling in ("<<", ">>", "bit_shr"):
        show(spelling)
        _types_of_all_pairs(show, spelling)


@case()
def types_of_min_and_max(show):
    for spelling in ("max", "min"):
        show(spelling)
        _types_of_all_pairs(show, spelling)


@case()
def types_of_atan2(show):
    _types_of_all_pairs(show, "atan2", INTEGERS + (ti.f32, ti.f64))


@case(differs="`atan2` of halves")
def types_of_atan2_of_halves(show):
    _types_of_all_pairs(show, "atan2", (ti.f16,))


@case()
def types_of_raw_division(show):
    for spelling in ("raw_div", "raw_mod"):
        show(spelling)
        _types_of_all_pairs(show, spelling)


@case()
def types_of_select(show):
    rows = {}

    def note(a, b, x):
        rows.setdefault(str(a), []).append(
            attempt(lambda: type_of(ti.select(x > 0, ti.cast(x, a), ti.cast(x, b))))
        )

    @ti.kernel
    def k(x: ti.i32):
        for a in ti.static(NUMBERS):
            for b in ti.static(NUMBERS):
                ti.static(note(a, b, x))

    k(1)
    for name, row in rows.items():
        show(f"{name}: {' '.join(row)}")


@case()
def types_with_literals(show):
    rows = {}

    def note(name, x):
        rows.setdefault(name, []).append(type_of(x))

    @ti.kernel
    def k(x: ti.i32):
        for a in ti.static(NUMBERS):
            y = ti.cast(x, a)
            ti.static(note(str(a), y + 1), note(str(a), 1 - y), note(str(a), y * 1.0))
            ti.static(note(str(a), y / 2), note(str(a), y > 1), note(str(a), ti.max(y, 1)))

    k(1)
    for name, row in rows.items():
        show(f"{name}: {' '.join(row)}")


# ---- values


def _shown(values):
    return " ".join(f"{x:.7g}" if isinstance(x, float) else str(x) for x in values)


def _values(show, a, b, pairs, operators, options=""):
    """A row for each operator: its value for each pair of operands, of types a and b."""
    n = len(pairs)
    kinds = ("f" if t in FLOATS else "i" for t in (a, b))
    x, y = (np.array(v, dtype=f"{kind}8") for kind, v in zip(kinds, zip(*pairs)))
    wide_a, wide_b = (ti.f64 if t in FLOATS else ti.i64 for t in (a, b))
    for spelling in operators:
        apply = BINARY[spelling]
        kind = []

        def note(value, kind=kind):
            kind.append(type_of(value))
            return 0

        for out_type in (ti.i64, ti.f64):
            out = np.zeros(n, dtype=np.int64 if out_type is ti.i64 else np.float64)
            kind.clear()

            @ti.kernel
            def k(
                x: ti.types.ndarray(dtype=wide_a, ndim=1),
                y: ti.types.ndarray(dtype=wide_b, ndim=1),
                out: ti.types.ndarray(dtype=out_type, ndim=1),
            ):
                for i in range(n):
                    z = apply(ti.cast(x[i], a), ti.cast(y[i], b))
                    ti.static(note(z))
                    out[i] = ti.cast(z, out_type)

            k(x, y, out)
            if (kind[0][0] == "f") == (out_type is ti.f64):
                break
        show(f"{a} {spelling} {b} -> {kind[0]}: {_shown(out.tolist())}")


SIGNED_PAIRS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (0, 3), (100, 7), (-100, 7), (5, 5), (1, 0x55)]
UNSIGNED_PAIRS = [(7, 2), (200, 3), (255, 255), (0, 3), (1, 200), (100, 7)]


@case()
def values_on_signed_integers(show):
    for t in SIGNED[1:]:
        _values(show, t, t, SIGNED_PAIRS, ["+", "-", "*", "//", "%", "/", "&", "|", "^"])
        _values(show, t, t, SIGNED_PAIRS, ["<", "<=", "==", "!="])
        _values(show, t, t, SIGNED_PAIRS, ["raw_div", "raw_mod", "atan2"])


@case()
def values_on_unsigned_integers(show):
    for t in UNSIGNED[1:]:
        _values(show, t, t, UNSIGNED_PAIRS, ["+", "-", "*", "//", "%", "/", "&", "|", "^"])
        _values(show, t, t, UNSIGNED_PAIRS, [">", ">=", "==", "!="])
        _values(show, t, t, UNSIGNED_PAIRS, ["raw_div", "raw_mod"])


@case()
def values_on_8_bits(show):
    for t, pairs in ((ti.i8, SIGNED_PAIRS), (ti.u8, UNSIGNED_PAIRS)):
        _values(show, t, t, pairs, ["+", "-", "*", "/", "&", "|", "^", "raw_div"])
        _values(show, t, t, pairs, ["<", ">=", "==", "!="])


@case(differs="division of 8-bit integers")
def division_of_8_bits(show):
    for a, b in ((ti.i8, ti.i8), (ti.u8, ti.u8), (ti.i8, ti.u8), (ti.u8, ti.i8)):
        pairs = SIGNED_PAIRS if ti.i8 in (a, b) else UNSIGNED_PAIRS
        _values(show, a, b, pairs, ["//", "%", "raw_mod"])


@case()
def values_on_floats(show):
    pairs = [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0), (0.25, 3.0), (100.0, 0.5)]
    for t in FLOATS:
        _values(show, t, t, pairs, ["+", "-", "*", "/", "//", "%", "max", "min"])
        _values(show, t, t, pairs, ["<", "<=", ">", ">=", "==", "!=", "raw_div"])


@case()
def values_of_atan2(show):
    pairs = [(1.0, 2.0), (-1.0, 2.0), (1.0, -2.0), (-1.0, -2.0), (0.0, 3.0), (3.0, 0.0)]
    for t in (ti.f32, ti.f64, ti.i32):
        _values(show, t, t, pairs, ["atan2"])


@case()
def values_of_min_and_max(show):
    for t in (ti.i16, ti.i32, ti.i64):
        _values(show, t, t, SIGNED_PAIRS, ["max", "min"])
    for t in (ti.u16, ti.u32, ti.u64):
        _values(show, t, t, UNSIGNED_PAIRS, ["max", "min"])


@case(differs="operations without code on some types")
def values_of_min_and_max_of_8_bits(show):
    _values(show, ti.i8, ti.i8, SIGNED_PAIRS, ["max", "min"])
    _values(show, ti.u8, ti.u8, UNSIGNED_PAIRS, ["max", "min"])


@case(differs="operations without code on some types")
def powers_of_short_integers(show):
    for t in (ti.i8, ti.i16):
        _values(show, t, t, [(2, 0), (2, 1), (3, 4), (2, 6), (0, 0), (-2, 3), (10, 3)], ["**"])


@case(differs="operations without code on some types")
def raw_mod_of_floats(show):
    for t in FLOATS:
        _values(show, t, t, [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0)], ["raw_mod"])


@case()
def values_of_mixed_types(show):
    for a, b in (
        (ti.i8, ti.u8),
        (ti.u8, ti.i8),
        (ti.i32, ti.u32),
        (ti.u32, ti.i32),
        (ti.i64, ti.u64),
        (ti.u8, ti.i16),
        (ti.i8, ti.u32),
        (ti.u16, ti.i64),
    ):
        pairs = [(7, 2), (-7, 2), (7, -2), (-7, -2), (100, 7)]
        _values(show, a, b, pairs, ["+", "-", "*", "<", ">", "==", "&", "/"])
        if (a, b) not in ((ti.i8, ti.u8), (ti.u8, ti.i8)):
            _values(show, a, b, pairs, ["//", "%"])


@case()
def values_of_integers_with_floats(show):
    for a, b in ((ti.i32, ti.f32), (ti.f16, ti.i32), (ti.u8, ti.f64), (ti.i64, ti.f32)):
        pairs = [(7, 2), (-7, 2), (7, -2), (100, 7)] if a is not ti.u8 else [(7, 2), (100, -7)]
        _values(show, a, b, pairs, ["+", "-", "*", "//", "%", "max", "min", "<", "==", "/"])


@case()
def shifts(show):
    for t in INTEGERS:
        pairs = [(1, 0), (1, 3), (100, 2), (-100, 2), (-1, 7), (77, 7), (-128, 1)]
        _values(show, t, t, pairs, ["<<", ">>", "bit_shr"])
    _values(show, ti.i32, ti.i32, [(-1, 31), (1, 31), (-5, 1)], ["<<", ">>", "bit_shr"])
    _values(show, ti.i64, ti.i32, [(-1, 63), (1, 40), (-5, 1)], ["<<", ">>", "bit_shr"])
    _values(show, ti.u8, ti.i32, [(200, 1), (200, 3)], ["<<", ">>", "bit_shr"])


@case()
def powers_of_integers(show):
    for t in (ti.i32, ti.i64, ti.u8, ti.u32, ti.u64):
        _values(show, t, t, [(2, 0), (2, 1), (3, 4), (2, 6), (0, 0), (1, 50), (10, 3)], ["**"])
    _values(show, ti.i32, ti.i32, [(-2, 3), (-3, 2), (-1, 7)], ["**"])


@case()
def powers_with_exponents_of_wider_types(show):
    """The exponent keeps its value, although the result has the base's type."""
    for e in (ti.i64, ti.u64):
        _values(show, ti.i32, e, [(4, 2**40), (0, 2**32), (-1, 2**40 + 1), (3, 5)], ["**"])
    _values(show, ti.i32, ti.u32, [(3, 2**31 + 5), (-3, 2**32 - 1), (2, 3)], ["**"])
    _values(show, ti.u8, ti.i32, [(3, 200), (3, 256), (5, 257), (7, 2)], ["**"])
    for t in (ti.i8, ti.i16):
        _values(show, t, ti.i32, [(3, 130), (3, 200), (-3, 65536), (-3, 3)], ["**"])


@case()
def powers_of_floats(show):
    for t in FLOATS:
        pairs = [
            (2.0, 0.5),
            (2.0, 3.0),
            (4.0, -0.5),
            (0.5, 2.0),
            (9.0, 1.5),
            (1.0, 100.0),
            (0.0, 0.0),
        ]
        _values(show, t, t, pairs, ["**"])
        _values(
            show, t, ti.i32, [(2.5, 2), (2.0, 10), (-2.0, 3), (0.5, 4), (2.0, -2), (3.0, 0)], ["**"]
        )
    _values(show, ti.i32, ti.f32, [(2, 0.5), (3, 2.0), (4, -1.0)], ["**"])


@case()
def powers_with_literal_exponents(show):
    @ti.kernel
    def k(x: ti.f32, i: ti.i32):
        print(x**2, x**3, x**0.5, x**-1, x**0, x**4, x**-2.0, 2**x, 2.0**i)
        print(i**2, i**3, i**0, i**1, 2**i, i**2.0, pow(i, 3), pow(x, 2), ti.pow(i, 2))

    k(1.5, 3)
    k(2.0, -2)


@case()
def augmented_assignment_keeps_the_type(show):
    @ti.kernel
    def k() -> ti.i32:
        a = 7
        a += 2.9
        b = 7
        b *= 2.5
        c = 7
        c /= 2
        d = 7
        d //= 2
        e = 7
        e **= 2
        f = 7
        f %= 4
        g = 7
        g -= 2.9
        h = 6
        h <<= 2
        h >>= 1
        h |= 1
        h &= 13
        h ^= 3
        print(a, b, c, d, e, f, g, h)
        return a

    show(k())


@case()
def unary_operators(show):
    rows = {}

    def note(name, x):
        rows.setdefault(name, []).append(attempt(lambda: type_of(x())))

    @ti.kernel
    def k(x: ti.i32):
        for a in ti.static(NUMBERS):
            y = ti.cast(x, a)
            ti.static(note(str(a), lambda: -y), note(str(a), lambda: ~y), note(str(a), lambda: +y))

    show.error(k, 1)
    show(rows)


@case()
def values_of_unary_operators(show):
    @ti.kernel
    def k(i: ti.i32, x: ti.f32, u: ti.u32, b: ti.i8):
        print(-i, +i, ~i, not i, -x, +x, -u, ~u, -b, ~b)

    k(5, 2.5, 5, 5)
    k(-3, -0.5, 0, -128)
    k(0, 0.0, 4294967295, 127)


@case()
def not_of_all_types(show):
    rows = []

    def note(a, x):
        rows.append(f"{a}: {type_of(x)}")

    @ti.kernel
    def k(x: ti.i32):
        for a in ti.static(NUMBERS):
            z = not ti.cast(x, a)
            ti.static(note(a, z))

    show.error(k, 1)
    show(rows)


@case()
def chained_compares(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.f32, c: ti.u8) -> ti.i32:
        return (
            (1 if a < b < c else 0)
            + (2 if a <= b <= c else 0)
            + (4 if 0 < a > b else 0)
            + (8 if a == b == c else 0)
            + (16 if a != b != c else 0)
            + (32 if 1 < 2 < a else 0)
        )

    for a, b, c in ((1, 2.0, 3), (3, 2.0, 1), (2, 2.0, 2), (1, 1.0, 2), (5, 0.0, 5)):
        show(k(a, b, c))


@case()
def logical_operators(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(a: ti.i32, b: ti.i32):
        c = a and b
        d = a or b
        e = not a
        f = a > 1 and b > 1
        g = a > 1 or b > 1
        h = a and b > 1
        ti.static(note(c), note(d), note(e), note(f), note(g))
        print(c, d, e, f, g, 1 if h else 0)

    for a, b in ((0, 0), (0, 5), (4, 0), (4, 6), (-1, 2)):
        k(a, b)
    show(seen)


@case()
def conditional_expressions(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(c: ti.i32, a: ti.i32, b: ti.f32):
        d = a if c else b
        e = a if c > 0 else 1
        f = 1.5 if c == 0 else 2
        ti.static(note(d), note(e), note(f))
        print(d, e, f, ti.select(c, a, b), ti.select(c > 0, 1, 2.5))

    for c in (0, 1, 2, -1):
        k(c, 5, 0.25)
    show(seen)


@case()
def min_and_max_take_many(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.f32, c: ti.i64):
        print(ti.max(a, b), ti.max(a, b, c), ti.min(a, b, c, 1), max(a, b, c), min(1, a), max(2, 3))
        print(ti.max(a), min(a, -1.5), max(ti.Vector([a, 3]), 2), ti.max(ti.Vector([a, 3])))

    k(1, 2.5, 3)
    k(-1, -2.5, -3)


@case()
def min_of_nothing(show):
    @ti.kernel
    def k() -> ti.i32:
        return ti.max()

    show.error(k)


@case()
def raw_division_in_python_scope(show):
    for a, b in ((7, 2), (-7, 2), (7, -2), (7.5, 2), (-7.5, 2.0)):
        show(ti.raw_div(a, b), ti.raw_mod(a, b))


@case()
def operators_on_wrong_operands(show):
    text = "x"

    @ti.kernel
    def add(a: ti.i32) -> ti.i32:
        return a + text

    @ti.kernel
    def none(a: ti.i32) -> ti.i32:
        return a * None

    @ti.kernel
    def bits(a: ti.f32) -> ti.i32:
        return a & 1

    @ti.kernel
    def shift(a: ti.f32) -> ti.i32:
        return a << 1

    @ti.kernel
    def by_float(a: ti.i32) -> ti.i32:
        return a >> 1.0

    @ti.kernel
    def invert(a: ti.f32) -> ti.i32:
        return ~a

    @ti.kernel
    def matrix(a: ti.f32) -> ti.f32:
        return a @ a

    for kernel, value in (
        (add, 1),
        (none, 1),
        (bits, 1.0),
        (shift, 1.0),
        (by_float, 1),
        (invert, 1.0),
        (matrix, 1.0),
    ):
        show.error(kernel, value)


@case()
def overflow_wraps(show):
    @ti.kernel
    def k(a: ti.i32, u: ti.u32, b: ti.i8):
        print(a + 1, -a - 2, a * 2, u + 1, u * u, b + b)

    k(2147483647, 4294967295, 127)


# ---- infinity and not-a-number


def _special(show):
    inf = float("inf")

    @ti.kernel
    def k(x: ti.f64, y: ti.f64):
        print(x + y, x - y, x * y, x / y)
        print(x < y, x <= y, x > y, x >= y, x == y, x != y)
        print(ti.math.isnan(x), ti.math.isinf(x), -x, ti.abs(x), ti.sqrt(x), ti.floor(x))

    for x, y in ((inf, 1.0), (-inf, inf), (1.0, inf), (inf, -2.0), (0.0, 5.0)):
        show(f"{x} {y}")
        k(x, y)


@case(fast_math=False)
def infinity_without_fast_math(show):
    _special(show)


@case()
def infinity_with_fast_math(show):
    _special(show)


@case(fast_math=False)
def division_by_zero_of_floats(show):
    @ti.kernel
    def k(x: ti.f32, y: ti.f64):
        print(x / 0.0, -x / 0.0, y / 0.0, 1 / x)

    k(2.0, 3.0)


@case(fast_math=False)
def not_a_number_is_not_equal_to_itself(show):
    @ti.kernel
    def k(x: ti.f32) -> ti.i32:
        y = x - x
        return ti.math.isnan(y) * 100 + ti.math.isnan(x) * 10 + ti.math.isinf(x)

    show(k(float("nan")), k(float("inf")), k(1.0))


@case(differs="`isnan`, `isinf` and `fast_math=False`", fast_math=False)
def nan_compares_unordered(show):
    @ti.kernel
    def k(x: ti.f32):
        print(x != x, x == x, x < 1, x > 1, ti.max(x, 1.0), ti.min(1.0, x))

    k(float("nan"))


@case(differs="`7 // 0`, `7 % 0` on integers")
def integer_division_by_zero(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.i32):
        print(a // b, a % b)

    k(7, 0)


@case()
def shifts_of_short_integers_in_32_bits(show):
    counts = (3, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 40)
    for t, x in ((ti.u8, 250), (ti.i8, -100), (ti.u16, 60000), (ti.i16, -30000)):
        _values(show, t, ti.i32, [(x, count) for count in counts], ["<<", ">>", "bit_shr"])


@case()
def shift_beyond_the_width(show):
    for t in (ti.i8, ti.u16, ti.i32, ti.i64):
        _values(show, t, ti.i32, [(5, 33), (5, 65), (5, 17), (5, 9), (5, -1)], ["<<", ">>"])
