"""What CUDA devices refuse, on the emulator, which fails on demand (KILN_FAKE_CUDA): each is a
clear error, and the program goes on where the device can."""

import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
START = """
import ctypes
import os
import sys

import numpy as np
import kiln as ti

driver = ctypes.CDLL(os.environ["DRIVER"])


def fault(call, *args, **keywords):
    try:
        call(*args, **keywords)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
    else:
        print("no error")


def free():
    # MiB of the device's memory
    left, total = ctypes.c_size_t(), ctypes.c_size_t()
    assert driver.cuMemGetInfo_v2(ctypes.byref(left), ctypes.byref(total)) == 0
    return left.value >> 20


@ti.kernel
def up(x: ti.template()):
    for i in x:
        x[i] += 1


@ti.kernel
def double(a: ti.types.ndarray()):
    for i in a:
        a[i] = a[i] * 2


"""


@pytest.fixture(scope="module", autouse=True)
def emulator():
    subprocess.run([ROOT / "kiln", "build", "emulator"], check=True, capture_output=True)


@pytest.fixture
def run(run_python):
    def start(program, settings="", init="ti.init(arch=ti.cuda)\n", **options):
        environment = {
            "KILN_CUDA_DRIVER": "emulator",
            "DRIVER": str(ROOT / ".kiln" / "bin" / "libcuda-emulator.so"),
            "KILN_FAKE_CUDA": settings,
            "KILN_SERVER": "off",
        }
        return run_python(START + init + program, **{**environment, **options})

    return start


def test_a_device_without_memory(run):
    """The error names the size and its use. What was there stays, and the program goes on."""
    out = run(
        """
x = ti.field(ti.f32, shape=1 << 20, name="kept")
x.fill(3)
up(x)
before = free()

large = ti.field(ti.f32, shape=(1 << 12, 1 << 13), name="large")
fault(lambda: large[0, 0])
fault(lambda: large[0, 0])
fault(ti.ndarray, ti.f64, (1 << 12, 1 << 12))
a = np.ones(1 << 25, np.float32)
fault(double, a)
assert (a == 1).all() and before == free()

up(x)
assert (x.to_numpy() == 5).all()
small = ti.field(ti.f32, shape=8)
b = np.arange(8, dtype=np.float32)
double(b)
up(small)
print(small.to_numpy().sum(), b.sum())

tree = ti.field(ti.f32, name="sparse")
ti.root.pointer(ti.ij, 1 << 12).dense(ti.ij, 1 << 6).place(tree)
fault(lambda: tree[0, 0])
up(x)
assert x[0] == 6

# Memory comes back, however often it ran out. What stays for the next fields is freed first.
for turn in range(20):
    ti.init(arch=ti.cuda)
    y = ti.field(ti.f32, shape=10 << 20)  # 40 MiB and margins
    up(y)
    assert y[7] == 1
    fault(ti.ndarray, ti.f32, 10 << 20)
    assert free() >= 17, free()
""",
        "memory=60",
    )
    lines = out.splitlines()
    on = "on Kiln PTX emulator, of whose 60 MiB "
    assert lines[0].startswith("TaichiRuntimeError: cannot allocate 134217728 bytes (128 MiB) for")
    assert on in lines[0]
    assert "are free; needed for field 'large' created at" in lines[0]
    assert lines[1].startswith("TaichiRuntimeError: field 'large' created at ")
    assert "has no memory: there was an error" in lines[1]
    assert "134217728 bytes" in lines[2] and on in lines[2]
    assert "(128 MiB) for arrays of the host on Kiln" in lines[3] and on in lines[3]
    assert lines[4] == "8.0 56.0"
    assert "field 'sparse'" in lines[5] and "cannot allocate" in lines[5]
    assert all("41943040 bytes (40 MiB)" in line for line in lines[6:])
    assert len(lines) == 26, out


