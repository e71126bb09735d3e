"""Handlers for expressions: names, operators, choices, displays, attributes, subscripts."""

import _ast
import operator

from .. import _native
from .. import types as ti_types
from ..data.field import AnyField
from ..data.snode import AnySNode
from ..diagnostics import near, say
from ..errors import TaichiTypeError
from ..handlers import raised_by_handler
from .display import from_percent
from .expr import BINARY_OPS, OPS, Convertible, Expr, Ref, is_large
from .loops import field_filler
from .pack import PackArgument
from .snode_ops import DYNAMIC_METHODS, dynamic_method, is_in_dynamic, parent_of
from .struct_value import StructRef, common_type
from .subscript import slice_address, subscript
from .tensor import attribute, swizzle_address
from .transformer import (
    ADDRESS_HANDLERS,
    ARGUMENT_HANDLERS,
    HANDLERS,
    RefDict,
    RefList,
    RefTuple,
    is_path,
)

# Python's syntax of operators -> their functions.
_BINARY = {
    _ast.Add: operator.add,
    _ast.Sub: operator.sub,
    _ast.Mult: operator.mul,
    _ast.Div: operator.truediv,
    _ast.FloorDiv: operator.floordiv,
    _ast.Mod: operator.mod,
    _ast.Pow: operator.pow,
    _ast.LShift: operator.lshift,
    _ast.RShift: operator.rshift,
    _ast.BitOr: operator.or_,
    _ast.BitXor: operator.xor,
    _ast.BitAnd: operator.and_,
    _ast.MatMult: operator.matmul,
}
_COMPARE = {
    _ast.Eq: operator.eq,
    _ast.NotEq: operator.ne,
    _ast.Lt: operator.lt,
    _ast.LtE: operator.le,
    _ast.Gt: operator.gt,
    _ast.GtE: operator.ge,
}
# Of those, the ops between two values of the kernel.
OPERATORS = {kind: BINARY_OPS[function] for kind, function in _BINARY.items()}
_AND = OPS["logical_and"]
_NOT = OPS["logical_not"]
_OR = OPS["logical_or"]
_SELECT = OPS["select"]

# Nodes that are cheap and without effect: they may be evaluated even where Python would not.
_CHEAP = frozenset(
    (
        _ast.Name,
        _ast.Constant,
        _ast.Compare,
        _ast.BoolOp,
        _ast.UnaryOp,
        _ast.BinOp,
        _ast.Attribute,
        _ast.IfExp,
    )
)
_COSTLY_OPERATORS = frozenset((_ast.FloorDiv, _ast.Mod, _ast.Div, _ast.Pow, _ast.MatMult))


def name(t, node):
    # Locals of this function instead of attributes: names are the most frequent nodes of a kernel.
    names = t.names
    ident = node.id
    value = names[ident] if ident in names else t.lookup(ident)
    kind = value.__class__
    # A variable's value is loaded here and now, so that `a + f(a)` sees `a` before f changes it.
    if kind is Ref:
        return Expr(t.ctx, t.builder.load(value.node), None, value.struct)
    if kind is RefList or kind is RefTuple or kind is RefDict or kind is StructRef:
        return t.loaded(value)
    return value


def name_address(t, node):
    names = t.names
    ident = node.id
    return names[ident] if ident in names else t.lookup(ident)


def constant(t, node):
    return node.value


def bin_op(t, node):
    left = t.visit(node.left)
    right = t.visit(node.right)
    kind = node.op.__class__
    if left.__class__ is Expr:
        t.at(node)
        # The usual case without Python's operator protocol. `@` is left to the matrix functions.
        if right.__class__ is Expr and kind is not _ast.MatMult:
            return Expr(t.ctx, t.builder.binary(OPERATORS[kind], left.node, right.node))
    elif right.__class__ is Expr:
        t.at(node)
    # `"%d" % x` formats text; Python itself could not convert a value of the kernel.
    elif kind is _ast.Mod and left.__class__ is str:
        return percent_format(t, left, right)
    try:
        return _BINARY[kind](left, right)
    except TypeError as error:
        if raised_by_handler(error):
            raise
        raise TaichiTypeError(_reason(error, left, right)) from None


def _reason(error, *operands):
    """The text of Python's TypeError with the types that the operands have in the kernel."""
    text = str(error)
    for operand in operands:
        if isinstance(operand, Expr):
            text = text.replace("'Expr'", f"'{operand.type.name}'", 1)
    return text


def percent_format(t, text, values):
    if any(v.__class__ is Expr for v in (values if isinstance(values, tuple) else (values,))):
        return from_percent(text, values if isinstance(values, tuple) else (values,))
    return text % values


