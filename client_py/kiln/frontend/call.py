"""Handlers for calls: inlined functions, casts, builtins, and Python functions at compile time."""

import _ast
import builtins

from .. import _native, ops
from .. import types as ti_types
from ..diagnostics import near, say
from ..errors import TaichiTypeError
from ..func import BoundFunc, Func
from ..handlers import raised_by_handler
from ..static import static, static_assert
from ..values import matrix, matrix_ops
from ..values.struct import Struct
from . import display, real_function
from .context import ArrayArgument
from .expr import Expr, Ref
from .expression import spread
from .names import static_value
from .transformer import ADDRESS_HANDLERS, HANDLERS, inline


def call(t, node):
    return _call(t, node, False)


def call_address(t, node):
    """The result of a call; an address if a func returns a variable or an element, to which the
    program can then write: `at(i).mass += 1`."""
    return _call(t, node, True)


def _call(t, node, as_address):
    func = t.address(node.func)
    kind = func.__class__
    if kind is Func:
        return _inline(t, node, func, (), False, as_address)
    if kind is BoundFunc:
        return _inline(t, node, func.func, (func.instance,), func.is_method, as_address)
    if kind is ti_types.DType:
        return _cast(t, node, func)
    # By identity: functions need not be hashable, and equal ones are not the same.
    special = _SPECIAL.get(id(func))
    if special is not None:
        return _checked(special, func, t, node)
    # `"…".format(x)` of values of the kernel makes text that the runtime renders.
    if node.func.__class__ is _ast.Attribute and node.func.attr == "format":
        base = getattr(func, "__self__", None)
        if base.__class__ is str:
            args, keywords = _arguments(t, node)
            return display.from_format(base, args, keywords)
    if isinstance(func, _native.KernelBase):
        raise say.kernel_calls_kernel()
    args, keywords = _arguments(t, node)
    if kind is Ref or kind is Expr:
        raise say.value_type_cannot_called(type=func.type.name)
    t.at(node)
    # A Python function that runs at compile time: its result becomes part of the kernel.
    trace = t.ctx.trace
    if trace is not None:
        trace.call(func, args, t.source)
    if not t.static and _is_foreign(func):
        _warn_foreign(t, node)
    try:
        return func(*args, **keywords)
    except TypeError as error:
        if isinstance(error, TaichiTypeError) or raised_by_handler(error):
            raise
        raise _wrong_call(func, args, error) from error
    except ValueError as error:
        # The program's own ValueError passes as it is; a library's is about our values.
        of_values = _is_library(func) and any(isinstance(a, Expr) for a in args)
        if not of_values or raised_by_handler(error):
            raise
        raise _wrong_call(func, args, error) from error


def _checked(special, func, t, node):
    try:
        return special(t, node)
    except TypeError as error:
        if t.raised or isinstance(error, TaichiTypeError) or raised_by_handler(error):
            raise
        raise _wrong_call(func, (), error) from error


def _inline(t, node, func, leading, is_method, as_address):
    """Emits the func's body in place of the call, with its parameters bound to the arguments."""
    args = list(leading)
    for arg in node.args:
        if arg.__class__ is _ast.Starred:
            args.extend(spread(t, t.visit(arg.value)))
        else:
            # Arguments of ti.func are values unless the annotation says template: then the func
            # writes to the caller's variable.
            by_reference = func.by_reference(len(args))
            args.append(t.argument(arg) if by_reference else t.visit(arg))
    keywords = {}
    for keyword in node.keywords:
        # Values are loaded here and now, before the next argument may change them.
        if keyword.arg is None:
            for name, value in t.address(keyword.value).items():
                keywords[name] = value if func.takes_reference(name) else t.loaded(value)
        elif func.takes_reference(keyword.arg):
            keywords[keyword.arg] = t.argument(keyword.value)
        else:
            keywords[keyword.arg] = t.visit(keyword.value)
    t.at(node)
    arguments = func.bind(args, keywords)
    if func.is_real:
        return real_function.call(t.ctx, func, arguments, is_method)
    result = inline(t.ctx, func, arguments, t.span(node), is_method, as_address)
    t.at(node)
    return result


def call_function(ctx, func, arguments, is_method, as_address=False):
    """The result of a Func that plain Python code calls while a kernel is being built."""
    if func.is_real:
        return real_function.call(ctx, func, arguments, is_method)
    span = ctx.current_span  # of the program's call that runs the Python code
    result = inline(ctx, func, arguments, span, is_method, as_address)
    ctx.current_span = span
    ctx.builder.set_span(span)
    return result


def _positional(t, node, visit):
    args = []
    for arg in node.args:
        if arg.__class__ is _ast.Starred:
            args.extend(spread(t, t.visit(arg.value)))
        else:
            args.append(visit(arg))
    return args