def test_memory_that_trees_hold_is_named(run):
    """A tree has from the start what it may need, so an error about other data tells of it."""
    out = run(
        """
few, many = ti.field(ti.f32), ti.field(ti.f32)
ti.root.pointer(ti.i, 4).place(few)
few[1] = 1
ti.root.pointer(ti.i, 1 << 12).dense(ti.i, 1 << 12).place(many)  # some 65 MiB
many[1] = 1
fault(ti.ndarray, ti.f32, 10 << 20)
ti.init(arch=ti.cuda)
fault(ti.ndarray, ti.f32, 30 << 20)
""",
        "memory=100",
    )
    first, second = out.splitlines()
    advice = " (ti.init(device_memory_GB=...) sets the most of each)"
    assert "are free; trees with sparse SNodes hold 65" + advice in first, first
    assert second.endswith("are free"), second


TREE = """
x = ti.field(ti.f32, name="x")
block = ti.root.pointer(ti.i, 1 << 12)
block.dense(ti.i, 1 << 12).place(x)  # 16 KiB a cell, 64 MiB in all

@ti.kernel
def fill(cells: ti.i32):
    for i in range(cells):
        x[i << 12] = i

@ti.kernel
def total() -> ti.f64:
    s = 0.0
    for i in x:
        s += x[i]
    return s

fill(CELLS)
print(total())
fault(lambda: (fill(1 << 12), ti.sync()))
seen = sum(x[i << 12] == i for i in range(CELLS))
print(seen, x[5])
y = ti.field(ti.f32, shape=8)
up(y)
print(y[1])
"""


@pytest.mark.parametrize(
    "settings, options, cells",
    [
        ("memory=40", "", 1000),
        ("memory=4096", "device_memory_GB=0.03", 1000),
        ("memory=4096", "device_memory_fraction=0.008", 1500),
    ],
)
def test_trees_with_too_little_memory(run, settings, options, cells):
    """They have what the device and the options give, and say when that is over."""
    program = TREE.replace("CELLS", str(cells))
    out = run(program, settings, init=f"ti.init(arch=ti.cuda, {options})\n").splitlines()
    assert out[0] == str(float(sum(range(cells))))
    assert "out of memory: cannot activate another cell of SNode" in out[1] and "with x" in out[1]
    assert out[2:] == [f"{cells} 0.0", "1.0"], out


def test_memory_that_fails_once(run):
    """Whichever allocation fails: an error, or nothing that is seen; then the same works."""
    program = """
@ti.kernel
def total(a: ti.types.ndarray()) -> ti.f32:
    s = 0.0
    for i in a:
        s += a[i]
    return s

for turn in range(40):
    try:
        ti.init(arch=ti.cuda)
        x = ti.field(ti.f32, shape=100)
        t = ti.field(ti.f32)
        ti.root.pointer(ti.i, 8).dense(ti.i, 8).place(t)
        up(x)
        t[3] = 1
        up(t)
        a = np.ones(4, np.float32)
        double(a)
        assert total(a) == 8 and x[1] == 1 and t[3] == 2 and t[4] == 1
        print("done")
        break
    except (RuntimeError, MemoryError) as error:
        known = "memory", "cannot allocate", "does not start"
        assert any(text in str(error) for text in known), error
        print("failed")
"""
    failed = 0
    for number in range(1, 7):
        out = run(program, f"fail_alloc={number}", init="").splitlines()
        assert out[-1] == "done" and out.count("failed") <= 1, out
        failed += out.count("failed")
    assert failed >= 4


def test_code_that_the_driver_refuses(run):
    done = run("x = ti.field(ti.f32, 4)\nup(x)\n", "fail_image=1", check=False)
    assert done.returncode != 0
    assert "does not load the kernel's code: CUDA_ERROR_INVALID_IMAGE" in done.stderr


