"""Scalar types: names, casts, literals, defaults."""

import math

import numpy as np
from harness import attempt, case, ti, type_of

NAMES = ("u1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64")
TYPES = tuple(getattr(ti, name) for name in NAMES) if ti else ()
INTEGERS = TYPES[1:9]
FLOATS = TYPES[9:]


@case()
def aliases_are_the_same_objects(show):
    for long, short in (
        ("int8", "i8"),
        ("int16", "i16"),
        ("int32", "i32"),
        ("int64", "i64"),
        ("uint8", "u8"),
        ("uint16", "u16"),
        ("uint32", "u32"),
        ("uint64", "u64"),
        ("uint1", "u1"),
        ("float16", "f16"),
        ("float32", "f32"),
        ("float64", "f64"),
    ):
        show(
            long,
            getattr(ti, long) is getattr(ti, short),
            getattr(ti.types, long) is getattr(ti, short),
        )


@case()
def types_print_by_their_short_names(show):
    for dtype in TYPES:
        print(dtype, dtype.to_string())


@case()
def predicates_of_types(show):
    for dtype in TYPES:
        show(str(dtype))
        show(ti.types.is_integral(dtype), ti.types.is_real(dtype))
    for dtype in INTEGERS:
        show(f"{dtype} {ti.types.is_signed(dtype)}")


@case()
def types_are_hashable_and_compare_by_identity(show):
    table = {dtype: str(dtype) for dtype in TYPES}
    show(len(table), table[ti.i32], ti.i32 == ti.i32, ti.i32 == ti.u32, ti.i32 != ti.f32)


@case(differs="types and casts in Python scope")
def a_type_called_in_python_scope(show):
    for value in (0, 1, 200, -1, 3.7, True):
        show([attempt(dtype, value) for dtype in TYPES])


