"""Memory of a CUDA device shared with other libraries, on the emulator: fields and ndarrays given
to them, and their arrays (cuda_arrays.py) as arguments and ndarrays."""

import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
START = """
import gc
import os
import pathlib
import sys

sys.path.insert(0, os.environ["CUDA_ARRAYS"])
import numpy as np
import kiln as ti
from cuda_arrays import CudaArray, Memory, Tensor, make_stream, read, tensor_of

ti.init(arch=ti.cuda)


@ti.kernel
def double(a: ti.types.ndarray()):
    for I in ti.grouped(a):
        a[I] = a[I] * 2


@ti.kernel
def copy(a: ti.types.ndarray(), b: ti.types.ndarray()):
    for I in ti.grouped(a):
        b[I] = a[I]


def fault(call, *args):
    try:
        call(*args)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
    else:
        print("no error")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    subprocess.run([ROOT / "kiln", "build", "emulator"], check=True, capture_output=True)

    def start(run_python, program, **environment):
        driver = ROOT / ".kiln" / "bin" / "libcuda-emulator.so"
        for_arrays = {"CUDA_ARRAYS": str(HERE), "CUDA_ARRAYS_DRIVER": str(driver)}
        environment = {"KILN_CUDA_DRIVER": "emulator", "KILN_SERVER": "off", **environment}
        return run_python(START + program, **for_arrays, **environment)

    return start


def test_arrays_as_arguments(run, run_python, tmp_path):
    """By pointer: the launch copies nothing."""
    log = str(tmp_path / "log")
    out = run(
        run_python,
        """
numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
for kind in CudaArray, Tensor:
    array = kind(numbers)
    double(array)
    before = pathlib.Path(os.environ["LOG"]).read_text()
    double(array)
    calls = pathlib.Path(os.environ["LOG"]).read_text()[len(before):].split()
    asks = {"cuCtxGetCurrent", "cuPointerGetAttribute"}
    assert [call for call in calls if call not in asks] == ["cuLaunchKernel"], calls
    assert (array.get() == numbers * 4).all()
integers = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
for name in [*integers, "float16", "float32", "float64", "bool"]:
    one = np.array([1, 0, 1], name)
    for kind in CudaArray, Tensor:
        if name == "bool" and kind is Tensor:
            continue  # the stand-in's types have no bool of DLPack
        given, made = kind(one), kind(np.zeros_like(one))
        copy(given, made)
        assert (made.get() == one).all(), name

@ti.kernel
def lengths(a: ti.types.ndarray(dtype=ti.math.vec3, ndim=1), b: ti.types.ndarray()):
    for i in a:
        b[i] = a[i].norm_sqr()

points, squares = Tensor(np.ones((5, 3), np.float32)), np.zeros(5, np.float32)
lengths(points, squares)  # with an array of NumPy
print(squares)
lengths(CudaArray(np.full((5, 3), 2, np.float32)), squares)
print(squares, double.num_instances, lengths.num_instances)

empty = CudaArray(np.zeros(1, np.float32), shape=(0,), data=(0, False))
double(empty)
double(CudaArray(np.zeros(1, np.float32), shape=(3, 0), strides=(4, 4)))
hollow = Tensor(np.zeros(1, np.float32), strides=(1, 1))  # PyTorch's strides of such a shape
hollow.shape = (3, 0)
double(hollow)

# An object with both is asked for its capsule; the default stream is CUDA's first.
both = Tensor(numbers)
both.__cuda_array_interface__ = None
double(both)
print(both.streams)

@ti.kernel
def total(a: ti.types.ndarray()) -> ti.f32:
    s = 0.0
    for I in ti.grouped(a):
        s += a[I]
    return s

constant = CudaArray(numbers)
constant.changes["data"] = (constant.address, True)
print(total(constant))
fault(double, constant)
field = ti.field(ti.f32, 4)
del array, given, made, points, both, constant, empty, hollow
gc.collect()
print(Memory.live)
""",
        LOG=log,
        KILN_FAKE_CUDA=f"log={log}",
    )
    assert out.splitlines() == [
        "[3. 3. 3. 3. 3.]",
        "[12. 12. 12. 12. 12.] 1 1",
        "[1]",
        "66.0",
        "ValueError: Argument 0 of kernel 'double': the array for 'a' is read-only, and the kernel "
        "writes to it",
        "0",
    ] or pytest.fail(out)


def test_calls_of_warm_launches(run, run_python, tmp_path):
    """What a launch asks of the driver, once the kernel has an instance."""
    log = str(tmp_path / "log")
    out = run(
        run_python,
        """
@ti.kernel
def field(x: ti.template(), s: ti.f32):
    for i in x:
        x[i] += s