def test_more_local_variables_than_a_thread_can_have(run):
    program = """
large = ti.types.matrix(256, 256, ti.f64)
y = ti.field(ti.f64, 4)
@ti.kernel
def fill(n: ti.i32):
    for i in y:
        a, b = large(0), large(1)
        for j in range(n):
            a[j, (7 * j + i) % 256] = b[j, (5 * j + i) % 256] = j
        for j in range(n):
            y[i] += a[j, j] + b[j, j]
fill(200)
"""
    done = run(program, check=False)
    assert done.returncode != 0
    assert "local variables of 1048576 bytes on CUDA, where a thread has 524288" in done.stderr


def test_the_most_arguments_of_a_launch(run):
    """A kernel may have as many as a launch has parameters, and one that has more is named."""
    out = run("""
def total_of(count):
    fields = [ti.field(ti.i32, 4) for _ in range(count)]
    total = ti.field(ti.i32, ())
    for k, field in enumerate(fields):
        field.fill(k)

    @ti.kernel
    def add(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in range(4):
            for field in ti.static(fields):
                total[None] += field[i]
            a[i] += 1

    a = ti.ndarray(ti.i32, 4)
    add(a)
    with ti.graph.capture() as graph:
        add(a)
    graph.launch()
    print(total[None] == 8 * sum(range(count)), a[3])

ti.init(arch=ti.cuda, unrolling_limit=0)
total_of(248)  # 500 numbers
total_of(249)
fault(total_of, 2043)
ti.init(arch=ti.cpu, unrolling_limit=0)
total_of(249)
""")
    assert (
        out.replace(": \n", ":\n")
        == """True 2
True 2
TaichiUnsupportedError:
kernel 'add': a launch on CUDA has at most 4089 numbers, here 4090: two for each field, one for \
each ndarray and each of its axes, and one for each element of vectors and matrices; divide the \
kernel
True 2
"""
    )


def test_drivers_that_take_fewer_arguments(run):
    """Drivers before CUDA 12.1 run kernels of 500 numbers, and name one that has more."""
    program = """
def first_of(count):
    fields = [ti.field(ti.i32, ()) for _ in range(count)]

    @ti.kernel
    def first() -> ti.i32:
        for field in ti.static(fields):
            field[None] += 1
        return fields[0][None]

    print(first())

first_of(250)
first_of(251)
"""
    done = run(program, "driver=12000", check=False)
    assert done.stdout == "1\n" and done.returncode != 0
    assert (
        "kernel `first` takes 502 argument slots; the CUDA driver, which has CUDA 12.0, takes 500: "
        "more need CUDA 12.1" in done.stderr
    )


@pytest.mark.parametrize(
    "settings, text",
    [
        ("driver=11040", "which has CUDA 11.4, is too old for the kernel's code: it needs CUDA 11"),
        ("arch=61", "Kiln PTX emulator has compute capability 6.1; kernels run on 7.5 and later"),
        ("no_device", "no CUDA-capable device is detected"),
        ("driver=11080;arch=75", ""),
        ("arch=121", ""),
    ],
)
def test_old_drivers_and_other_devices(run, settings, text):
    done = run("x = ti.field(ti.f32, 4)\nup(x)\nprint(x[1])\n", settings, check=False)
    if text:
        assert done.returncode != 0 and text in done.stderr
    else:
        assert done.stdout == "1.0\n", done.stderr


def test_an_illegal_address_names_the_kernel(run):
    program = """
x = ti.field(ti.f32, 4)
up(x)
assert x[0] == 1
ti.sync()

@ti.kernel
def broken():
    x[0] = 2

broken()
ASYNC
fault(ti.sync)
fault(lambda: x[1])
fault(up, x)
"""
    one = run(program.replace("ASYNC", ""), "fail_launch=2").splitlines()
    text = "CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access was encountered, in "
    where = "kernel `broken` (debug=True checks indices)"
    assert one[0] == f"RuntimeError: the CUDA device failed: {text}{where}", one
    assert len(one) == 3 and all("ILLEGAL_ADDRESS" in line for line in one), one
    two = run(program.replace("ASYNC", "up(x)"), "fail_launch=2").splitlines()
    assert f"{text}a kernel launched since the last ti.sync()" in two[0], two
    assert "the last ones are `broken`, `up` (debug=True checks indices)" in two[0], two