def _arguments(t, node):
    args = _positional(t, node, t.visit)
    if not node.keywords:
        return args, {}
    keywords = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            keywords.update(t.visit(keyword.value))
        else:
            keywords[keyword.arg] = t.visit(keyword.value)
    return args, keywords


def _reference_arguments(t, node):
    """The arguments as addresses, for functions that write to them."""
    args = _positional(t, node, t.argument)
    return args, {k.arg: t.argument(k.value) for k in node.keywords}


def _cast(t, node, dtype):
    args, keywords = _arguments(t, node)
    if len(args) != 1 or keywords:
        raise say.primitive_type_can_only_decorate_single()
    value = args[0]
    if isinstance(value, (matrix.Matrix, list, tuple)) or (
        value.__class__ is Expr and (value.type.shape or value.type.members)
    ):
        raise say.primitive_type_cannot_decorate_expression_with()
    t.at(node)
    return t.ctx.literal(value, dtype)


def is_static_call(t, node):
    if node.__class__ is not _ast.Call or node.func.__class__ not in (_ast.Name, _ast.Attribute):
        return False
    root = node.func
    while root.__class__ is _ast.Attribute:
        root = root.value
    # A variable of the kernel may be named like a module; then it is not ti.static.
    if root.__class__ is not _ast.Name or root.id in t.names:
        return False
    return static_value(t.source, node.func, t.ctx) is static


# --- functions that evaluate their arguments in a special way


def _static(t, node):
    t.static += 1
    args, keywords = _reference_arguments(t, node)
    t.static -= 1
    return static(*args, **keywords)


def _static_assert(t, node):
    t.static += 1
    args, keywords = _arguments(t, node)
    t.static -= 1
    return static_assert(*args, **keywords)


def _by_reference(function):
    def special(t, node):
        args, keywords = _reference_arguments(t, node)
        # Only the first argument of an atomic op is written to.
        args = [args[0], *[t.loaded(a) for a in args[1:]]]
        t.at(node)
        return function(*args, **{k: t.loaded(v) for k, v in keywords.items()})

    return special


def _by_value(function):
    def special(t, node):
        args, keywords = _arguments(t, node)
        t.at(node)
        return function(t.ctx, *args, **keywords)

    return special


def _number(python_type, dtype_of):
    def convert(ctx, value=0):
        if value.__class__ is Expr:
            return ctx.cast(value, dtype_of(ctx))
        return python_type(value)

    return _by_value(convert)


def _len(ctx, value):
    if value.__class__ is Expr:
        shape = value.type.shape
        if not shape:
            raise say.value_type_has_no_len(type=value.type.name)
        return shape[0]
    return len(value)


def _isinstance(ctx, value, classinfo):
    if value.__class__ is not Expr:
        if ctx.trace is not None:
            ctx.trace.instance_of(value, classinfo)
        return isinstance(value, classinfo)
    classes = classinfo if isinstance(classinfo, tuple) else (classinfo,)
    info = value.type
    # A value of the kernel is what the program calls it: Matrix, Vector or Struct.
    wanted = []
    if info.shape:
        wanted = [matrix.Matrix, *([matrix.Vector] if len(info.shape) == 1 else [])]
    elif info.members:
        wanted = [Struct]
    return any(c in wanted or c is Expr for c in classes)


def _reduce_or(function):
    """min and max: over the elements of a single vector, otherwise over the arguments."""

    def apply(ctx, *args, **keywords):
        if len(args) == 1 and (args[0].__class__ is Expr or isinstance(args[0], matrix.Matrix)):
            return function(*[args[0]])
        if len(args) == 1 or keywords:
            return function(*list(args[0]), **keywords)
        return function(*args)

    return apply


def _all_any(name):
    python = getattr(builtins, name)

    def apply(ctx, values):
        if isinstance(values, (Expr, matrix.Matrix)):
            return matrix_ops.METHODS[name](values)
        values = list(values)
        if any(v.__class__ is Expr for v in values):
            return matrix_ops.METHODS[name](ctx.tensor(values))
        return python(values)

    return apply


def _pow(ctx, base, exponent, *modulus):
    return ops.pow(base, exponent) if not modulus else pow(base, exponent, *modulus)


def _sum(ctx, values, start=0):
    # Python's `sum` would begin with an int and use its `__add__`.
    result = start
    for value in values:
        result = result + value
    return result


def _matrix_value(ctx, arr, dt=None, **keywords):
    return matrix.kernel_matrix(ctx, arr, dt)


def _round(ctx, value, *digits):
    return ops.round(value) if value.__class__ is Expr else round(value, *digits)


_SPECIAL = {}


