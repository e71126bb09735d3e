"""Structs: types with named members, and their values in Python."""

from . import originals
from . import types as _types
from .diagnostics import near, say
from .frontend import active
from .frontend.tensor import Method
from .public import Public


class StructType(_types.CompoundType):
    """The type of structs with these members; `ti.types.struct` and `ti.dataclass` make one.

    members: the type of each member by its name. Calling the type makes a struct, of values in
    order, by name, or of another struct; members without a value are 0.
    """

    def __init__(self, **members):
        self.methods = members.pop("__struct_methods", {})
        self.members = {}
        for name, dtype in members.items():
            if isinstance(dtype, (StructType, _types.MatrixType)):
                self.members[name] = dtype
            else:
                self.members[name] = _types.cook_dtype(dtype)
        self.__name__ = "StructType"

    def _member_types(self):
        return list(self.members.items())

    def __call__(self, *args, **kwargs):
        """A struct of the members' values, in order or by name; the rest is zero. A struct or
        dictionary of such members as the only argument is copied."""
        if len(args) == 1 and not kwargs:
            whole = entries_of(args[0])
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
            members = [_python_member(of, value) for of, value in pairs]
            return Struct(dict(zip(self.members, members)), self)
        from .frontend.struct_value import make

        return make(ctx, self, [of.cast(v) if isinstance(of, StructType) else v for of, v in pairs])

    def _is_first_member(self, entries):
        """Whether the entries are those of the first member, a struct."""
        first = next(iter(self.members.values()), None)
        return isinstance(first, StructType) and entries.keys() == first.members.keys()

    def cast(self, struct):
        """A struct of this type with the values of one that has the same members."""
        entries = entries_of(struct)
        if entries is None:
            return self(struct)
        if entries.keys() != self.members.keys():
            raise say.incompatible_struct_members(owner=self, got=", ".join(entries))
        return self._make([entries[name] for name in self.members])

    def field(self, shape=None, **kwargs):
        """A field of such structs.

        shape: its extents; without it the field has to be placed below ti.root. kwargs: as those of
        `ti.field`.
        """
        from .struct_field import make_struct_field

        return make_struct_field(self, shape=shape, **kwargs)

    def ndarray(self, shape):
        from .ndarray import make_struct_ndarray

        return make_struct_ndarray(self, shape)

    def filled_with_scalar(self, value):
        """A struct all of whose members, those of structs in it too, are `value`."""
        members = {}
        for name, of in self.members.items():
            members[name] = of.filled_with_scalar(value) if isinstance(of, StructType) else value
        return self(**members)

    def __eq__(self, other):
        return isinstance(other, StructType) and self._member_types() == other._member_types()

    def __hash__(self):
        return hash(tuple(self._member_types()))

    def __str__(self):
        items = ", ".join(f"{k}={v}" for k, v in self.members.items())
        return f"<ti.StructType {items}>"

    __repr__ = __str__
    to_string = __str__


def entries_of(value):
    """name -> value of a struct's members, in Python or in a kernel; None of all else."""
    if isinstance(value, dict):
        return value
    if isinstance(value, Struct):
        return dict(value.entries)
    if active.context() is None:
        return None
    from .frontend.struct_value import members

    return members(value)


def _python_member(of, value):
    if isinstance(of, StructType):
        return of.cast(value)
    return of(value) if isinstance(of, _types.MatrixType) else of.convert(value)