def test_kernels_of_the_same_code_keep_their_names(run):
    """The code's artifact has the name of the kernel that was first: of the program, or of any."""
    program = """
x = ti.field(ti.i32, shape=4)

@ti.kernel
def first():
    x[3] = 271

@ti.kernel
def second():
    x[3] = 271

START
fault(ti.sync)
"""
    graph = "with ti.graph.capture() as steps:\n    second()\nsteps.launch()"
    for start, launch in (("first()\nti.sync()\nsecond()", 2), ("second()", 1), (graph, 1)):
        out = run(program.replace("START", start), f"fail_launch={launch}")
        assert out.strip().endswith("in kernel `second` (debug=True checks indices)"), (start, out)


def test_a_forked_child(run):
    out = run("""
x = ti.field(ti.f32, 4)
up(x)
assert x[0] == 1
sys.stdout.flush()
child = os.fork()
if child == 0:
    fault(up, x)
    fault(lambda: x[1])
    fault(ti.sync)
    y = ti.field(ti.f32, 4)
    fault(lambda: y[0])
    fault(lambda: y[0])
    fault(ti.init, arch=ti.cuda)
    fault(ti.init, arch=ti.cuda, cuda_device=1)
    sys.stdout.flush()
    ti.init(arch=ti.cpu)
    z = ti.field(ti.f32, 4)
    up(z)
    assert z[0] == 1
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
up(x)
print(x[0])
""")
    *faults, last = out.splitlines()
    assert len(faults) == 7 and last == "2.0", out
    assert "has no memory: there was an error" in faults.pop(4)
    for line in faults:
        assert "this process was forked from one that uses CUDA" in line and "'spawn'" in line


def test_another_context_current(run):
    """Other libraries may use contexts of their own in the same thread."""
    out = run("""
x = ti.field(ti.f32, 4)
up(x)
other, mine = ctypes.c_void_p(), ctypes.c_void_p()
assert driver.cuCtxCreate_v2(ctypes.byref(other), 0, 0) == 0
up(x)  # by a launch alone
driver.cuCtxSetCurrent(other)
assert x[1] == 2
driver.cuCtxSetCurrent(other)
y = ti.field(ti.f32, 4)
driver.cuCtxSetCurrent(other)
up(y)
driver.cuCtxSetCurrent(other)
double(np.ones(3, np.float32))
driver.cuCtxSetCurrent(other)
ti.sync()
print(x[1], y[1])
""")
    assert out == "2.0 1.0\n"


DEVICES = "devices=3"


def test_one_of_several_devices(run):
    out = run(
        """
fault(ti.init, arch=ti.cuda, cuda_device=3)
fault(ti.init, arch=ti.cuda, cuda_device=-1)
ti.init(arch=ti.cuda, cuda_device=2)
x = ti.field(ti.f32, 4)
up(x)
print(x[1], x.__dlpack_device__(), ti.ndarray(ti.f32, 3).__dlpack_device__())

def device_of(address):
    number = ctypes.c_int()
    assert driver.cuPointerGetAttribute(ctypes.byref(number), 9, ctypes.c_uint64(address)) == 0
    return number.value

print(device_of(x.__cuda_array_interface__["data"][0]))

class Other:  # an array on the first device
    def __init__(self):
        context, at = ctypes.c_void_p(), ctypes.c_uint64()
        assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert driver.cuCtxSetCurrent(context) == 0
        assert driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(16)) == 0
        self.__cuda_array_interface__ = dict(
            version=3, shape=(4,), typestr="<f4", data=(at.value, False))

fault(double, Other())
up(x)
print(x[1])
ti.init(arch=ti.cuda, cuda_device=1)
y = ti.field(ti.f32, 4)
up(y)
print(y[1])
""",
        DEVICES,
        init="",
    )
    listed = "the driver lists 3 (CUDA_VISIBLE_DEVICES chooses among those of the machine)"
    assert out.splitlines() == [
        "RuntimeError: there is no CUDA device 3: " + listed,
        "RuntimeError: there is no CUDA device -1: " + listed,
        "1.0 (2, 2) (2, 2)",
        "2",
        "ValueError: Invalid value for argument a - the tensor cannot be used in place: it is on "
        "CUDA device 0, the program's kernels run on device 2",
        "2.0",
        "1.0",
    ] or pytest.fail(out)


