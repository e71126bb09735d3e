"""Types of structs: named members with types, and methods."""

from .. import active, originals, provided
from ..diagnostics import near, say
from .scalar import cook_dtype
from .tensor import CompoundType, MatrixType


class StructType(CompoundType):
    """A type of structs, made by `ti.types.struct` and `ti.dataclass`.

    members: the type of each member by its name. Calling the type makes a struct from values in
    order, values by name, or another struct; members without a value are 0.
    """

    def __init__(self, **members):
        self.methods = members.pop("__struct_methods", {})
        self.members = {}
        for name, dtype in members.items():
            if isinstance(dtype, (StructType, MatrixType)):
                self.members[name] = dtype
            else:
                self.members[name] = cook_dtype(dtype)
        self.__name__ = "StructType"
        self._class = None  # (module, qualified name) of the class that `ti.dataclass` took

    def _member_types(self):
        return list(self.members.items())

    def __call__(self, *args, **kwargs):
        """Makes a struct from the members' values, in order or by name; other members are zero. A
        single argument that is a struct or dictionary with these members is copied."""
        if len(args) == 1 and not kwargs:
            whole = provided.entries_of(args[0])
            if whole is not None and not self._is_first_member(whole):
                if not whole.keys() <= self.members.keys():
                    raise say.incompatible_struct_members(owner=self, got=", ".join(whole))
                args, kwargs = (), whole
        if len(args) > len(self.members):
            raise say.too_many_arguments_has_members(owner=self, count=len(self.members))
        for name in kwargs:
            if name not in self.members:
                raise say.struct_has_no_member(name=name, hint=near(name, self.members))
        values = list(args)
        for name in list(self.members)[len(args) :]:
            values.append(kwargs.get(name, 0))
        return self._make(values)

    def _make(self, values):
        pairs = list(zip(self.members.values(), values))
        ctx = active.context()
        if ctx is None:
            members = [python_member(of, value) for of, value in pairs]
            return provided.Struct(dict(zip(self.members, members)), self)
        values = [of.cast(v) if isinstance(of, StructType) else v for of, v in pairs]
        return ctx.struct(self, values)

    def _is_first_member(self, entries):
        """Whether the first member is a struct and `entries` has its members."""
        first = next(iter(self.members.values()), None)
        return isinstance(first, StructType) and entries.keys() == first.members.keys()

    def cast(self, struct):
        """A struct of this type with the values of a struct that has the same members."""
        entries = provided.entries_of(struct)
        if entries is None:
            return self(struct)
        if entries.keys() != self.members.keys():
            raise say.incompatible_struct_members(owner=self, got=", ".join(entries))
        return self._make([entries[name] for name in self.members])

    def field(self, shape=None, **kwargs):
        """A field of such structs.

        shape: the extents; without it the field must be placed below ti.root. kwargs: as for
        `ti.field`.
        """
        return provided.make_struct_field(self, shape=shape, **kwargs)

    def ndarray(self, shape):
        return provided.make_struct_ndarray(self, shape)

    def filled_with_scalar(self, value):
        """A struct whose members are all `value`, including those of nested structs."""
        members = {}
        for name, of in self.members.items():
            members[name] = of.filled_with_scalar(value) if isinstance(of, StructType) else value
        return self(**members)

    def __reduce_ex__(self, protocol):
        # The methods of `ti.dataclass` have pickles only by the name of their type.
        if self._class is not None and _named(*self._class) is self:
            return _named, self._class
        return super().__reduce_ex__(protocol)

    def __eq__(self, other):
        return isinstance(other, StructType) and self._member_types() == other._member_types()

    def __hash__(self):
        return hash(tuple(self._member_types()))

    def __str__(self):
        items = ", ".join(f"{k}={v}" for k, v in self.members.items())
        return f"<ti.StructType {items}>"

    __repr__ = __str__
    to_string = __str__


def _named(module, qualified_name):
    """The type of this name in a module; None if there is none."""
    from importlib import import_module  # slow to import, and few programs make pickles
    from operator import attrgetter

    try:
        return attrgetter(qualified_name)(import_module(module))
    except (AttributeError, ImportError):
        return None


def python_member(of, value):
    """The value that a struct in Python stores for a member of type `of`."""
    if isinstance(of, StructType):
        return of.cast(value)
    return of(value) if isinstance(of, MatrixType) else of.convert(value)


def struct(**members):
    """A type of structs, for annotations and fields. Calling the type makes a struct.

    members: the type of each member by its name: scalar, vector, matrix and struct types. Raises
    ValueError for other objects. `ti.dataclass` makes such a type from a class.

        Ball = ti.types.struct(center=ti.math.vec2, radius=ti.f32)
        print(Ball(radius=2.0).radius)  # prints: 2.0
        balls = Ball.field(shape=8)
    """
    return StructType(**members)


originals.keep(globals())