def unary_op(t, node):
    operand = t.visit(node.operand)
    kind = node.op.__class__
    if kind is _ast.Not:
        # `not` cannot be overloaded in Python, so it is handled here and not by an operator.
        if operand.__class__ is Expr:
            return Expr(t.ctx, t.builder.unary(_NOT, operand.node))
        if isinstance(operand, Convertible):
            return t.ctx.unary(_NOT, operand)
        return not operand
    if kind is _ast.USub:
        return -operand
    if kind is _ast.Invert:
        return ~operand
    return +operand


def is_cheap(node):
    """Whether the expression may be evaluated speculatively."""
    kind = node.__class__
    if kind not in _CHEAP:
        return False
    if kind is _ast.Name or kind is _ast.Constant:
        return True
    if kind is _ast.BinOp:
        if node.op.__class__ in _COSTLY_OPERATORS:
            return False
        return is_cheap(node.left) and is_cheap(node.right)
    if kind is _ast.Compare:
        return is_cheap(node.left) and all(is_cheap(c) for c in node.comparators)
    if kind is _ast.BoolOp:
        return all(is_cheap(v) for v in node.values)
    if kind is _ast.UnaryOp:
        return is_cheap(node.operand)
    if kind is _ast.IfExp:
        return is_cheap(node.test) and is_cheap(node.body) and is_cheap(node.orelse)
    return is_cheap(node.value)


def choose(t, condition, if_true, if_false):
    """A value chosen by a run-time condition. `if_true` and `if_false` emit the code of the
    branches; only one of them runs."""
    builder, ctx = t.builder, t.ctx
    node = builder.begin_choose(condition.node)
    ctx.depth += 1
    mark = len(t.undo)
    # Each branch is emitted between marks: names that it binds end with it.
    one = ctx.expr(if_true())
    builder.yield_(one.node)
    t.leave(mark)
    builder.else_()
    other = ctx.expr(if_false())
    builder.yield_(other.node)
    t.leave(mark)
    ctx.depth -= 1
    builder.end()
    return Expr(ctx, node, None, common_type(one, other))


def bool_op(t, node):
    return _bool_chain(t, node, 0, node.op.__class__ is _ast.And)


def _bool_chain(t, node, i, is_and):
    values = node.values
    left = t.visit(values[i])
    if i + 1 == len(values):
        return left
    if left.__class__ is not Expr:
        # The operand is known at compile time: by Python's rule, the rest may not be evaluated.
        return _bool_chain(t, node, i + 1, is_and) if bool(left) == is_and else left
    ctx = t.ctx
    info = left.type
    if info.dtype is not None and info.dtype.is_float:
        raise say.truth_of_a_float(op="and" if is_and else "or", type=info.name)
    # Matrices combine element by element, and Python's rule of skipping has no meaning for them.
    if info.shape:
        right = _bool_chain(t, node, i + 1, is_and)
        return ctx.binary(_AND if is_and else _OR, left, right)
    # Evaluating a cheap operand costs less than a branch, and selects can be vectorised. An operand
    # that has effects, or may fail, must not be evaluated where Python would skip it.
    if all(is_cheap(v) for v in values[i + 1 :]):
        right = _bool_chain(t, node, i + 1, is_and)
        if right.__class__ is not Expr:
            right = ctx.expr(right)
        # `and` of other types gives one of the operands, as in Python.
        if info.dtype is ti_types.u1 and right.type.dtype is ti_types.u1:
            return ctx.binary(_AND if is_and else _OR, left, right)
        if is_and:
            return ctx.ternary(_SELECT, left, right, left)
        return ctx.ternary(_SELECT, left, left, right)

    def rest():
        return _bool_chain(t, node, i + 1, is_and)

    def first():
        return left

    return choose(t, left, rest, first) if is_and else choose(t, left, first, rest)


def compare(t, node):
    left = t.visit(node.left)
    return _compare_chain(t, node, left, 0)


def _compare_chain(t, node, left, i):
    right = t.visit(node.comparators[i])
    result = _compare_one(t, node, node.ops[i].__class__, left, right)
    if i + 1 == len(node.ops):
        return result
    # Known at compile time: Python's rule decides whether the rest is looked at.
    if result.__class__ is not Expr:
        return _compare_chain(t, node, right, i + 1) if result else result
    if result.type.shape or all(is_cheap(c) for c in node.comparators[i + 1 :]):
        rest = _compare_chain(t, node, right, i + 1)
        return t.ctx.binary(_AND, result, rest)
    return choose(t, result, lambda: _compare_chain(t, node, right, i + 1), lambda: result)