def test_visible_devices(run):
    program = """
x = ti.field(ti.f32, shape=1 << 26, name="x")
fault(lambda: x[0])
"""
    for visible, name in ("1", "Kiln PTX emulator 1"), ("2,0", "Kiln PTX emulator 2"):
        out = run(program, DEVICES + ";memory=9", CUDA_VISIBLE_DEVICES=visible)
        assert f"for fields on {name}, of whose" in out
    done = run(program, DEVICES, CUDA_VISIBLE_DEVICES="", check=False)
    assert "no CUDA-capable device is detected" in done.stderr


def test_profiles(run, tmp_path):
    """By events: no launch waits."""
    log = str(tmp_path / "log")
    out = run(
        """
log = os.environ["LOG"]
x = ti.field(ti.f32, 1000)
up(x)
up(x)
before = len(open(log).read())
for _ in range(5000):
    up(x)
calls = open(log).read()[before:].split()
assert calls.count("cuLaunchKernel") == 5000 and calls.count("cuEventRecord") == 10000
assert "cuCtxSynchronize" not in calls
assert calls.count("cuEventCreate") <= 2 * 4096
info = ti.profiler.query_kernel_profiler_info("up")
assert info.counter == 5002 and 0 < info.min <= info.avg <= info.max < 1000, vars(info)
assert abs(ti.profiler.get_kernel_profiler_total_time() * 1e3 - info.avg * 5002) < 1
ti.profiler.clear_kernel_profiler_info()
up(x)
ti.profiler.print_kernel_profiler_info("trace")
ti.profiler.print_kernel_profiler_info()
""",
        f"log={log}",
        init="ti.init(arch=ti.cuda, kernel_profiler=True)\n",
        LOG=log,
    )
    assert "Kernel Profiler(trace, default) @ CUDA" in out and "     1x |" in out


CHECKED = """
x = ti.field(ti.i32, 8)

@ti.kernel
def racing():
    for i in range(200):
        x[0] = i

@ti.kernel
def neighbours():
    for i in range(8):
        x[i] = x[(i + 1) % 8] + i

@ti.kernel
def apart():
    for i in range(200):
        x[1] += i
        ti.atomic_max(x[2], i)
    for i in range(8):
        x[i] = i

@ti.kernel
def unwritten() -> ti.i32:
    s = 0
    ti.loop_config(block_dim=64)
    for i in range(64):
        shared = ti.simt.block.SharedArray((64,), ti.i32)
        if i != 7 or fills[None] == 1:
            shared[i] = i
        ti.simt.block.sync()
        s += shared[63 - i]
    return s

fills = ti.field(ti.i32, ())
fills[None] = FILLS
for kernel in KERNELS:
    kernel()
ti.sync()
"""


@pytest.mark.parametrize(
    "check, kernels, fills, found",
    [
        ("race", "racing", 1, "race: a thread writes 4 bytes of global memory"),
        ("race", "neighbours", 1, "race: "),
        ("init", "unwritten", 0, "init: a thread reads 4 bytes of shared memory"),
        ("race,init", "apart, unwritten", 1, ""),
    ],
)
def test_checks_of_accesses(run, tmp_path, check, kernels, fills, found):
    """Races and reads of what nothing has written, as compute-sanitizer finds them."""
    reports = tmp_path / "reports"
    program = CHECKED.replace("KERNELS", f"({kernels},)").replace("FILLS", str(fills))
    run(program, f"check={check};reports={reports}")
    text = reports.read_text()
    assert (found in text and "of the PTX" in text) if found else text == ""
