"""Launches in streams of the program's own (ti.cuda.stream), on the emulator of CUDA: the work of a
stream waits until something asks for it, and streams run in a random order, so what is not ordered
is wrong."""

import pytest

KERNELS = """
from cuda_arrays import CudaArray, _driver as driver, make_stream, read


@ti.kernel
def up(f: ti.template()):
    for i in f:
        f[i] += 1


@ti.kernel
def double(a: ti.types.ndarray()):
    for i in a:
        a[i] = a[i] * 2


@ti.kernel
def total(a: ti.types.ndarray()) -> ti.i32:
    s = 0
    for i in a:
        s += a[i]
    return s


@ti.kernel
def show(f: ti.template()):
    print("has", f[1])


"""


@pytest.fixture
def run(run_on_emulator):
    def start(program, *settings, **options):
        return run_on_emulator(KERNELS + program, *settings, **options)

    return start


@pytest.mark.parametrize("seed", [1, 2])
def test_all_work_keeps_its_order(run, seed):
    """Launches, copies of both directions, results, prints, sparse trees, tapes and graphs."""
    out = run(
        """
x, y = ti.field(ti.i32, 1000), ti.ndarray(ti.i32, 1000)
cells = ti.field(ti.i32)
block = ti.root.pointer(ti.i, 16)
block.dense(ti.i, 4).place(cells)
one, other = make_stream(), make_stream()
numbers = np.arange(1000, dtype=np.int32)


@ti.kernel
def activate(k: ti.i32):
    cells[k] += 1
    for i in cells:
        cells[i] += 1


for turn in range(4):
    x.from_numpy(numbers + turn)
    y.from_numpy(numbers + turn)
    with ti.cuda.stream(one):
        up(x)
        double(y)
        show(x)
        copied = numbers.copy()
        double(copied)
        assert (copied == numbers * 2).all()
        activate(turn * 4)
        with ti.cuda.stream(other):
            up(x)
            double(y)
            assert x[999] == 1001 + turn
            x[0] = 100 + turn
            up(x)
            assert total(y) == (numbers + turn).sum() * 4
            activate(turn * 4 + 1)
        up(x)
        y[5] = 7
        double(y)
    up(x)
    wanted = numbers + turn + 5
    wanted[0] = 103 + turn
    assert (x.to_numpy() == wanted).all(), x.to_numpy()[:9]
    wanted = (numbers + turn) * 8
    wanted[5] = 14
    assert (y.to_numpy() == wanted).all()
    activate(turn * 4 + 2)
    with ti.cuda.stream(other):
        block.deactivate_all()
        activate(63)
    print(cells.to_numpy().tolist()[60:], cells[turn * 4])
    block.deactivate_all()

with ti.cuda.stream(one):
    with ti.graph() as graph:
        up(x)
        double(y)
y.fill(1)
x.fill(0)
graph.launch()
with ti.cuda.stream(other):
    graph.launch()
    up(x)
    graph.launch()
graph.launch()
print(x[7], y[7])
""",
        f"seed={seed}",
    )
    lines = out.splitlines()
    assert lines[:8:2] == [f"has {turn + 2}" for turn in range(4)]
    assert lines[1:8:2] == ["[1, 1, 1, 2] 0"] * 4
    assert lines[8:] == ["5 16"]


def test_threads_with_streams_of_their_own(run):
    """No launch overlaps another's: each reads what it adds to."""
    out = run(
        """
x = ti.field(ti.i32, 64)
counts = ti.ndarray(ti.i32, 4)


@ti.kernel
def count(a: ti.types.ndarray()):
    s = 0
    for i in x:
        s += x[i]
    a[0] = s


def work(stream):
    for turn in range(25):
        with ti.cuda.stream(stream):
            up(x)
            if turn % 5 == 0:
                count(counts)
            up(x)


up(x)
count(counts)
threads = [threading.Thread(target=work, args=(make_stream(),)) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(50):
    up(x)
for thread in threads:
    thread.join()
print(set(x.to_numpy().tolist()))
""",
    )
    assert out == "{201}\n"


def test_a_launch_in_a_stream_is_one_call(run):
    """Events order streams when the stream changes."""
    out = run("""
x = ti.field(ti.i32, 64)
up(x)
print(calls_of(lambda: up(x)))
stream = make_stream()
with ti.cuda.stream(stream):
    up(x)
    print(calls_of(lambda: up(x)))
    with ti.graph() as graph:
        up(x)
    graph.launch()
    print(calls_of(graph.launch))
up(x)
calls = calls_of(lambda: up(x))
print(calls)
print(x[3])
""")
    assert out == (
        "['cuLaunchKernel']\n"
        "['cuCtxGetCurrent', 'cuLaunchKernel']\n"
        "['cuCtxGetCurrent', 'cuCtxGetCurrent', 'cuGraphLaunch']\n"
        "['cuCtxGetCurrent', 'cuLaunchKernel']\n"
        "8\n"
    )


def test_arrays_of_other_libraries(run):
    """In the stream of their library, without events; in others, ordered by them."""
    out = run("""
mine, other = make_stream(), make_stream()
numbers = np.arange(1000, dtype=np.int32)
for stream in mine, other, 1:
    array = CudaArray(np.zeros_like(numbers), stream=stream)
    handle = None if stream == 1 else stream
    with ti.cuda.stream(mine):
        for turn in range(3):
            array.set(numbers + turn, handle)
            double(array)
            got = read(array.address, array.shape, array.dtype, handle)
            assert (got == (numbers + turn) * 2).all(), stream
with ti.cuda.stream(mine):
    array = CudaArray(numbers, stream=mine)
    double(array)
    print([call for call in calls_of(lambda: double(array)) if call != "cuCtxGetCurrent"])
    y = ti.ndarray(ti.i32, 1000)
    y.from_numpy(numbers)
    double(y)
    interface = y.__cuda_array_interface__
    at = interface["data"][0]
    assert interface["stream"] == 1
    assert (read(at, y.shape, np.int32) == numbers * 2).all()
    double(y)
    y.__dlpack__(stream=other)
    assert (read(at, y.shape, np.int32, other) == numbers * 4).all()
    double(y)
    y.__dlpack__()
    assert (read(at, y.shape, np.int32) == numbers * 8).all()
""")
    assert out == "['cuPointerGetAttribute', 'cuPointerGetAttribute', 'cuLaunchKernel']\n"


