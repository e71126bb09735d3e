"""Several CUDA devices in one process, on the emulator: each has its own context, code, default
stream and memory, which kernels of another device cannot use."""

import pytest

PROGRAM = """
from cuda_arrays import CudaArray, _driver as driver, make_stream, use_device


def show(*values):
    print(*(value.to_numpy() if hasattr(value, "to_numpy") else value for value in values))


def use(number):
    ti.init(arch=ti.cuda, cuda_device=number)


@ti.kernel
def up(f: ti.template()):
    for i in f:
        f[i] += 1


@ti.kernel
def double(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    for i in a:
        a[i] = a[i] * 2


@ti.kernel
def total(a: ti.types.ndarray(dtype=ti.i32, ndim=1)) -> ti.i32:
    s = 0
    for i in a:
        s += a[i]
    return s


def filled(value):
    made = ti.ndarray(ti.i32, 3)
    made.fill(value)
    return made


"""


@pytest.fixture
def run(run_on_emulator):
    def start(program, settings="devices=2", arch="cpu", **options):
        return run_on_emulator(PROGRAM + program, settings, arch, **options).splitlines()

    return start


@pytest.mark.parametrize("settings", ["devices=2", "devices=2;arch=90,80"])
def test_programs_change_devices(run, settings):
    """All that a program has works on each device, also when it comes back to one, and also if the
    devices need different code."""
    out = run(
        """
print(ti.cuda.device_count())
for number in (0, 1, 0, 1):
    use(number)
    x = ti.field(ti.i32, 4)
    pointers = ti.root.pointer(ti.i, 4)
    p = ti.field(ti.i32)
    pointers.dense(ti.i, 2).place(p)
    p[5] = 1
    a, numbers = filled(3), np.ones(3, np.int32)
    for one in (x, p):
        up(one)
    for one in (a, numbers):
        double(one)
    with ti.graph.capture() as graph:
        up(x)
        double(a)
    graph.launch()
    show(x, p, a, numbers, total(a), x.__dlpack_device__(), a.__dlpack_device__())
    calls = calls_of(lambda: (up(x), up(x)))
    assert calls == 2 * ["cuLaunchKernel"], calls
""",
        settings,
    )
    line = "[2 2 2 2] [0 0 0 0 1 2 0 0] [12 12 12] [2 2 2] 36 (2, {0}) (2, {0})"
    assert out == ["2", *(line.format(n) for n in (0, 1, 0, 1))]


def test_what_stays_on_the_former_device(run):
    out = run("""
use(0)
x, a = ti.field(ti.i32, 3), filled(1)
with ti.graph.capture() as graph:
    double(a)
double(a)
use(1)
fault(up, x)
fault(graph.launch)
fault(double, a)
fault(ti.from_dlpack, a)
with ti.graph.capture() as other:
    fault(double, a)
    other._fault = None
show(a, a.__dlpack_device__(), hasattr(a, "__cuda_array_interface__"))
a[0] = 7
b = filled(0)
b.copy_from(a)
double(b)
show(a, b)
ti.init(arch=ti.cpu)
fault(double, a)
show(a, a.__dlpack_device__(), hasattr(filled(1), "__cuda_array_interface__"))
use(0)
double(a)
show(a)
""")
    gone = "its memory ended with ti.reset(), ti.init() or destroy()"
    refused = "ValueError: Invalid value for argument a - the array is on CUDA device 0, the "
    advice = ": make another after ti.init(), and fill it by copy_from"
    assert out[3].startswith("the field ") and out[3].endswith(gone)
    assert out[4].startswith("TaichiRuntimeError: the graph uses memory that ended with ti.init()")
    assert out[5:] == [
        refused + "program's kernels run on device 1" + advice,
        "ValueError: the tensor is on CUDA device 0, the program's kernels run on device 1",
        refused + "program's kernels run on device 1" + advice,
        "[2 2 2] (2, 0) True",
        "[7 2 2] [14  4  4]",
        refused + "program's kernels run on the CPU" + advice,
        "[7 2 2] (2, 0) False",
        "[14  4  4]",
    ]


