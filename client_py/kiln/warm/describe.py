"""Describes values so that two processes can compare them.

A description consists of tuples, str, bytes and int, and contains the exact type of the value: 1,
True and 1.0 differ, 0.0 and -0.0 differ, a NaN equals itself. Objects with an identity (modules,
classes, instances, fields, functions) get a number when they are first met; later occurrences are
described by that number. So equal descriptions also share objects in the same way. A value of any
other kind is refused, because no description of it would be valid in another process.

The same code describes values while the front end records (`frontend/trace.py`) and while a record
is checked (`records.py`). A record is valid if every read still gives the recorded description.
"""

import sys
from _struct import pack
from types import (
    BuiltinFunctionType,
    FunctionType,
    GenericAlias,
    MethodType,
    ModuleType,
)

from .. import _native
from .. import types as ti_types
from ..arch import Arch
from ..data.field import Field, ScalarField
from ..data.matrix_field import ComponentField, MatrixField
from ..data.snode import SNode
from ..frontend.source import EMPTY, MISSING, FunctionSource
from ..func import BoundFunc, Func
from ..handlers import raised_by_handler
from ..kernel import Kernel
from ..own_files import is_own
from ..settings import Config
from ..static import NDRange

PACKAGE = __name__.partition(".")[0]

_MANY = 20000  # values in one description
_DEEP = 50  # containers in containers
_LARGE = 1 << 20  # bytes of one array
_HEAP_TYPE = 1 << 9
# Attributes that a class may define without affecting reads of its objects' attributes or their
# truth values. frontend/trace.py checks `==`, `in` and formatting where they occur.
_HARMLESS = frozenset(
    "__module__ __qualname__ __doc__ __dict__ __weakref__ __annotations__ __slots__ __init__ "
    "__new__ __post_init__ __init_subclass__ __del__ __eq__ __ne__ __hash__ __repr__ __str__ "
    "__format__ __call__ __enter__ __exit__ __copy__ __deepcopy__ __getstate__ __setstate__ "
    "__reduce__ __reduce_ex__ __setattr__ __delattr__ __match_args__ __dataclass_fields__ "
    "__dataclass_params__ __orig_bases__ __parameters__ __abstractmethods__ __class_getitem__ "
    "__firstlineno__ __static_attributes__ __replace__ __sizeof__ __dir__ __getnewargs__ "
    "__contains__ __type_params__ __set_name__ __annotate__ __annotate_func__ "
    "__annotations_cache__".split()
)


class Refused(Exception):
    """A value has no description that would be valid in another process."""


