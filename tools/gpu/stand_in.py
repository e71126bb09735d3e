"""Stands in for PyTorch where there is neither a GPU nor PyTorch: the part that interop.py uses, on
the emulator of CUDA. Operations run on the host, in the order of the current stream, whose work
waits until something asks for it. So a kernel that an event should have ordered shows."""

import contextlib
import ctypes
import os
import pathlib
import sys
import threading
import types

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ["CUDA_ARRAYS_DRIVER"] = str(ROOT / ".kiln" / "bin" / "libcuda-emulator.so")
sys.path.append(str(ROOT / "tests" / "client_py"))
from cuda_arrays import Memory, _check, _driver, _enter, _Managed, make_stream, read, tensor_of  # noqa: E402

_local = threading.local()
_written = []  # what copies that wait read


class Stream:
    def __init__(self):
        self.cuda_stream = make_stream()

    def synchronize(self):
        _enter()
        _check(_driver.cuStreamSynchronize(ctypes.c_void_p(self.cuda_stream)), "wait")

    def wait_stream(self, other):
        _order(other.cuda_stream, self.cuda_stream)


class _Default:
    cuda_stream = 0


def _order(first, second):
    """Work of the stream `second` waits for what `first` has."""
    if first == second:
        return
    _enter()
    event = ctypes.c_void_p()
    _check(_driver.cuEventCreate(ctypes.byref(event), 2), "cuEventCreate")
    _check(_driver.cuEventRecord(event, ctypes.c_void_p(first)), "cuEventRecord")
    _check(_driver.cuStreamWaitEvent(ctypes.c_void_p(second), event, 0), "cuStreamWaitEvent")
    _check(_driver.cuEventDestroy_v2(event), "cuEventDestroy")


@contextlib.contextmanager
def stream(one):
    before = current_stream()
    _local.stream = one
    try:
        yield
    finally:
        _local.stream = before


def current_stream(device=None):
    return getattr(_local, "stream", _Default)


def synchronize():
    _enter()
    _check(_driver.cuCtxSynchronize(), "cuCtxSynchronize")
    _written.clear()


def mem_get_info():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    _enter()
    _check(_driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)), "cuMemGetInfo")
    return free.value, total.value


class Host:
    """A tensor in the memory of the CPU."""

    def __init__(self, array):
        self._array = array

    def numpy(self):
        return self._array

    def to(self, device):
        array = self._array
        owner = Memory(array if array.size else np.zeros(1, array.dtype))
        strides = [s // array.itemsize for s in array.strides]
        return Tensor(owner, owner.address, array.shape, strides, array.dtype)


class Tensor:
    """Strides are in elements."""

    grad = None
    device = (2, 0)

    def __init__(self, owner, address, shape, strides, dtype):
        self._owner, self.address, self.dtype = owner, address, np.dtype(dtype)
        self.shape, self.strides = tuple(shape), tuple(strides)
        self.requires_grad = False

    def _elements(self):
        """The tensor's part of its memory, and its elements in it."""
        reach = 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides))
        whole = read(self.address, (reach,), self.dtype, current_stream().cuda_stream or None)
        strides = [s * self.dtype.itemsize for s in self.strides]
        return whole, np.lib.stride_tricks.as_strided(whole, self.shape, strides)

    def _change(self, change):
        if 0 not in self.shape:
            whole, elements = self._elements()
            change(elements)
            _written.append(whole)
            data, size = ctypes.c_void_p(whole.ctypes.data), ctypes.c_size_t(whole.nbytes)
            handle = ctypes.c_void_p(current_stream().cuda_stream)
            at = ctypes.c_uint64(self.address)
            _check(_driver.cuMemcpyHtoDAsync_v2(at, data, size, handle), "copy in")
        return self

    def add_(self, by):
        return self._change(lambda x: np.add(x, by, out=x))

    def mul_(self, by):
        return self._change(lambda x: np.multiply(x, by, out=x))

    def fill_(self, value):
        return self._change(lambda x: x.fill(value))

    def clone(self):
        return from_numpy(self.cpu().numpy().copy()).to("cuda")

    def detach(self):
        return Tensor(self._owner, self.address, self.shape, self.strides, self.dtype)

    def requires_grad_(self):
        self.requires_grad = True
        return self

    def cpu(self):
        return Host(np.empty(self.shape, self.dtype) if 0 in self.shape else self._elements()[1])

    def contiguous(self):
        return self if self.is_contiguous() else self.clone()

    def is_floating_point(self):
        return self.dtype.kind == "f"

    def data_ptr(self):
        return self.address

    def t(self):
        return Tensor(self._owner, self.address, self.shape[::-1], self.strides[::-1], self.dtype)

    def is_contiguous(self):
        wanted = 1
        if 0 in self.shape:
            return True
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1 and stride != wanted:
                return False
            wanted *= extent
        return True

    def __getitem__(self, index):
        """By slices."""
        index = index if isinstance(index, tuple) else (index,)
        address, shape, strides = self.address, list(self.shape), list(self.strides)
        for axis, one in enumerate(index):
            begin, end, step = one.indices(self.shape[axis])
            address += begin * strides[axis] * self.dtype.itemsize
            shape[axis], strides[axis] = len(range(begin, end, step)), strides[axis] * step
        return Tensor(self._owner, address, shape, strides, self.dtype)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        if stream != -1:
            _order(current_stream().cuda_stream, 0 if stream in (None, 1) else stream)
        return _Managed(self).capsule()

    def backward(self, gradient):
        """Of a result of Function.apply."""
        function, context, inputs = self._made_by
        gradients = function.backward(context, gradient)
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        for tensor, found in zip(inputs, gradients):
            if found is not None:
                tensor.grad = found


class Function:
    """torch.autograd.Function"""

    @classmethod
    def apply(cls, *inputs):
        context = types.SimpleNamespace(
            needs_input_grad=tuple(getattr(one, "requires_grad", False) for one in inputs),
            mark_non_differentiable=lambda *outputs: None,
        )
        context.save_for_backward = lambda *saved: setattr(context, "saved_tensors", saved)
        made = cls.forward(context, *inputs)
        for one in made if isinstance(made, tuple) else (made,):
            one._made_by = cls, context, inputs
        return made


def is_grad_enabled():
    return False


def from_numpy(array):
    return Host(array)


def empty_like(tensor):
    return from_numpy(np.empty(tensor.shape, tensor.dtype)).to("cuda")


def zeros_like(tensor):
    return from_numpy(np.zeros(tensor.shape, tensor.dtype)).to("cuda")


def from_dlpack(value):
    made = value.__dlpack__(stream=current_stream().cuda_stream or 1)
    address, _, shape, strides, code, bits = tensor_of(made)
    dtype = "bool" if code == 6 else f"{'iuf'[code]}{bits // 8}"
    return Tensor(made, address, shape, strides, dtype)


def install():
    """Makes this module `torch`."""
    module = sys.modules["torch"] = sys.modules[__name__]
    module.cuda = types.SimpleNamespace(
        Stream=Stream,
        current_stream=current_stream,
        default_stream=lambda: _Default,
        mem_get_info=mem_get_info,
        stream=stream,
        synchronize=synchronize,
        _sleep=lambda cycles: None,
    )
    module.autograd = types.SimpleNamespace(Function=Function)
    return module