x, a = ti.field(ti.f32, 8), ti.ndarray(ti.f32, 8)
b, c = np.ones(8, np.float32), np.ones(8, np.float32)
for call in (field, x, 1.0), (double, a), (copy, a, a), (copy, b, c), (copy, b, a):
    for _ in range(2):
        call[0](*call[1:])
    ti.sync()
    before = len(pathlib.Path(os.environ["LOG"]).read_text())
    call[0](*call[1:])
    calls = pathlib.Path(os.environ["LOG"]).read_text()[before:].split()
    print(*[one for one in calls if one != "cuCtxGetCurrent"], calls.count("cuCtxGetCurrent"))
""",
        LOG=log,
        KILN_FAKE_CUDA=f"log={log}",
    )
    assert out.splitlines() == [
        "cuLaunchKernel 0",
        "cuLaunchKernel 0",
        "cuLaunchKernel 0",
        "cuMemcpyHtoD_v2 cuMemcpyHtoD_v2 cuLaunchKernel cuMemcpyDtoH_v2 cuCtxSynchronize 4",
        "cuMemcpyHtoD_v2 cuLaunchKernel 1",
    ] or pytest.fail(out)


def test_known_arrays_need_no_python_code(run, run_python):
    """A call with arrays of known types runs none of the front end's code."""
    out = run(
        run_python,
        """
misses = []
def count_misses(kernel):
    base = type(kernel)
    before = base._miss
    def miss(self, args, keywords):
        misses.append(self.__name__)
        return before(self, args, keywords)
    base._miss = miss

@ti.kernel
def mix(a: ti.types.ndarray(), f: ti.template(), x: ti.f32, b: ti.types.ndarray()) -> ti.f32:
    for i in a:
        a[i] = f[i] * x + b[i]
    return x

count_misses(mix)
numbers = np.arange(4, dtype=np.float32)
f = ti.field(ti.f32, 4)
f.fill(2)
stream = make_stream()
kinds = [
    lambda: CudaArray(numbers),
    lambda: CudaArray(numbers, strides=(4,)),
    lambda: CudaArray(numbers, typestr="=f4", stream=1),
    lambda: CudaArray(numbers, stream=stream),
    lambda: Tensor(numbers),
]
for turn in range(2):
    for one in kinds:
        for other in (*kinds, lambda: numbers, lambda: ti.from_dlpack(Tensor(numbers))):
            a, b = one(), other()
            assert mix(a, f, 3.0, b) == 3
            assert (a.get() == 6 + numbers).all()
print(len(misses))
fault(mix, CudaArray(numbers, mask=numbers), f, 3.0, numbers)
fault(mix, CudaArray(numbers, typestr=">f4"), f, 3.0, numbers)
constant = CudaArray(numbers)
constant.changes["data"] = (constant.address, True)
fault(mix, constant, f, 3.0, numbers)
print(len(misses), mix.num_instances)
del a, b, constant
gc.collect()
print(Memory.live)
""",
    )
    lines = out.splitlines()
    assert lines[0] == "1"
    assert "it has a mask" in lines[1] and "'>f4'" in lines[2]
    assert "the array for 'a' is read-only" in lines[3]
    assert lines[4:] == ["3 1", "0"], out


def test_arrays_that_cannot_be_arguments(run, run_python):
    out = run(
        run_python,
        """
numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
fault(double, Tensor(numbers, strides=(1, 3)))
fault(double, CudaArray(numbers, strides=(4, 12)))
fault(double, CudaArray(numbers, typestr="<c8"))
fault(double, CudaArray(numbers, typestr=">f4"))
fault(double, CudaArray(numbers, mask=numbers))
fault(double, Tensor(numbers, device=(2, 1)))
fault(double, Tensor(numbers, device=(8, 0)))
fault(double, Tensor(np.zeros(3, np.complex64)))
fault(double, CudaArray(numbers, data=(numbers.ctypes.data, False)))
odd = CudaArray(numbers, shape=(2,))
odd.changes["data"] = (odd.address + 2, False)
fault(double, odd)

@ti.kernel
def typed(a: ti.types.ndarray(dtype=ti.f64, ndim=1)):
    for i in a:
        a[i] = 1

@ti.kernel
def vectors(a: ti.types.ndarray(dtype=ti.math.vec3, ndim=1)):
    for i in a:
        a[i] = 1

fault(typed, Tensor(np.zeros(3, np.float32)))
fault(typed, Tensor(np.zeros((3, 3), np.float64)))
fault(vectors, Tensor(np.zeros((3, 2), np.float32)))
fault(vectors, Tensor(np.zeros((3, 3), np.float64)))
on_device = Tensor(numbers)
ti.init(arch=ti.cpu)
fault(double, on_device)
fault(double, CudaArray(numbers))
fault(ti.from_dlpack, on_device)
""",
    )
    in_place = "ValueError: Invalid value for argument a - the tensor cannot be used in place: "
    assert out.splitlines() == [
        in_place + "the tensor is not contiguous in C order",
        in_place + "its strides (4, 12) are not those of C order",
        in_place + "its type '<c8' is no type of the language",
        in_place + "its type '>f4' is no type of the language",
        in_place + "it has a mask",
        in_place + "the tensor is on CUDA device 1, the program's kernels run on device 0",
        in_place + "the tensor is neither in the memory of the CPU nor on a CUDA device",
        in_place + "the tensor's type (code 5, 64 bits) is no type of the language",
        in_place + "its address is not in the memory of a CUDA device",
        in_place + "the tensor's address is not a multiple of its elements' size",
    ] + out.splitlines()[10:14] + [
        in_place + "the tensor is not in the memory of the CPU",
        in_place + "it is on a CUDA device, the program's kernels run on the CPU",
        "ValueError: the tensor is not in the memory of the CPU",
    ] or pytest.fail(out)
    for line, text in zip(out.splitlines()[10:14], ["f64", "1", "element", "f32"]):
        assert not line.startswith("no error") and text in line, line


