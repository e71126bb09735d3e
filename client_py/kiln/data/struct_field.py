"""Fields of structs: one field per member, all placed in the same cells."""

from .. import active, provided
from ..active import python_scope
from ..diagnostics import near, say
from ..public import Public
from ..types import Layout, StructType
from ..values.struct import Struct
from . import making
from .field import AnyField


class StructField(AnyField, metaclass=Public):
    """A field whose elements are structs. `field.member` is the field of one member. Made by
    `ti.Struct.field`.

        Ball = ti.types.struct(center=ti.math.vec2, radius=ti.f32)
        balls = Ball.field(shape=3)
        balls[1] = Ball(radius=2.0)
        balls[1].center = [3, 4]
        print(balls[1].radius, balls.center[1])  # prints: 2.0 [3. 4.]
    """

    element_members = True

    def __init__(self, struct_type, members):
        # Members hide methods of their names. Properties, which they cannot hide, ask for them.
        self.__dict__.update({name: of for name, of in members.items() if name[:1] != "_"})
        self.__dict__["_type"] = struct_type
        self.__dict__["_members"] = members

    @property
    def struct_methods(self):
        return self._members.get("struct_methods", self._type.methods)

    @property
    def keys(self):
        """The names of the members, in order."""
        return list(self._members)

    @property
    def members(self):
        return self._members.get("members", list(self._members.values()))

    @property
    def field_dict(self):
        return dict(self._members)

    def _parts_by_name(self):
        """What modules export of it."""
        return self._members

    def get_member_field(self, key):
        """The field of one member.

        key: its name.
        """
        return self._members[key]

    def __getattr__(self, name):
        members = self.__dict__.get("_members", {})
        if name in members:
            return members[name]
        raise say.struct_field_has_no_member(name=name, hint=near(name, members))

    def __dir__(self):
        return sorted({*super().__dir__(), *self._members})

    def __setattr__(self, name, value):
        """Makes `field.name` mean another field. Elements keep the members that they have."""
        # A property would hide the new field.
        hidden = isinstance(getattr(type(self), name, None), property)
        if name not in self._members or hidden or not isinstance(value, AnyField):
            raise say.members_struct_field_cannot_replaced()
        self.__dict__[name] = value

    @property
    def grad(self):
        """The struct field of the members' gradients; None if no member has one."""
        return self._members["grad"] if "grad" in self._members else self._companion("grad")

    @property
    def dual(self):
        return self._members["dual"] if "dual" in self._members else self._companion("dual")

    def _companion(self, kind):
        members = {name: _companion_of(field, kind) for name, field in self._members.items()}
        members = {name: field for name, field in members.items() if field is not None}
        return StructField(self._type, members) if members else None

    # --- place

    def _is_gone(self):
        """Whether the members' memory ended, as of `Field`."""
        return self._first_leaf()._is_gone()

    def _first_leaf(self):
        first = next(iter(self._members.values()))
        return first._first_leaf() if isinstance(first, StructField) else first

    def _place_in(self, node, offset):
        node.place(*self._members.values(), offset=offset)

    def _param(self, ctx):
        return self._first_leaf()._param(ctx)

    @property
    def num_axes(self):
        return self._first_leaf().num_axes

    @property
    def dtype(self):
        """The scalar type of the first member."""
        return self._first_leaf().dtype

    @property
    def shape(self):
        """The extents of the axes, as a tuple."""
        return self._first_leaf().shape

    @property
    def snode(self):
        """The SNode of the first member."""
        return self._first_leaf().snode

    _snode = snode

    def parent(self, n=1):
        """The SNode `n` levels above the members; None above the root.

        n: the number of levels.
        """
        return self._first_leaf().parent(n)

    # --- elements

    def __getitem__(self, indices):
        return StructView(self, indices)

    def __setitem__(self, indices, value):
        _assign(self, indices, value)

    def fill(self, val):
        """Sets all elements.

        val: a number for all members, or a struct or dictionary with a value for each.
        """
        for name, field in self._members.items():
            _own(field, "fill")(val[name] if isinstance(val, (dict, Struct)) else val)

    @python_scope
    def to_numpy(self):
        """Copies of the members' elements: a dictionary of NumPy arrays by name."""
        return {name: _own(field, "to_numpy")() for name, field in self._members.items()}

    @python_scope
    def from_numpy(self, array_dict):
        """Sets all elements.

        array_dict: a NumPy array for each member, of its field's shape.
        """
        for name, field in self._members.items():
            _own(field, "from_numpy")(array_dict[name])

    @python_scope
    def to_torch(self, device=None):
        """Copies of the members' elements: a dictionary of torch tensors by name.

        device: the device of the tensors, as "cpu".
        """
        return {name: _own(field, "to_torch")(device) for name, field in self._members.items()}

    @python_scope
    def from_torch(self, array_dict):
        """Sets all elements.

        array_dict: a torch tensor for each member, of its field's shape.
        """
        for name, field in self._members.items():
            _own(field, "from_torch")(array_dict[name])

    @python_scope
    def to_paddle(self, place=None):
        """Not supported: Kiln has no part for Paddle."""
        raise say.name_not_supported(name="Field.to_paddle")

    @python_scope
    def from_paddle(self, array_dict):
        """Not supported: Kiln has no part for Paddle."""
        raise say.name_not_supported(name="Field.from_paddle")

    @python_scope
    def copy_from(self, other):
        """Copies all elements of another struct field.

        other: a struct field with the same members and shape; raises TypeError for other objects.
        """
        if not isinstance(other, StructField):
            raise say.cannot_copy_from_non_field_object()
        for name, field in self._members.items():
            _own(field, "copy_from")(other._members[name])

    def __repr__(self):
        return f"<{len(self._members)}-member ti.Struct.field>"


