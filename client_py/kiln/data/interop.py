"""Arrays of other libraries without a copy: DLPack both ways, and torch tensors."""

from .. import _native
from .. import types as ti_types
from ..diagnostics import say


def is_external(value):
    """Whether a kernel can take `value` as an array by way of DLPack."""
    return hasattr(type(value), "__dlpack__")


def numpy_view(value, name):
    """A NumPy array over the memory of a tensor that is the argument `name` of a kernel."""
    import numpy as np

    if hasattr(value, "detach"):  # torch: with a gradient it would refuse
        value = value.detach()
    if hasattr(value, "is_contiguous") and not value.is_contiguous():
        raise say.non_contiguous_tensors_are_not()
    try:
        return np.asarray(_View(_native.from_dlpack(value.__dlpack__())))
    except (BufferError, ValueError) as error:
        raise say.tensor_cannot_be_taken(name=name, reason=error) from None


class _View:
    """The memory of a storage as NumPy takes it."""

    def __init__(self, storage):
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(storage.shape),
            "typestr": _typestr(storage.scalar),
            "data": (storage.bases[0], False),
        }
        self._storage = storage  # the array keeps this object


def _typestr(scalar):
    import numpy as np

    return np.dtype(by_scalar(scalar).numpy_name).str


def by_scalar(scalar):
    """The type of a number of the messages."""
    return next(t for t in ti_types.ALL if t.scalar == scalar)


class Exporter:
    """What fields and ndarrays have of DLPack."""

    def __dlpack__(self, stream=None):
        """A capsule over the elements where they lie. An importer keeps the memory alive."""
        if self._storage is None:
            self._materialize()
        if not self._storage.alive:
            self._stale_error()
        return self._storage.to_dlpack()

    def __dlpack_device__(self):
        """(kDLCPU, 0)"""
        return (1, 0)
