"""Calls of @ti.real_func functions: functions of the kernel, called when it runs.

The first call with certain template arguments builds a function; later calls with the same
arguments, including recursive ones, refer to it. Values have their annotated types; `ti.ref` passes
an address. References to memory that other threads may write to have their own variant of the
function, in which `+=` is atomic.
"""

from .. import types as ti_types
from ..diagnostics import say
from . import report
from .context import ArrayArgument
from .expr import Convertible, Expr, Ref
from .pack import PackArgument
from .source import EMPTY
from .struct_value import StructRef
from .texture import check_fits
from .transformer import ENDED, Transformer

# Kinds of parameters.
TEMPLATE, ARRAY, TEXTURE, REFERENCE, VALUE = range(5)


def call(ctx, func, arguments, is_method):
    """Emits a call of `func` with values or addresses in the order of its parameters. Returns None,
    the result, or a tuple of several results."""
    source = func.source
    kinds = [
        TEMPLATE if i == 0 and is_method else kind_of(p.annotation)
        for i, p in enumerate(source.parameters)
    ]
    key = [func]
    passed = []  # values and addresses, in order
    for parameter, kind, argument in zip(source.parameters, kinds, arguments):
        part, node = _PASS[kind](ctx, parameter, argument)
        key.append(part)
        if node:
            passed.append(node)
    key = tuple(key)
    # Before it is built: a recursive call finds the function under construction.
    found = ctx.functions.get(key)
    if found is None:
        found = _build(ctx, func, key, kinds, arguments)
    number, returns = found
    node = ctx.builder.call(number, passed)
    if not returns:
        return None
    if len(returns) == 1:
        return _result(ctx, node, returns[0])
    return tuple(_result(ctx, ctx.builder.get_member(node, i), of) for i, of in enumerate(returns))


def kind_of(annotation):
    if annotation is ti_types.template or isinstance(annotation, ti_types.template):
        return TEMPLATE
    if annotation is EMPTY:  # of `self`
        return TEMPLATE
    if annotation is ti_types.NdarrayType or isinstance(annotation, ti_types.NdarrayType):
        return ARRAY
    if isinstance(annotation, ti_types.BY_REFERENCE):
        return TEXTURE
    return REFERENCE if isinstance(annotation, ti_types.RefType) else VALUE


def _result(ctx, node, of):
    return Expr(ctx, node, None, of if isinstance(of, ti_types.StructType) else None)


# --- arguments: each handler returns the part that distinguishes variants, and the node to pass


def _template(ctx, parameter, argument):
    if isinstance(argument, (Expr, StructRef)):
        raise say.real_func_template_is_not_known(name=parameter.name)
    return template_key(ctx, parameter.name, argument), 0


def template_key(ctx, name, value):
    """A key that is equal for equivalent template arguments: numbers compare by type and bits,
    mutable objects by identity."""
    if value.__class__ in (int, bool, str, type(None)):
        return (value.__class__, value)
    # 0.0 and -0.0 are equal in Python, and different constants.
    if value.__class__ is float:
        return (float, value.hex())
    if isinstance(value, (tuple, list)):
        return (type(value), *[template_key(ctx, name, v) for v in value])
    if value.__class__ is PackArgument:
        return tuple([template_key(ctx, name, v) for v in value.members])
    if value.__class__ is ArrayArgument:
        return ("array", value.param)
    if isinstance(value, (Expr, StructRef)):
        raise say.real_func_template_is_not_known(name=name)
    if isinstance(value, (ti_types.DType, ti_types.MatrixType)):
        return value
    # The object lives as long as the key, so its `id` stays its own.
    ctx.keep(value)
    return id(value)


def _array(ctx, parameter, argument):
    if argument.__class__ is not ArrayArgument:
        raise say.real_func_argument_is_no_array(name=parameter.name, got=_described(argument))
    argument.check_fits(parameter.name, parameter.annotation)
    return ("array", argument.param), 0


def _texture(ctx, parameter, argument):
    check_fits(parameter.name, parameter.annotation, argument)
    return ("texture", argument.array.param, argument.fmt), 0


