"""Struct values in kernels."""

from .. import active
from ..data.field import Field
from ..diagnostics import near, say
from ..types import StructType
from .expr import Convertible, Expr, Ref
from .methods import bind


class PythonStruct(Convertible):
    """Base class of Python's structs; `_entries` has the value of each member by name."""

    _entries = None  # each object sets its own


def make(ctx, struct_type, values):
    """A value of `struct_type` from one value per member, in order."""
    nodes = [
        ctx.builder.cast(ctx.node(value), ctx.type_id(of))
        for value, (_, of) in zip(values, struct_type._member_types())
    ]
    node = ctx.builder.make_struct(ctx.type_id(struct_type), nodes)
    return Expr(ctx, node, None, struct_type)


def member(value, position):
    """Member number `position` of a struct: its value, or its address if `value` is an address."""
    ctx, struct = value.ctx, None
    # The Python type goes along to nested members: it has the methods that the kernel's type lacks.
    if value.struct is not None:
        struct = value.struct._member_types()[position][1]
        struct = struct if isinstance(struct, StructType) else None
    if value.__class__ is Ref:
        node = ctx.builder.member_address(value.node, position)
        return Ref(ctx, node, value.level, struct)
    return Expr(ctx, ctx.builder.get_member(value.node, position), None, struct)


def members(value):
    """name -> member of a struct value, address or element of a struct field; None for other
    objects."""
    if value.__class__ is StructRef:
        return {name: value._member(name) for name in value._field._members}
    if not isinstance(value, Expr):
        return None
    found = value.type.members
    return {name: member(value, i) for i, (name, _) in enumerate(found)} if found else None


def named_member(value, name):
    """`value[name]`: a member of a struct value, address or element of a struct field."""
    is_ref = value.__class__ is StructRef
    names = list(value._field._members) if is_ref else [own for own, _ in value.type.members]
    if not isinstance(name, str) or name not in names:
        shown = f"a value of type {name.type.name}" if isinstance(name, Expr) else repr(name)
        hint = near(name, names) if isinstance(name, str) else ""
        raise say.struct_subscript_is_no_member(
            index=shown, names=", ".join(map(repr, names)), hint=hint
        )
    return value._member(name) if is_ref else member(value, names.index(name))


def entries_of(value):
    """name -> value of a struct's members, in Python or in a kernel; None for other objects."""
    if isinstance(value, dict):
        return value
    if isinstance(value, PythonStruct):
        return dict(value._entries)
    # Outside of a kernel no object can be a kernel's value, and the question is asked of every
    # object.
    return None if active.context() is None else members(value)


def common_type(*values):
    """The struct type that all of `values` have; None if they differ."""
    # Identity, as two struct types with equal members may have different methods.
    first = getattr(values[0], "struct", None) if isinstance(values[0], Expr) else None
    if all(isinstance(v, Expr) and v.struct is first for v in values):
        return first
    return None


def return_struct(ctx, value, of):
    value = ctx.expr(value)
    # Other structs are refused, even if their members could be converted.
    if value.type.id != ctx.type_id(of):
        raise say.result_not_convertible(needed=of, got=value.type.name)
    return value.node


class StructRef(Convertible):
    """An element of a struct field. Its members become Refs when they are read."""

    # No names that members may have.
    __slots__ = ("_ctx", "_field", "_nodes")

    def __init__(self, ctx, field, nodes):
        self._ctx = ctx
        self._field = field
        self._nodes = nodes  # the indices

    def _member(self, name):
        """The member's Ref (StructRef if it is a struct), or None."""
        found = self._field._members.get(name)
        if found is None:
            return None
        ctx = self._ctx
        # A nested struct has no memory of its own, only its members have.
        if not isinstance(found, Field):
            return StructRef(ctx, found, self._nodes)
        return Ref(ctx, ctx.builder.global_(ctx.param_of(found), self._nodes), Ref.GLOBAL)

    def __getattr__(self, name):
        found = self._member(name)
        if found is None:
            method = self._field._type.methods.get(name)
            if method is None:
                members = self._field._type.members
                if name == "keys":
                    return list(members)
                raise say.struct_has_no_member(name=name, hint=near(name, members))
            found = bind(method, self)
        return found

    def __getitem__(self, name):
        return named_member(self, name)

    def _to_kernel(self, ctx):
        """The struct's value, with all members loaded."""
        return make(ctx, self._field._type, [self._member(name) for name in self._field._members])

    def _assign(self, value):
        """Stores every member of a struct value, Python struct or dict."""
        ctx = self._ctx
        entries = entries_of(value)
        # A missing member would silently keep its old value.
        if entries is None or set(entries) != set(self._field._members):
            shown = repr(value) if entries is None else f"a struct of {', '.join(entries)}"
            raise say.value_cannot_be_assigned_to_struct(value=shown, type=self._field._type)
        for name, item in entries.items():
            place = self._member(name)
            if place.__class__ is StructRef:
                place._assign(item)
            else:
                ctx.builder.store(place.node, ctx.node(item))