def test_streams_and_arrays_of_a_device(run):
    """A thread's stream is one of its device, to which it returns, wherever the block ends."""
    out = run("""
use(1)
use_device(1)
foreign, array = make_stream(), CudaArray(np.arange(3, dtype=np.int32))
y = ti.field(ti.i32, 3)
with ti.cuda.stream(foreign):
    up(y)
    double(array)
use(0)
use_device(0)
own = make_stream()
fault(lambda: ti.cuda.stream(foreign).__enter__())
fault(double, array)
with ti.cuda.stream(own):
    use(1)
    y = ti.field(ti.i32, 3)
    up(y)
    with ti.cuda.stream(foreign):
        double(array)
        up(y)
    double(array)
    use_device(1)
    show(y, array.get())
    print(ti._native.stream())
    use(0)
    print(ti._native.stream() == own)
print(ti._native.stream())
""")
    assert out[0].startswith("ValueError: the CUDA stream ")
    assert out[0].endswith(
        "belongs to another context or device than Kiln PTX emulator, device 0, "
        "on which kernels run"
    )
    assert out[1:] == [
        "ValueError: Invalid value for argument a - the tensor cannot be used in place: it is on "
        "CUDA device 1, the program's kernels run on device 0",
        "[2 2 2] [ 0  8 16]",
        "0",
        "True",
        "0",
    ]


def test_modules_stay_on_their_device(run, tmp_path):
    """A module is loaded on the device in use, and stays there."""
    out = run(f"""
path = {str(tmp_path / "double.kiln")!r}
use(0)
module = ti.aot.Module()
module.add_kernel(double)
module.export(path)
a, first = filled(1), ti.aot.load(path)
use(1)
b, second = filled(1), ti.aot.load(path)
numbers = np.ones(3, np.int32)
for one, array in ((first, a), (second, b), (first, numbers), (second, numbers)):
    one.double(array)
fault(first.double, b)
fault(second.double, a)
show(a, b, numbers)
""")
    refused = "TaichiRuntimeError: kernel 'double', argument 'a' takes an array of i32 with 1 axes,"
    assert out == [
        f"{refused} got an array that it cannot use: it is on CUDA device {of}, the program's "
        f"kernels run on device {own}"
        for of, own in ((1, 0), (0, 1))
    ] + ["[2 2 2] [2 2 2] [4 4 4]"]


def test_threads_run_modules_on_two_devices(run, tmp_path):
    out = run(
        f"""
path = {str(tmp_path / "grow.kiln")!r}
use(0)
f = ti.field(ti.i32)
ti.root.pointer(ti.i, 64).dense(ti.i, 4).place(f)


@ti.kernel
def grow(cells: ti.i32):
    for i in range(cells):
        f[i] += 1
    for i in f:
        f[i] += 1


module = ti.aot.Module()
for kernel in (grow, total):
    module.add_kernel(kernel)
module.add_field("f", f)
module.export(path)
worlds, sums = [], []
for number in (0, 1, 0, 1):
    use(number)
    worlds.append(ti.aot.load(path))


def work(world):
    for turn in range(20):
        world.grow(100)
        sums.append(world.total(np.full(10, turn, np.int32)))


threads = [threading.Thread(target=work, args=(world,)) for world in worlds]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(sums), *(world.f.to_numpy().sum() for world in worlds))
"""
    )
    assert out == ["7600 4000 4000 4000 4000"]


def test_threads_and_devices(run):
    """Contexts are current for a thread. A kernel that is compiled while another thread changes
    the device is not for that one."""
    out = run(
        """
from kiln.instance import Making

def in_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()

use(0)
a, compile = filled(1), Making.compile

def interrupted(making):
    Making.compile = compile
    compile(making)
    in_thread(use, 1)

Making.compile = interrupted
fault(double, a)
b = filled(1)
double(b)
in_thread(double, b)
in_thread(show, a, b, b.__dlpack_device__())
double(b)
in_thread(use, 0)
double(a)
show(a, b)
""",
        KILN_WARM="off",
    )
    assert out == [
        "ValueError: Invalid value for argument a - the array is on CUDA device 0, the program's "
        "kernels run on device 1: make another after ti.init(), and fill it by copy_from",
        "[1 1 1] [4 4 4] (2, 1)",
        "[2 2 2] [8 8 8]",
    ]


def test_a_former_device_keeps_no_idle_memory(run):
    out = run("""
def used():
    left, total = ctypes.c_size_t(), ctypes.c_size_t()
    assert driver.cuMemGetInfo_v2(ctypes.byref(left), ctypes.byref(total)) == 0
    return total.value - left.value

use(0)
double(np.ones(3, np.int32))
before = used()
double(np.ones(1 << 20, np.int32))
held = used()
use(1)
double(np.ones(3, np.int32))
print(held - before >= 4 << 20, used() < held)
""")
    assert out == ["True True"]


def test_devices_are_counted_without_a_device(run, run_python):
    count = "print(ti.cuda.device_count())"
    assert run(count, "no_device") == ["0"]
    assert run(count, CUDA_VISIBLE_DEVICES="1") == ["1"]
    out = run_python(f"import kiln as ti; {count}", KILN_CUDA_DRIVER="/no/driver")
    assert out == "0\n"
