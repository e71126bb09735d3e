"""Types of argument packs."""

from .. import provided
from ..diagnostics import near, say
from .parameter import NdarrayType
from .scalar import cook_dtype
from .tensor import CompoundType


class ArgPackType:
    """A type of argument packs. Calling it makes a pack, from values in order or by name.

    members: the type of each member by its name: scalars, vectors, matrices, structs, ndarrays and
    other packs.
    """

    def __init__(self, **members):
        if not members:
            raise say.argpack_without_members()
        self.members = {}
        for name, of in members.items():
            if of is NdarrayType:
                of = NdarrayType()
            if not isinstance(of, (ArgPackType, CompoundType, NdarrayType)):
                of = cook_dtype(of)
            self.members[name] = of
        self._class = None  # the class of its packs, made with the first pack

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
        for name, of in self.members.items():
            if name not in values:
                raise say.argpack_member_missing(name=name, of=_shown(of))
        return provided.make_argpack(self, values)

    def cast(self, pack):
        """The pack with its members converted to this type's."""
        return self(**dict(pack.items))

    def __instancecheck__(self, instance):
        if not isinstance(instance, provided.ArgPack):
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


def argpack(**members):
    """A type of argument packs: several arguments of a kernel under one name.

    members: the type of each member by its name: scalars, vectors, matrices, structs, ndarrays and
    other packs. Raises TaichiSyntaxError without members.

        Params = ti.types.argpack(dt=ti.f32, steps=ti.i32)

        @ti.kernel
        def k(p: Params) -> ti.f32:
            return p.dt * p.steps

        print(k(Params(dt=0.5, steps=4)))  # prints: 2.0
    """
    return ArgPackType(**members)
