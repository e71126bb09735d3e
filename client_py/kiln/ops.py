"""Arithmetic and mathematical functions of the language, for kernels and Python. For kernel values
they emit nodes; for matrices they return matrices; for Python numbers they return numbers.
"""

import math as _math

from . import active, originals
from . import types as _types
from .diagnostics import say
from .frontend.expr import OPS, Expr, Ref

_min, _max, _abs, _pow, _round = min, max, abs, pow, round


def _is_matrix(x):
    return hasattr(x, "_elementwise")


_UNARY = """{what}, element by element.

x: {of}, or a vector or matrix of them.

    print({example})  # prints: {shown}
"""
_BINARY = """{what}, element by element.

a, b: {of}, or vectors or matrices; a number applies to all elements.

    print({example})  # prints: {shown}
"""


def _document(function, template, what, of, example, shown):
    function.__doc__ = template.format(what=what, of=of, example=example, shown=shown)
    return function


def _unary(spelling, python, numpy_name=None):
    op = OPS[spelling]

    def function(x):
        if isinstance(x, Expr):
            return x.ctx.unary(op, x)
        if _is_matrix(x):
            return x._ufunc(numpy_name) if numpy_name else x._elementwise(python)
        if x.__class__ in (list, tuple):
            ctx = active.context()
            if ctx is not None:
                return ctx.unary(op, ctx.expr(x))
        return python(x)

    function.__name__ = function.__qualname__ = spelling
    return function


def _binary(spelling, python, name=None):
    op = OPS[spelling]

    def function(a, b):
        if isinstance(a, Expr):
            return a.ctx.binary(op, a, b)
        if isinstance(b, Expr):
            return b.ctx.binary(op, a, b)
        if _is_matrix(a):
            return a._elementwise(python, b)
        if _is_matrix(b):
            return b._elementwise(lambda y, x: python(x, y), a)
        if a.__class__ in (list, tuple) or b.__class__ in (list, tuple):
            ctx = active.context()
            if ctx is not None:
                return ctx.binary(op, ctx.expr(a), ctx.expr(b))
        return python(a, b)

    function.__name__ = function.__qualname__ = name or spelling
    return function


def _sign(x):
    return (x > 0) - (x < 0)


def _popcnt(x):
    return bin(x & 0xFFFFFFFF).count("1") if x < 0 else bin(x).count("1")


sin = _unary("sin", _math.sin, "sin")
cos = _unary("cos", _math.cos, "cos")
tan = _unary("tan", _math.tan, "tan")
asin = _unary("asin", _math.asin, "arcsin")
acos = _unary("acos", _math.acos, "arccos")
tanh = _unary("tanh", _math.tanh, "tanh")
sqrt = _unary("sqrt", _math.sqrt, "sqrt")
rsqrt = _unary("rsqrt", lambda x: 1 / _math.sqrt(x))
exp = _unary("exp", _math.exp, "exp")
log = _unary("log", _math.log, "log")
abs = _unary("abs", _abs)
neg = _unary("neg", lambda x: -x)
bit_not = _unary("bit_not", lambda x: ~x)
logical_not = _unary("logical_not", lambda x: not x)
popcnt = _unary("popcnt", _popcnt)
clz = _unary("clz", lambda x: 32 - int(x & 0xFFFFFFFF).bit_length())
isnan = _unary("isnan", _math.isnan, "isnan")
isinf = _unary("isinf", _math.isinf, "isinf")
_floor = _unary("floor", lambda x: float(_math.floor(x)), "floor")
_ceil = _unary("ceil", lambda x: float(_math.ceil(x)), "ceil")
_round_op = _unary("round", lambda x: float(_round(x)), "round")