def _own(field, name):
    """The field's method, which a member may hide."""
    return getattr(type(field), name).__get__(field)


def _companion_of(field, kind):
    return field._companion(kind) if isinstance(field, StructField) else getattr(field, kind)


class StructView(Struct):
    """An element of a struct field, whose members are read and written in place. Kernels take it
    as a constant, as it is when they are compiled."""

    def __init__(self, field, indices):
        object.__setattr__(self, "_field", field)
        object.__setattr__(self, "_indices", indices)
        object.__setattr__(self, "_type", field._type)
        object.__setattr__(self, "_methods", field._type.methods)

    def __copy__(self):
        return self

    def __reduce__(self):
        # Deep copies and pickles have the numbers of now.
        return Struct, (self._entries, self._type)

    @property
    def _entries(self):
        return {name: self._read(field) for name, field in self._field._members.items()}

    def _read(self, field):
        """The value of a member, whose field is given."""
        if active.context() is None or isinstance(field, StructField):
            return field[self._indices]
        numbers, shape = field._read_all(self._indices), field.element_shape
        if not shape:
            return numbers[0]
        if len(shape) == 1:
            return provided.Vector(numbers)
        rows = range(0, len(numbers), shape[1])
        return provided.Matrix([numbers[first : first + shape[1]] for first in rows])

    def __getattr__(self, name):
        field = self._field._members.get(name)
        return super().__getattr__(name) if field is None else self._read(field)

    def __setattr__(self, name, value):
        if name not in self._field._members:
            raise say.struct_has_no_member(name=name, hint=near(name, self._field._members))
        self._field._members[name][self._indices] = value


def _assign(field, indices, value):
    if isinstance(value, Struct):
        value = dict(value._entries)
    if isinstance(value, (list, tuple)):
        value = dict(zip(field._members, value))
    for name, member in field._members.items():
        member[indices] = value[name] if isinstance(value, dict) else value


def leaves(field):
    """The fields of numbers and matrices that a field consists of, in order."""
    if not isinstance(field, StructField):
        return [field]
    return [leaf for member in field._members.values() for leaf in leaves(member)]


@python_scope
def make_struct_field(
    struct_type,
    shape=None,
    order=None,
    name="",
    offset=None,
    needs_grad=False,
    needs_dual=False,
    layout=None,
):
    """Makes a field of `struct_type`. Without a shape it must be placed below ti.root."""
    made = _members_of(struct_type, name)
    for leaf in leaves(made):
        making.check_dtype(leaf.dtype, needs_grad or needs_dual)
    if shape is None or layout is not Layout.SOA:
        making.place(
            making.Together(leaves(made)), shape, order, offset, needs_grad, needs_dual, Layout.AOS
        )
    else:
        for leaf in leaves(made):
            making.place(leaf, shape, order, offset, needs_grad, needs_dual, layout)
    return made


def _members_of(struct_type, name):
    members = {}
    for member, of in struct_type._member_types():
        full = f"{name}.{member}" if name else member
        if isinstance(of, StructType):
            members[member] = _members_of(of, full)
        else:
            members[member] = making.unplaced(of, full)
    return StructField(struct_type, members)