@case()
def a_type_called_in_a_kernel_casts(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(a: ti.i32, b: ti.f64):
        for dtype in ti.static(TYPES):
            ti.static(note(dtype(a)), note(dtype(b)))

    k(1, 2.0)
    show(seen)


def _cast_table(show, source, values, targets):
    numbers = np.array(values, dtype=f"{'float' if source in FLOATS else 'int'}64")
    n = len(values)
    for target in targets:
        out = np.zeros(n, dtype=np.float64 if target in FLOATS else np.int64)
        wide = ti.f64 if target in FLOATS else ti.i64
        given = ti.f64 if source in FLOATS else ti.i64

        @ti.kernel
        def k(x: ti.types.ndarray(dtype=given, ndim=1), y: ti.types.ndarray(dtype=wide, ndim=1)):
            for i in range(n):
                y[i] = ti.cast(ti.cast(ti.cast(x[i], source), target), wide)

        k(numbers, out)
        show(f"{source} to {target}", out.tolist())


@case()
def casts_between_integers_wrap(show):
    values = [0, 1, 5, 127, 128, 255, 256, 40000, 65535, 70000, -1, -128, -129, 2**31, 2**40 + 3]
    for source in INTEGERS:
        _cast_table(show, source, values, INTEGERS)


@case()
def casts_of_integers_to_floats(show):
    values = [0, 1, 100, -1, -100, 2**24 + 1, 2047, 2049]
    for source in INTEGERS:
        _cast_table(show, source, values, FLOATS)


@case()
def casts_of_floats_to_signed_integers_truncate(show):
    values = [0.0, 0.5, 0.99, 1.5, -0.5, -1.5, 100.7, -100.7]
    for source in FLOATS:
        _cast_table(show, source, values, (ti.i8, ti.i16, ti.i32, ti.i64))


@case()
def casts_of_floats_to_unsigned_integers_truncate(show):
    values = [0.0, 0.5, 0.99, 1.5, 100.7]
    for source in FLOATS:
        _cast_table(show, source, values, (ti.u8, ti.u16, ti.u32, ti.u64))


@case()
def casts_between_floats_round(show):
    values = [0.1, 1.0 / 3.0, 1e-3, 1000.1, -2.7, 65504.0, 2049.0, 16777217.0]
    for source in FLOATS:
        _cast_table(show, source, values, FLOATS)


@case()
def casts_of_negative_floats_to_unsigned(show):
    _cast_table(show, ti.f32, [-1.0, 300.7, 256.0], (ti.u8, ti.u16, ti.u32, ti.u64))


@case(differs="float to unsigned")
def casts_of_nan_to_integers(show):
    _cast_table(show, ti.f32, [math.nan, 1e20], (ti.u8, ti.u32, ti.u64))


@case()
def casts_to_and_from_bool(show):
    @ti.kernel
    def of_int(a: ti.i32) -> ti.i32:
        return ti.cast(a, ti.u1)

    @ti.kernel
    def to_float(a: ti.i32) -> ti.f32:
        return ti.cast(a > 0, ti.f32)

    @ti.kernel
    def by_bool(a: ti.i32) -> ti.i32:
        return bool(a)

    for value in (0, 1, 2, 3, -1, 256):
        show(of_int(value), by_bool(value), to_float(value))


@case(differs="operations without code on some types")
def casts_of_floats_to_bool(show):
    @ti.kernel
    def k(a: ti.f32) -> ti.i32:
        return ti.cast(a, ti.u1)

    show(k(0.0), k(1.0), k(-2.5))


@case()
def int_float_and_bool_are_the_default_types(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(a: int, b: float, c: bool) -> int:
        ti.static(note(a), note(b), note(c))
        ti.static(note(int(b)), note(float(a)), note(bool(a)))
        return int(b) + a

    show(k(1, 2.9, True), seen)


@case(default_ip=ti.i64 if ti else None, default_fp=ti.f64 if ti else None)
def default_types_of_init(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(a: int, b: float) -> float:
        c = 1
        d = 1.0
        ti.static(note(a), note(b), note(c), note(d))
        ti.static(note(int(b)), note(float(a)), note(a / 2), note(ti.Vector([1.0, 2.0])))
        ti.static(note(ti.Vector([1, 2])), note(ti.math.vec2(1, 2)), note(ti.math.ivec2(1, 2)))
        return a / 3

    show(k(2**40, 0.1), seen)


@case(default_ip=ti.u8 if ti else None)
def default_integer_must_be_32_or_64_bits(show):
    show("not reached")


@case(default_fp=ti.f16 if ti else None)
def default_float_may_be_half(show):
    @ti.kernel
    def k(a: float) -> float:
        b = 0.1
        return a + b

    show(k(1.0))


@case(default_fp=ti.i32 if ti else None)
def default_float_must_be_a_float(show):
    show("not reached")


@case()
def literals_take_the_default_types(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k():
        a = 1
        b = 1.0
        c = True
        d = a > 0
        e = 0x7F
        f = 1e3
        g = 1_000
        ti.static(note(a), note(b), note(c), note(d), note(e), note(f), note(g))

    k()
    show(seen)


@case()
def literals_out_of_the_default_range(show):
    def of(value):
        @ti.kernel
        def k() -> ti.i64:
            a = value
            return a

        show.error(k)

    for value in (2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32 - 1, 2**63, 2**64):
        of(value)


@case()
def a_type_annotates_a_literal(show):
    @ti.kernel
    def wide() -> ti.i64:
        return ti.i64(2**40 + 1)

    @ti.kernel
    def exact() -> ti.f64:
        return ti.f64(0.1) - ti.f64(0.1 + 1e-12)

    @ti.kernel
    def rounded() -> ti.f64:
        a = 0.1
        return ti.f64(a)

    @ti.kernel
    def unsigned() -> ti.u64:
        return ti.u64(2**63 + 5)

    show(wide(), exact() < 0, rounded(), unsigned())


@case(differs="literals converted to a stated type")
def casts_of_wide_literals(show):
    @ti.kernel
    def k() -> ti.i64:
        return ti.cast(2**40, ti.i64)

    show.error(k)


@case()
def casts_of_literals_go_through_the_default_type(show):
    @ti.kernel
    def cast() -> ti.i32:
        return ti.cast(0.1, ti.f64) == ti.f64(0.1)

    @ti.kernel
    def annotated() -> ti.i32:
        a: ti.f64 = 0.1
        return a == ti.f64(0.1)

    show(cast(), annotated())


@case()
def casts_of_literals_wrap(show):
    @ti.kernel
    def k():
        a: ti.i8 = 300
        b: ti.u8 = -1
        print(a, b, ti.cast(300, ti.u8), ti.cast(40000, ti.i16), ti.cast(2.7, ti.i32))

    k()


@case()
def a_type_annotates_literals_of_its_kind_only(show):
    @ti.kernel
    def a() -> ti.f32:
        return ti.f32(1)

    @ti.kernel
    def b() -> ti.i32:
        return ti.i32(1.5)

    @ti.kernel
    def c() -> ti.i32:
        return ti.i32(True)

    show.error(a)
    show.error(b)
    show.error(c)


@case()
def literals_annotated_beyond_their_type(show):
    def of(dtype, value):
        @ti.kernel
        def k() -> ti.i64:
            return ti.cast(dtype(value), ti.i64)

        show(f"{dtype} {value}")
        show.error(k)

    for dtype, value in (
        (ti.u8, 255),
        (ti.u8, 256),
        (ti.u8, -1),
        (ti.i8, 127),
        (ti.i8, 128),
        (ti.i8, -128),
        (ti.i8, -129),
        (ti.i16, 40000),
        (ti.u16, 65535),
        (ti.i32, 2**31),
        (ti.u32, 2**32 - 1),
        (ti.u32, 2**32),
        (ti.i64, 2**63),
    ):
        of(dtype, value)


@case()
def a_type_needs_one_plain_operand(show):
    @ti.kernel
    def none() -> ti.i32:
        return ti.i32()

    @ti.kernel
    def two() -> ti.i32:
        return ti.i32(1, 2)

    @ti.kernel
    def named() -> ti.i32:
        return ti.i32(x=1)

    @ti.kernel
    def vector() -> ti.i32:
        return ti.i32(ti.Vector([1, 2])).sum()

    show.error(none)
    show.error(two)
    show.error(named)
    show.error(vector)


@case()
def cast_of_vectors_is_by_element(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k() -> ti.i32:
        v = ti.Vector([1.7, -2.7])
        w = ti.cast(v, ti.i32)
        x = v.cast(ti.i8)
        y = int(v)
        z = ti.cast(ti.Matrix([[1, 2], [3, 4]]), float)
        ti.static(note(w), note(x), note(y), note(z))
        return w[0] * 10 + w[1]

    show(k(), seen)


@case(differs="types and casts in Python scope")
def cast_in_python_scope(show):
    show(attempt(ti.cast, 1.7, ti.i32), attempt(ti.cast, 1, ti.f32), attempt(ti.cast, 300, ti.u8))
    show(attempt(ti.cast, ti.Vector([1.7, -2.7]), ti.i32))


@case()
def bit_cast_keeps_the_bits(show):
    @ti.kernel
    def f_to_i(a: ti.f32) -> ti.i32:
        return ti.bit_cast(a, ti.i32)

    @ti.kernel
    def f_to_u(a: ti.f32) -> ti.u32:
        return ti.bit_cast(a, ti.u32)

    @ti.kernel
    def i_to_f(a: ti.i32) -> ti.f32:
        return ti.bit_cast(a, ti.f32)

    @ti.kernel
    def d_to_i(a: ti.f64) -> ti.i64:
        return ti.bit_cast(a, ti.i64)

    @ti.kernel
    def i_to_d(a: ti.i64) -> ti.f64:
        return ti.bit_cast(a, ti.f64)

    @ti.kernel
    def h_to_i(a: ti.f32) -> ti.i32:
        return ti.cast(ti.bit_cast(ti.cast(a, ti.f16), ti.u16), ti.i32)

    for value in (0.0, 1.0, -1.5, 3.14159, math.inf):
        show(f_to_i(value), f_to_u(value), d_to_i(value), h_to_i(value))
    show(i_to_f(0x3F800000), i_to_f(-1082130432), i_to_d(0x3FF8000000000000))


@case(differs="operations without code on some types")
def bit_cast_needs_equal_widths(show):
    @ti.kernel
    def narrow(a: ti.f32) -> ti.i32:
        return ti.bit_cast(a, ti.i16)

    @ti.kernel
    def wide(a: ti.i32) -> ti.f64:
        return ti.bit_cast(a, ti.f64)

    show.error(narrow, 1.0)
    show.error(wide, 1)


@case()
def local_variables_keep_the_type_of_the_first_assignment(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k() -> ti.i32:
        a = 1
        a = 2.7
        b: ti.i8 = 300
        c: ti.f64 = 1
        d: ti.u8 = 1
        d = 257
        ti.static(note(a), note(b), note(c), note(d))
        return a * 10000 + ti.cast(b, ti.i32) * 10 + d

    show(k(), seen)


@case(differs="variables annotated `int` or `float`")
def annotations_by_python_types(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k():
        a: float = 2
        b: int = 2.5
        ti.static(note(a), note(b))

    show.error(k)
    show(seen)


@case()
def annotated_assignment_of_an_existing_variable(show):
    @ti.kernel
    def k() -> ti.i32:
        a: ti.i32 = 1
        a: ti.f32 = 2.0
        return a

    show.error(k)


@case()
def half_precision_rounds_as_stored(show):
    x = ti.field(ti.f16, 4)

    @ti.kernel
    def k():
        x[0] = 0.1
        x[1] = x[0] + x[0]
        x[2] = x[0] * 3.0
        x[3] = ti.sqrt(x[0])

    k()
    show(x[0], x[1], x[2], x[3], x.to_numpy())


@case()
def bools_hold_zero_or_one(show):
    x = ti.field(ti.u1, 3)

    @ti.kernel
    def k(a: ti.i32):
        x[0] = a > 1
        x[1] = a
        x[2] = not a

    k(2)
    show(x[0], x[1], x[2], x.to_numpy())


@case()
def invalid_types(show):
    show.error(ti.cast, 1, "i33")
    show.error(lambda: ti.field("no_such_type", 3))

    @ti.kernel
    def k() -> ti.i32:
        return ti.cast(1, str)

    show.error(k)


@case()
def types_of_python_and_numpy_name_types(show):
    for dtype in (int, float, bool):
        show(str(ti.field(dtype, ()).dtype))


@case()
def types_by_name(show):
    for dtype in ("i32", "f64", np.int32, np.float32, np.uint8, np.dtype("int64")):
        show(str(attempt(lambda dtype=dtype: ti.field(dtype, ()).dtype)))


@case()
def numpy_scalars_are_constants(show):
    a, b, c, d = np.int32(5), np.float64(1.5), np.uint8(200), np.bool_(True)
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k() -> ti.f32:
        x = a
        y = b
        z = c
        w = d
        ti.static(note(x), note(y), note(z), note(w))
        return x + y + z

    show.error(k)
    show(seen)


@case()
def no_text_as_result(show):
    text = "text"

    @ti.kernel
    def k() -> ti.i32:
        return text

    show.error(k)


@case()
def no_constants_of_other_types(show):
    number = 1j

    @ti.kernel
    def b() -> ti.i32:
        x = number
        return x

    @ti.kernel
    def c() -> ti.i32:
        return 1 + None

    show.error(b)
    show.error(c)


@case()
def lists_of_types(show):
    types = ti.types.primitive_types
    for kind in (types.real_types, types.integer_types, types.all_types):
        show([getattr(of, "__name__", str(of)) for of in kind])
    show(id(ti.u1) in types.integer_type_ids, id(bool) in types.type_ids)
    for of in types.all_types:
        x = ti.field(of, shape=2)
        x[1] = 1
        show(str(x.dtype), x.to_numpy())
