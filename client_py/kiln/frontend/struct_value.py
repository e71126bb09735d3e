"""Struct values of a kernel."""

from ..errors import TaichiRuntimeTypeError
from .expr import Expr


def make(ctx, struct_type, values):
    """A value of `struct_type` from one value per member, in order."""
    nodes = [
        ctx.builder.cast(ctx.node(value), ctx.type_id(of))
        for value, (_, of) in zip(values, struct_type._member_types())
    ]
    return Expr(ctx, ctx.builder.make_struct(ctx.type_id(struct_type), nodes))


def return_struct(ctx, value, of):
    value = ctx.expr(value)
    if value.type.id != ctx.type_id(of):
        raise TaichiRuntimeTypeError.get_ret(str(of), value.type.name)
    return value.node