class Describer:
    """Describes values. `objects` are the objects that it met, in order of their numbers."""

    def __init__(self):
        self.objects = []
        self.containers = {}  # id -> list or dict that was described in full
        self._numbers = {}  # id -> number
        self._count = 0
        self._depth = 0

    def start(self, source):
        """Begins with `source`, the kernel's, as object 0."""
        self._meet(source)

    def number(self, thing):
        """The number of an object that was met before, otherwise None."""
        return self._numbers.get(id(thing))

    def __call__(self, value):
        # By the exact class: a subclass may behave in another way.
        describe = _TABLE.get(value.__class__)
        if describe is not None:
            return describe(self, value)
        return self._other(value)

    def _meet(self, thing):
        """Returns the description of an object that was met before; otherwise numbers it and
        returns None."""
        known = self._numbers.get(id(thing))
        if known is not None:
            return ("=", known)
        self._numbers[id(thing)] = len(self.objects)
        # Kept alive: `id` of a dead object may be that of another one.
        self.objects.append(thing)
        return None

    def items(self, values):
        self._count += len(values)
        # Comparing them at each start would cost more than the front end.
        if self._count > _MANY or self._depth > _DEEP:
            raise Refused("more values than are worth comparing")
        self._depth += 1
        found = tuple([self(v) for v in values])
        self._depth -= 1
        return found

    def _other(self, value):
        kind = value.__class__
        if isinstance(value, type):
            return self._class(value)
        if issubclass(kind, ModuleType):
            return self._meet(value) or ("module", value.__name__)
        module = kind.__module__
        if module == "numpy":
            return _numpy(value)
        if module == PACKAGE or module.startswith(f"{PACKAGE}."):
            return self._own(value, module)
        if kind.__class__.__module__ == "enum":
            if not is_plain(kind, _ENUM_END, _NAMEDTUPLE):
                raise Refused(f"an object of type {kind.__qualname__}")
            parts = self.items((value._value_, *_base_value(value)))
            return ("member", kind.__qualname__, value._name_, parts)
        if module == "typing" and hasattr(value, "__origin__"):
            return ("typing", self(value.__origin__), self.items(value.__args__))
        if is_named_tuple(kind):
            return ("named", kind.__qualname__, self(kind._fields), self.items(value))
        if is_plain(kind):
            return self._meet(value) or ("object", kind.__qualname__)
        if is_model(kind):
            return ("model", kind.__qualname__, self(fields_of_model(value)))
        raise Refused(f"an object of type {kind.__qualname__}")

    def _class(self, value):
        # Types of C are the same in every process of this Python; its version is part of the
        # records' name.
        if not value.__flags__ & _HEAP_TYPE:
            return ("type", value.__module__, value.__qualname__)
        module = value.__module__
        if module == PACKAGE or module.startswith(f"{PACKAGE}."):
            return _own_name(value)
        # A metaclass of the program may run code at each access of the class.
        if value.__class__ is type or value.__class__.__module__ in ("enum", "abc"):
            return self._meet(value) or ("class", value.__qualname__)
        raise Refused(f"the class {value.__qualname__}, which has a metaclass")

    def _own(self, value, module):
        """Describes Kiln's own objects that are not in the table by their attributes."""
        kind = value.__class__
        if hasattr(kind, "_described"):
            known = self._meet(value) if hasattr(kind, "_is_numbered") else None
            if known is not None:
                return known
            parts = value._described()
            return (kind.__qualname__, *[self(part) for part in parts])
        raise Refused(f"a {kind.__qualname__}")

    def _function(self, value):
        code = value.__code__
        if value.__module__ and value.__module__.partition(".")[0] == PACKAGE:
            # Only Kiln's own function, not a replacement by the program.
            if is_own(code.co_filename):
                return _own_name(value)
        return self._meet(value) or ("function", value.__qualname__)

    def _builtin(self, value):
        owner = value.__self__
        # A bound method of C depends on its object, which is not described.
        if owner is None or owner.__class__ is ModuleType:
            return ("builtin", value.__module__, value.__qualname__)
        raise Refused("a method of an object")

    def _func(self, value):
        source = value.source
        known = self._numbers.get(id(source))
        if known is not None:
            return ("=", known)
        self._meet(source)
        return ("func", value.is_pyfunc, value.is_real, value.in_class, self.source(source))

    def _bound_func(self, value):
        return ("bound", self(value.func), self(value.instance))

    def _kernel(self, value):
        return self._meet(value.source) or ("kernel",)

    def source(self, source):
        """Describes a function's text, annotations and defaults, without numbering it."""
        fingerprint = source.fingerprint
        if fingerprint is None:
            raise Refused(f"the source of {source.name} cannot be read")
        parameters = [(p.name, self(p.annotation), self(p.default)) for p in source.parameters]
        return (fingerprint, tuple(parameters), self(source.returns))

    def _field(self, value):
        known = self._meet(value)
        if known is not None:
            return known
        storage = value._storage
        if storage is None or not storage.alive:
            if any(place is None for place in value._places):
                return ("unplaced", value.dtype.name, value.element_shape)
            try:
                # A field's layout, and so its kernels, are known only once it has memory.
                value._materialize()
            except Exception as error:
                if raised_by_handler(error):
                    raise
                raise Refused(f"a field that cannot be used: {error}") from None
        if value._parts:
            numbers = tuple([tuple(numbers) for _, numbers in value._parts])
            layout = (numbers, self.items([part for part, _ in value._parts]))
        else:
            layout = _layout(storage or value._storage)
        return (
            "field",
            value.__class__.__name__,
            *layout,
            value.dtype.name,
            value.element_shape,
        )

    def _snode(self, value):
        known = self._meet(value)
        if known is not None:
            return known
        path = [(node._kind.number, node._levels, node._chunk_size) for node in value._path()]
        return ("snode", tuple(path))

    def _struct_field(self, value):
        known = self._meet(value)
        if known is not None:
            return known
        members = value._members
        return ("fields", tuple(members), self.items(list(members.values())), self(value._type))

    def _struct_type(self, value):
        known = self._meet(value)
        if known is not None:
            return known
        members = value._member_types()
        return (
            "struct type",
            value.__name__,
            tuple([(name, self(of)) for name, of in members]),
            tuple([(name, self(method)) for name, method in value.methods.items()]),
        )

    def _argpack_type(self, value):
        known = self._meet(value)
        if known is not None:
            return known
        return ("argpack type", tuple(value.members), self.items(list(value.members.values())))

    def _matrix(self, value):
        return ("matrix", value.__class__.__name__, _numpy(value._entries))

    def _struct(self, value):
        entries, methods = value._entries, value._methods
        parts = self.items((*entries.values(), *methods.values()))
        return ("struct", tuple(entries), tuple(methods), parts, self(value._type))

    def _list(self, value):
        self.containers[id(value)] = value
        return ("list", self.items(value))

    def _dict(self, value):
        self.containers[id(value)] = value
        keys = self.items([_plain_key(key) for key in value])
        return ("dict", keys, self.items(list(value.values())))