def _reference(ctx, parameter, argument):
    dtype = ti_types.cook_dtype(parameter.annotation.dtype)
    if argument.__class__ is not Ref:
        raise say.real_func_argument_has_no_address(
            name=parameter.name, dtype=dtype, got=_value_shown(argument)
        )
    info = argument.type
    if info.shape or info.members or info.dtype is not dtype:
        raise say.real_func_reference_of_other_type(name=parameter.name, dtype=dtype, got=info.name)
    # Whether other threads may write to it decides which variant is called.
    return argument.shared, argument.node


def _value(ctx, parameter, argument):
    of = parameter.annotation
    argument = ctx.value(argument)
    if isinstance(of, ti_types.StructType):
        return None, _struct(ctx, parameter, argument, of)
    value = ctx.expr(argument)
    info = value.type
    if isinstance(of, ti_types.MatrixType):
        if info.shape != of.shape:
            raise say.real_func_argument_of_other_type(
                name=parameter.name, needed=of.to_string(), got=info.name
            )
    elif info.shape or info.members:
        raise say.real_func_argument_of_other_type(
            name=parameter.name, needed=ti_types.cook_dtype(of), got=info.name
        )
    return None, ctx.builder.cast(value.node, ctx.type_id(of))


def _struct(ctx, parameter, argument, of):
    node = 0
    if argument.__class__ is Expr:
        node = argument.node
    elif isinstance(argument, Convertible):
        node = argument._to_kernel(ctx).node
    if not node or ctx.builder.type_of(node) != ctx.type_id(of):
        raise say.real_func_argument_of_other_type(
            name=parameter.name, needed=of, got=_described(argument)
        )
    return node


def _described(argument):
    return argument.type.name if isinstance(argument, Expr) else repr(argument)


def _value_shown(argument):
    return f"of type {argument.type.name}" if isinstance(argument, Expr) else repr(argument)


_PASS = {
    TEMPLATE: _template,
    ARRAY: _array,
    TEXTURE: _texture,
    REFERENCE: _reference,
    VALUE: _value,
}


# --- the function itself


def _build(ctx, func, key, kinds, arguments):
    source = func.source
    returns = [_cook_return(r) for r in func.returns]
    if len(ctx.function_chain) >= report.CHAIN_LIMIT:
        raise say.real_func_instances_without_end(chain=report.cycle(ctx.function_chain))
    signature = []
    for parameter, kind in zip(source.parameters, kinds):
        if kind == REFERENCE:
            signature.append((ctx.type_id(ti_types.cook_dtype(parameter.annotation.dtype)), True))
        elif kind == VALUE:
            signature.append((ctx.type_id(parameter.annotation), False))
    builder = ctx.builder
    number = builder.begin_function(signature, [ctx.type_id(r) for r in returns])
    # Before the body: the function may call itself.
    found = ctx.functions[key] = (number, returns)
    outside = ctx.enter_function(func.__name__)
    if ctx.trace is not None:
        ctx.trace.enters(source)
    t = Transformer(ctx, source, False)
    t.is_real = True
    t.returns = tuple(returns)
    t.immutable = frozenset(
        p.name for p, kind in zip(source.parameters, kinds) if kind != REFERENCE
    )
    position = 0
    for parameter, kind, argument in zip(source.parameters, kinds, arguments):
        if kind == REFERENCE:
            level = Ref.GLOBAL if argument.shared else ctx.parallel
            argument = Ref(ctx, builder.reference(position), level)
        elif kind == VALUE:
            argument = _result(ctx, builder.param(position), parameter.annotation)
        position += kind in (REFERENCE, VALUE)
        t.create_parameter(parameter.name, argument)
    t.body()
    if returns and t.status != ENDED and not t.result:
        raise say.function_returns_nothing()
    ctx.leave_function(outside)
    builder.end_function()
    return found


def _cook_return(annotation):
    if isinstance(annotation, ti_types.CompoundType):
        return annotation
    return ti_types.cook_dtype(annotation)
