"""Arithmetic and mathematical functions of the language, for kernels and Python. For kernel values
they emit nodes; for matrices they return matrices; for Python numbers they return numbers.

Each unary, binary and comparison op of proto/op.proto is a function here, under its spelling. The
tables below add what that file does not say: its meaning for Python numbers where neither a Python
operator nor Python's module `math` has it, and its documentation.
"""

import math as _math
import operator as _operator

from . import _NAMES, _native, active, originals
from . import types as _types
from .diagnostics import say
from .frontend.expr import BINARY, COMPARE, OPS, Expr, Ref

_max, _min, _python_round = max, min, round
_BUILTIN_NUMBERS = (bool, int, float)


def _of_both(pick, a, b):
    """The larger or smaller number, of the type that a sum of both has. Beside a NaN, the other."""
    result = b if a != a else a if b != b else pick(a, b)
    types = {a.__class__, b.__class__}
    if len(types) == 1 or not types.issubset(_BUILTIN_NUMBERS):
        return result
    return float(result) if float in types else int(result)


def _rsqrt(x):
    return 1 / _math.sqrt(x) if x > 0 else _math.inf if x == 0 else _math.nan


# Op -> its function of Python numbers. For others it is the operator of Python, or the function of
# the same name in Python's math.
_FOR_NUMBERS = {
    "abs": abs,
    "bit_shr": lambda a, b: (a & 0xFFFFFFFF) >> b if a < 0 else a >> b,
    "ceil": lambda x: float(_math.ceil(x)),
    "clz": lambda x: 32 - int(x & 0xFFFFFFFF).bit_length(),
    "floor": lambda x: float(_math.floor(x)),
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "max": lambda a, b: _of_both(_max, a, b),
    "min": lambda a, b: _of_both(_min, a, b),
    "popcnt": lambda x: bin(x & 0xFFFFFFFF if x < 0 else x).count("1"),
    # As the reference in Python: rounded down, although kernels round towards zero.
    "raw_div": lambda a, b: a // b if isinstance(a, int) and isinstance(b, int) else a / b,
    "raw_mod": lambda a, b: a - b * int(float(a) / b),
    "round": lambda x: float(_python_round(x)),
    "rsqrt": _rsqrt,
}
# Op -> NumPy's function for matrices and arrays. Others are computed element by element.
_FOR_MATRICES = {
    **{name: name for name in "ceil cos exp floor isinf isnan log round sin sqrt tan tanh".split()},
    "acos": "arccos",
    "asin": "arcsin",
    "atan2": "arctan2",
    "max": "fmax",
    "min": "fmin",
}
# Op -> (what it is, its operands, an example, what that prints).
_TEXTS = {
    "sin": ("The sine of an angle", "a number, in radians", "ti.sin(0.0)", "0.0"),
    "cos": ("The cosine of an angle", "a number, in radians", "ti.cos(0.0)", "1.0"),
    "tan": ("The tangent of an angle", "a number, in radians", "ti.tan(0.0)", "0.0"),
    "asin": (
        "The angle in [-pi/2, pi/2] with that sine, in radians",
        "a number in [-1, 1]",
        "ti.asin(0.0)",
        "0.0",
    ),
    "acos": (
        "The angle in [0, pi] with that cosine, in radians",
        "a number in [-1, 1]",
        "ti.acos(1.0)",
        "0.0",
    ),
    "tanh": ("The hyperbolic tangent", "a number", "ti.tanh(0.0)", "0.0"),
    "sqrt": ("The square root", "a number of at least 0", "ti.sqrt(4.0)", "2.0"),
    "rsqrt": ("One over the square root", "a number above 0", "ti.rsqrt(4.0)", "0.5"),
    "exp": ("e to the power of `x`", "a number", "ti.exp(0.0)", "1.0"),
    "log": ("The natural logarithm", "a number above 0", "ti.log(1.0)", "0.0"),
    "abs": ("The absolute value", "a number", "ti.abs(-3)", "3"),
    "popcnt": ("The number of bits that are 1", "an integer", "ti.math.popcnt(7)", "3"),
    "clz": (
        "The number of leading zero bits of a 32-bit integer",
        "an integer",
        "ti.math.clz(1)",
        "31",
    ),
    "isnan": ("Whether it is a NaN", "a number", "ti.math.isnan(ti.math.nan)", "True"),
    "isinf": ("Whether it is infinite", "a number", "ti.math.isinf(1.0)", "False"),
    "pow": ("`a` to the power of `b`", "numbers", "ti.pow(2, 10)", "1024"),
    "atan2": (
        "The angle of the point (b, a) from the x axis, in radians, in (-pi, pi]",
        "numbers",
        "ti.atan2(0.0, 1.0)",
        "0.0",
    ),
    "raw_div": (
        "The quotient; of two integers in kernels rounded towards 0, as in C",
        "numbers",
        "ti.raw_div(7, 2)",
        "3",
    ),
    "raw_mod": (
        "The remainder that has the sign of `a`, as in C",
        "numbers",
        "ti.raw_mod(-7, 3)",
        "-1",
    ),
    "bit_shr": (
        "`a` shifted right by `b` bits, with zeros from the left",
        "integers",
        "ti.bit_shr(-1, 28)",
        "15",
    ),
}
_UNARY = """{what}, element by element.

x: {of}, or a vector or matrix of them; in Python scope also a list or a NumPy array.

    print({example})  # prints: {shown}
"""
_BINARY = """{what}, element by element.

a, b: {of}, or vectors or matrices, in Python scope also lists or NumPy arrays; a number applies to
all elements.

    print({example})  # prints: {shown}
"""