def _layout(storage):
    """Describes the layout of one field, without the rest of its trees. records.py describes the
    trees for all fields of a kernel together."""
    if not storage.trees:
        return (storage.descriptor,)
    return (storage.shape, _native.digest_of_trees([storage]))


def _own_name(value):
    """Describes a function or class of Kiln's by its name in its module."""
    found = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
        # The class's dictionary holds the wrapper, and attributes give the function.
        if found.__class__ in (staticmethod, classmethod):
            found = found.__func__
    # The program replaced it, or it is a local function.
    if found is not value:
        raise Refused(f"{value.__qualname__}, which its module does not have")
    return ("own", value.__module__, value.__qualname__)


_ENUM_END = "enum"


def is_plain(kind, base=object, others=frozenset()):
    """Whether the classes from `kind` up to `base` define no methods that run implicitly. `others`
    are names that Python's or a library's own machinery gives such classes."""
    for one in kind.__mro__:
        if one is base or one.__module__ == base:
            return True
        if not one.__flags__ & _HEAP_TYPE:
            return False
        if one.__module__.partition(".")[0] == PACKAGE:
            return False
        for name in one.__dict__:
            if name[:2] == "__" and name not in _HARMLESS and name[-2:] == "__":
                # Names such as __my__repr__ are the program's own: Python has none with another
                # "__" in it.
                if name not in others and "__" not in name[2:-2]:
                    return False
    return False


def is_named_tuple(kind):
    """Whether the class is a named tuple whose objects are what their elements are."""
    return (
        issubclass(kind, tuple) and hasattr(kind, "_fields") and is_plain(kind, tuple, _NAMEDTUPLE)
    )


def is_model(kind):
    """Whether the class is a model of Pydantic (1 or 2) whose objects are what their fields are.

    Its objects are described by all their fields, because `__iter__` and `__getattr__` of Pydantic
    read fields where a trace does not see it.
    """
    base = next((one for one in kind.__mro__ if one.__module__ == "pydantic.main"), None)
    if base is None or base.__qualname__ != "BaseModel":
        return False
    return is_plain(kind, base, _MODEL)


def fields_of_model(model):
    """The fields of an object of Pydantic's, by name."""
    return {**model.__dict__, **(getattr(model, "__pydantic_extra__", None) or {})}


_NAMEDTUPLE = frozenset(("__getnewargs__", "__orig_bases__", "__mul__", "__rmul__"))
# What Pydantic computes for each class; none of it reads or changes an object.
_MODEL = frozenset(
    "__class_vars__ __private_attributes__ __signature__ __pydantic_complete__ "
    "__pydantic_computed_fields__ __pydantic_core_schema__ __pydantic_custom_init__ "
    "__pydantic_decorators__ __pydantic_extra_info__ __pydantic_fields__ "
    "__pydantic_fields_complete__ __pydantic_generic_metadata__ __pydantic_parent_namespace__ "
    "__pydantic_post_init__ __pydantic_root_model__ __pydantic_serializer__ "
    "__pydantic_setattr_handlers__ __pydantic_validator__ "
    "__config__ __fields__ __exclude_fields__ __include_fields__ __validators__ "
    "__pre_root_validators__ __post_root_validators__ __schema_cache__ __json_encoder__ "
    "__custom_root_type__".split()
)


def _base_value(member):
    """The number or text of an Enum member that is also an int, float or str."""
    for base, plain in ((int, int.__int__), (float, float.__float__), (str, str.__str__)):
        if isinstance(member, base):
            return (plain(member),)
    return ()


def _plain_key(key):
    kind = key.__class__
    if kind in (str, int, bool, float, type(None), ti_types.DType):
        return key
    if kind is tuple:
        return tuple([_plain_key(k) for k in key])
    if kind.__class__.__module__ == "enum":
        return key
    raise Refused(f"a dict with a {kind.__qualname__} as key")