def _register():
    table = {
        print: display.print_,
        static: _static,
        static_assert: _static_assert,
        int: _number(int, lambda ctx: ctx.config.default_ip),
        float: _number(float, lambda ctx: ctx.config.default_fp),
        bool: _number(bool, lambda ctx: ti_types.u1),
        len: _by_value(_len),
        isinstance: _by_value(_isinstance),
        min: _by_value(_reduce_or(ops.min)),
        max: _by_value(_reduce_or(ops.max)),
        all: _by_value(_all_any("all")),
        any: _by_value(_all_any("any")),
        abs: _by_value(lambda ctx, x: ops.abs(x)),
        pow: _by_value(_pow),
        round: _by_value(_round),
        sum: _by_value(_sum),
        matrix.Matrix: _by_value(_matrix_value),
        matrix.Vector: _by_value(_matrix_value),
    }
    for name in ("add", "sub", "mul", "min", "max", "and", "or", "xor"):
        function = getattr(ops, f"atomic_{name}")
        table[function] = _by_reference(function)
    for function, special in table.items():
        _SPECIAL[id(function)] = special


_register()


# --- Python at compile time


def _is_foreign(func):
    if getattr(func, "_kiln_pure", False):
        return False
    module = getattr(func, "__module__", None)
    if module is None:
        return False
    if module == "builtins" or module == "kiln" or module.startswith("kiln."):
        return False
    return not isinstance(func, (ti_types.MatrixType, ArrayArgument))


def _warn_foreign(t, node):
    # Late, because importing `ast` is slow and few kernels warn.
    from ast import unparse

    name = unparse(node.func).strip()
    text = say.calling_non_taichi_function(name=name)
    t.ctx.warn(t.source, node.lineno, text, SyntaxWarning)


def _unexpected_keyword(reason):
    """The misspelt option that Python's TypeError names, or None."""
    _, found, tail = reason.partition("unexpected keyword argument '")
    return tail.rstrip("'") if found else None


def _wrong_call(func, args, error):
    name = getattr(func, "__name__", type(func).__name__)
    if _is_library(func) and any(isinstance(a, Expr) for a in args):
        return _wrong_library_call(name, _library(func), error)
    # From Python 3.13 on, its errors give the advice that `near` gives here.
    reason = _reason(func, error).partition(". Did you mean ")[0]
    advice = ""
    wrong = _unexpected_keyword(reason)
    if wrong:
        advice = near(wrong, getattr(getattr(func, "__code__", None), "co_varnames", ()))
    module = getattr(func, "__module__", None)
    if module == "kiln.math" and " missing " in reason:  # these are funcs in the reference
        return say.func_parameter_missing(parameter=reason.split("'")[1], function=name)
    return say.call_raises_type_error(name=name, reason=reason, advice=advice)


def _wrong_library_call(name, library, error):
    """The error for passing a value of the kernel to a function of NumPy or `math`."""
    if library == "numpy":
        reason = say.numpy_computes_with_arrays()
    else:
        reason = str(error).replace("Expr", "Taichi Expression")
    ours = _ours(name)
    advice = say.use_the_function_of_ti(ours=ours, name=name, module=library) if ours else ""
    return say.call_raises_type_error(name=name, reason=reason, advice=advice)


def _is_library(func):
    return _library(func) in ("math", "numpy")


def _library(func):
    """The top-level module that defines a function. NumPy's ufuncs have no `__module__`; their
    class does."""
    module = getattr(func, "__module__", None) or type(func).__module__
    return "numpy" if module.startswith("numpy") else module


def _reason(func, error):
    """The text of Python's TypeError without names that are internal to Kiln."""
    text = str(error)
    if id(func) in _SPECIAL and text.partition("() ")[2].startswith(("got ", "missing ", "takes ")):
        return say.called_with_other_arguments(parameters=_parameters(func))
    return text.replace("Expr", "Taichi Expression")


def _parameters(func):
    from inspect import signature

    try:
        return str(signature(func))
    except ValueError:  # a builtin without a signature
        return "others"


# Names of NumPy and `math` that differ from Taichi's.
_OTHER_NAMES = {
    "absolute": "ti.abs",
    "amax": "ti.max",
    "amin": "ti.min",
    "arccos": "ti.acos",
    "arcsin": "ti.asin",
    "arctan2": "ti.atan2",
    "fabs": "ti.abs",
    "maximum": "ti.max",
    "minimum": "ti.min",
    "power": "ti.pow",
    "where": "ti.select",
}


def _ours(name):
    """The `ti` name of a function of NumPy or `math`; None if there is no such function."""
    from .. import math

    if name in ops.__all__ or name in ti_types.__all__:
        return f"ti.{name}"
    return f"ti.math.{name}" if name in math.__all__ else _OTHER_NAMES.get(name)


HANDLERS[_ast.Call] = call
ADDRESS_HANDLERS[_ast.Call] = call_address