def _is_matrix(x):
    return hasattr(x, "_elementwise")


def _is_array(x):
    """Whether it is a list, a tuple or an array of NumPy, but no single number of NumPy."""
    return x.__class__ in (list, tuple) or (hasattr(x, "__array_ufunc__") and x.ndim > 0)


def elementwise(function, *operands):
    """The NumPy array of function(element, …) of all elements; scalars are broadcast."""
    import numpy

    arrays = numpy.broadcast_arrays(*operands)
    flat = [function(*items) for items in zip(*[a.ravel() for a in arrays])]
    return numpy.array(flat).reshape(arrays[0].shape)


def _of_arrays(spelling, python, *operands):
    """What the op makes of lists, tuples and NumPy's arrays in Python scope: an array."""
    import numpy

    name = _FOR_MATRICES.get(spelling)
    return getattr(numpy, name)(*operands) if name else elementwise(python, *operands)


def _of_number(spelling, python, x):
    """What the op makes of a number in Python scope. Python's math raises where kernels answer
    infinity or NaN, and NumPy answers these, too."""
    try:
        return python(x)
    except (ValueError, OverflowError):
        if spelling not in _FOR_MATRICES:
            raise
    import numpy

    with numpy.errstate(all="ignore"):
        return float(_of_arrays(spelling, python, x))


def _unary(spelling, python):
    op = OPS[spelling]
    numpy_name = _FOR_MATRICES.get(spelling)

    def function(x):
        if isinstance(x, Expr):
            return x.ctx.unary(op, x)
        if _is_matrix(x):
            return x._ufunc(numpy_name, x) if numpy_name else x._elementwise(python)
        if x.__class__ in (list, tuple):
            ctx = active.context()
            if ctx is not None:
                return ctx.unary(op, ctx.expr(x))
        if _is_array(x):
            return _of_arrays(spelling, python, x)
        return _of_number(spelling, python, x)

    return function


def _binary(spelling, python):
    op = OPS[spelling]
    numpy_name = _FOR_MATRICES.get(spelling)

    def function(a, b):
        if isinstance(a, Expr):
            return a.ctx.binary(op, a, b)
        if isinstance(b, Expr):
            return b.ctx.binary(op, a, b)
        if numpy_name and (_is_matrix(a) or _is_matrix(b)):
            return (a if _is_matrix(a) else b)._ufunc(numpy_name, a, b)
        if _is_matrix(a):
            return a._elementwise(python, b)
        if _is_matrix(b):
            return b._elementwise(lambda y, x: python(x, y), a)
        if a.__class__ in (list, tuple) or b.__class__ in (list, tuple):
            ctx = active.context()
            if ctx is not None:
                return ctx.binary(op, ctx.expr(a), ctx.expr(b))
        if _is_array(a) or _is_array(b):
            return _of_arrays(spelling, python, a, b)
        return python(a, b)

    return function


