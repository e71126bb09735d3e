"""Shares memory with arrays of other libraries: DLPack and `__cuda_array_interface__` in both
directions, and torch tensors."""

import math
import sys

from .. import _native, runtime
from .. import types as ti_types
from ..diagnostics import say


def is_external(value):
    """Whether a kernel can take `value` as an array of another library."""
    return hasattr(type(value), "__dlpack__") or hasattr(value, "__cuda_array_interface__")


def array_view(value, name):
    """What a kernel gets for a tensor, its argument `name`: a NumPy array over its memory, or a
    DeviceArray. It has an attribute `grad`, likewise for the tensor's gradient, if the tensor
    requires one."""
    return DeviceArray(value, name) if on_cuda(value) else numpy_view(value, name)


def on_cuda(value):
    """Whether an array of another library is in the memory of a CUDA device."""
    device = getattr(value, "__dlpack_device__", None)
    if device is not None:
        return device()[0] in (_CUDA, _CUDA_MANAGED)
    return hasattr(value, "__cuda_array_interface__")


# Kinds of devices, as DLPack counts them.
_CPU, _CUDA, _CUDA_MANAGED = 1, 2, 13
# CUDA's default stream, as both protocols name it.
_DEFAULT_STREAM = 1


class DeviceArray(_native.FieldBase):
    """An array of another library in the device's memory, the argument `name` of a kernel, which
    uses it in place. `stream` is the handle of the library's current stream: work there has to
    wait for the kernel; 0 if it is the default stream."""

    tensor = None

    def __init__(self, value, name):
        if hasattr(value, "detach"):  # torch refuses to export a tensor that requires a gradient
            if value.requires_grad:
                self.tensor = value
            value = detached(value)
        _check_tensor(value, name)
        self.stream = current_stream(value)
        try:
            storage = from_external(value, is_external=True)
        except (BufferError, ValueError) as error:
            raise say.tensor_cannot_be_taken(name=name, reason=error) from None
        self._bind(storage)
        self.shape = tuple(storage.shape)
        self.dtype = by_scalar(storage.scalar).numpy_name

    def extent(self):
        """The addresses of its memory: the first one, and the one behind the last."""
        scalar = by_scalar(self._storage.scalar)
        begin = self._storage.bases[0]
        return begin, begin + math.prod(self.shape) * max(scalar.bits // 8, 1)

    @property
    def grad(self):
        """An array over the tensor's gradient, which is made at its first use."""
        return None if self.tensor is None else DeviceArray(_gradient_of(self.tensor), "grad")


def from_external(value, element_axes=0, is_external=False):
    """A storage over the memory of an array. Kernels come after the work that its library has
    given the device. is_external: for an argument of a kernel."""
    if not hasattr(value, "__dlpack__") and hasattr(value, "__cuda_array_interface__"):
        return _from_cuda_array(value, element_axes, is_external)
    if on_cuda(value):
        capsule = value.__dlpack__(stream=_native.stream() or _DEFAULT_STREAM)
    else:
        capsule = value.__dlpack__()
    return _native.from_dlpack(capsule, element_axes, is_external)


def _from_cuda_array(value, element_axes, is_external):
    given = value.__cuda_array_interface__
    shape, typestr, strides = given["shape"], given["typestr"], given.get("strides")
    _check_form(given)
    scalar = next((t for t in ti_types.ALL if _cuda_typestr(t) == typestr.replace("=", "<")), None)
    if scalar is None:
        raise say.cuda_array_of_other_type(typestr=typestr)
    if given.get("mask") is not None:
        raise say.cuda_array_with_mask()
    if strides is not None and 0 not in shape and not _is_c_ordered(shape, strides, scalar):
        raise say.cuda_array_of_other_strides(strides=tuple(strides))
    address, is_read_only = given["data"]
    storage = _native.from_cuda_array(
        address or 0, scalar.scalar, list(shape), not is_read_only, value, element_axes, is_external
    )
    # An array of another device was refused: its stream is of that device.
    stream = given.get("stream")
    if stream is not None:
        _native.wait_for(stream)
    return storage


def _check_form(given):
    """Refuses what `__cuda_array_interface__` should not give."""
    shape, strides, data = given["shape"], given.get("strides"), given["data"]
    for entry, value, is_right in (
        ("shape", shape, _are_integers(shape)),
        ("typestr", given["typestr"], isinstance(given["typestr"], str)),
        ("strides", strides, strides is None or len(strides) == len(shape)),
        ("data", data, isinstance(data, (tuple, list)) and len(data) == 2),
    ):
        if not is_right:
            raise say.cuda_array_of_other_form(entry=entry, value=value)
    if given.get("stream") is not None:
        _check_stream(given["stream"])


def _are_integers(values):
    return isinstance(values, (tuple, list)) and all(hasattr(one, "__index__") for one in values)


def _check_stream(stream):
    is_handle = hasattr(stream, "__index__") and not isinstance(stream, bool)
    if not is_handle or not 0 <= stream < 1 << 64:
        raise say.stream_of_no_handle(stream=stream)


def _is_c_ordered(shape, strides, of):
    wanted = max(of.bits // 8, 1)
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != wanted:
            return False
        wanted *= extent
    return True


def _cuda_typestr(of):
    """The type as __cuda_array_interface__ names it, which is NumPy's way."""
    bytes_ = max(of.bits // 8, 1)
    kind = "f" if of.is_float else "b" if of.bits == 1 else "i" if of.is_signed else "u"
    return f"{'|' if bytes_ == 1 else '<'}{kind}{bytes_}"


def current_stream(value):
    """The stream whose later work uses the array; 0 if that is the default one."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return torch.cuda.current_stream(value.device).cuda_stream
    if not hasattr(type(value), "__cuda_array_interface__") and hasattr(value, "__dlpack__"):
        return 0
    stream = value.__cuda_array_interface__.get("stream")  # of CuPy's arrays, their current one
    return 0 if stream in (None, _DEFAULT_STREAM) else stream


def release(values):
    """Makes the streams of the DeviceArrays among the values wait for the kernels so far."""
    for value in values:
        if type(value) is DeviceArray and value.stream != _native.stream():
            value._storage.release_to(value.stream)


def may_overlap(one, other):
    """Whether two arrays of array_view may share memory."""
    if isinstance(one, DeviceArray) and isinstance(other, DeviceArray):
        (a, a_end), (b, b_end) = one.extent(), other.extent()
        return a < b_end and b < a_end
    if isinstance(one, DeviceArray) or isinstance(other, DeviceArray):
        return False
    import numpy as np

    return np.may_share_memory(one, other)


def make_read_only(view):
    """Makes kernels that write to an array of array_view raise."""
    if isinstance(view, DeviceArray):
        view._storage.is_writable = False
    else:
        view.flags.writeable = False


def numpy_view(value, name):
    """As array_view, for a tensor on the CPU."""
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


def _check_tensor(value, name):
    """Refuses tensors whose memory, as DLPack gives it, has other values, or in another order."""
    if hasattr(value, "is_contiguous") and not value.is_contiguous():
        raise say.non_contiguous_tensors_are_not()
    if hasattr(value, "is_neg") and value.is_neg():
        reason = "PyTorch negates its values when it reads them; resolve_neg() makes them real"
        raise say.tensor_cannot_be_taken(name=name, reason=reason)


def detached(tensor):
    """A tensor of PyTorch without its gradient, over the same memory. This calls PyTorch's own
    method: that of a class derived from Tensor may copy, as that of Genesis does."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(tensor, torch.Tensor):
        return torch.Tensor.detach(tensor)
    return tensor.detach()


def _gradient_of(tensor):
    """PyTorch's gradient of the tensor, zeroed if it is new."""
    if tensor.grad is None:
        tensor.grad = tensor.detach().clone().fill_(0)
    return tensor.grad


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
                return _numpy_view(_gradient_of(self.tensor), "grad")

        _gradient_view_class = GradientView
    return _gradient_view_class


_gradient_view_class = None


def _numpy_view(value, name):
    import numpy as np

    if hasattr(value, "detach"):  # torch refuses to export a tensor that requires a gradient
        value = detached(value)
    _check_tensor(value, name)
    if on_cuda(value):
        reason = "it is on a CUDA device, and is needed in the memory of the CPU"
        raise say.tensor_cannot_be_taken(name=name, reason=reason)
    try:
        storage = from_external(value)
    except (BufferError, ValueError) as error:
        raise say.tensor_cannot_be_taken(name=name, reason=error) from None
    except RuntimeError:  # older versions of PyTorch export no booleans
        if not hasattr(value, "numpy"):
            raise
        return value.numpy()
    if 0 in storage.shape:  # has no address, which NumPy insists on
        return np.empty(storage.shape, _typestr(storage.scalar))
    return np.asarray(_View(storage))


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

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule over the elements' own memory, which an importer keeps alive.

        stream: on CUDA, the importer's stream, which waits for earlier kernels. It is a handle, 1
        or None for the default stream, 2 for that of the thread, or -1 to wait for nothing.
        max_version: capsules have no version, as importers of all versions accept. Raises
        BufferError if `dl_device` is another device, `copy` is true, or the elements are read-only.
        """
        if stream == 0:
            raise say.ambiguous_stream()
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise say.elements_only_in_place()
        if stream is not None and stream != -1:
            _check_stream(stream)
        storage = self._living_storage()
        if not storage.is_writable:
            raise say.read_only_elements_only_by_interface()
        capsule = _native.to_dlpack(storage)
        if stream != -1:
            storage.release_to(stream or _DEFAULT_STREAM)
        return capsule

    def __dlpack_device__(self):
        """(kDLCPU, 0), or (kDLCUDA, the device's number)"""
        number = self._cuda_device()
        return (_CPU, 0) if number is None else (_CUDA, number)

    def _cuda_device(self):
        """The number of the CUDA device that has the elements; None: the host has them."""
        if self._storage is not None:
            return self._storage.cuda_device
        return int(runtime.cfg.cuda_device) if _on_cuda() else None

    @property
    def __cuda_array_interface__(self):
        """The elements' own memory on a CUDA device, version 3 of the protocol; there is no such
        attribute on the CPU. The memory exists as long as the field or ndarray does, even after
        `ti.reset()`."""
        if self._cuda_device() is None and not _on_cuda():
            raise say.elements_not_on_cuda()
        storage = self._living_storage()
        if storage.cuda_device is None:
            raise say.elements_not_on_cuda()
        address, strides, self._kept_memory = _native.cuda_array(storage)
        storage.release_to(_DEFAULT_STREAM)
        return {
            "version": 3,
            "shape": tuple(storage.shape) + tuple(storage.element_shape),
            "typestr": _cuda_typestr(by_scalar(storage.scalar)),
            "data": (address, not storage.is_writable),
            "strides": strides,
            "stream": _DEFAULT_STREAM,
        }

    def _living_storage(self):
        if self._storage is None:
            self._materialize()
        if not self._storage.alive:
            self._stale_error()
        return self._storage


def _on_cuda():
    return runtime.cfg.arch == runtime.cuda
