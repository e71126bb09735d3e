"""Argument packs: many arguments of a kernel under one name.

    params = ti.types.argpack(dt=ti.f32, gravity=ti.math.vec2, x=ti.types.ndarray(ti.f32, 1))

    @ti.kernel
    def step(p: params):
        for i in p.x:
            p.x[i] += p.dt * p.gravity[1]

    p = params(dt=0.1, gravity=[0, -9.8], x=array)
    step(p)
    p.dt = 0.2

A call of a kernel flattens its packs: the members become ordinary arguments.
"""

from .. import types as ti_types
from ..diagnostics import near, say
from .struct import Struct


def _property(name):
    def get(pack):
        return pack[name]

    def put(pack, value):
        pack[name] = value

    return property(get, put)


class ArgPack:
    """A pack of arguments, made by calling a type of `ti.types.argpack`. Its members are attributes
    and items; programs may assign to them.

    args, kwargs: raise TaichiSyntaxError: programs call the pack's type instead.

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
        """The pack as a dictionary. Nested packs become dictionaries, matrices become lists."""
        return {name: _plain(value) for name, value in self._entries.items()}

    def __repr__(self):
        return str(self.to_dict())


def _plain(value):
    for method in ("to_dict", "to_list"):
        if hasattr(value, method):
            return getattr(value, method)()
    return value


def _member(name, of, value):
    """The value that a member of type `of` stores."""
    if isinstance(of, ti_types.BY_REFERENCE):
        return value
    if isinstance(of, ti_types.ArgPackType):
        if not isinstance(value, ArgPack):
            raise say.argpack_member_of_wrong_type(name=name, kind=type(value), needed=of)
        return value
    if isinstance(of, ti_types.MatrixType):
        return of(value)
    if isinstance(of, ti_types.StructType):
        if not isinstance(value, (Struct, dict)):
            raise say.argpack_member_of_wrong_type(name=name, kind=type(value), needed=of)
        return of(value)
    number = getattr(value, "item", None)  # NumPy's scalars have it
    if number is not None and getattr(value, "shape", None) == ():
        value = number()
    if not isinstance(value, (int, float) if of.is_float else int):
        raise say.argpack_member_of_wrong_type(name=name, kind=type(value), needed=of)
    return float(value) if of.is_float else value


def make_argpack(of, values):
    """A pack of the ArgPackType `of`. values: the value of each member by name."""
    if of._class is None:
        properties = {name: _property(name) for name in of.members}
        of._class = type("ArgPack", (ArgPack,), {"__slots__": (), **properties})
    entries = {name: _member(name, kind, values[name]) for name, kind in of.members.items()}
    return of._class._make(of, entries)


__all__ = ["ArgPack"]