def _compare_one(t, node, kind, left, right):
    function = _COMPARE.get(kind)
    # The result becomes part of the kernel, so a warm start has to compare again.
    if t.ctx.trace is not None and left.__class__ is not Expr and right.__class__ is not Expr:
        t.ctx.trace.compare(left, right)
    if function is not None:
        try:
            return function(left, right)
        except _native.BuilderError:
            if not _is_struct_beside_number(kind, left, right):
                raise
        t.ctx.warn(t.source, node.lineno, say.struct_never_equals_number(), SyntaxWarning)
        return kind is _ast.NotEq
    if kind is _ast.Is or kind is _ast.IsNot:
        spelling = "is" if kind is _ast.Is else "is not"
        raise say.operator_taichi_scope_not_supported(spelling=spelling)
    if not t.static:
        raise say.only_inside_static(kind=kind.__name__)
    return (left in right) if kind is _ast.In else (left not in right)


def _is_struct_beside_number(kind, left, right):
    """Whether `left == right`, or `!=`, compares a struct with a number, to which no struct is
    equal."""
    if kind is not _ast.Eq and kind is not _ast.NotEq:
        return False
    kinds = {_kind_of_operand(left), _kind_of_operand(right)}
    return kinds == {"struct", "number"}


def _kind_of_operand(value):
    if isinstance(value, Expr):
        info = value.type
        return "struct" if info.members else "tensor" if info.shape else "number"
    return "number" if isinstance(value, (int, float)) else ""


def if_exp(t, node):
    test = t.visit(node.test)
    # The other branch is not even visited: it may be invalid for these types.
    if test.__class__ is not Expr:
        return t.visit(node.body if test else node.orelse)
    if test.type.shape:
        raise say.using_conditional_expression_for_element_wise()
    if test.type.dtype is not None and test.type.dtype.is_float:
        raise say.truth_of_a_float(op="if … else", type=test.type.name)
    # As in _bool_chain.
    if is_cheap(node.body) and is_cheap(node.orelse):
        body = t.visit(node.body)
        return t.ctx.ternary(_SELECT, test, body, t.visit(node.orelse))
    return choose(t, test, lambda: t.visit(node.body), lambda: t.visit(node.orelse))


def attribute_value(t, node):
    base = t.address(node.value)
    kind = base.__class__
    if kind is Expr or kind is Ref:
        return t.ctx.value(attribute(base, node.attr))
    value = python_attribute(t, base, node.attr)
    return t.loaded(value) if kind is StructRef or value.__class__ is Ref else value


def attribute_reference(t, node):
    if node.attr in DYNAMIC_METHODS:
        # Before the base is evaluated: `x[i]` of a dynamic field would read a cell, and
        # `x[i].append` names the list.
        method = _dynamic_method(t, node)
        if method is not None:
            return method
    return _attribute_of(t, node, attribute)


def _attribute_of(t, node, of_ref):
    base = t.address(node.value)
    kind = base.__class__
    if kind is Ref:
        return of_ref(base, node.attr)
    if kind is Expr:
        return attribute(base, node.attr)
    return python_attribute(t, base, node.attr)


def attribute_argument(t, node):
    if node.attr in DYNAMIC_METHODS:
        return attribute_reference(t, node)
    return _attribute_of(t, node, swizzle_address)


def subscript_argument(t, node):
    base = t.address(node.value)
    index = index_of(t, node.slice)
    t.at(node)
    items = index if isinstance(index, tuple) else (index,)
    if base.__class__ is Ref and any(i.__class__ is slice for i in items) and not is_large(base):
        return slice_address(t.ctx, base, items)
    return subscript(t.ctx, base, index)


def _dynamic_method(t, node):
    """The method in `x.append`, `x[i].append` etc. for fields in dynamic SNodes; None for other
    expressions."""
    target = node.value
    index = None
    if target.__class__ is _ast.Subscript:
        target, index = target.value, target.slice
    if not is_path(target):
        return None
    base = t.address(target)
    if not is_in_dynamic(base):
        return None
    return dynamic_method(t.ctx, base, node.attr, () if index is None else index_of(t, index))


def python_attribute(t, base, attr):
    """`base.attr` of a Python object; recorded in the trace."""
    # Methods of fields that mean something else in a kernel, unless a member hides them.
    if attr in ("parent", "fill") and attr not in getattr(base, "_members", ()):
        if attr == "parent" and isinstance(base, (AnyField, AnySNode)):
            return parent_of(t.ctx, base)
        if attr == "fill" and isinstance(base, AnyField):
            return field_filler(base)
    if base.__class__ is PackArgument:
        return base.member(attr)
    trace = t.ctx.trace
    is_property = trace is not None and trace.is_property(base, attr)
    before = t.ctx.builder.num_nodes() if is_property else 0
    try:
        value = getattr(base, attr)
    except AttributeError as error:
        # Only for the message: dir may be slow.
        hint = near(attr, dir(base))
        if not hint:
            raise
        raise say.no_such_attribute(reason=error, hint=hint) from error
    if is_property:
        trace.of_property(base, attr, value, adds_code=t.ctx.builder.num_nodes() > before)
    elif trace is not None:
        trace.attribute(base, attr, value, t.source)
    return value


