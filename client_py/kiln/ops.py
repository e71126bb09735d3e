"""Arithmetic and mathematical functions of the language, in both scopes: values
of a kernel give nodes, matrices give matrices, Python numbers Python numbers.
"""

import math as _math

from . import originals
from . import types as _types
from .diagnostics import say
from .frontend import active
from .frontend.expr import OPS, Expr, Ref

_min, _max, _abs, _pow, _round = min, max, abs, pow, round


def _is_matrix(x):
    return hasattr(x, "_elementwise")


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


def floor(x, dtype=None):
    result = _floor(x)
    return result if dtype is None else cast(result, dtype)


def ceil(x, dtype=None):
    result = _ceil(x)
    return result if dtype is None else cast(result, dtype)


def round(x, dtype=None):
    result = _round_op(x)
    return result if dtype is None else cast(result, dtype)


def frexp(x):
    """(mantissa, exponent) of a float."""
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
max_impl = _binary("max", _max)
min_impl = _binary("min", _min)


def _raw_div(a, b):
    # As the reference in Python: rounded down, although kernels round towards zero.
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
cmp_lt = _binary("cmp_lt", lambda a, b: a < b)
cmp_le = _binary("cmp_le", lambda a, b: a <= b)
cmp_gt = _binary("cmp_gt", lambda a, b: a > b)
cmp_ge = _binary("cmp_ge", lambda a, b: a >= b)
cmp_eq = _binary("cmp_eq", lambda a, b: a == b)
cmp_ne = _binary("cmp_ne", lambda a, b: a != b)


def max(*args):
    """The largest of its arguments, element by element."""
    return _extreme(args, max_impl, "max")


def min(*args):
    """The smallest of its arguments, element by element."""
    return _extreme(args, min_impl, "min")


def _extreme(args, function, name):
    if not args:
        raise say.op_needs_an_argument(name=name)
    result = args[0]
    for arg in args[1:]:
        result = function(result, arg)
    return result


def select(cond, x1, x2):
    """x1 where `cond`, else x2; both are evaluated."""
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
    """`obj` converted to another scalar type, element-wise."""
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
    """The same bits as another type of the same width."""
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
    """A uniform random number: [0, 1) for floats, any value for integers."""
    ctx = active.context()
    if ctx is None:
        raise say.ti_random_can_only_called_inside()
    return Expr(ctx, ctx.builder.random(ctx.type_id(_types.cook_dtype(dtype))))


def randn(dt=None):
    """A random number of the standard normal distribution (Box-Muller)."""
    ctx = active.context()
    if ctx is None:
        raise say.ti_randn_can_only_called_inside()
    dtype = ctx.config.default_fp if dt is None else _types.cook_dtype(dt)
    u1 = ctx.cast(1.0, dtype) - random(dtype)  # in (0, 1]: its logarithm is finite
    u2 = random(dtype)
    return cast(sqrt(-2 * log(u1)) * cos(u2 * (2 * _math.pi)), dtype)


def zero(x):
    """A zero of the same type and shape."""
    if isinstance(x, Expr) or _is_matrix(x):
        return x * 0
    return type(x)(0)


def one(x):
    """A one of the same type and shape."""
    return zero(x) + 1


def stop_grad(x):
    """Nothing flows back through what this gives; without gradients, `x` itself."""
    return x


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
    function.__doc__ = f"x = {name}(x, y) in one step; the result is the old value of x."
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
