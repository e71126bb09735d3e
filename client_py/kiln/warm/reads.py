"""Reads names and attributes without running a program's code.

Each read returns the same result as Python's own, or refuses. It refuses if `__getattr__` or a
descriptor of the program would run. Properties are an exception, with functions of their own: the
front end calls them, and so does a check of a record. Their results alone count, which may depend
on anything.
"""

import builtins
from types import (
    FunctionType,
    MemberDescriptorType,
    ModuleType,
)

from ..data.field import AnyField
from ..data.snode import SNode
from ..func import BoundFunc, Func
from ..kernel import Kernel
from ..settings import Config
from .describe import MISSING, PACKAGE, Field, Refused, is_plain

# Kinds of reads; records contain these numbers.
SOURCE, PARAMETER, NAME, ATTRIBUTE, INSTANCE_OF, PROPERTY = range(6)

# Attributes of Kiln's objects that kernels read and that descriptions do not cover.
_FIELD = frozenset("shape dtype n m ndim element_shape grad dual _marks snode".split())
_NO_ATTRIBUTE = object()


def name(fn, ident):
    """The value of a name that the function `fn` does not bind; MISSING if undefined."""
    code = fn.__code__
    if ident in code.co_freevars:
        try:
            return fn.__closure__[code.co_freevars.index(ident)].cell_contents
        except ValueError:
            return MISSING
    scope = fn.__globals__
    if ident in scope:
        return scope[ident]
    return builtins.__dict__.get(ident, MISSING)


def attribute(base, ident):
    """`base.ident`; MISSING if there is no such attribute."""
    kind = base.__class__
    if issubclass(kind, ModuleType):
        return _of_module(base, ident)
    if ident[:7] == "parent:" and isinstance(base, (AnyField, SNode)):
        return base.parent(int(ident[7:]))
    if kind is SNode:
        return _of_snode(base, ident)
    if isinstance(base, type):
        return _of_class(base, ident)
    if isinstance(base, Field):
        if ident not in _FIELD:
            raise Refused(f"'{ident}' of a field")
        return getattr(base, ident, MISSING)
    if kind is Config:
        return base.__dict__.get(ident, MISSING) if ident != "default_up" else base.default_up
    if isinstance(base, AnyField):
        return _of_struct_field(base, ident)
    if hasattr(kind, "_recorded") and kind.__module__.startswith(f"{PACKAGE}."):
        return base._recorded(ident)
    if not is_plain(kind):
        raise Refused(f"an object of type {kind.__qualname__}")
    return _of_object(base, kind, ident)


def is_property(base, ident):
    """Whether `base.ident` calls a property of the program's class."""
    kind = base.__class__
    return _in_classes(kind, ident).__class__ is property and is_plain(kind)


def of_property(base, ident):
    """`base.ident`, which calls a property of the program."""
    if not is_property(base, ident):
        raise Refused(f"'{ident}', which is no property any more")
    return getattr(base, ident)


def _of_module(module, ident):
    scope = module.__dict__
    if ident in scope:
        return scope[ident]
    if module.__name__.partition(".")[0] == PACKAGE:
        # Kiln's own module: its __getattr__ imports the object.
        return getattr(module, ident, MISSING)
    if "__getattr__" in scope or module.__class__ is not ModuleType or hasattr(ModuleType, ident):
        raise Refused(f"'{ident}' of the module {module.__name__}")
    return MISSING


def _of_class(cls, ident):
    meta = cls.__class__
    if meta.__module__ == "enum":
        member = cls._member_map_.get(ident, MISSING)
        if member is not MISSING:
            return member
    elif meta is not type and meta.__module__ != "abc":
        raise Refused(f"the class {cls.__qualname__}, which has a metaclass")
    found = _in_classes(cls, ident)
    if found is MISSING:
        if hasattr(meta, ident):
            raise Refused(f"'{ident}' of a class")
        return MISSING
    return _bound(found, None, ident)


def _of_object(base, kind, ident):
    found = _in_classes(kind, ident)
    if found.__class__ is MemberDescriptorType:  # __slots__
        return getattr(base, ident, MISSING)
    if found is not MISSING and _is_data_descriptor(found):
        raise Refused(f"the property '{ident}'")
    own = getattr(base, "__dict__", None)
    if own is not None and own.__class__ is not dict:
        raise Refused(f"'{ident}' of an object with a __dict__ of its own")
    if own is not None and ident in own:
        return own[ident]
    if found is MISSING:
        if hasattr(object, ident):
            raise Refused(f"'{ident}' of an object")
        return MISSING
    return _bound(found, base, ident)


def _in_classes(cls, ident):
    for one in cls.__mro__:
        if one is object:
            break
        if ident in one.__dict__:
            return one.__dict__[ident]
    return MISSING


def _is_data_descriptor(found):
    kind = found.__class__
    return hasattr(kind, "__set__") or hasattr(kind, "__delete__")


def _bound(found, base, ident):
    """The result of reading a class's attribute through the class (base is None) or an object."""
    kind = found.__class__
    if kind is staticmethod:
        found = found.__func__
        kind = found.__class__
        if kind in (Func, Kernel, FunctionType):
            return found
        raise Refused(f"the static method '{ident}'")
    if kind is Func:
        return found if base is None else BoundFunc(found, base)
    if kind is FunctionType:
        if base is None:
            return found
        raise Refused(f"the method '{ident}'")
    if hasattr(kind, "__get__") and kind is not Kernel:
        raise Refused(f"the descriptor '{ident}'")
    return found


def _of_snode(base, ident):
    if ident == "shape":
        return base.shape
    if ident == "cells":
        return base._cell_fields()
    raise Refused(f"'{ident}' of an SNode")


def _of_struct_field(base, ident):
    members = base.__dict__["_members"]
    if ident in members:
        return base.__dict__.get(ident, members[ident])
    if ident in ("shape", "snode"):
        return getattr(base, ident)
    raise Refused(f"'{ident}' of a struct field")
