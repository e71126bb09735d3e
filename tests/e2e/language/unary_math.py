"""Mathematical functions of one value, rounding, bits, and the choice of two."""

import math

import numpy as np
from harness import attempt, case, ti, type_of

NAMES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64")
TYPES = tuple(getattr(ti, name) for name in NAMES) if ti else ()
INTEGERS, FLOATS = TYPES[:8], TYPES[8:]
FUNCTIONS = "sin cos tan asin acos tanh sqrt rsqrt exp log abs floor ceil round".split()
VALUES = [0.0, 0.3, 0.5, 0.9, -0.25, -1.0, 1.0]


@case()
def result_types(show):
    rows = {}

    def note(dtype, x):
        functions = [f for f in FUNCTIONS if f != "rsqrt" or dtype in FLOATS]
        names = [attempt(lambda f=f: type_of(getattr(ti, f)(x))) for f in functions]
        rows[str(dtype)] = " ".join(names)

    @ti.kernel
    def k(x: ti.i32):
        for dtype in ti.static(TYPES):
            ti.static(note(dtype, ti.cast(x, dtype)))

    k(1)
    for name, row in rows.items():
        show(f"{name}: {row}")


def _apply(show, name, dtype, values):
    function = getattr(ti, name, None) or getattr(ti.math, name)
    x = np.array(values, dtype=np.float64)
    out = np.zeros(len(values))

    @ti.kernel
    def k(x: ti.types.ndarray(dtype=ti.f64, ndim=1), out: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        for i in range(x.shape[0]):
            out[i] = ti.cast(function(ti.cast(x[i], dtype)), ti.f64)

    k(x, out)
    # Half precision: a unit in the last place is 0.001.
    digits = 3 if dtype is ti.f16 else 6
    show(f"{name} {dtype}: " + " ".join(f"{v:.{digits}g}" for v in out.tolist()))


@case()
def functions_of_floats(show):
    for name in FUNCTIONS:
        values = VALUES
        if name in ("sqrt", "rsqrt", "log"):
            values = [0.3, 0.5, 1.0, 2.0, 10.0, 12345.0]
        for dtype in (ti.f32, ti.f64):
            _apply(show, name, dtype, values)


@case()
def functions_of_large_arguments(show):
    for name in ("sin", "cos", "exp", "tanh", "log", "sqrt"):
        for dtype in (ti.f32, ti.f64):
            _apply(show, name, dtype, [20.0, 50.5, 80.0])


@case()
def functions_of_halves(show):
    for name in ("abs", "floor", "ceil", "sqrt", "exp", "log"):
        _apply(show, name, ti.f16, [0.25, 0.5, 1.0, 2.25])


@case()
def functions_of_integers(show):
    for name in ("sqrt", "exp", "log", "abs"):
        for dtype in (ti.i32, ti.i64, ti.u32, ti.u64):
            _apply(show, name, dtype, [1, 2, 3])
    for dtype in (ti.i32, ti.i64):
        _apply(show, "abs", dtype, [-5, 5, 0, -100])


@case(differs="operations without code on some types")
def functions_of_short_integers(show):
    for dtype in (ti.i8, ti.i16, ti.u8):
        _apply(show, "abs", dtype, [5, 0, 100])
        _apply(show, "sqrt", dtype, [5, 0, 100])
    _apply(show, "abs", ti.i8, [-5])
    _apply(show, "rsqrt", ti.i32, [4, 1])


@case(fast_math=False)
def functions_outside_their_domain(show):
    for name, value in (("sqrt", -1.0), ("log", -1.0), ("log", 0.0), ("asin", 2.0), ("rsqrt", 0.0)):
        _apply(show, name, ti.f32, [value])


@case()
def divisions_by_roots(show):
    """At the ends of the range of f32, in the middle of a loop and in its last iterations."""
    values = [0.0, float("inf"), 4.0, 1e20, 3e38, 2e-38, float("nan")] * 6
    x = ti.field(ti.f32, len(values))
    y = ti.Vector.field(6, ti.f32, len(values))
    for i, value in enumerate(values):
        x[i] = value

    @ti.kernel
    def divide():
        for i in x:
            y[i][0] = 1 / ti.sqrt(x[i])
        for i in x:
            y[i][1] = ti.rsqrt(x[i])
        for i in x:
            y[i][2] = ti.min(3 / ti.sqrt(x[i]), 10)
        for i in x:
            y[i][3] = 1 / (x[i] * ti.sqrt(x[i]))
        for i in x:
            y[i][4] = x[i] / ti.sqrt(x[i])
        for i in x:
            y[i][5] = 2 / (ti.sqrt(x[i]) * 3)

    divide()
    for i in (0, 1, 2, 3, 4, 5, 6, 37, 38, 39, 40, 41):
        show(f"{x[i]:.3g}: " + " ".join(f"{value:.3g}" for value in y[i]))


@case()
def rounding(show):
    values = [0.5, 1.5, 2.5, -0.5, -1.5, 2.4999, -2.6, 7.0]
    for name in ("floor", "ceil", "round"):
        for dtype in (ti.f32, ti.f64):
            _apply(show, name, dtype, values)


@case()
def rounding_to_a_type(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(x: ti.f32):
        a = ti.floor(x, ti.i32)
        b = ti.ceil(x, dtype=ti.i64)
        c = ti.round(x, ti.u8)
        d = ti.floor(x)
        e = ti.floor(ti.Vector([x, -x]), ti.i32)
        ti.static(note(a), note(b), note(c), note(d), note(e))
        print(a, b, c, d, e)

    k(2.7)
    show(seen)


@case()
def bits_of_integers(show):
    @ti.kernel
    def k(a: ti.i32, b: ti.u32):
        print(ti.math.popcnt(a), ti.math.popcnt(b), ti.math.clz(a))

    for value in (0, 1, 255, 0x12345, 2**31 - 1):
        k(value, value)
    k(-1, 2**32 - 1)


@case(differs="operations without code on some types")
def frexp(show):
    @ti.kernel
    def k(x: ti.f32, y: ti.f64):
        m, e = ti.frexp(x)
        n, f = ti.frexp(y)
        print(m, e, n, f)

    k(6.0, -0.3)
    k(0.0, 1024.0)


@case()
def functions_of_vectors_go_by_element(show):
    @ti.kernel
    def k():
        v = ti.Vector([0.25, 0.5])
        m = ti.Matrix([[1.0, 4.0], [9.0, 16.0]])
        print(ti.sqrt(v), ti.sin(v), ti.sqrt(m), ti.abs(-v), ti.exp(v), ti.pow(v, 2.0))
        print(ti.atan2(v, 1.0), ti.max(v, 0.3), ti.floor(v + 0.5), abs(-m), -v, ti.log(m))

    k()


def _number(value):
    """Scalars of Python scope, without telling NumPy's from Python's."""
    return value if hasattr(value, "to_list") or isinstance(value, str) else float(value)


@case()
def values_of_functions_in_python_scope(show):
    for name in FUNCTIONS:
        function = getattr(ti, name)
        show(name, _number(attempt(function, 0.5)), _number(attempt(function, 1)))
        show(attempt(function, ti.Vector([0.5, 1.0])))
    show(*map(_number, (ti.atan2(1.0, 2.0), ti.pow(2, 3), ti.pow(2.0, 0.5))))
    show(*map(_number, (ti.max(1, 2.5), ti.min(3, 2, 1))))
    show(ti.atan2(ti.Vector([1.0, 2.0]), 2.0), ti.max(ti.Vector([1, 5]), 3))
    show(ti.pow(ti.Vector([2, 3]), 2))


@case(differs="numbers in Python scope")
def types_of_functions_in_python_scope(show):
    for name in FUNCTIONS:
        show(attempt(getattr(ti, name), 0.5))
    show(ti.atan2(1.0, 2.0), ti.max(1, 2.5), ti.min(3, 2, 1))


@case(differs="functions for kernels in Python scope")
def bits_in_python_scope(show):
    show(ti.math.popcnt(7), ti.math.clz(1), ti.math.popcnt(-1))


@case(differs="functions for kernels in Python scope")
def zero_and_one_in_python_scope(show):
    show(ti.zero(3), ti.one(2.5), ti.zero(ti.Vector([1, 2])), ti.one(ti.Vector([1.5, 2.5])))


@case()
def select(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(c: ti.i32):
        a = ti.select(c, 1, 2)
        b = ti.select(c > 0, 1, 2.5)
        v = ti.select(ti.Vector([c, 1 - c]), ti.Vector([1, 2]), ti.Vector([3, 4]))
        w = ti.select(ti.Vector([1, 0]), 5, ti.Vector([1.5, 2.5]))
        x = ti.select(c, ti.Vector([1, 2]), ti.Vector([3, 4]))
        ti.static(note(a), note(b), note(v), note(w), note(x))
        print(a, b, v, w, x)

    k(0)
    k(1)
    show(seen)


@case()
def select_by_a_float(show):
    @ti.kernel
    def k(c: ti.f32) -> ti.i32:
        return ti.select(c, 1, 2)

    show.error(k, 0.5)


@case()
def select_in_python_scope(show):
    show(_number(ti.select(1, 2, 3)), _number(ti.select(0, 2, 3)))
    show(ti.select(ti.Vector([1, 0]), ti.Vector([1, 2]), ti.Vector([3, 4])))


@case()
def truth_of_floats(show):
    @ti.kernel
    def both(a: ti.f32, b: ti.f32) -> ti.f32:
        return a and b

    @ti.kernel
    def either(a: ti.f32, b: ti.f32) -> ti.f32:
        return a or b

    @ti.kernel
    def chosen(a: ti.f32, b: ti.f32) -> ti.f32:
        return 1.0 if a else b

    show.error(both, 1.0, 2.0)
    show.error(either, 1.0, 2.0)
    show.error(chosen, 1.0, 2.0)


@case()
def ifte(show):
    @ti.kernel
    def k(c: ti.i32):
        print(ti.lang.ops.ifte(c, 1, 2), ti.lang.ops.ifte(c > 1, 1.5, 2))

    k(0)
    k(2)


@case()
def zero_and_one(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(a: ti.i32, x: ti.f64):
        v = ti.Vector([x, x])
        ti.static(note(ti.zero(a)), note(ti.one(x)), note(ti.zero(v)), note(ti.one(v)))
        print(ti.zero(a), ti.one(x), ti.zero(v), ti.one(v))

    k(5, 2.5)
    show(seen)


@case()
def wrong_arguments(show):
    @ti.kernel
    def none(x: ti.f32) -> ti.f32:
        return ti.sin()

    @ti.kernel
    def two(x: ti.f32) -> ti.f32:
        return ti.sin(x, x)

    @ti.kernel
    def text(x: ti.f32) -> ti.f32:
        return ti.sin("x")

    @ti.kernel
    def bits(x: ti.f32) -> ti.i32:
        return ti.math.popcnt(x)

    @ti.kernel
    def mathlib(x: ti.f32) -> ti.f32:
        return math.sin(x)

    @ti.kernel
    def shapes() -> ti.f32:
        return ti.atan2(ti.Vector([1.0, 2.0]), ti.Vector([1.0, 2.0, 3.0])).sum()

    for kernel in (none, two, text, bits, mathlib, shapes):
        show.error(kernel, *([] if kernel is shapes else [1.0]))


@case()
def stop_grad_is_the_value(show):
    @ti.kernel
    def k(x: ti.f32) -> ti.f32:
        return x * 2

    show(k(1.5))


@case(fast_math=False)
def accuracy_without_fast_math(show):
    for name in ("sin", "cos", "exp", "log", "sqrt", "tanh"):
        _apply(show, name, ti.f32, [0.1, 1.7, 3.3, 9.9])
