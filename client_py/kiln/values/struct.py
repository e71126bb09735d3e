"""Structs in Python, and `ti.dataclass`."""

import sys

from .. import active, originals, provided
from ..diagnostics import near, say
from ..frontend.source import meaning_of
from ..frontend.struct_value import PythonStruct, make
from ..public import Public
from ..types import MatrixType, StructType, VectorType
from ..types.struct_type import python_member

# What a struct has besides members, which hide it.
_HIDDEN_BY_MEMBERS = frozenset(("entries", "field", "items", "keys", "methods", "to_dict"))


class Struct(PythonStruct, metaclass=Public):
    """A struct in Python, whose members are attributes.

    args: a dictionary of the members. kwargs: the members by name. A dictionary as a member becomes
    a struct, a list a vector or matrix. Calling a type made by `ti.dataclass` or `ti.types.struct`
    makes a struct whose members have types.

        s = ti.Struct(a=1, v=ti.Vector([1.0, 2.0]))
        s.a = 3
        print(s.to_dict())  # prints: {'a': 3, 'v': [1.0, 2.0]}
    """

    _is_taichi_class = True
    _methods = None  # each object sets its own

    def __init__(self, *args, **kwargs):
        struct_type = None
        if len(args) >= 1 and isinstance(args[0], dict):
            entries = dict(args[0])
            struct_type = args[1] if len(args) > 1 else None
        elif args:
            raise say.struct_of_other_values()
        else:
            entries = dict(kwargs)
        methods = entries.pop("__struct_methods", None)
        if struct_type is None:
            entries = {name: _member(value) for name, value in entries.items()}
        if struct_type is not None:
            methods = struct_type.methods
        object.__setattr__(self, "_type", struct_type)
        object.__setattr__(self, "_methods", methods or {})
        object.__setattr__(self, "_entries", entries)

    def __getstate__(self):
        state = dict(self.__dict__)
        if self._type is not None:
            del state["_methods"]
        return state

    def __setstate__(self, state):
        # Pickles of earlier builds have these names.
        renamed = {"entries": "_entries", "methods": "_methods"}
        self.__dict__.update({renamed.get(name, name): value for name, value in state.items()})
        if self._type is not None:
            self.__dict__["_methods"] = self._type.methods

    def __getattribute__(self, name):
        if name in _HIDDEN_BY_MEMBERS:
            entries = object.__getattribute__(self, "_entries")
            if name in entries:
                return entries[name]
        return object.__getattribute__(self, name)

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        entries = object.__getattribute__(self, "_entries")
        if name in entries:
            return entries[name]
        methods = object.__getattribute__(self, "_methods")
        if name in methods:
            return _bind(methods[name], self)
        raise say.struct_has_no_member(name=name, hint=near(name, self._entries))

    def __setattr__(self, name, value):
        if name not in self._entries:
            raise say.struct_has_no_member(name=name, hint=near(name, self._entries))
        if self._type is not None:
            value = python_member(self._type.members[name], value)
        self._entries[name] = value

    def __getitem__(self, name):
        return self._entries[name]

    def __setitem__(self, name, value):
        setattr(self, name, value)

    @property
    def entries(self):
        """The members' values by name."""
        return self._entries

    @property
    def methods(self):
        """The functions of the struct's type by name."""
        return self._methods

    @property
    def keys(self):
        """The names of the members, in order."""
        return list(self._entries)

    @property
    def items(self):
        """(name, value) of the members, in order."""
        return self._entries.items()

    def __dir__(self):
        return [*super().__dir__(), *self._entries, *self._methods]

    def __iter__(self):
        return iter(self._entries.values())

    def __len__(self):
        return len(self._entries)

    def to_dict(self, include_methods=False, include_ndim=False):
        """The members as a dictionary. Nested structs become dictionaries, matrices become lists.

        include_methods, include_ndim: accepted without effect.
        """
        result = {}
        for name, value in self._entries.items():
            if isinstance(value, Struct):
                value = Struct.to_dict(value)
            elif hasattr(value, "to_list"):
                value = value.to_list()
            result[name] = value
        return result

    def _struct_type(self, ctx):
        if self._type is not None:
            return self._type
        members = {}
        for name, value in self._entries.items():
            if isinstance(value, Struct):
                members[name] = value._struct_type(ctx)
                continue
            info = ctx.expr(value).type
            if not info.shape:
                members[name] = info.dtype
            elif len(info.shape) == 1:
                members[name] = VectorType(info.shape[0], info.dtype)
            else:
                members[name] = MatrixType(*info.shape, info.dtype)
        return StructType(**members, __struct_methods=self._methods)

    def _to_kernel(self, ctx):
        return make(ctx, self._struct_type(ctx), list(self._entries.values()))

    def __repr__(self):
        return str(Struct.to_dict(self))

    @classmethod
    def field(cls, members, methods=None, **kwargs):
        """A field of structs.

        members: the type of each member by its name. methods: functions by their names. kwargs: as
        for `ti.field`.
        """
        return StructType(**members, __struct_methods=methods or {}).field(**kwargs)


def _member(value):
    """What a struct without a type stores for a member."""
    if isinstance(value, dict):
        return Struct(value)
    # In kernels, a list may hold values that only the kernel's own vectors can take.
    if isinstance(value, (list, tuple)) and active.context() is None:
        return provided.Matrix(value)
    return value


def _bind(method, struct):
    return method.__get__(struct, type(struct)) if hasattr(method, "__get__") else method


def dataclass(cls):
    """Decorator that makes a struct type of a class. Annotations become members; functions,
    including inherited ones, become methods.

    cls: the class. Decorate methods that kernels call with @ti.func. Raises TaichiSyntaxError for a
    member with a default value.

        @ti.dataclass
        class Ball:
            radius: ti.f32

            @ti.func
            def area(self):
                return 4 * ti.math.pi * self.radius**2

        @ti.kernel
        def k() -> ti.f32:
            return Ball(radius=0.5).area()

        print(round(k(), 4))  # prints: 3.1416
    """
    where = sys._getframe(1)
    fields = {
        name: meaning_of(annotation, where.f_globals, where.f_locals)
        for name, annotation in getattr(cls, "__annotations__", {}).items()
    }
    methods = {}
    for name in dir(cls):
        attribute = getattr(cls, name)
        if name in fields:
            raise say.default_value_in_dataclass(owner=cls.__name__, name=name)
        if name[:2] != "__" and callable(attribute) and not isinstance(attribute, type):
            methods[name] = attribute
    result = StructType(**fields, __struct_methods=methods)
    result.__name__ = cls.__name__
    result._class = (cls.__module__, cls.__qualname__)
    return result


__all__ = ["Struct", "dataclass"]

originals.keep(globals())
