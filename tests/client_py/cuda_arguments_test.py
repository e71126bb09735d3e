"""Arrays of other libraries (cuda_arrays.py) as arguments of kernels on CUDA devices, on the
emulator."""

import pytest


def test_arrays_as_arguments(run_with_arrays, tmp_path):
    """By pointer: the launch copies nothing."""
    log = str(tmp_path / "log")
    out = run_with_arrays(
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


def test_calls_of_warm_launches(run_with_arrays, tmp_path):
    """What a launch asks of the driver, once the kernel has an instance."""
    log = str(tmp_path / "log")
    out = run_with_arrays(
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


def test_known_arrays_need_no_python_code(run_with_arrays):
    """A call with arrays of known types runs none of the front end's code."""
    out = run_with_arrays(
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


def test_arrays_that_cannot_be_arguments(run_with_arrays):
    out = run_with_arrays(
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
        in_place + "its type '<c8' is not a type of the language",
        in_place + "its type '>f4' is not a type of the language",
        in_place + "it has a mask",
        in_place + "the tensor is on CUDA device 1, the program's kernels run on device 0",
        in_place + "the tensor is neither in the memory of the CPU nor on a CUDA device",
        in_place + "the tensor's type (code 5, 64 bits) is not a type of the language",
        in_place + "its address is not in the memory of a CUDA device",
        in_place + "the tensor's address is not a multiple of its elements' size",
    ] + out.splitlines()[10:14] + [
        in_place + "the tensor is not in the memory of the CPU",
        in_place + "it is on a CUDA device, the program's kernels run on the CPU",
        "ValueError: the tensor is not in the memory of the CPU",
    ] or pytest.fail(out)
    for line, text in zip(out.splitlines()[10:14], ["f64", "1", "element", "f32"]):
        assert not line.startswith("no error") and text in line, line


def test_arrays_of_malformed_interfaces(run_with_arrays):
    out = run_with_arrays(
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
        "-1 is not a CUDA stream",
        "'7' is not a CUDA stream",
        "its axis 0 has 2147483648 indices, but indices are 32-bit integers",
    ]
    in_place = "Invalid value for argument a - the tensor cannot be used in place: "
    wanted = [f"ValueError: {given}{text}" for text in texts for given in (in_place, "")][:-1]
    streams = ["-2", "'7'", str(1 << 64)]
    wanted += [f"ValueError: {stream} is not a CUDA stream" for stream in streams]
    assert out.splitlines() == wanted or pytest.fail(out)


def test_streams(run_with_arrays):
    """Kernels come after the work in the streams of their arrays, and that after them."""
    out = run_with_arrays(
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


def test_tensors_without_capsules(run_with_arrays):
    """By the functions of their type, in the order of its library's stream; derived types by
    capsules."""
    out = run_with_arrays(
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


def test_tensors_in_the_place_of_others(run_with_arrays):
    """A call may use what an earlier one made for a tensor of the same memory and form, and keeps
    no tensor."""
    out = run_with_arrays(
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


def test_overlapping_arrays_of_numpy(run_with_arrays):
    """One copy holds all that overlap; what is only read is not written."""
    out = run_with_arrays(
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
def test_arrays_for_kernels_of_modules(run_with_arrays, tmp_path, arch):
    """Whichever arch the program has, a module takes what an ordinary kernel takes on its device,
    with the same errors."""
    log = str(tmp_path / "log")
    out = run_with_arrays(
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
