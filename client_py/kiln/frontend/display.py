"""Handlers for print, assert and formatted strings, which become text pieces around values."""

import _ast

from .. import active
from ..data.field import AnyField
from ..diagnostics import say
from ..types import f64
from .expr import Expr, kind_of
from .transformer import HANDLERS

# The conversion letters of formats: for floats, signed and unsigned integers.
_CONVERSIONS = ("aAeEfFgG", "di", "uxXo")
_FLOAT_SPECS = ("e", "f", "g", "E", "F", "G")


class Formatted:
    """A string with kernel values in it. `parts`: str, or (Expr, format spec)."""

    __slots__ = ("parts",)

    def __init__(self, parts):
        self.parts = parts


def joined_str(t, node):
    parts = []
    for value in node.values:
        if value.__class__ is _ast.Constant:
            parts.append(value.value)
            continue
        spec = _spec(t, value.format_spec)
        _append(parts, t.visit(value.value), spec, value.conversion)
    if all(p.__class__ is str for p in parts):
        return "".join(parts)
    return Formatted(parts)


def _spec(t, node):
    if node is None:
        return ""
    text = t.visit(node)
    if text.__class__ is not str:
        raise say.format_specification_must_known_at_compile()
    return text


def _append(parts, value, spec, conversion=-1):
    if value.__class__ is Expr:
        parts.append((value, spec))
    elif isinstance(value, Formatted):
        parts.extend(value.parts)
    elif _contains_expr(value):
        _append_items(parts, value)
    else:
        _shows(active.context(), value)
        if conversion == ord("r"):
            value = repr(value)
        parts.append(format(value, spec))


def _shows(ctx, value):
    """Tells the trace that a Python value is formatted, which may run code of its class."""
    if ctx.trace is not None:
        ctx.trace.uses(value)


def _contains_expr(value):
    return isinstance(value, (list, tuple)) and any(
        v.__class__ is Expr or _contains_expr(v) for v in value
    )


def _append_items(parts, value):
    parts.append("[")
    for i, item in enumerate(value):
        if i:
            parts.append(", ")
        _append(parts, item, "")
    parts.append("]")


def from_format(text, args, keywords):
    """`text.format(*args, **keywords)` with kernel values among the arguments."""
    from string import Formatter

    parts = []
    automatic = 0
    used = set()
    for literal, name, spec, conversion in Formatter().parse(text):
        if literal:
            parts.append(literal)
        if name is None:
            continue
        if name == "":
            name, automatic = str(automatic), automatic + 1
        # Positional, given or counted.
        if name.isdigit():
            if int(name) >= len(args):
                raise say.expected_positional_argument_s_but_received(
                    expected=int(name) + 1, got=len(args)
                )
            value = args[int(name)]
        elif name in keywords:
            value = keywords[name]
        else:
            raise say.keyword_not_found(name=name)
        used.add(name)
        _append(parts, value, spec, ord(conversion) if conversion else -1)
    expected = sum(1 for name in used if name.isdigit())
    if expected != len(args):
        raise say.expected_positional_argument_s_but_received(expected=expected, got=len(args))
    for name in keywords:
        if name not in used:
            raise say.keyword_not_used(name=name)
    if all(p.__class__ is str for p in parts):
        return "".join(parts)
    return Formatted(parts)


def from_percent(text, values):
    """`text % values` with kernel values, whose format specs are kept."""
    parts = []
    values = list(values)
    while text:
        before, percent, rest = text.partition("%")
        parts.append(before)
        if not percent:
            break
        if rest[:1] == "%":
            parts.append("%")
            text = rest[1:]
            continue
        end = next((i for i, c in enumerate(rest) if c.isalpha()), None)
        if end is None or not values:
            raise say.wrong_format_string_for_these_values()
        spec, text = rest[: end + 1], rest[end + 1 :]
        value = values.pop(0)
        # Specs without details mean the type's default, as the reference prints them.
        plain = spec in ("d", "f", "i", "s", "g", "u")
        _append(parts, value, "" if plain and value.__class__ is Expr else spec)
    return Formatted(parts)