def test_profiles(run):
    out = run(
        """
x = ti.field(ti.i32, 64)
with ti.cuda.stream(make_stream()):
    up(x)
    up(x)
up(x)
print(ti.profiler.query_kernel_profiler_info("up").counter)
""",
        init="kernel_profiler=True",
    )
    assert out == "3\n"


def test_what_is_no_stream(run):
    """Each is named, and changes nothing."""
    out = run("""
class OfTorch:
    cuda_stream = make_stream()


class OfOthers:
    def __cuda_stream__(self):
        return 0, OfTorch.cuda_stream


class Newer:
    def __cuda_stream__(self):
        return 1, OfTorch.cuda_stream


def use(stream):
    with ti.cuda.stream(stream):
        up(x)


x = ti.field(ti.i32, 4)
for stream in OfTorch(), OfOthers(), 0, 1, 2, np.uint64(OfTorch.cuda_stream):
    use(stream)
print(x[0])
for stream in "a", None, True, 1.0, -1, 1 << 64, 12345, Newer():
    fault(use, stream)
other = ctypes.c_void_p()
assert driver.cuCtxCreate_v2(ctypes.byref(other), 0, 0) == 0
foreign = ctypes.c_void_p()
assert driver.cuStreamCreate(ctypes.byref(foreign), 0) == 0
fault(use, foreign.value)
scope = ti.cuda.stream(OfTorch())
with scope:
    with scope:
        up(x)
    up(x)


def capture():
    with ti.graph():
        use(OfTorch())


fault(capture)


def fail():
    with ti.cuda.stream(OfTorch()):
        raise KeyError("left")


fault(fail)
print(calls_of(lambda: up(x))[-1], x[0])
""")
    lines = out.splitlines()
    assert lines[0] == "6"
    for line, kind in zip(lines[1:5], ("str", "NoneType", "bool", "float")):
        assert line.startswith("TypeError: ti.cuda.stream takes the handle of a CUDA stream, or")
        assert line.endswith(f"got {kind}")
    for line, handle in zip(lines[5:7], (-1, 1 << 64)):
        assert line == f"ValueError: {handle} is the handle of no CUDA stream"
    assert "12345 is the handle of no CUDA stream: CUDA_ERROR_INVALID_HANDLE" in lines[7]
    assert lines[8].startswith("TypeError: `__cuda_stream__` of a stream should give (0, handle)")
    assert lines[9].startswith("ValueError: the CUDA stream ") and "belongs to another" in lines[9]
    assert "ti.cuda.stream cannot be part of a captured graph" in lines[10]
    assert lines[11:] == ["KeyError: 'left'", "cuLaunchKernel 9"]


def test_a_stream_that_ends_after_its_block(run):
    out = run("""
x = ti.field(ti.i32, 64)
for _ in range(3):
    stream = make_stream()
    with ti.cuda.stream(stream):
        up(x)
    assert driver.cuStreamDestroy_v2(ctypes.c_void_p(stream)) == 0
    up(x)
with ti.cuda.stream(make_stream()):
    up(x)
    ti.init(arch=ti.cpu)
    y = ti.field(ti.i32, 4)
    up(y)
print(y[0])
fault(ti.cuda.stream(1).__enter__)
ti.init(arch=ti.cuda)
x = ti.field(ti.i32, 64)
up(x)
print(x[1])
""")
    assert out.splitlines() == [
        "1",
        "TaichiRuntimeError: ti.cuda.stream is for kernels on a CUDA device, and those of the "
        "program run on the CPU",
        "1",
    ]


@pytest.mark.parametrize("seed", [1, 2])
def test_freed_memory_is_used_again_in_order(run, seed):
    """The next array of the same size gets it, without a wait, whichever streams have used it."""
    out = run(
        """
one, other = make_stream(), make_stream()
sum_of_all = ti.ndarray(ti.i32, 64)


@ti.kernel
def add_to(a: ti.types.ndarray(), b: ti.types.ndarray(), n: ti.i32):
    for i in a:
        a[i] += n
        b[i] += a[i]


def step(n):
    with ti.cuda.stream([one, other, 0][n % 3]):
        made = ti.ndarray(ti.i32, 64)
        add_to(made, sum_of_all, n)
        add_to(made, sum_of_all, n)


for n in range(3):
    step(n)
calls = calls_of(lambda: [step(n) for n in range(3, 60)])
print(sum(sum_of_all.to_numpy()) == 64 * 3 * sum(range(60)))
print([calls.count(call) for call in ("cuMemAlloc_v2", "cuMemFree_v2", "cuCtxSynchronize")])

# Another library may go on using its memory: it is freed.
made = ti.ndarray(ti.i32, 64)
made.__cuda_array_interface__
del made
gc.collect()
print(calls_of(lambda: ti.ndarray(ti.i32, 64)).count("cuMemAlloc_v2"))
""",
        f"seed={seed}",
    )
    assert out == "True\n[0, 0, 0]\n1\n"
