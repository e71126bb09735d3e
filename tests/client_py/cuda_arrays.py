"""Arrays of another library on the CUDA device of the emulator, for tests of what Kiln shares."""

import ctypes
import os

import numpy as np

_driver = ctypes.CDLL(os.environ["CUDA_ARRAYS_DRIVER"])
_context = ctypes.c_void_p()


def _check(code, call):
    assert code == 0, f"{call}: {code}"


def use_device(number):
    """What is made from now on is on this device."""
    _check(_driver.cuInit(0), "cuInit")
    _check(_driver.cuDevicePrimaryCtxRetain(ctypes.byref(_context), number), "retain")


def _enter():
    """The library uses the primary context, as Kiln does."""
    if not _context:
        use_device(0)
    _check(_driver.cuCtxSetCurrent(_context), "cuCtxSetCurrent")


def make_stream():
    _enter()
    stream = ctypes.c_void_p()
    _check(_driver.cuStreamCreate(ctypes.byref(stream), 1), "cuStreamCreate")  # non-blocking
    return stream.value


class Memory:
    """Memory of the device; `live` counts what is not freed."""

    live = 0

    def __init__(self, array):
        _enter()
        address = ctypes.c_uint64()
        _check(_driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(array.nbytes)), "alloc")
        self.address, self.shape, self.dtype = address.value, array.shape, array.dtype
        Memory.live += 1
        self.set(array)
        _check(_driver.cuCtxSynchronize(), "cuCtxSynchronize")  # streams do not wait for it

    def __del__(self):
        _driver.cuMemFree_v2(ctypes.c_uint64(self.address))
        Memory.live -= 1

    def set(self, array, stream=None):
        array = np.ascontiguousarray(array, self.dtype)
        self._source = array  # work in a stream waits
        _enter()
        if stream is None:
            size = ctypes.c_size_t(array.nbytes)
            done = _driver.cuMemcpyHtoD_v2(ctypes.c_uint64(self.address), _data(array), size)
        else:
            done = _driver.cuMemcpyHtoDAsync_v2(
                ctypes.c_uint64(self.address),
                _data(array),
                ctypes.c_size_t(array.nbytes),
                ctypes.c_void_p(stream),
            )
        _check(done, "copy in")

    def get(self):
        return read(self.address, self.shape, self.dtype)


def _data(array):
    return ctypes.c_void_p(array.ctypes.data)


def read(address, shape, dtype, stream=None):
    """The elements at an address of the device, read in a stream."""
    _enter()
    array = np.empty(shape, dtype)
    at, size = ctypes.c_uint64(address), ctypes.c_size_t(array.nbytes)
    if stream is None:
        _check(_driver.cuMemcpyDtoH_v2(_data(array), at, size), "copy out")
    else:
        handle = ctypes.c_void_p(stream)
        _check(_driver.cuMemcpyDtoHAsync_v2(_data(array), at, size, handle), "copy out")
        _check(_driver.cuStreamSynchronize(handle), "wait")
    return array


class CudaArray(Memory):
    """An array with `__cuda_array_interface__`, of which tests may change any part."""

    def __init__(self, array, **changes):
        super().__init__(array)
        self.changes = changes

    @property
    def __cuda_array_interface__(self):
        made = {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
        }
        return {**made, **self.changes}


class Tensor(Memory):
    """An array with `__dlpack__`. `device`: what its capsules say; `strides`: in elements."""

    def __init__(self, array, device=(2, 0), strides=None):
        super().__init__(array)
        self.device, self.strides, self.streams = device, strides, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return _Managed(self).capsule()


class _Managed(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]
    _given = {}  # by address: what capsules keep

    def __init__(self, tensor):
        super().__init__()
        axes = ctypes.c_int64 * len(tensor.shape)
        self.data = tensor.address
        self.device_type, self.device_id = tensor.device
        self.ndim, self.lanes = len(tensor.shape), 1
        self.code = "iufcb".index(tensor.dtype.kind) + (2 if tensor.dtype.kind in "cb" else 0)
        self.bits = tensor.dtype.itemsize * 8
        self.shape = axes(*tensor.shape)
        if tensor.strides is not None:
            self.strides = axes(*tensor.strides)
        self.deleter = ctypes.cast(_drop, ctypes.c_void_p).value
        _Managed._given[ctypes.addressof(self)] = (self, tensor)

    def capsule(self):
        return _capsule_of(ctypes.addressof(self), b"dltensor")


def _capsule_of(address, name):
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p] + [ctypes.c_void_p],
    )
    return make(address, name, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _drop(address):
    _Managed._given.pop(address)


def tensor_of(capsule):
    """(address, device, shape, strides in elements, code, bits) of a DLPack capsule."""
    take = ctypes.pythonapi.PyCapsule_GetPointer
    take.restype, take.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    made = _Managed.from_address(take(capsule, b"dltensor"))
    axes = range(made.ndim)
    shape, strides = [made.shape[a] for a in axes], [made.strides[a] for a in axes]
    device = (made.device_type, made.device_id)
    return made.data + made.byte_offset, device, shape, strides, made.code, made.bits


class _Exchange(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("previous_and_managed", ctypes.c_void_p * 4),
        ("view", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
    ]


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
def _view(tensor, out):
    tensor.shown = made = _Managed(tensor)
    _Managed._given.pop(ctypes.addressof(made))
    ctypes.memmove(out, ctypes.addressof(made), _Managed.context.offset)
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def _current_stream(kind, number, out):
    out[0] = ExchangedTensor.stream
    return 0


_NAME = b"dlpack_exchange_api"  # the capsule does not copy it
_exchange = _Exchange(version=(ctypes.c_uint32 * 2)(1, 2))
_exchange.view = ctypes.cast(_view, ctypes.c_void_p).value
_exchange.current_stream = ctypes.cast(_current_stream, ctypes.c_void_p).value


class ExchangedTensor(Tensor):
    """A tensor that its type gives without a capsule. `stream`: the library's current one."""

    stream = 0
    __dlpack_c_exchange_api__ = _capsule_of(ctypes.addressof(_exchange), _NAME)