class Struct(metaclass=Public):
    """A struct in Python: its members are attributes.

    args: a dictionary of the members, or kwargs: the members by name. Types made by `ti.dataclass`
    and `ti.types.struct` make structs whose members have types.

        s = ti.Struct(a=1, v=ti.Vector([1.0, 2.0]))
        s.a = 3
        print(s.to_dict())  # prints: {'a': 3, 'v': [1.0, 2.0]}
    """

    _is_taichi_class = True
    entries = methods = None  # of each object its own

    def __init__(self, *args, **kwargs):
        struct_type = None
        if len(args) >= 1 and isinstance(args[0], dict):
            entries = dict(args[0])
            struct_type = args[1] if len(args) > 1 else None
        else:
            entries = dict(kwargs)
        methods = entries.pop("__struct_methods", None)
        if struct_type is not None:
            methods = struct_type.methods
        object.__setattr__(self, "_type", struct_type)
        object.__setattr__(self, "methods", methods or {})
        object.__setattr__(self, "entries", entries)

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        entries = object.__getattribute__(self, "entries")
        if name in entries:
            return entries[name]
        methods = object.__getattribute__(self, "methods")
        if name in methods:
            return _bind(methods[name], self)
        raise say.struct_has_no_member(name=name, hint=near(name, self.entries))

    def __setattr__(self, name, value):
        if name not in self.entries:
            raise say.struct_has_no_member(name=name, hint=near(name, self.entries))
        if self._type is not None:
            value = _python_member(self._type.members[name], value)
        self.entries[name] = value

    def __getitem__(self, name):
        return self.entries[name]

    def __setitem__(self, name, value):
        setattr(self, name, value)

    @property
    def keys(self):
        """The names of the members, in order."""
        return list(self.entries)

    @property
    def items(self):
        """(name, value) of the members, in order."""
        return self.entries.items()

    def __dir__(self):
        return [*super().__dir__(), *self.entries, *self.methods]

    def __iter__(self):
        return iter(self.entries.values())

    def __len__(self):
        return len(self.entries)

    def to_dict(self, include_methods=False, include_ndim=False):
        """The members as a dictionary, structs and matrices in it as dictionaries and lists.

        include_methods, include_ndim: accepted, change nothing.
        """
        result = {}
        for name, value in self.entries.items():
            if isinstance(value, Struct):
                value = value.to_dict()
            elif hasattr(value, "to_list"):
                value = value.to_list()
            result[name] = value
        return result

    def _struct_type(self, ctx):
        if self._type is not None:
            return self._type
        members = {}
        for name, value in self.entries.items():
            if isinstance(value, Struct):
                members[name] = value._struct_type(ctx)
                continue
            info = ctx.expr(value).type
            if not info.shape:
                members[name] = info.dtype
            elif len(info.shape) == 1:
                members[name] = _types.VectorType(info.shape[0], info.dtype)
            else:
                members[name] = _types.MatrixType(*info.shape, info.dtype)
        return StructType(**members, __struct_methods=self.methods)

    def _to_kernel(self, ctx):
        from .frontend.struct_value import make

        return make(ctx, self._struct_type(ctx), list(self.entries.values()))

    def __repr__(self):
        return str(self.to_dict())

    @classmethod
    def field(cls, members, methods=None, **kwargs):
        """A field of structs.

        members: the type of each member by its name. methods: functions by their names. kwargs: as
        those of `ti.field`.
        """
        return StructType(**members, __struct_methods=methods or {}).field(**kwargs)


def _bind(method, struct):
    return method.__get__(struct, type(struct)) if hasattr(method, "__get__") else method


def method_of(base, name):
    """A method of a kernel struct's type, bound to the value or address."""
    method = None if base.struct is None else base.struct.methods.get(name)
    if method is None:
        return None
    return bind(method, base)


def bind(method, base):
    """A struct's method with `base`, a kernel value or address, as self."""
    if hasattr(method, "by_reference"):  # @ti.func: inlined
        from .func import BoundFunc

        return BoundFunc(method, base)
    return Method(method, base)


def dataclass(cls):
    """Decorator: makes a struct type of a class, its annotations the members, its functions,
    inherited ones too, the methods.

    cls: the class. Methods that kernels call are decorated with @ti.func. TaichiSyntaxError for a
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
    fields = dict(getattr(cls, "__annotations__", {}))
    methods = {}
    for name in dir(cls):
        attribute = getattr(cls, name)
        if name in fields:
            raise say.default_value_in_dataclass(owner=cls.__name__, name=name)
        if name[:2] != "__" and callable(attribute) and not isinstance(attribute, type):
            methods[name] = attribute
    result = StructType(**fields, __struct_methods=methods)
    result.__name__ = cls.__name__
    return result


__all__ = ["Struct", "dataclass"]

originals.keep(globals())
