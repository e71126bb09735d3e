"""Programs on CUDA, on a driver without a device (runtime/cuda/testdata): kernels are compiled for
it, and run as C functions that add one to all elements of the kernel's only argument."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
START = """
import numpy as np
import kiln as ti

ti.init(arch=ti.cuda)
assert ti.cfg.arch == ti.cuda


@ti.kernel
def up(x: ti.template()):
    for i in x:
        x[i] += 1


@ti.kernel
def up_array(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    for i in range(a.shape[0]):
        a[i] += 1
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    path = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    source = ROOT / "runtime" / "cuda" / "testdata" / "fake_driver.c"
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{ROOT}", source, "-o", path], check=True)
    return str(path)


@pytest.fixture
def run(run_python, driver):
    def start(program, **options):
        return run_python(START + program, KILN_CUDA_DRIVER=driver, **options)

    return start


ELEMENTS = """
n = 100_000
x = ti.field(ti.i32, n)
for i in range(0, n, 1000):
    x[i] = i
up(x)
up(x)
print(x[1000], x[1], x[n - 1000])
assert (x.to_numpy()[::1000] == np.arange(0, n, 1000) + 2).all()
x.from_numpy(np.arange(n, dtype=np.int32))
up(x)
assert (x.to_numpy() == np.arange(1, n + 1)).all()
x[7] = -1
y = ti.field(ti.i32, n)
y.copy_from(x)
up(y)
assert y[7] == 0 and y[8] == 10 and x[7] == -1
x.fill(7)
up(x)
ti.sync()
assert (x.to_numpy() == 8).all()
"""


@pytest.mark.parametrize("server", ["", "off"])
def test_elements_of_fields(run, server):
    assert run(ELEMENTS, KILN_SERVER=server) == "1002 2 99002\n"


def test_arrays(run):
    out = run("""
a = ti.ndarray(ti.i32, 50)
a.fill(3)
up_array(a)
a[3] = 9
up_array(a)
print(a[3], a[4], a.to_numpy().sum())
b = np.arange(10, dtype=np.int32)
up_array(b)
print(b)
up_array(np.zeros(0, np.int32))
""")
    assert out == "10 5 255\n[ 1  2  3  4  5  6  7  8  9 10]\n"


def test_elements_of_all_forms(run):
    out = run("""
v = ti.Vector.field(3, ti.f32, shape=10)
v[2] = [1, 2, 3]
v[2][1] += 5
v[3].x = 4
print(v[2], v[3], v.to_numpy()[2])
s = ti.types.struct(a=ti.f32, b=ti.i32).field(shape=4)
s[1].a = 3
s[1].b = 4
print(s[1].a, s[1].b)
m = ti.Matrix.field(2, 2, ti.f64, shape=())
m[None] = [[1, 2], [3, 4]]
print(m[None][1, 0])
p, q = ti.field(ti.types.quant.int(5)), ti.field(ti.types.quant.int(7))
word = ti.BitpackedFields(32)
word.place(p, q)
ti.root.dense(ti.i, 20).place(word)
p[3], q[3] = -5, 44
print(p[3], q[3], p.to_numpy()[3], q.to_numpy()[2])
""")
    assert out == "[1. 7. 3.] [4. 0. 0.] [1. 7. 3.]\n3.0 4\n3.0\n-5 44 -5 0\n"


def test_a_driver_that_is_not_there_is_named(run_python):
    done = run_python(START, check=False, KILN_CUDA_DRIVER="/nowhere/libcuda.so.1")
    assert "no CUDA driver (/nowhere/libcuda.so.1)" in done.stderr


def test_devices_have_names(run_on_emulator):
    out = run_on_emulator("""
for arch in "gpu", ["vulkan", "gpu"], "cpu", ["cpu", "gpu"]:
    ti.init(arch=arch)
    print(ti.cfg.arch)
""")
    assert out == "Arch.cuda\nArch.cuda\nArch.x64\nArch.x64\n"


def test_programs_for_other_gpus_run_on_cuda(run_on_emulator):
    out = run_on_emulator("""
sys.stderr = sys.stdout
for arch in ti.vulkan, [ti.metal, ti.dx11], [ti.opengl, ti.cpu], ti.arm64:
    ti.init(arch=arch)
    print(ti.cfg.arch)
try:
    ti.init(arch=ti.vulkan, enable_fallback=False)
except RuntimeError as error:
    print(error)
""")
    assert re.sub(r"\[Kiln\] (warning: )?|version.*\n", "", out) == (
        "Arch=vulkan is not supported, falling back to CUDA\nArch.cuda\n"
        "Arch=metal, dx11 is not supported, falling back to CUDA\nArch.cuda\n"
        "Arch.x64\n"
        "Arch=arm64 is not supported, falling back to CPU\nArch.x64\n"
        "Arch=vulkan is not supported\n"
    )


def test_programs_run_on_the_cpu_where_there_is_no_device(run_python):
    for arch in "ti.cuda", "ti.gpu", "'gpu'":
        program = f"import kiln as ti; ti.init(arch={arch}); print(ti.cfg.arch)"
        out = run_python(program, CUDA_VISIBLE_DEVICES="")
        assert out.endswith("Arch.x64\n")


def test_the_fall_back_has_its_reason(run_python, emulator, tmp_path):
    """By a driver under the system's name: one that the user names has to work."""
    (tmp_path / "libcuda.so.1").symlink_to(emulator)
    program = """
import sys
import kiln as ti
sys.stderr = sys.stdout
ti.init(arch=ti.cuda)
print(ti.cfg.arch)
ti.init(arch=[ti.vulkan])
try:
    ti.init(arch=ti.gpu, enable_fallback=False)
except RuntimeError as error:
    print(error)
"""

    def said(settings, path=tmp_path):
        more = {"LD_LIBRARY_PATH": str(path), "KILN_FAKE_CUDA": settings}
        out = run_python(program, CUDA_VISIBLE_DEVICES="0,1", **more).splitlines()
        start = "[Kiln] warning: Arch=cuda is not supported, falling back to CPU: "
        reason = out[0].removeprefix(start)
        assert out[0] == start + reason and out[1] == "Arch.x64"
        assert out[2].endswith("Arch=vulkan is not supported, falling back to CPU")
        assert out[3].endswith(f"gles, amdgpu is not supported: {reason}")
        return reason

    needed = (
        "; kernels run on compute capability 7.5 and later, with a driver of CUDA 11.8 (R520) or "
        "later"
    )
    name, has = "Kiln PTX emulator", "has compute capability"
    assert said("arch=70") == f"{name} {has} 7.0, and the driver has CUDA 13.0{needed}"
    old = f"{name} {has} 9.0, {name} 1 {has} 9.0, and the driver has CUDA 11.4{needed}"
    assert said("driver=11040;devices=2") == old
    assert said("no_device").startswith("the CUDA driver does not start: CUDA_ERROR_NO_DEVICE")