def test_arrays_of_malformed_interfaces(run, run_python):
    out = run(
        run_python,
        """
numbers = np.ones(12, np.int8)
for changes in (
    {"shape": ((1 << 32) + 4,)},
    {"shape": (-1,)},
    {"shape": (3.0, 4)},
    {"shape": (3, 4), "strides": (1,)},
    {"typestr": None},
    {"data": None},
    {"stream": -1},
    {"stream": "7"},
):
    fault(double, CudaArray(numbers, **changes))
    fault(ti.from_dlpack, CudaArray(numbers, **changes))
long = Tensor(numbers)
long.shape = (1 << 31,)
fault(double, long)
for shape in (0,), (4, 0):
    double(CudaArray(numbers, shape=shape, data=(0, False)))
x = ti.ndarray(ti.f32, 3)
for stream in -2, "7", 1 << 64:
    fault(lambda: x.__dlpack__(stream=stream))
""",
    )
    texts = [
        "its axis 0 has 4294967300 indices, but indices are 32-bit integers",
        "its axis 0 has -1 indices, but indices are 32-bit integers",
        "its `__cuda_array_interface__` gives (3.0, 4) as 'shape'",
        "its `__cuda_array_interface__` gives (1,) as 'strides'",
        "its `__cuda_array_interface__` gives None as 'typestr'",
        "its `__cuda_array_interface__` gives None as 'data'",
        "-1 is no stream of CUDA",
        "'7' is no stream of CUDA",
        "its axis 0 has 2147483648 indices, but indices are 32-bit integers",
    ]
    in_place = "Invalid value for argument a - the tensor cannot be used in place: "
    wanted = [f"ValueError: {given}{text}" for text in texts for given in (in_place, "")][:-1]
    streams = ["-2", "'7'", str(1 << 64)]
    wanted += [f"ValueError: {stream} is no stream of CUDA" for stream in streams]
    assert out.splitlines() == wanted or pytest.fail(out)


def test_ndarrays_over_read_only_arrays(run, run_python):
    """Neither Python nor another library writes to them."""
    out = run(
        run_python,
        """
array = CudaArray(np.arange(6, dtype=np.float32).reshape(2, 3))
array.changes["data"] = (array.address, True)
x = ti.from_dlpack(array)
v = ti.from_dlpack(array, dtype=ti.math.vec3)
y = ti.ndarray(ti.f32, (2, 3))
copy(x, y)
assert x[1, 2] == y[1, 2] == v[1][2] == 5 and (x.to_numpy() == array.get()).all()
y.copy_from(x)
fault(double, x)
fault(x.__setitem__, (0, 1), 7)
fault(v.__setitem__, 0, [7, 7, 7])
fault(v.__setitem__, 0, ti.Vector([7, 7, 7]))
fault(v[0].__setitem__, 1, 7)
fault(x.fill, 7)
fault(v.fill, 7)
fault(x.from_numpy, np.ones((2, 3), np.float32))
fault(x.copy_from, y)
fault(x.__dlpack__)
assert x.__cuda_array_interface__["data"] == (array.address, True)
fault(double, ti.from_dlpack(CudaArray(array.get(), **x.__cuda_array_interface__)))
assert (array.get().ravel() == np.arange(6)).all()
""",
    )
    lines = out.splitlines()
    written = "the array for 'a' is read-only, and the kernel writes to it"
    assert len(lines) == 11 and lines[0].endswith(written) and lines[10] == lines[0], out
    for line in lines[1:9]:
        assert line.startswith("ValueError: the ndarray created at "), line
        assert line.endswith(" is read-only, as the array whose memory it shares"), line
    assert lines[9].startswith("BufferError: the elements are read-only"), lines[9]