_UNARY_TEXTS = (
    (sin, "The sine of an angle", "a number, in radians", "ti.sin(0.0)", "0.0"),
    (cos, "The cosine of an angle", "a number, in radians", "ti.cos(0.0)", "1.0"),
    (tan, "The tangent of an angle", "a number, in radians", "ti.tan(0.0)", "0.0"),
    (
        asin,
        "The angle in [-pi/2, pi/2] with that sine, in radians",
        "a number in [-1, 1]",
        "ti.asin(0.0)",
        "0.0",
    ),
    (
        acos,
        "The angle in [0, pi] with that cosine, in radians",
        "a number in [-1, 1]",
        "ti.acos(1.0)",
        "0.0",
    ),
    (tanh, "The hyperbolic tangent", "a number", "ti.tanh(0.0)", "0.0"),
    (sqrt, "The square root", "a number of at least 0", "ti.sqrt(4.0)", "2.0"),
    (rsqrt, "One over the square root", "a number above 0", "ti.rsqrt(4.0)", "0.5"),
    (exp, "e to the power of `x`", "a number", "ti.exp(0.0)", "1.0"),
    (log, "The natural logarithm", "a number above 0", "ti.log(1.0)", "0.0"),
    (abs, "The absolute value", "a number", "ti.abs(-3)", "3"),
    (popcnt, "The number of bits that are 1", "an integer", "ti.math.popcnt(7)", "3"),
    (
        clz,
        "The number of leading zero bits of a 32-bit integer",
        "an integer",
        "ti.math.clz(1)",
        "31",
    ),
    (isnan, "Whether it is a NaN", "a number", "ti.math.isnan(ti.math.nan)", "True"),
    (isinf, "Whether it is infinite", "a number", "ti.math.isinf(1.0)", "False"),
)
for _function, *_texts in _UNARY_TEXTS:
    _document(_function, _UNARY, *_texts)


def floor(x, dtype=None):
    """The largest integer not above `x`, as a float, element by element.

    x: a number, vector or matrix. dtype: the scalar type to convert the result to, as ti.i32.

        print(ti.floor(-1.5))  # prints: -2.0
    """
    result = _floor(x)
    return result if dtype is None else cast(result, dtype)


def ceil(x, dtype=None):
    """The smallest integer not below `x`, as a float, element by element.

    x: a number, vector or matrix. dtype: the scalar type to convert the result to, as ti.i32.

        print(ti.ceil(1.2))  # prints: 2.0
    """
    result = _ceil(x)
    return result if dtype is None else cast(result, dtype)


def round(x, dtype=None):
    """The integer nearest to `x`, as a float, element by element.

    Halves are rounded away from 0 in kernels, and to the even neighbour in Python.

    x: a number, vector or matrix. dtype: the scalar type to convert the result to, as ti.i32.

        print(ti.round(2.6))  # prints: 3.0
    """
    result = _round_op(x)
    return result if dtype is None else cast(result, dtype)


def frexp(x):
    """(mantissa, exponent) with x == mantissa * 2**exponent and the mantissa in [0.5, 1).

    x: a float; in kernels, of type f32 or f64.

        print(ti.frexp(6.0))  # prints: (0.75, 3)
    """
    if isinstance(x, Expr):
        ctx = x.ctx
        return (
            ctx.unary(OPS["frexp_mantissa"], x),
            ctx.unary(OPS["frexp_exponent"], x),
        )
    return _math.frexp(x)


