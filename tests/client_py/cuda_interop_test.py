"""Memory of a CUDA device that other libraries and Kiln share, on the emulator: fields and ndarrays
given to them, and ndarrays over their arrays (cuda_arrays.py)."""

import pytest


def test_ndarrays_over_read_only_arrays(run_with_arrays):
    """Neither Python nor another library writes to them."""
    out = run_with_arrays(
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


def test_fields_and_ndarrays_for_other_libraries(run_with_arrays):
    """Both sides see what the other one writes, from kernels and from Python."""
    out = run_with_arrays(
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


def test_fields_beside_sparse_snodes(run_with_arrays):
    """Another library writes to dense fields of trees that Python and kernels change, too: one of
    its own, and two whose cells also hold a list and bits of sparse cells."""
    out = run_with_arrays(
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


def test_ndarrays_over_arrays(run_with_arrays):
    out = run_with_arrays(
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