def print_(t, node):
    args = []
    for arg in node.args:
        if arg.__class__ is _ast.Starred:
            args.extend(t.visit(arg.value))
        else:
            args.append(t.visit(arg))
    options = {k.arg: t.visit(k.value) for k in node.keywords}
    separator, end = options.pop("sep", " "), options.pop("end", "\n")
    if options:
        raise say.print_has_no_option_kernel(name=next(iter(options)))
    for name, option in (("sep", separator), ("end", end)):
        if option.__class__ is not str:
            raise say.print_option_is_no_text(name=name, kind=kind_of(option))
    parts = []
    for i, arg in enumerate(args):
        if i:
            parts.append(separator)
        _append_printed(t, parts, arg)
    t.at(node)
    values, pieces = pieces_of(t, parts)
    t.builder.print_(values, pieces, end)
    t.ctx.has_print = True


def _append_printed(t, parts, value):
    """Appends a value to print: Python numbers as the kernel would print them, containers item by
    item."""
    ctx = t.ctx
    if value.__class__ is str:
        parts.append(value)
    elif isinstance(value, Formatted):
        parts.extend(value.parts)
    elif value.__class__ is Expr:
        parts.append((value, ""))
    elif isinstance(value, (list, tuple)):
        parts.append("[")
        for i, item in enumerate(value):
            if i:
                parts.append(", ")
            _append_printed(t, parts, item)
        parts.append("]")
    else:
        if isinstance(value, AnyField):
            raise say.invalid_constant_scalar_data_type(kind=type(value))
        node = ctx.node_or_none(value)
        if not node and value is not None:
            raise say.invalid_constant_scalar_data_type(kind=type(value))
        _shows(ctx, value)
        parts.append((Expr(ctx, node), "") if node else str(value))


def _check_format(value, spec):
    if not spec:
        return
    from re import fullmatch

    dtype = value.type.dtype
    conversion = spec[-1] if spec[-1].isalpha() else ""
    if conversion and conversion not in "".join(_CONVERSIONS):
        raise say.conversion_not_supported(conversion=conversion)
    if dtype is None or not fullmatch(r"[-+ #0]*\d*(\.\d+)?[a-zA-Z]?", spec):
        raise say.format_of_no_number(spec=spec)
    floats, signed, unsigned = _CONVERSIONS
    wanted = floats if dtype.is_float else signed if dtype.is_signed else unsigned
    if dtype.bits == 1:
        wanted = signed + unsigned
    if conversion not in wanted:
        raise say.format_does_not_match(spec=spec, type=dtype)


def pieces_of(t, parts):
    """(value nodes, Builder pieces); each piece contains the text before its value."""
    values, pieces, text = [], [], ""
    builder = t.builder
    for part in parts:
        if part.__class__ is str:
            text += part
            continue
        value, spec = part
        values.append(value.node)
        spec = spec.lstrip("%")
        _check_format(value, spec)
        if spec[-1:] in _FLOAT_SPECS and "." not in spec and value.type.dtype is f64:
            spec = f"{spec[:-1]}.12{spec[-1]}"  # the precision of values without a spec
        pieces.append((text, builder.type_of(value.node), spec))
        text = ""
    if text or not pieces:
        pieces.append((text, 0, ""))
    return values, pieces


def _percent(t, node):
    """The Formatted of an assert's message `"…" % values`; None for other expressions. A print
    takes its values as separate arguments."""
    if node.__class__ is not _ast.BinOp or node.op.__class__ is not _ast.Mod:
        return None
    text = t.visit(node.left)
    if text.__class__ is not str:
        return None
    values = t.visit(node.right)
    items = [t.ctx.value(v) for v in (values if isinstance(values, tuple) else (values,))]
    return from_percent(text, items)


def assert_(t, node):
    # Evaluate the test even without debug mode: functions that it calls may have effects.
    test = t.visit(node.test)
    if node.msg is None:
        from ast import unparse

        parts = [unparse(node.test).strip()]
    else:
        message = _percent(t, node.msg) or t.visit(node.msg)
        if isinstance(message, Formatted):
            parts = message.parts
        elif message.__class__ is str or node.msg.__class__ is _ast.Constant:
            parts = [str(message)]
        else:
            raise say.assert_info_must_constant_or_formatted(kind=kind_of(message))
    # Asserts cost nothing outside of debug mode; their message was checked all the same.
    if not getattr(t.ctx.config, "debug", False):
        return
    t.at(node)
    test = t.ctx.expr(test)
    values, pieces = pieces_of(t, parts)
    t.builder.assert_(test.node, values, pieces)


HANDLERS.update({_ast.Assert: assert_, _ast.JoinedStr: joined_str})
