"""Argument packs: many arguments of a kernel under one name.

    params = ti.types.argpack(dt=ti.f32, gravity=ti.math.vec2, x=ti.types.ndarray(ti.f32, 1))

    @ti.kernel
    def step(p: params):
        for i in p.x:
            p.x[i] += p.dt * p.gravity[1]

    p = params(dt=0.1, gravity=[0, -9.8], x=array)
    step(p)
    p.dt = 0.2

A pack is flattened when a kernel is called: its members are arguments like others.
"""

from . import types as ti_types
from .diagnostics import near, say
from .struct import Struct


class ArgPackType:
    """The type of packs with these members: scalars, vectors, matrices, structs, ndarrays and other
    packs. Calling it makes one, of values in order or by name."""

    _is_argpack = True

    def __init__(self, **members):
        if not members:
            raise say.argpack_without_members()
        self.members = {}
        for name, of in members.items():
            if of is ti_types.NdarrayType:
                of = ti_types.NdarrayType()
            if not isinstance(of, _MEMBER_TYPES) and not hasattr(of, "_member_types"):
                of = ti_types.cook_dtype(of)
            self.members[name] = of
        properties = {name: _property(name) for name in self.members}
        self._class = type("ArgPack", (ArgPack,), {"__slots__": (), **properties})

    def __call__(self, *args, **kwargs):
        names = list(self.members)
        if len(args) > len(names):
            raise say.argpack_too_many_values(count=len(names), got=len(args))
        values = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in self.members:
                raise say.argpack_has_no_member(name=name, hint=near(name, names))
            if name in values:
                raise say.func_multiple_values_for_argument(name=name)
            values[name] = value
        entries = {}
        for name, of in self.members.items():
            if name not in values:
                raise say.argpack_member_missing(name=name, of=_shown(of))
            entries[name] = _member(name, of, values[name])
        return self._class._make(self, entries)

    def cast(self, pack):
        """The pack with its members converted to this type's."""
        return self(**dict(pack.items))

    def __instancecheck__(self, instance):
        if not isinstance(instance, ArgPack):
            return False
        theirs = instance._type.members
        return list(theirs) == list(self.members) and all(
            isinstance(instance[name], of) if isinstance(of, ArgPackType) else theirs[name] == of
            for name, of in self.members.items()
        )

    def __str__(self):
        items = ", ".join(f"{name}={_shown(of)}" for name, of in self.members.items())
        return f"<ti.ArgPackType {items}>"

    __repr__ = to_string = __str__


def _shown(of):
    to_string = getattr(of, "to_string", None)
    return to_string() if to_string is not None else str(of)


def _property(name):
    def get(pack):
        return pack[name]

    def put(pack, value):
        pack[name] = value

    return property(get, put)


class ArgPack:
    """A pack of arguments; its type, of `ti.types.argpack`, makes it. Members are attributes and
    items, and may be given other values.

    args, kwargs: none; TaichiSyntaxError says what to call instead.

        Params = ti.types.argpack(dt=ti.f32, n=ti.i32)
        p = Params(dt=0.5, n=3)
        p.dt = 0.25
        print(p)  # prints: {'dt': 0.25, 'n': 3}
    """

    __slots__ = ("_entries", "_type")

    def __init__(self, *args, **kwargs):
        raise say.argpack_made_without_type()

    @classmethod
    def _make(cls, of, entries):
        pack = object.__new__(cls)
        object.__setattr__(pack, "_type", of)
        object.__setattr__(pack, "_entries", entries)
        return pack

    @property
    def keys(self):
        """The names of the members, in order."""
        return list(self._entries)

    @property
    def items(self):
        """(name, value) of the members, in order."""
        return self._entries.items()

    def __getitem__(self, name):
        return self._entries[name]

    def __setitem__(self, name, value):
        of = self._type.members.get(name)
        if of is None:
            raise say.argpack_has_no_member(name=name, hint=near(name, self._entries))
        self._entries[name] = _member(name, of, value)

    def __setattr__(self, name, value):
        self[name] = value

    def __len__(self):
        return len(self._entries)

    def __iter__(self):
        return iter(self._entries.values())

    def to_dict(self):
        """The pack as a dictionary, packs in it too, matrices as lists."""
        return {name: _plain(value) for name, value in self._entries.items()}

    def __repr__(self):
        return str(self.to_dict())


def _plain(value):
    for method in ("to_dict", "to_list"):
        if hasattr(value, method):
            return getattr(value, method)()
    return value


def _member(name, of, value):
    """The value as a member of that type keeps it."""
    if isinstance(of, ti_types.NdarrayType):
        return value
    if isinstance(of, ArgPackType):
        if not isinstance(value, ArgPack):
            raise say.argpack_member_of_wrong_type(name=name, kind=type(value), needed=of)
        return value
    if isinstance(of, ti_types.MatrixType):
        return of(value)
    if hasattr(of, "_member_types"):
        if not isinstance(value, (Struct, dict)):
            raise say.argpack_member_of_wrong_type(name=name, kind=type(value), needed=of)
        return of(value)
    number = getattr(value, "item", None)  # of NumPy's scalars
    if number is not None and getattr(value, "shape", None) == ():
        value = number()
    if not isinstance(value, (int, float) if of.is_float else int):
        raise say.argpack_member_of_wrong_type(name=name, kind=type(value), needed=of)
    return float(value) if of.is_float else value


_MEMBER_TYPES = (ArgPackType, ti_types.MatrixType, ti_types.NdarrayType)


def argpack(**members):
    """A type of argument packs with these members."""
    return ArgPackType(**members)


__all__ = ["ArgPack"]
