"""Modules in C and C++ programs, and in Python without daemon and compiler.

Each program prints what the exporting program printed.
"""

import os
import pathlib
import random
import re
import subprocess

import pytest

from tests.sdk.conftest import ROOT, run

SOURCES = pathlib.Path(__file__).parent / "modules"
KILN = ROOT / "kiln"


class Exported:
    def __init__(self, folder):
        self.module = folder / "sim.kiln"
        self.static = folder / "libsim.a"
        environment = {**os.environ, "KILN_HOME": str(folder / "home")}
        text = run(
            *(KILN, "export", SOURCES / "sim.py", "-o", self.module, "--static", self.static),
            *("--header", folder / "sim.hpp"),
            env=environment,
        )
        self.printed, _, _ = text.partition(str(self.module))
        run(KILN, "stop", env=environment)


@pytest.fixture(scope="module")
def other_module(tmp_path_factory):
    """A file with other signatures."""
    folder = tmp_path_factory.mktemp("other")
    (folder / "other.py").write_text(
        "import kiln as ti\nti.init()\n@ti.aot.export\n@ti.kernel\ndef other():\n    pass\n"
    )
    run(KILN, "export", folder / "other.py", "-o", folder / "other.kiln")
    return folder / "other.kiln"


@pytest.fixture(scope="module")
def sim(tmp_path_factory):
    return Exported(tmp_path_factory.mktemp("sim"))


def build(package, folder, source, *more):
    """Compiles a program of tests/sdk/modules against the package; returns its path."""
    program = folder / pathlib.Path(source).stem
    compiler = "g++" if str(source).endswith(".cc") else "gcc"
    run(
        *(compiler, "-O2", "-Wall", "-Wextra", "-Werror", SOURCES / source, *more),
        *("-I", package / "include", "-L", package / "lib", "-lkiln"),
        *(f"-Wl,-rpath,{package / 'lib'}", "-o", program),
    )
    return program


# Nothing of Kiln but the library and the module.
BARE = {"PATH": "/nowhere", "HOME": "/nowhere"}


def test_c_program_prints_the_same(sim, package, tmp_path):
    program = build(package, tmp_path, "open_file.c")
    assert run(program, sim.module, env=BARE) == 2 * sim.printed


def test_generated_header_gives_types(sim, other_module, package, tmp_path):
    """The class of the header refuses a file with other signatures: that of another program."""
    program = build(package, tmp_path, "typed.cc", f"-I{sim.module.parent}", "-std=c++17")
    told = run(program, sim.module, other_module, env=BARE).splitlines()
    assert told[:3] == ["total 47616", "height 7", "norms 6 12 18"]
    assert told[3:] == ["add 9", "module 'other' has other signa"]


def test_generated_header_of_c(sim, other_module, package, tmp_path):
    header = tmp_path / "sim.h"
    run(KILN, "export", SOURCES / "sim.py", "-o", tmp_path / "sim.kiln", "--header", header)
    warnings = ["-Wpedantic", "-Wconversion", f"-I{tmp_path}"]
    program = build(package, tmp_path, "typed.c", "-std=c11", *warnings)
    assert run(program, sim.module, other_module, env=BARE).splitlines() == [
        "total 47616",
        "height 7",
        "norms 6 12 18",
        "vector 1.5",
        "sum 27",
        "module 'other' has other signa",
    ]
    # C++ takes it, too, and the types of C's arguments are checked.
    run("g++", "-std=c++17", f"-I{package / 'include'}", "-fsyntax-only", "-x", "c++", header)
    wrong = tmp_path / "wrong.c"
    wrong.write_text((SOURCES / "typed.c").read_text().replace("int32_t numbers", "double numbers"))
    with pytest.raises(AssertionError, match="incompatible pointer type"):
        build(package, tmp_path, wrong, "-std=c11", *warnings)


