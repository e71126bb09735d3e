"""Struct values of a kernel."""

from ..diagnostics import say
from .expr import Expr, Ref


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
        raise say.result_not_convertible(needed=of, got=value.type.name)
    return value.node


class StructRef:
    """An element of a struct field: a Ref per member, made when it is named."""

    __slots__ = ("ctx", "field", "nodes")

    def __init__(self, ctx, field, nodes):
        self.ctx = ctx
        self.field = field
        self.nodes = nodes  # the indices

    def member(self, name):
        """The member's Ref (StructRef if it is a struct), or None."""
        found = self.field._members.get(name)
        if found is None:
            return None
        ctx = self.ctx
        if hasattr(found, "_members"):
            return StructRef(ctx, found, self.nodes)
        return Ref(ctx, ctx.builder.global_(ctx.param_of(found), self.nodes), Ref.GLOBAL)

    def __getattr__(self, name):
        found = self.member(name)
        if found is None:
            method = self.field._type.methods.get(name)
            if method is None:
                raise say.struct_has_no_member(name=name)
            from ..struct import bind

            found = bind(method, self)
        return found

    def _to_kernel(self, ctx):
        """The struct's value: all members loaded."""
        struct_type = self.field._type
        value = make(ctx, struct_type, [self.member(name) for name in self.field._members])
        ctx.struct_types[value.type.id] = struct_type
        return value

    def assign(self, value):
        """Stores every member of a struct value, Python struct or dict."""
        ctx = self.ctx
        if isinstance(value, Expr):
            names = [name for name, _ in value.type.members]
            builder = ctx.builder
            value = {n: Expr(ctx, builder.get_member(value.node, i)) for i, n in enumerate(names)}
        elif hasattr(value, "entries"):
            value = value.entries
        if not isinstance(value, dict) or set(value) != set(self.field._members):
            shown = f"a struct of {', '.join(value)}" if isinstance(value, dict) else repr(value)
            raise say.value_cannot_be_assigned_to_struct(value=shown, type=self.field._type)
        for name, item in value.items():
            member = self.member(name)
            if member.__class__ is StructRef:
                member.assign(item)
            else:
                ctx.builder.store(member.node, ctx.node(item))
