"""Methods of kernel values: of matrices, and of struct types."""

from ..func import BoundFunc, Func


class Method:
    """A method of a matrix, bound to a value; `fill` is bound to an address."""

    __slots__ = ("base", "function")
    _kiln_pure = True

    def __init__(self, function, base):
        self.function = function
        self.base = base

    def __call__(self, *args, **kwargs):
        return self.function(self.base, *args, **kwargs)


def method_of(base, name):
    """A method of a struct's type, bound to the struct's value or address; None if there is
    none."""
    method = None if base.struct is None else base.struct.methods.get(name)
    if method is None:
        return None
    return bind(method, base)


def bind(method, base):
    """Binds a struct's method to `base`, a kernel value or address, as self."""
    if isinstance(method, Func):  # inlined
        return BoundFunc(method, base)
    return Method(method, base)