def _numpy(value):
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.generic):
        if value.dtype.hasobject:
            raise Refused("a NumPy object")
        return ("number", _numpy_type(value.dtype), value.tobytes())
    if value.__class__ is numpy.ndarray:
        if value.dtype.hasobject or value.nbytes > _LARGE:
            raise Refused("an array that is not worth comparing")
        data = value.tobytes()
        # A digest instead of the contents keeps records small.
        if len(data) > 64:
            data = _native.sha256(data)
        # Whether it is contiguous and writable decides how a kernel takes it.
        form = (value.shape, value.strides, value.flags.num)
        return ("array", _numpy_type(value.dtype), form, data)
    if isinstance(value, numpy.dtype):
        return ("dtype", _numpy_type(value))
    if value.__class__ is numpy.ufunc:
        return ("ufunc", value.__name__)
    raise Refused(f"a numpy.{value.__class__.__name__}")


def _numpy_type(dtype):
    """Describes a dtype, including the types, offsets and titles of its members."""
    if dtype.metadata is not None:
        raise Refused("a NumPy type with metadata")
    if dtype.subdtype is not None:
        return ("elements", _numpy_type(dtype.subdtype[0]), dtype.shape)
    if dtype.names is None:
        return dtype.str
    members = []
    for name in dtype.names:
        of, offset, *title = dtype.fields[name]
        members.append((name, _numpy_type(of), offset, *map(str, title)))
    return ("members", dtype.itemsize, dtype.isalignedstruct, tuple(members))


def _refuse_method(describe, value):
    raise Refused("a method of an object")


def _matrix_type(describe, value):
    return (value.__class__.__name__, value.n, value.m, describe(value._dtype))


def _attributes(describe, value):
    """Describes one of Kiln's annotations by all its attributes."""
    entries = value.__dict__
    return (value.__class__.__name__, tuple(entries), describe.items(list(entries.values())))


def _config(describe, value):
    return describe._meet(value) or ("config",)


_TABLE = {
    type(None): lambda d, v: ("None",),
    type(MISSING): lambda d, v: ("missing",),
    EMPTY.__class__: lambda d, v: ("empty",),
    type(...): lambda d, v: ("...",),
    bool: lambda d, v: ("bool", int(v)),
    int: lambda d, v: ("int", v),
    float: lambda d, v: ("float", pack("<d", v)),
    complex: lambda d, v: ("complex", pack("<dd", v.real, v.imag)),
    str: lambda d, v: ("str", v),
    bytes: lambda d, v: ("bytes", v),
    tuple: lambda d, v: ("tuple", d.items(v)),
    list: Describer._list,
    dict: Describer._dict,
    range: lambda d, v: ("range", d.items((v.start, v.stop, v.step))),
    slice: lambda d, v: ("slice", d.items((v.start, v.stop, v.step))),
    GenericAlias: lambda d, v: ("generic", d(v.__origin__), d.items(v.__args__)),
    ModuleType: lambda d, v: d._meet(v) or ("module", v.__name__),
    FunctionType: Describer._function,
    BuiltinFunctionType: Describer._builtin,
    MethodType: _refuse_method,
    Func: Describer._func,
    BoundFunc: Describer._bound_func,
    Kernel: Describer._kernel,
    ScalarField: Describer._field,
    MatrixField: Describer._field,
    ComponentField: Describer._field,
    SNode: Describer._snode,
    Arch: lambda d, v: ("arch", v.name),
    Config: _config,
    ti_types.DType: lambda d, v: ("dtype", v.name),
    ti_types.MatrixType: _matrix_type,
    ti_types.VectorType: _matrix_type,
    ti_types.template: _attributes,
    ti_types.NdarrayType: _attributes,
    ti_types.TextureType: _attributes,
    ti_types.RWTextureType: _attributes,
    ti_types.RefType: _attributes,
    ti_types.sparse_matrix_builder: _attributes,
    ti_types.StructType: Describer._struct_type,
    ti_types.ArgPackType: Describer._argpack_type,
    NDRange: lambda d, v: ("ndrange", d.items(v.bounds)),
}


def _add_types(names):
    """Adds types to the table whose modules are imported; a warm start may not need the others."""
    for module, name, describe in names:
        # If another thread is importing the module, the next call adds its types.
        found = getattr(sys.modules.get(f"{PACKAGE}.{module}"), name, None)
        if found is not None:
            _TABLE[found] = describe


def add_imported_types():
    """Adds the types of modules that were imported since the last call."""
    _add_types(
        (
            ("values.matrix", "Matrix", Describer._matrix),
            ("values.matrix", "Vector", Describer._matrix),
            ("values.struct", "Struct", Describer._struct),
            ("data.struct_field", "StructField", Describer._struct_field),
        )
    )


__all__ = [
    "MISSING",
    "Describer",
    "Field",
    "FunctionSource",
    "Refused",
    "add_imported_types",
    "fields_of_model",
    "is_model",
    "is_named_tuple",
    "is_plain",
]
