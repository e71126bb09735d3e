"""NVIDIA's toolkit on the side that compiles, missing or in part: kernels run from PTX where they
need nothing of it, and others end with an error that says what is missing."""

import json
import pathlib
import re
import subprocess

import pytest

from tests.conftest import ROOT

INSTALLED = pathlib.Path("/usr/local/cuda")
LIBDEVICE = "nvvm/libdevice/libdevice.10.bc"
LINKER = "lib64/libnvJitLink.so.13"
PROGRAM = """
import taichi as ti

ti.init(arch=ti.cuda)
x = ti.field(ti.f32, shape=8)


@ti.kernel
def plain():
    for i in x:
        x[i] = i * 0.5


@ti.kernel
def sines():
    for i in x:
        x[i] = ti.sin(x[i])


plain()
print(x[3])
try:
    sines()
except Exception as error:
    print(f"{type(error).__name__}: {error}")
plain()
print(x[5])
"""


@pytest.fixture(scope="module", autouse=True)
def emulator():
    subprocess.run([ROOT / "kiln", "build", "emulator"], check=True, capture_output=True)


@pytest.fixture
def run(kiln, tmp_path):
    """Runs the program with a toolkit of these files: of the installed one, or with other bytes."""
    program = tmp_path / "app.py"
    program.write_text(PROGRAM)

    def run(files, server=""):
        folder = tmp_path / "toolkit"
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.symlink_to(INSTALLED / name)
            else:
                path.write_bytes(content)
        environment = {"KILN_CUDA_DRIVER": "emulator", "KILN_CUDA_TOOLKIT": str(folder)}
        done = kiln("run", "-q", program, env={**environment, "KILN_SERVER": server})
        assert done.stderr == ""
        return done.stdout.splitlines()

    return run


needs_toolkit = pytest.mark.skipif(
    not (INSTALLED / LIBDEVICE).exists(), reason="no CUDA toolkit in /usr/local/cuda"
)


@pytest.mark.parametrize("server", ["", "off"])
@pytest.mark.parametrize(
    "files", [{}, {LINKER: b"no library"}, pytest.param({LINKER: None}, marks=needs_toolkit)]
)
def test_without_libdevice(run, files, server):
    first, said, last = run(files, server)
    assert (first, last) == ("1.5", "2.5")
    assert "needs libdevice.10.bc of NVIDIA's CUDA toolkit" in said
    assert "KILN_CUDA_TOOLKIT" in said


@needs_toolkit
@pytest.mark.parametrize("linker", [{}, {LINKER: b"no library"}, {LINKER: None}])
def test_with_libdevice(run, linker):
    assert run({LIBDEVICE: None, **linker}) == ["1.5", "2.5"]


def test_a_damaged_libdevice(run):
    first, said, last = run({LIBDEVICE: b"BC\xc0\xde no bitcode"})
    assert (first, last) == ("1.5", "2.5")
    assert "libdevice.10.bc of this machine's CUDA toolkit cannot be read: " in said


@needs_toolkit
def test_a_toolkit_that_is_installed_later(run):
    assert len(run({}, "off")) == 3
    assert run({LIBDEVICE: None}, "off") == ["1.5", "2.5"]


def test_doctor_says_what_there_is(run, kiln, tmp_path):
    """Without a daemon by a worker of its own, and then as the daemon's workers have found it."""

    def told(toolkit):
        done = kiln("doctor", "--json", env={"KILN_CUDA_TOOLKIT": str(toolkit)})
        findings = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
        assert findings["CUDA"]["verdict"] == "good"
        return findings["CUDA"]["text"]

    nothing = "PTX alone: no libnvJitLink that loads, no math functions: no libdevice"
    assert told("/nowhere") == f"{nothing} (/nowhere)"
    if (INSTALLED / LIBDEVICE).exists():
        found = told(INSTALLED)
        assert re.fullmatch(
            rf"machine code by nvJitLink \d+\.\d+, math functions \({INSTALLED}\)", found
        )
    run({})
    assert told("/nowhere") == f"{nothing} ({tmp_path / 'toolkit'})"