def test_streams(run, run_python):
    """Kernels come after the work in the streams of their arrays, and that after them."""
    out = run(
        run_python,
        """
numbers = np.arange(1000, dtype=np.int32)
stream = make_stream()
array = CudaArray(np.zeros_like(numbers), stream=stream)
for turn in range(3):
    array.set(numbers + turn, stream)
    double(array)
    assert (read(array.address, array.shape, array.dtype, stream) == (numbers + turn) * 2).all()
x = ti.ndarray(ti.i32, 1000)
x.from_numpy(numbers)
double(x)
address = tensor_of(x.__dlpack__(stream=stream))[0]
assert (read(address, x.shape, np.int32, stream) == numbers * 2).all()

class OfCupy(Tensor):  # both protocols; the second one tells the current stream
    @property
    def __cuda_array_interface__(self):
        return {"stream": stream}

    def __dlpack__(self, stream=None):
        read(self.address, self.shape, self.dtype, OfCupy.stream)  # waits for the own stream
        return super().__dlpack__(stream)

OfCupy.stream = stream
array = OfCupy(np.zeros_like(numbers))
for turn in range(3):
    array.set(numbers + turn, stream)
    double(array)
    assert (read(array.address, array.shape, array.dtype, stream) == (numbers + turn) * 2).all()

fault(lambda: x.__dlpack__(stream=0))
for given in None, 1, 2, -1:
    x.__dlpack__(stream=given)
fault(double, CudaArray(numbers, stream=12345))
""",
    )
    lines = out.splitlines()
    assert lines[0] == "ValueError: stream 0 is ambiguous; the default stream of CUDA is 1"
    assert "CUDA streams cannot be ordered" in lines[1] and len(lines) == 2


def test_tensors_without_capsules(run, run_python):
    """By the functions of their type, in the order of its library's stream; derived types by
    capsules."""
    out = run(
        run_python,
        """
from cuda_arrays import ExchangedTensor

numbers = np.arange(1000, dtype=np.int32)
for stream in 0, make_stream(), make_stream():
    ExchangedTensor.stream = stream
    array = ExchangedTensor(numbers)
    for turn in range(4):
        array.set(numbers + turn, stream or None)
        double(array)
        got = read(array.address, array.shape, array.dtype, stream or None)
        assert (got == (numbers + turn) * 2).all(), (stream, turn)
    with ti.cuda.stream(make_stream()):
        array.set(numbers, stream or None)
        double(array)
        got = read(array.address, array.shape, array.dtype, stream or None)
        assert (got == numbers * 2).all(), stream
    print(len(array.streams))  # capsules that the first call asked for, at most

class Derived(ExchangedTensor):
    pass

derived = Derived(numbers)
double(derived)
print(len(derived.streams))
del array, derived
gc.collect()
print(Memory.live)
other = ExchangedTensor(numbers, device=(2, 1))
fault(double, other)
fault(double, ExchangedTensor(numbers.reshape(10, 100), strides=(1, 10)))
hollow = ExchangedTensor(numbers)
at, hollow.address = hollow.address, None
fault(double, hollow)
hollow.address = at
""",
    )
    lines = out.splitlines()
    assert lines[:5] == ["1", "0", "0", "1", "0"]
    assert "the tensor is on CUDA device 1" in lines[5] and "not contiguous" in lines[6]
    assert "the tensor has no memory" in lines[7] and len(lines) == 8, out


def test_tensors_in_the_place_of_others(run, run_python):
    """A call may use what an earlier one made for a tensor of the same memory and form, and keeps
    no tensor."""
    out = run(
        run_python,
        """
import weakref

from cuda_arrays import ExchangedTensor

class OnHost:
    __dlpack_c_exchange_api__ = ExchangedTensor.__dlpack_c_exchange_api__
    __dlpack_device__ = ExchangedTensor.__dlpack_device__
    __dlpack__ = ExchangedTensor.__dlpack__

    def __init__(self, array):
        self.array, self.address = array, array.ctypes.data
        self.shape, self.dtype = array.shape, array.dtype
        self.device, self.strides, self.streams = (1, 0), None, []

    def get(self):
        return self.array.view(self.dtype).ravel()[: np.prod(self.shape)].reshape(self.shape)

def use(kind):
    whole = np.arange(1, 13, dtype=np.int32)
    array = kind(whole.copy())
    for form in ((12,), np.int32), ((3, 4), np.int32), ((6,), np.int32), ((12,), np.float32):
        array.shape, array.dtype = form[0], np.dtype(form[1])
        count = np.prod(array.shape)
        for _ in range(3):
            whole.view(array.dtype)[:count] *= 2
            double(array)
            assert (array.get() == whole.view(array.dtype)[:count].reshape(array.shape)).all(), form
    array.shape, array.dtype = (12,), np.dtype(np.int32)
    other = kind(whole + 1)
    for source, target in ((array, other), (other, array), (array, array), (other, other)) * 2:
        copy(source, target)
        double(source)
        assert source is target or (source.get() == 2 * target.get()).all()
    seen = weakref.ref(other), weakref.ref(array)
    del other, array, source, target
    return [one() for one in seen]

print(use(ExchangedTensor), Memory.live)
ti.init(arch=ti.cpu)
print(use(OnHost))
""",
    )
    assert out.splitlines() == ["[None, None] 0", "[None, None]"], out