def test_generated_header_takes_structs(package, tmp_path):
    """Members keep their types, and a file's name that is a word of C++ is none of the header."""
    source = tmp_path / "int.py"
    source.write_text("""
import kiln as ti
ti.init()
Step = ti.types.struct(count=ti.i32, by=ti.types.vector(2, ti.f32))
@ti.aot.export
@ti.kernel
def std(step: Step) -> ti.f32:
    return step.count * (step.by[0] + 10 * step.by[1])
""")
    run(KILN, "export", source, "-o", tmp_path / "int.kiln", "--header", tmp_path / "int.hpp")
    program = tmp_path / "structs.cc"
    program.write_text("""
#include "int.hpp"
#include <cstdio>
int main(int, char** argv) {
  const kiln::Context context = kiln::Context::create();
  const int_of::Module module = int_of::Module::open(context, argv[1]);
  std::printf("%g\\n", module.std_of(kiln::members(3, std::array<float, 2>{0.5f, 2})));
}
""")
    program = build(package, tmp_path, program, "-std=c++17")
    assert run(program, tmp_path / "int.kiln", env=BARE) == "61.5\n"


GOLDEN = pathlib.Path(__file__).parent / "golden"


@pytest.mark.parametrize("module", sorted(GOLDEN.glob("sim_*.kiln")), ids=lambda path: path.stem)
def test_modules_of_all_earlier_abis_run(module, package, tmp_path):
    """Files that programs ship: one of sim.py for each module ABI and tree ABI, kept for ever. What
    fails here needs a new number (common/module/format.h), and a file beside the old ones. Modules
    with meshes, which have ABIs of their own, follow below."""
    program = build(package, tmp_path, "open_file.c")
    assert run(program, module, env=BARE) == 2 * module.with_suffix(".txt").read_text()


# What mesh.c prints besides what mesh.py prints.
ONLY_KERNELS = """\
field 'mesh.verts.x': its elements are in another order than their numbers; kiln_field_read and \
kiln_field_write copy them
field 'mesh.verts.x': its elements are in another order than their numbers; only kernels read and \
write them
field 'mesh.verts.x': it is not a strided array in memory: its elements are in another order than \
their numbers; copy its elements instead
"""


def test_meshes(package, tmp_path):
    module, program = tmp_path / "mesh.kiln", build(package, tmp_path, "mesh.c")
    printed, _, _ = run(KILN, "export", SOURCES / "mesh.py", "-o", module).partition(str(module))
    assert "mass 0.5 2.07313 " in printed
    assert "field mesh.verts.x: vec3<f32>, 16, reordered\n" in run(KILN, "module", "show", module)
    assert run(program, module, env=BARE) == printed + ONLY_KERNELS
    assert run(program, GOLDEN / "mesh_abi4.kiln", env=BARE) == printed + ONLY_KERNELS


def test_linked_module_prints_the_same(sim, package, tmp_path):
    program = build(package, tmp_path, "open_linked.c", sim.static, "-lm", "-lmvec")
    assert run(program, env=BARE) == sim.printed


def test_python_needs_neither_daemon_nor_compiler(sim):
    environment = {**os.environ, "KILN_BIN": "/nowhere", "KILN_HOME": "/nowhere/home"}
    target = run(KILN, "module", "check", sim.module, env=environment).split()[-1]
    program = (KILN, "python", SOURCES / "load.py", sim.module, target)
    assert run(*program, env=environment) == sim.printed


# Processors that QEMU imitates, and what they get of a module for v2, v3 and v4.
PROCESSORS = {"Haswell": "x86-64-v3", "Nehalem": "x86-64-v2", "qemu64": "this machine is x86-64"}


@pytest.mark.parametrize("processor", PROCESSORS)
def test_level_follows_the_processor(sim, package, tmp_path, processor):
    program = build(package, tmp_path, "target.c")
    told = run("qemu-x86_64", "-cpu", processor, program, sim.module, check=False)
    assert told.endswith(f"{PROCESSORS[processor]}\n")


def test_many_worlds_and_other_threads(sim, package, tmp_path):
    program = build(package, tmp_path, "worlds.cc", "-ltbb", "-lpthread")
    told = run(program, sim.module, env=BARE)
    many = len(os.sched_getaffinity(0)) > 1
    assert told == f"1000 worlds, {'some' if many else 'no'} loops of the program's threads\n"


def test_prepared_launches_neither_allocate_nor_lock(sim, package, tmp_path):
    program = build(package, tmp_path, "prepared.cc", "-ldl", "-lpthread")
    assert run(program, sim.module, env=BARE) == "0 allocations, 0 locks\n"