add = _binary("add", lambda a, b: a + b)
sub = _binary("sub", lambda a, b: a - b)
mul = _binary("mul", lambda a, b: a * b)
mod = _binary("mod", lambda a, b: a % b)
pow = _binary("pow", _pow)
floordiv = _binary("floordiv", lambda a, b: a // b)
truediv = _binary("truediv", lambda a, b: a / b)
atan2 = _binary("atan2", _math.atan2)
max_impl = _binary("max", lambda a, b: _extreme_of(_max, a, b))
min_impl = _binary("min", lambda a, b: _extreme_of(_min, a, b))


def _extreme_of(function, a, b):
    """max or min of two numbers; if one is a NaN, the other one."""
    if a != a:
        return b
    return a if b != b else function(a, b)


def _raw_div(a, b):
    # Rounds down, as the reference does in Python, although kernels round towards zero.
    return a // b if isinstance(a, int) and isinstance(b, int) else a / b


def _c_mod(a, b):
    return a - b * int(float(a) / b)


raw_div = _binary("raw_div", _raw_div)
raw_mod = _binary("raw_mod", _c_mod)
bit_or = _binary("bit_or", lambda a, b: a | b)
bit_and = _binary("bit_and", lambda a, b: a & b)
bit_xor = _binary("bit_xor", lambda a, b: a ^ b)
bit_shl = _binary("shl", lambda a, b: a << b)
bit_sar = _binary("shr", lambda a, b: a >> b)
logical_and = _binary("logical_and", lambda a, b: a and b)
logical_or = _binary("logical_or", lambda a, b: a or b)


def _logical_shr(a, b):
    return (a & 0xFFFFFFFF) >> b if a < 0 else a >> b


bit_shr = _binary("bit_shr", _logical_shr)
_BINARY_TEXTS = (
    (pow, "`a` to the power of `b`", "numbers", "ti.pow(2, 10)", "1024"),
    (
        atan2,
        "The angle of the point (b, a) from the x axis, in radians, in (-pi, pi]",
        "numbers",
        "ti.atan2(0.0, 1.0)",
        "0.0",
    ),
    (
        raw_div,
        "The quotient; of two integers in kernels rounded towards 0, as in C",
        "numbers",
        "ti.raw_div(7, 2)",
        "3",
    ),
    (
        raw_mod,
        "The remainder that has the sign of `a`, as in C",
        "numbers",
        "ti.raw_mod(-7, 3)",
        "-1",
    ),
    (
        bit_shr,
        "`a` shifted right by `b` bits, with zeros from the left",
        "integers",
        "ti.bit_shr(-1, 28)",
        "15",
    ),
)
for _function, *_texts in _BINARY_TEXTS:
    _document(_function, _BINARY, *_texts)
cmp_lt = _binary("cmp_lt", lambda a, b: a < b)
cmp_le = _binary("cmp_le", lambda a, b: a <= b)
cmp_gt = _binary("cmp_gt", lambda a, b: a > b)
cmp_ge = _binary("cmp_ge", lambda a, b: a >= b)
cmp_eq = _binary("cmp_eq", lambda a, b: a == b)
cmp_ne = _binary("cmp_ne", lambda a, b: a != b)


def max(*args):
    """The largest of its arguments, element by element.

    args: one or more numbers, vectors or matrices; a number applies to all elements. Raises
    TaichiTypeError without arguments.

        print(ti.max(1, 5, 3))  # prints: 5
        print(ti.max(ti.Vector([1, 5]), 3))  # prints: [3 5]
    """
    return _extreme(args, max_impl, "max")


def min(*args):
    """The smallest of its arguments, element by element.

    args: one or more numbers, vectors or matrices; a number applies to all elements. Raises
    TaichiTypeError without arguments.

        print(ti.min(1, 5, 3))  # prints: 1
    """
    return _extreme(args, min_impl, "min")


def _extreme(args, function, name):
    if not args:
        raise say.op_needs_an_argument(name=name)
    result = args[0]
    for arg in args[1:]:
        result = function(result, arg)
    return result


def select(cond, x1, x2):
    """`x1` where `cond` is true, else `x2`, element by element. Both are evaluated.

    cond: a condition, or a vector or matrix of them; raises TaichiTypeError for a float. x1, x2:
    numbers, vectors or matrices.

        print(ti.select(True, 1, 2))  # prints: 1
    """
    for x in (cond, x1, x2):
        if isinstance(x, Expr):
            if isinstance(cond, Expr) and cond.type.dtype is not None and cond.type.dtype.is_float:
                raise say.truth_of_a_float(op="select", type=cond.type.name)
            return x.ctx.ternary(OPS["select"], cond, x1, x2)
    if _is_matrix(cond):
        return cond._select(x1, x2)
    return x1 if cond else x2


def ifte(cond, x1, x2):
    """x1 if `cond`, else x2, for a scalar condition."""
    return select(cond, x1, x2)


def cast(obj, dtype):
    """`obj` converted to another scalar type, element by element.

    Fractions are truncated; a value that does not fit an integer type keeps its low bits. obj: a
    number, vector or matrix. dtype: the type, as ti.i32; float and int mean the default types.
    Raises ValueError for other objects.

        print(ti.cast(3.9, ti.i32))  # prints: 3
    """
    dtype = _types.cook_dtype(dtype)
    if isinstance(obj, Expr):
        return obj.ctx.cast(obj, dtype)
    ctx = active.context()
    if ctx is not None:
        return ctx.cast(ctx.expr(obj), dtype) if not _is_number(obj) else ctx.cast(obj, dtype)
    if _is_matrix(obj):
        return obj.cast(dtype)
    return dtype.convert(obj)


def _is_number(x):
    return x.__class__ in (int, float, bool)


def bit_cast(obj, dtype):
    """The bits of `obj` as a value of another type of the same width. Only in kernels.

    obj: a number, vector or matrix. dtype: a type of the same width as that of `obj`; raises
    TaichiTypeError for others.

        @ti.kernel
        def bits(x: ti.f32) -> ti.u32:
            return ti.bit_cast(x, ti.u32)

        print(hex(bits(1.0)))  # prints: 0x3f800000
    """
    dtype = _types.cook_dtype(dtype)
    if isinstance(obj, Expr):
        ctx = obj.ctx
        obj = ctx.value(obj)
        type_id = ctx.type_id(dtype, obj.type.shape)
        return Expr(ctx, ctx.builder.bit_cast(obj.node, type_id))
    ctx = active.context()
    if ctx is None:
        raise say.bit_cast_for_kernels_there_no_typed()
    value = ctx.expr(obj)
    return Expr(ctx, ctx.builder.bit_cast(value.node, ctx.type_id(dtype, value.type.shape)))


def random(dtype=float):
    """A uniformly distributed random number: in [0, 1) for floats, any value for integers. Only in
    kernels.

    dtype: the type, as ti.f32; by default the default float. `ti.init(random_seed=…)` sets the
    seed.

        @ti.kernel
        def k() -> ti.f32:
            return ti.random()

        print(0 <= k() < 1)  # prints: True
    """
    ctx = active.context()
    if ctx is None:
        raise say.ti_random_can_only_called_inside()
    return Expr(ctx, ctx.builder.random(ctx.type_id(_types.cook_dtype(dtype))))


def randn(dt=None):
    """A random number with the standard normal distribution. Only in kernels.

    dt: a float type; by default the default float.

        @ti.kernel
        def k() -> ti.f32:
            return ti.randn()

        print(abs(k()) < 10)  # prints: True
    """
    ctx = active.context()
    if ctx is None:
        raise say.ti_randn_can_only_called_inside()
    dtype = ctx.config.default_fp if dt is None else _types.cook_dtype(dt)
    u1 = ctx.cast(1.0, dtype) - random(dtype)  # in (0, 1], so its logarithm is finite
    u2 = random(dtype)
    return cast(sqrt(-2 * log(u1)) * cos(u2 * (2 * _math.pi)), dtype)


def zero(x):
    """A zero with the type and shape of `x`.

    x: a number, vector or matrix.

        print(ti.zero(3.5))  # prints: 0.0
    """
    if isinstance(x, Expr) or _is_matrix(x):
        return x * 0
    return type(x)(0)


def one(x):
    """A one with the type and shape of `x`.

    x: a number, vector or matrix.

        print(ti.one(3.5))  # prints: 1.0
    """
    return zero(x) + 1


def stop_grad(x):
    """`x` as a constant for gradients. Kiln has no gradients yet, so it returns `x`.

    x: a number, vector or matrix.

        print(ti.stop_grad(2.0))  # prints: 2.0
    """
    return x


_ATOMIC_RESULTS = {
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "min": "the smaller of both",
    "max": "the larger of both",
    "and": "x & y",
    "or": "x | y",
    "xor": "x ^ y",
}
_ATOMIC = """Makes `x` {what} in one step that no other thread sees half done; answers the old `x`.

Only in kernels. x: a variable, or an element of a field or array; TaichiSyntaxError for what cannot
be written to. y: a number, converted to the type of `x`.

    total = ti.field(ti.i32, shape=())

    @ti.kernel
    def k() -> ti.i32:
        return ti.atomic_{name}(total[None], 3)

    print(k())  # prints: 0
"""


def _atomic(name):
    op = OPS[f"atomic_{name}"]

    def function(x, y):
        if x.__class__ is not Ref:
            raise say.cannot_use_non_writable_target_as(name=name)
        ctx = x.ctx
        builder = ctx.builder
        value = builder.cast(ctx.node(y), builder.type_of(x.node))
        return Expr(ctx, builder.atomic(op, x.node, value))

    function.__name__ = function.__qualname__ = f"atomic_{name}"
    function.__doc__ = _ATOMIC.format(name=name, what=_ATOMIC_RESULTS[name])
    function._kiln_writes = True
    return function


atomic_add = _atomic("add")
atomic_sub = _atomic("sub")
atomic_mul = _atomic("mul")
atomic_min = _atomic("min")
atomic_max = _atomic("max")
atomic_and = _atomic("and")
atomic_or = _atomic("or")
atomic_xor = _atomic("xor")

__all__ = [
    "abs",
    "acos",
    "asin",
    "atan2",
    "atomic_add",
    "atomic_and",
    "atomic_max",
    "atomic_min",
    "atomic_mul",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "bit_cast",
    "bit_shr",
    "cast",
    "ceil",
    "cos",
    "exp",
    "floor",
    "frexp",
    "log",
    "max",
    "min",
    "one",
    "pow",
    "randn",
    "random",
    "raw_div",
    "raw_mod",
    "round",
    "rsqrt",
    "select",
    "sin",
    "sqrt",
    "stop_grad",
    "tan",
    "tanh",
    "zero",
]

originals.keep(globals())