def test_fields_and_ndarrays_for_other_libraries(run, run_python):
    """Both sides see what the other one writes, from kernels and from Python."""
    out = run(
        run_python,
        """
def given(x):
    info = x.__cuda_array_interface__
    address, device, shape, strides, code, bits = tensor_of(x.__dlpack__())
    assert device == x.__dlpack_device__() == (2, 0)
    assert address == info["data"][0] and tuple(shape) == info["shape"]
    assert [s * bits // 8 for s in strides] == list(info["strides"])
    print(info["shape"], info["typestr"], info["strides"], info["stream"], code, bits)
    return address

def write(address, values):
    import cuda_arrays, ctypes
    values = np.ascontiguousarray(values)
    cuda_arrays._driver.cuMemcpyHtoD_v2(
        ctypes.c_uint64(address), cuda_arrays._data(values), ctypes.c_size_t(values.nbytes))

x = ti.ndarray(ti.f32, (2, 3))
f = ti.field(ti.i32, (2, 3), order="ji")
v = ti.Vector.field(3, ti.f64, (2, 2), layout=ti.Layout.SOA)
m = ti.Matrix.ndarray(2, 2, ti.f16, 3)
u = ti.ndarray(ti.u1, 3)
x[1, 2] = 5  # before it is shared
addresses = [given(one) for one in (x, f, v, m, u)]
a = addresses[0]
print(read(a, (2, 3), np.float32).tolist())
x[0, 1] = 7
print(read(a, (2, 3), np.float32).tolist())
double(x)
print(read(a, (2, 3), np.float32).tolist(), x[0, 1])
write(a, np.arange(6, dtype=np.float32))
print(x[1, 1], x.to_numpy().tolist())
x.fill(2)
assert (read(a, (2, 3), np.float32) == 2).all()
x.from_numpy(np.full((2, 3), 9, np.float32))
assert (read(a, (2, 3), np.float32) == 9).all()
y = ti.ndarray(ti.f32, (2, 3))
y.fill(4)
x.copy_from(y)
assert (read(a, (2, 3), np.float32) == 4).all()
x.fill(0)
assert (read(a, (2, 3), np.float32) == 0).all()
v[1, 0] = [1, 2, 3]
v[1, 1][2] = 8
whole = read(addresses[2], (3, 2, 2), np.float64)
assert whole[:, 1, 0].tolist() == [1, 2, 3] and whole[2, 1, 1] == 8
f[1, 2] = 6
write(addresses[1] + 4, np.array([3], np.int32))  # element (1, 0): axis j is outermost
print(f.to_numpy().tolist())

# What a library holds outlives the field.
capsule = f.__dlpack__()
kept = v
ti.reset()
assert read(addresses[1], (3, 2), np.int32)[2, 1] == 6
assert read(addresses[2], (3, 2, 2), np.float64)[2, 1, 1] == 8
ti.init(arch=ti.cuda)
g = ti.field(ti.i32)
ti.root.dense(ti.i, 4).dense(ti.j, 4).dense(ti.i, 2).place(g)
fault(lambda: g.__cuda_array_interface__)
fault(g.__dlpack__)
ti.init(arch=ti.cpu)
print(hasattr(ti.ndarray(ti.i32, 3), "__cuda_array_interface__"))
print(ti.ndarray(ti.i32, 3).__dlpack_device__())
""",
    )
    regular = "ValueError: the elements are not at regular distances; use to_numpy()"
    assert out.splitlines() == [
        "(2, 3) <f4 (12, 4) 1 2 32",
        "(2, 3) <i4 (4, 8) 1 0 32",
        "(2, 2, 3) <f8 (16, 8, 32) 1 2 64",
        "(3, 2, 2) <f2 (8, 4, 2) 1 2 16",
        "(3,) |b1 (1,) 1 6 8",
        "[[0.0, 0.0, 0.0], [0.0, 0.0, 5.0]]",
        "[[0.0, 7.0, 0.0], [0.0, 0.0, 5.0]]",
        "[[0.0, 14.0, 0.0], [0.0, 0.0, 10.0]] 14.0",
        "4.0 [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]",
        "[[0, 0, 0], [3, 0, 6]]",
        regular,
        regular,
        "False",
        "(1, 0)",
    ] or pytest.fail(out)