def test_kernels_that_were_called(tmp_path):
    """`kiln export --called` of a program of Taichi's that knows nothing of modules."""
    source = tmp_path / "app.py"
    source.write_text("""
import numpy as np
import taichi as ti

ti.init(arch=ti.cpu)
earlier = ti.field(ti.f32, shape=4)
of_structs = ti.types.struct(a=ti.f32, b=ti.math.vec3).field(shape=4)
ti.init(arch=ti.cpu)
x = ti.field(ti.f32, shape=4, needs_grad=True)
loss = ti.field(ti.f32, shape=(), needs_grad=True)

@ti.data_oriented
class App:
    @ti.kernel
    def scale(self, k: ti.f32):
        for i in x:
            x[i] *= k

@ti.kernel
def copy(to: ti.types.ndarray(), of: ti.template()):
    for i in of:
        to[i] = of[i]

@ti.kernel
def square():
    for i in x:
        loss[None] += x[i] ** 2

@ti.kernel
def cube():
    for i in x:
        loss[None] += x[i] ** 3

x.fill(3)
App().scale(2.0)
copy(np.zeros(4, np.float32), x)
copy(np.zeros(4, np.float64), x)
loss.grad[None] = 1
square()
square.grad()
with ti.ad.Tape(loss):  # compiles the gradient while the kernel runs
    cube()
""")
    module = tmp_path / "app.kiln"
    environment = {**os.environ, "KILN_HOME": str(tmp_path / "home")}
    for _ in range(2):  # also a program with warm records
        run(KILN, "export", "--called", source, "-o", module, env=environment)
    program = f"""
import numpy as np
import kiln as ti
m = ti.aot.load({str(module)!r})
print(sorted(m.kernels))
print(sorted(m.fields))
m.x.from_numpy(np.full(4, 3, np.float32))
m.scale(2.0)
to = np.zeros(4)
m["copy[2]"](to)
m["loss.grad"].from_numpy(1.0)
m.square_grad()
print(to[3], m["x.grad"].to_numpy()[0])
"""
    told = run(KILN, "python", "-c", program, env=environment).splitlines()
    names = ["copy", "copy[2]", "cube", "cube_grad", "scale", "square", "square_grad"]
    fields = ["loss", "loss.grad", "x", "x.grad"]  # none of the first ti.init
    assert told == [str(names), str(fields), "6.0 12.0"]
    run(KILN, "stop", env=environment)


def test_signed_modules(sim, other_module, tmp_path):
    """`kiln export --sign`; a signature of another key, or of another file, vouches for nothing."""
    environment = {**os.environ, "KILN_HOME": str(tmp_path / "home")}

    def kiln(*command, check=True):
        return run(KILN, *command, env=environment, check=check)

    public = {}
    for name in ("own", "other"):
        public[name] = tmp_path / f"{name}.public"
        public[name].write_text(kiln("key", "new", name, tmp_path / f"{name}.secret"))
    source = other_module.parent / "other.py"
    module = tmp_path / "other.kiln"
    kiln("export", source, "-o", module, "--sign", tmp_path / "own.secret")
    signature = tmp_path / "other.kiln.sig"
    assert module.read_bytes() == other_module.read_bytes(), "the signature is another file"

    def load(path, key):
        code = "import sys, kiln as ti; ti.aot.load(sys.argv[1], trusted=sys.argv[2]).other()"
        command = [KILN, "python", "-c", code, str(path), str(public[key])]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    def refusals(path, key):
        """What `kiln module check` and ti.aot.load say."""
        command = [KILN, "module", "check", path, "--keys", public[key]]
        checked = subprocess.run(command, env=environment, capture_output=True, text=True)
        loaded = load(path, key)
        assert (checked.returncode == 0) == (loaded.returncode == 0)
        said = loaded.stderr.strip().splitlines()[-1:] or [""]
        prefix = f"PermissionError: {path}: no trusted key vouches for it: "
        assert not said[0] or said[0].startswith(prefix), loaded.stderr
        told = checked.stderr.strip().removeprefix("kiln: ")
        assert told == said[0].removeprefix("PermissionError: ")
        return said[0].removeprefix(prefix)

    assert refusals(module, "own") == ""
    assert "trust" in refusals(module, "other")
    assert refusals(other_module, "own") == "it is not signed: there is no other.kiln.sig"
    line = signature.read_text()
    changed = tmp_path / "changed.kiln"
    changed.write_bytes(sim.module.read_bytes())
    (tmp_path / "changed.kiln.sig").write_text(line)
    assert "signature" in refusals(changed, "own")
    for damaged in ("", line[:40], line.replace(" 1 ", " 2 "), line[:-10] + line[-2:], "\xff" * 9):
        signature.write_text(damaged)
        assert refusals(module, "own") == "its signature is damaged", damaged
    kiln("stop")


