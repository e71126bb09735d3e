"""Shares memory with arrays of other libraries: DLPack in both directions, and torch tensors."""

from .. import _native
from .. import types as ti_types
from ..diagnostics import say


def is_external(value):
    """Whether a kernel can take `value` as an array through DLPack."""
    return hasattr(type(value), "__dlpack__")


def numpy_view(value, name):
    """A NumPy array over the memory of a tensor, the argument `name` of a kernel. It has an
    attribute `grad`, likewise for the tensor's gradient, if the tensor requires one."""
    if not getattr(value, "requires_grad", False):
        return _numpy_view(value, name)
    gradient = getattr(value, "grad", None)
    if gradient is not None:
        if not is_external(gradient):
            raise say.gradient_of_tensor_of_wrong_type(kind=type(gradient).__name__)
        if not gradient.is_contiguous():
            raise say.non_contiguous_gradient_tensors_are_not()
    made = _numpy_view(value, name).view(_gradient_view())
    made.tensor = value
    return made


def _gradient_view():
    """The class of arrays over tensors that require a gradient."""
    global _gradient_view_class
    if _gradient_view_class is None:
        import numpy as np

        class GradientView(np.ndarray):
            tensor = None

            @property
            def grad(self):
                """An array over the tensor's gradient, which is made at its first use."""
                if self.tensor is None:
                    return None
                if self.tensor.grad is None:
                    self.tensor.grad = self.tensor.detach().clone().fill_(0)
                return _numpy_view(self.tensor.grad, "grad")

        _gradient_view_class = GradientView
    return _gradient_view_class


_gradient_view_class = None


def _numpy_view(value, name):
    import numpy as np

    if hasattr(value, "detach"):  # torch refuses to export a tensor that requires a gradient
        value = value.detach()
    if hasattr(value, "is_contiguous") and not value.is_contiguous():
        raise say.non_contiguous_tensors_are_not()
    try:
        return np.asarray(_View(_native.from_dlpack(value.__dlpack__())))
    except (BufferError, ValueError) as error:
        raise say.tensor_cannot_be_taken(name=name, reason=error) from None


class _View:
    """Presents the memory of a storage to NumPy (__array_interface__)."""

    def __init__(self, storage):
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(storage.shape),
            "typestr": _typestr(storage.scalar),
            "data": (storage.bases[0], False),
        }
        self._storage = storage  # keeps the memory alive: the array refers to this object


def _typestr(scalar):
    import numpy as np

    return np.dtype(by_scalar(scalar).numpy_name).str


def by_scalar(scalar):
    """The type for a number of proto Scalar."""
    return next(t for t in ti_types.ALL if t.scalar == scalar)


class Exporter:
    """Base class of fields and ndarrays, which export their memory through DLPack."""

    def __dlpack__(self, stream=None):
        """A capsule over the elements' own memory, which an importer keeps alive."""
        if self._storage is None:
            self._materialize()
        if not self._storage.alive:
            self._stale_error()
        return self._storage.to_dlpack()

    def __dlpack_device__(self):
        """(kDLCPU, 0)"""
        return (1, 0)