def test_fields_beside_sparse_snodes(run, run_python):
    """Another library writes to dense fields of trees that Python and kernels change, too: one of
    its own, and two whose cells also hold a list and bits of sparse cells."""
    out = run(
        run_python,
        """
import ctypes
import cuda_arrays

x, z, y, mass, ids, head, deep = [ti.field(ti.i32) for _ in range(7)]
pair = ti.Vector.field(2, ti.f32)
ti.root.dense(ti.i, 40).place(z)
ti.root.pointer(ti.i, 16).dense(ti.i, 4).place(y)
ti.root.dense(ti.ij, (5, 6)).place(x)
cell = ti.root.dense(ti.i, 8)
cell.place(mass)
cell.dynamic(ti.j, 32, chunk_size=4).place(ids)
bits = ti.root.dense(ti.i, 4)
bits.place(head)
bits.bitmasked(ti.j, 8).place(*[pair.get_scalar_field(k) for k in (1, 0)], deep)

def other(address, values=None):
    # What the library reads; or None, and it writes.
    if values is None:
        return int(read(address, (1,), np.int32)[0])
    values = np.array([values], np.int32)
    cuda_arrays._driver.cuMemcpyHtoD_v2(
        ctypes.c_uint64(address), cuda_arrays._data(values), ctypes.c_size_t(4))

@ti.kernel
def step(i: ti.i32, v: ti.i32):
    y[i] = v
    ids[i % 8].append(v)
    deep[i % 4, v % 8] = v
    z[i % 40] += v
    for I in ti.grouped(x):
        x[I] += 1
    for I in ti.grouped(mass):
        mass[I] += 2
    for I in ti.grouped(head):
        head[I] += 3

@ti.kernel
def sums() -> ti.types.vector(3, ti.i32):
    s = ti.Vector([0, 0, 0])
    for i in y:
        s[0] += y[i]
    for i, j in ids:
        s[1] += ids[i, j]
    for i, j in deep:
        s[2] += deep[i, j]
    return s

x[2, 3] = 5  # before it is shared
y[9] = 7
head[1] = 4
want = {name: np.zeros(shape, np.int32) for name, shape in (
    ("x", (5, 6)), ("z", 40), ("y", 64), ("mass", 8), ("head", 4), ("deep", (4, 8)))}
fields = {"x": x, "z": z, "y": y, "mass": mass, "head": head, "deep": deep}
lists = [[] for _ in range(8)]
pairs = np.zeros((4, 8, 2), np.float32)
want["x"][2, 3], want["y"][9], want["head"][1] = 5, 7, 4
active = {"y": np.zeros(64, bool), "deep": np.zeros((4, 8), bool)}  # from_numpy fills these only
active["y"][8:12] = True
at = {}
for name in "x", "mass", "head":
    address, device, shape, strides, _, size = tensor_of(fields[name].__dlpack__())
    assert device == (2, 0) and tuple(shape) == want[name].shape
    assert address == fields[name].__cuda_array_interface__["data"][0]
    at[name] = address, [4 * stride for stride in strides]

def mark(name, index):
    if name == "y":
        active["y"][index[0] // 4 * 4 :][:4] = True
    elif name == "deep":
        active["deep"][index] = True

rng = np.random.default_rng(1)
for turn in range(400):
    name = rng.choice(list(fields))
    index = tuple(int(rng.integers(extent)) for extent in want[name].shape)
    value = int(rng.integers(1, 100))
    shared = rng.choice(list(at))
    place = tuple(int(rng.integers(extent)) for extent in want[shared].shape)
    address = at[shared][0] + sum(i * s for i, s in zip(place, at[shared][1]))
    match int(rng.integers(13)):
        case 0 | 1:
            other(address, value)
            want[shared][place] = value
        case 2 | 3:
            assert other(address) == want[shared][place], (turn, shared, place)
        case 4 | 5:
            fields[name][index] = value
            want[name][index] = value
            mark(name, index)
        case 6 | 7:
            assert fields[name][index] == want[name][index], (turn, name, index)
        case 8:
            i = int(rng.integers(64))
            if len(lists[i % 8]) < 32:
                step(i, value)
                lists[i % 8].append(value)
                want["y"][i] = value
                want["deep"][i % 4, value % 8] = value
                mark("y", (i,))
                mark("deep", (i % 4, value % 8))
                want["z"][i % 40] += value
                for one, more in ("x", 1), ("mass", 2), ("head", 3):
                    want[one] += more
        case 9:
            assert (fields[name].to_numpy() == want[name]).all(), (turn, name)
        case 10:
            new = rng.integers(0, 9, want[name].shape).astype(np.int32)
            fields[name].from_numpy(new)
            want[name] = np.where(active.get(name, True), new, want[name])
        case 11:
            at_pair = index[0] % 4, index[-1] % 8
            pair[at_pair] = [value, -value]
            pairs[at_pair] = [value, -value]
            mark("deep", at_pair)
            assert (pair.to_numpy() == pairs).all(), turn
            new = rng.integers(0, 9, pairs.shape).astype(np.float32)
            pair.from_numpy(new)
            pairs = np.where(active["deep"][..., None], new, pairs)
            assert (pair.to_numpy() == pairs).all(), turn
        case 12:
            found = ids.to_numpy()
            for i, numbers in enumerate(lists):
                assert found[i, : len(numbers)].tolist() == numbers, (turn, i)
            wanted = want["y"].sum(), sum(map(sum, lists)), want["deep"].sum()
            assert tuple(sums()) == wanted, turn
for name, field in fields.items():
    assert (field.to_numpy() == want[name]).all(), name

# What a library holds outlives the tree; cells of sparse SNodes have no regular distances.
kept, last = x.__dlpack__(), want["x"][4, 5]
fault(y.__dlpack__)
fault(deep.__dlpack__)
ti.reset()
assert other(at["x"][0] + 4 * 29) == last
""",
        KILN_FAKE_CUDA="check=race,init",
    )
    regular = "ValueError: the elements are not at regular distances; use to_numpy()"
    assert out.splitlines() == [regular] * 2, out