# Family of ops -> (maker of their functions, template of their documentation, Python's functions of
# the operators by token).
_FAMILIES = {
    _native.UNARY: (
        _unary,
        _UNARY,
        {"-": _operator.neg, "~": _operator.invert, "not": _operator.not_},
    ),
    _native.BINARY: (_binary, _BINARY, BINARY),
    _native.COMPARE: (_binary, _BINARY, COMPARE),
}


def _text(spelling, template):
    """The documentation of an op. If the table has none, it comes from Python's math."""
    texts = _TEXTS.get(spelling)
    if texts is None and template is _UNARY and hasattr(_math, spelling):
        what = getattr(_math, spelling).__doc__.partition("\n")[0].rstrip(".")
        texts = what, "a number", f"ti.{spelling}(1.0)", getattr(_math, spelling)(1.0)
    return texts and template.format(**dict(zip(("what", "of", "example", "shown"), texts)))


def _functions():
    """{spelling: function} of the unary, binary and comparison ops."""
    functions = {}
    for spelling, (family, token) in _native.OP_FACTS.items():
        # `@` and frexp() have functions of their own.
        if family not in _FAMILIES or spelling in ("frexp_exponent", "frexp_mantissa", "matmul"):
            continue
        make, template, operators = _FAMILIES[family]
        python = _FOR_NUMBERS.get(spelling) or operators.get(token) or getattr(_math, spelling)
        function = functions[spelling] = make(spelling, python)
        function.__name__ = function.__qualname__ = spelling
        function.__doc__ = _text(spelling, template)
    return functions


_FUNCTIONS = _functions()
globals().update(_FUNCTIONS)
cos, log, sqrt = map(_FUNCTIONS.get, ("cos", "log", "sqrt"))  # for the functions below
# The functions `max`, `min`, `floor`, `ceil` and `round` below take more arguments than the ops.
max_impl, min_impl = _FUNCTIONS["max"], _FUNCTIONS["min"]
_floor, _ceil, _round = map(_FUNCTIONS.get, ("floor", "ceil", "round"))
bit_shl, bit_sar = _FUNCTIONS["shl"], _FUNCTIONS["shr"]


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
    result = _round(x)
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
    operands = cond, x1, x2
    ctx = next((x.ctx for x in operands if isinstance(x, Expr)), None)
    if ctx is None and any(x.__class__ in (list, tuple) for x in operands):
        ctx = active.context()
    if ctx is not None:
        if isinstance(cond, Expr) and cond.type.dtype is not None and cond.type.dtype.is_float:
            raise say.truth_of_a_float(op="select", type=cond.type.name)
        return ctx.ternary(OPS["select"], *operands)
    matrix = next((x for x in operands if _is_matrix(x)), None)
    if matrix is not None:
        return matrix._ufunc("where", *operands)
    if any(map(_is_array, operands)):
        import numpy

        return numpy.where(*operands)
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
    """`x` as a constant for derivatives.

    x: a number, vector or matrix, which the function returns. In a statement of a kernel, it may be
    a field or array. Reads of it in the same block, and in blocks nested in it, are then constants.

        print(ti.stop_grad(2.0))  # prints: 2.0
    """
    ctx = active.context()
    if ctx is None:
        return x
    if ctx.is_memory(x):
        ctx.stop_gradients(x)
        return None
    return Expr(ctx, ctx.builder.stop_gradient(ctx.node(x))) if ctx.autodiff else x


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


for _name in _ATOMIC_RESULTS:
    globals()[f"atomic_{_name}"] = _atomic(_name)

__all__ = [name for name, module in _NAMES.items() if module == "ops"]

originals.keep(globals())
