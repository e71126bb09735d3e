"""C++ programs: build, launch, read and differentiate kernels, from three sources."""

import json
import subprocess

import pytest

from tests.conftest import ROOT

PROGRAMS = (
    *("examples/cpp:saxpy", "examples/cpp:throw", "examples/cpp:mpm88"),
    *("tests/e2e/cpp:gradients", "tests/e2e/cpp:dsl"),
)
SAXPY, THROW, MPM88, GRADIENTS, DSL = (
    f".kiln/bazel-bin/{name.replace(':', '/')}" for name in PROGRAMS
)
ON_CUDA = {"KILN_TEST_ARCH": "cuda", "KILN_CUDA_DRIVER": "emulator"}


@pytest.fixture(scope="module", autouse=True)
def programs():
    build = [ROOT / "tools" / "bazel.sh", "build", *(f"//{name}" for name in PROGRAMS)]
    for command in (build, [ROOT / "kiln", "build", "emulator"]):
        subprocess.run(command, check=True, capture_output=True, timeout=600)


def environment(kiln):
    return {**kiln.environment, "KILN_BIN": str(kiln.root / ".kiln" / "bin")}


def output(kiln, program, *arguments, **more):
    done = subprocess.run(
        [kiln.root / program, *arguments],
        env={**environment(kiln), **more},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run(kiln, **more):
    text = output(kiln, SAXPY, **more)
    assert "y[10] = 21" in text and " 0 wrong" in text
    return text.split()[1]


def test_a_cpp_program_leaves_a_manifest(kiln, other, tmp_path):
    carried = tmp_path / "saxpy.manifest"
    assert run(kiln, KILN_MANIFEST=str(carried)) == "compiled"
    first = carried.read_bytes()
    assert run(kiln, KILN_MANIFEST=str(carried)) == "disk"
    assert run(kiln, KILN_MANIFEST=str(carried), KILN_SERVER="off") == "disk"
    assert carried.read_bytes() == first
    lines = first.split(b"\nrecorded ")[0].decode().splitlines()
    assert lines[:2] == ["kiln-manifest 3", "program - saxpy"] and len(lines) == 4
    report = json.loads(other("warm", "--json", carried).stdout)
    assert (report["hits"], report["misses"], report["failed"]) == (0, 1, 0)
    assert report["kernels"][0]["kernel"] == "saxpy"
    assert lines[3].split(" ")[1] == report["kernels"][0]["key"]
    assert run(other) == "disk", "warmed"
    levels = json.loads(other("warm", "--json", "--cpu", "x86-64-v2,x86-64-v3", carried).stdout)
    assert levels["failed"] == 0 and len(levels["kernels"]) == 2
    nowhere = {"KILN_MANIFEST": str(tmp_path / "no" / "where")}
    done = subprocess.run(
        [kiln.root / SAXPY], env={**environment(kiln), **nowhere}, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stderr.startswith("kiln: KILN_MANIFEST=/"), done.stderr


def test_saxpy_through_daemon_disk_and_private_worker(kiln):
    assert run(kiln) == "compiled"
    assert run(kiln) == "disk"
    kiln("cache", "clear", "-y")
    assert run(kiln, KILN_SERVER="off") == "compiled"
    assert run(kiln, KILN_SERVER="off") == "disk"
    objects = subprocess.run(["ldd", kiln.root / SAXPY], capture_output=True, text=True).stdout
    assert "protobuf" in objects and "LLVM" not in objects and "grpc" not in objects


def test_throw_learns_through_daemon_disk_and_private_worker(kiln, other, tmp_path):
    learned = "loss 0.0000, velocity (2.457, 6.808)\n"
    carried = tmp_path / "throw.manifest"
    assert output(kiln, THROW, KILN_MANIFEST=str(carried)) == learned
    assert output(kiln, THROW) == learned
    report = json.loads(other("warm", "--json", carried).stdout)
    assert (report["misses"], report["failed"]) == (4, 0), "two kernels and their gradients"
    assert output(other, THROW) == learned
    kiln("cache", "clear", "-y")
    assert output(kiln, THROW, KILN_SERVER="off") == learned


@pytest.mark.parametrize("server", ["", "off"])
def test_gradients(kiln, server):
    assert "[  PASSED  ]" in output(kiln, GRADIENTS, KILN_SERVER=server)


@pytest.mark.parametrize("server", ["", "off"])
def test_kernels_written_in_cpp(kiln, server):
    assert "[  PASSED  ]" in output(kiln, DSL, KILN_SERVER=server)


@pytest.mark.parametrize("server", ["", "off"])
def test_kernels_written_in_cpp_on_cuda(kiln, server):
    assert "[  PASSED  ]" in output(kiln, DSL, KILN_SERVER=server, **ON_CUDA)


def test_kernels_in_cpp_for_the_second_device(kiln):
    alone = ["--gtest_also_run_disabled_tests", "--gtest_filter=*SecondDevice"]
    two = {**ON_CUDA, "KILN_FAKE_CUDA": "devices=2"}
    assert "[  PASSED  ] 1 test" in output(kiln, DSL, *alone, **two)


def test_a_launch_in_cpp_that_fails_on_the_device(kiln):
    alone = ["--gtest_also_run_disabled_tests", "--gtest_filter=*IllegalAddress"]
    assert "[  PASSED  ] 1 test" in output(kiln, DSL, *alone, **ON_CUDA)


@pytest.mark.parametrize("more", [{}, ON_CUDA], ids=["cpu", "cuda"])
def test_the_same_kernel_in_cpp_and_python_has_one_key(kiln, tmp_path, more):
    program = tmp_path / "saxpy.py"
    program.write_text("""
import kiln as ti
ti.init()
@ti.kernel
def saxpy(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), a: ti.f32):
    for i in x:
        y[i] = a * x[i] + y[i]
x, y = ti.ndarray(ti.f32, 8), ti.ndarray(ti.f32, 8)
saxpy(x, y, 2.0)

x, v = ti.field(ti.f32), ti.Vector.field(2, ti.f32)
ti.root.pointer(ti.ij, 8).dense(ti.ij, 4).place(x, v)
@ti.kernel
def halve():
    for i, j in x:
        if x[i, j] > 1.0:
            x[i, j] = x[i, j] * 0.5
        v[i, j] = x[i, j]
halve()
""")
    kiln("run", str(program), env={"TI_ARCH": more.get("KILN_TEST_ARCH", "cpu"), **more})
    keys = [entry["key"] for entry in json.loads(kiln("cache", "list", "--json").stdout)]
    lines = output(kiln, DSL, **more).splitlines()
    told = [line.split() for line in lines if line.startswith("KEY ")]
    assert {name for _, name, _ in told} == {"saxpy", "halve"}
    assert {key for _, _, key in told} <= set(keys)


def test_a_captured_graph_is_one_call_of_the_driver(kiln, tmp_path):
    log = {"KILN_FAKE_CUDA": f"log={tmp_path / 'log'}"}
    output(kiln, DSL, "--gtest_filter=GraphTest.LaunchesAreRepeated", **ON_CUDA, **log)
    calls = (tmp_path / "log").read_text().split()
    assert calls.count("cuGraphLaunch") == 21 and calls.count("cuLaunchKernel") == 1


def test_mpm88_in_cpp(kiln):
    assert output(kiln, MPM88) == output(kiln, MPM88)
    x, y = (float(n) for n in output(kiln, MPM88).split("(")[1].rstrip(")\n").split(", "))
    assert 0.3 < x < 0.7 and 0.1 < y < 0.4, "in the box, and lower than at first"