def test_ndarrays_over_arrays(run, run_python):
    out = run(
        run_python,
        """
numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
for kind in CudaArray, Tensor:
    array = kind(numbers)
    x = ti.from_dlpack(array)
    v = ti.from_dlpack(array, dtype=ti.math.vec3)
    double(x)
    x[0, 0] = 5
    print(x.to_numpy().tolist(), v[1], v.shape)
    array.set(numbers + 1)
    print(x[0, 0], v[0])
    x.fill(3)
    assert (array.get() == 3).all()
    given = x.__cuda_array_interface__
    assert given["data"][0] == array.address
    fault(lambda: ti.from_dlpack(array, dtype=ti.f64))
    del array
    gc.collect()
    assert Memory.live == 1
    del x, v
    gc.collect()
    assert Memory.live == 0
fault(lambda: ti.from_dlpack(3))
on_host = ti.from_dlpack(np.ones(3, np.float32))
double(on_host)
print(on_host.to_numpy())
""",
    )
    each = [
        "[[5.0, 2.0, 4.0], [6.0, 8.0, 10.0]] [ 6.  8. 10.] (2,)",
        "1.0 [1. 2. 3.]",
    ]
    lines = out.splitlines()
    assert lines[:2] == each and lines[3:5] == each, out
    assert "f64" in lines[2] and "f64" in lines[5]
    assert lines[6:] == [
        "AttributeError: 'int' object has no attribute '__dlpack__'",
        "[2. 2. 2.]",
    ], out


def test_overlapping_arrays_of_numpy(run, run_python):
    """One copy holds all that overlap; what is only read is not written."""
    out = run(
        run_python,
        """
@ti.kernel
def shift(a: ti.types.ndarray(), b: ti.types.ndarray(), c: ti.types.ndarray()):
    for _ in range(1):
        ti.loop_config(serialize=True)
        for i in range(a.shape[0]):
            b[i] = a[i] + 1
        for i in range(c.shape[0]):
            c[i] += 100

whole = np.zeros(10, np.int32)
other = np.zeros(2, np.int32)
shift(whole[:9], whole[1:], other)
print(whole, other)
shift(whole[:2], whole[8:], whole[4:6])
print(whole)
shift(whole, whole, whole)
print(whole)
read_only = whole[:4]
read_only.flags.writeable = False
shift(read_only, whole[2:6], other)
print(whole)

# Elements of different sizes, at addresses that are no multiples of the larger one's size.
raw = np.zeros(64, np.uint8)
raw = raw[-raw.ctypes.data % 8 :][:48]
small, large = raw[4:12].view(np.int32), raw[8:40].view(np.int64)

@ti.kernel
def both(a: ti.types.ndarray(), b: ti.types.ndarray()):
    for _ in range(1):
        a[1] = 7
        b[0] += 1
        b[3] = 5

both(small, large)
print(small, large)
""",
    )
    assert out.splitlines() == [
        "[0 1 2 3 4 5 6 7 8 9] [100 100]",
        "[  0   1   2   3 104 105   6   7   1   2]",
        "[101 102 103 104 205 206 107 108 102 103]",
        "[101 102 102 103 103 104 107 108 102 103]",
        "[0 8] [8 0 0 5]",
    ] or pytest.fail(out)