def subscript_address(t, node):
    base = t.address(node.value)
    index = index_of(t, node.slice)
    t.at(node)
    return subscript(t.ctx, base, index)


def subscript_value(t, node):
    return t.loaded(subscript_address(t, node))


def index_of(t, node):
    kind = node.__class__
    if kind is _ast.Slice:
        return slice_(t, node)
    if kind is _ast.Tuple:
        items = []
        for element in node.elts:
            if element.__class__ is _ast.Starred:
                items.extend(spread(t, t.visit(element.value)))
            else:
                items.append(index_of(t, element))
        return tuple(items)
    return t.visit(node)


def slice_(t, node):
    bounds = [None if b is None else t.visit(b) for b in (node.lower, node.upper, node.step)]
    return slice(*bounds)


def _elements(t, nodes):
    values = []
    for node in nodes:
        if node.__class__ is _ast.Starred:
            values.extend(spread(t, t.visit(node.value)))
        else:
            values.append(t.visit(node))
    return values


def spread(t, value):
    """The items of the operand of a `*`."""
    if isinstance(value, Expr) and not value.type.shape:
        raise say.scalar_kernel_cannot_unpacked()
    return value


def tuple_(t, node):
    return tuple(_elements(t, node.elts))


def list_(t, node):
    return _elements(t, node.elts)


def dict_(t, node):
    result = {}
    for key, value in zip(node.keys, node.values):
        if key is None:
            result.update(t.visit(value))
        else:
            result[t.visit(key)] = t.visit(value)
    return result


def _comprehend(t, node, generators, emit):
    if not generators:
        emit()
        return
    generator = generators[0]
    t.static += 1
    iterable = t.visit(generator.iter)
    t.static -= 1
    if isinstance(iterable, Expr):
        shape = iterable.type.shape
        # Python iterates the rows of a matrix; a vector iterates its elements without help.
        if len(shape) == 2:
            extract = t.ctx.extract
            iterable = [
                t.ctx.tensor([extract(iterable, i, j) for j in range(shape[1])])
                for i in range(shape[0])
            ]
    for item in iterable:
        mark = len(t.undo)
        bind_target(t, generator.target, item)
        t.static += 1
        keep = all(_static_truth(t.visit(test)) for test in generator.ifs)
        t.static -= 1
        if keep:
            _comprehend(t, node, generators[1:], emit)
        t.leave(mark)


def _static_truth(value):
    return bool(value)


def bind_target(t, target, value):
    """Binds names at compile time without making variables."""
    if target.__class__ is _ast.Name:
        t.create(target.id, value)
        return
    if not hasattr(target, "elts"):
        raise say.static_assign_cannot_used_on_elements()
    items = list(value)
    if len(items) != len(target.elts):
        raise say.number_targets_not_equal_value_length()
    for element, item in zip(target.elts, items):
        bind_target(t, element, item)


def list_comp(t, node):
    result = []
    _comprehend(t, node, node.generators, lambda: result.append(t.visit(node.elt)))
    return result


def dict_comp(t, node):
    result = {}

    def emit():
        key = t.visit(node.key)
        result[key] = t.visit(node.value)

    _comprehend(t, node, node.generators, emit)
    return result


HANDLERS.update(
    {
        _ast.Attribute: attribute_value,
        _ast.BinOp: bin_op,
        _ast.BoolOp: bool_op,
        _ast.Compare: compare,
        _ast.Constant: constant,
        _ast.Dict: dict_,
        _ast.DictComp: dict_comp,
        _ast.GeneratorExp: list_comp,
        _ast.IfExp: if_exp,
        _ast.List: list_,
        _ast.ListComp: list_comp,
        _ast.Name: name,
        _ast.Slice: slice_,
        _ast.Subscript: subscript_value,
        _ast.Tuple: tuple_,
        _ast.UnaryOp: unary_op,
    }
)
ADDRESS_HANDLERS.update(
    {
        _ast.Attribute: attribute_reference,
        _ast.Name: name_address,
        _ast.Subscript: subscript_address,
    }
)
ARGUMENT_HANDLERS.update(
    {
        _ast.Attribute: attribute_argument,
        _ast.Subscript: subscript_argument,
    }
)