def test_memory_of_the_program(sim, package, tmp_path):
    """The fields' memory is the program's, whatever was in it, and comes back; sparse cells too."""
    program = build(package, tmp_path, "memory.cc", "-std=c++17")
    told = run(program, sim.module, env=BARE)
    assert told == sim.printed + "none is left: kernel 'burn': out of memory\nall came back\n"


def test_mistakes_of_programs_are_explained(sim, package, tmp_path):
    """One line for each wrong call: the code, the thing, what was expected and what was given."""
    program = build(package, tmp_path, "mistakes.c", "-std=c11")
    assert (
        run(program, sim.module, GOLDEN / "sim_abi1.kiln", env=BARE)
        == (SOURCES / "mistakes.txt").read_text()
    )


def test_module_exports_one_symbol_and_needs_no_relocation(sim):
    symbols = run("nm", "-D", "--defined-only", sim.module).split()[2::3]
    assert symbols == ["kiln_module_v1"]
    relocations = run("readelf", "-r", sim.module)
    # Only calls of libm and libc.
    assert set(re.findall(r"R_X86_64_\w+", relocations)) <= {
        "R_X86_64_JUMP_SLOT",
        "R_X86_64_JUMP_SLO",
        "R_X86_64_GLOB_DAT",
    }


def test_damaged_files_are_refused(sim, tmp_path):
    """Cuts and flips: each is an error that names the file, and none a crash."""
    whole = sim.module.read_bytes()
    draw = random.Random(1)
    damaged = [whole[: draw.randrange(len(whole))] for _ in range(100)]
    for _ in range(300):
        at = draw.randrange(len(whole))
        damaged.append(whole[:at] + bytes([whole[at] ^ 1 << draw.randrange(8)]) + whole[at + 1 :])
    damaged.append(whole + b"\0")
    files = tmp_path / "damaged"
    files.mkdir()
    for number, data in enumerate(damaged):
        (files / str(number)).write_bytes(data)
    program = f"""
import kiln as ti
for number in range({len(damaged)}):
    path = f"{files}/{{number}}"
    try:
        ti.aot.load(path)
    except (ValueError, RuntimeError) as error:
        assert path in str(error), error
    else:
        raise AssertionError(number)
print("refused")
"""
    assert run(KILN, "python", "-c", program) == "refused\n"


@pytest.mark.parametrize(
    ("offset", "size", "value", "text"),
    [
        (8, 2, 2, "has format 2, this library reads 1"),
        (16, 4, 9, "has module ABI 9, this library reads 4 and older down to 1"),
        (20, 4, 9, "has tree ABI 9, this library reads 1"),
    ],
)
def test_newer_versions_are_refused_by_number(sim, tmp_path, offset, size, value, text):
    """A header of another version, with a checksum that fits it."""
    data = bytearray(sim.module.read_bytes())
    at = int.from_bytes(data[-32:-24], "little") + offset
    data[at : at + size] = value.to_bytes(size, "little")
    path = tmp_path / "newer.kiln"
    path.write_bytes(data)
    seal = tmp_path / "seal"
    run("gcc", "-O2", "-Wall", "-Wextra", "-Werror", SOURCES / "seal.c", "-o", seal)
    run(seal, path)
    program = f"""
import kiln as ti
try:
    ti.aot.load({str(path)!r})
except RuntimeError as error:
    print(error)
"""
    assert text in run(KILN, "python", "-c", program)


def test_same_program_makes_the_same_bytes(sim, tmp_path):
    again = tmp_path / "sim.kiln"
    environment = {**os.environ, "KILN_HOME": str(tmp_path / "home"), "KILN_SERVER": "off"}
    run(KILN, "export", SOURCES / "sim.py", "-o", again, env=environment)
    assert again.read_bytes() == sim.module.read_bytes()