@pytest.mark.parametrize("arch", ["cuda", "cpu"])
def test_arrays_for_kernels_of_modules(run, run_python, tmp_path, arch):
    """Whichever arch the program has, a module takes what an ordinary kernel takes on its device,
    with the same errors."""
    log = str(tmp_path / "log")
    out = run(
        run_python,
        f"""
from cuda_arrays import ExchangedTensor

path = {str(tmp_path / "m.kiln")!r}
array = ti.types.ndarray(dtype=ti.i32, ndim=1)

@ti.kernel
def twice(a: array):
    for i in a:
        a[i] *= 2

@ti.kernel
def total(a: array) -> ti.i32:
    s = 0
    for i in a:
        s += a[i]
    return s

@ti.kernel
def lengths(a: ti.types.ndarray(dtype=ti.math.vec3, ndim=1), b: array):
    for i in a:
        b[i] = ti.cast(a[i].norm_sqr(), ti.i32)

module = ti.aot.Module(targets=["sm_90", "x86-64-v2"])
for kernel in twice, total, lengths:
    module.add_kernel(kernel)
graph = ti.graph.GraphBuilder()
graph.dispatch(twice, ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "a", ti.i32, ndim=1))
module.add_graph("graph", graph.compile())
module.export(path)
ti.init(arch=ti.{arch})
m = ti.aot.load(path)
assert m.target == "sm_90"

numbers = np.arange(1000, dtype=np.int32)
for kind in CudaArray, Tensor:
    one = kind(numbers)
    m.twice(one)
    before = len(pathlib.Path(os.environ["LOG"]).read_text())
    m.twice(one)
    calls = pathlib.Path(os.environ["LOG"]).read_text()[before:].split()
    asks = {{"cuCtxGetCurrent", "cuPointerGetAttribute"}}
    assert [call for call in calls if call not in asks] == ["cuLaunchKernel"], calls
    m.graph.run({{"a": one}})
    assert (one.get() == numbers * 8).all() and m.total(one) == numbers.sum() * 8
ours = ti.ndarray(ti.i32, 1000)
ours.from_numpy(numbers)
m.twice(ours)
assert (ours.to_numpy() == numbers * 2).all()
points, squares = Tensor(np.full((5, 3), 2, np.float32)), np.zeros(5, np.int32)
m.lengths(points, squares)
print(squares)
m.twice(CudaArray(numbers, shape=(0,), data=(0, False)))

# In the order of the arrays' streams.
for stream in 0, make_stream():
    ExchangedTensor.stream = stream
    kinds = ExchangedTensor(numbers), CudaArray(numbers, stream=stream or 1)
    for one in kinds:
        for turn in range(3):
            one.set(numbers + turn, stream or None)
            m.twice(one)
            got = read(one.address, one.shape, one.dtype, stream or None)
            assert (got == (numbers + turn) * 2).all(), (stream, turn)
            one.set(numbers + turn, stream or None)
            m.graph.run({{"a": one}})
            got = read(one.address, one.shape, one.dtype, stream or None)
            assert (got == (numbers + turn) * 2).all(), (stream, turn)

del one, kinds, points
gc.collect()
print(Memory.live)

fault(m.twice, Tensor(numbers, strides=(2,)))
fault(m.twice, CudaArray(numbers, mask=numbers))
fault(m.twice, Tensor(numbers, device=(2, 1)))
fault(m.twice, Tensor(numbers.astype(np.float32)))
fault(m.twice, Tensor(numbers.reshape(10, 100)))
fault(m.twice, CudaArray(numbers, stream=12345))
constant = CudaArray(numbers)
constant.changes["data"] = (constant.address, True)
assert m.total(constant) == numbers.sum()
fault(m.twice, constant)
fault(m.graph.run, {{"a": constant}})
numbers.flags.writeable = False
assert m.total(numbers) == numbers.sum()
fault(m.twice, numbers)
fault(m.twice, ti.field(ti.i32, 4))
on_cpu = ti.aot.load(path, arch=ti.cpu)
fault(on_cpu.twice, Tensor(numbers))
fault(on_cpu.twice, CudaArray(numbers))
""",
        LOG=log,
        KILN_FAKE_CUDA=f"log={log}",
    )
    in_place = "ValueError: Invalid value for argument a - the tensor cannot be used in place: "
    kernel = "TaichiRuntimeError: kernel 'twice', "
    takes = kernel + "argument 'a' takes an array of i32 with 1 axes, got "
    read_only = "argument 'a': the array is read-only, and the kernel writes to it"
    streams = "CUDA streams cannot be ordered"
    lines = out.splitlines()
    assert streams in lines.pop(7)
    assert lines == [
        "[12 12 12 12 12]",
        "0",
        in_place + "the tensor is not contiguous in C order",
        in_place + "it has a mask",
        in_place + "the tensor is on CUDA device 1, the program's kernels run on device 0",
        takes + "an array of float 32-bit numbers (DLPack code 2, 1 lanes)",
        takes + "an array of 2 axes",
        f"ValueError: kernel 'twice', {read_only}",
        f"ValueError: graph 'graph', {read_only}",
        f"ValueError: kernel 'twice', {read_only}",
        takes + "something else",
        in_place + "the tensor is not in the memory of the CPU",
        in_place + "it is on a CUDA device, the program's kernels run on the CPU",
    ] or pytest.fail(out)
