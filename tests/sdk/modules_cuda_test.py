"""Modules with images for CUDA devices, on the emulator of CUDA: in C, C++ and Python programs
without daemon and compiler."""

import os
import pathlib
import subprocess

import pytest

from tests.sdk.conftest import ROOT, run
from tests.sdk.modules_test import BARE, KILN, ONLY_KERNELS, SOURCES, build

EMULATOR = ROOT / ".kiln" / "bin" / "libcuda-emulator.so"
CUDA = {"KILN_CUDA_DRIVER": "emulator", "KILN_BIN": str(EMULATOR.parent), "KILN_HOME": "/nowhere"}
GOLDEN = sorted((pathlib.Path(__file__).parent / "golden_cuda").glob("*.kiln"))

# What on_cuda.c prints besides what it was loaded for and what sim.py prints.
TOLD = """in place 11 12 13
kernel 'add', argument 'a' takes an array of i32 with 1 axes, got an array that it cannot use: \
its address is not in the memory of a CUDA device
kernel 'add', argument 'a' takes an array of i32 with 1 axes, got an array on device 7; this \
module runs on CUDA (2), and copies arrays of the CPU (1)
copied 11 22 23
slots 4 4 9
view 2 0 2 32 32
set before 7
filled 11 93
get 11 100 100
set -1 -1 100
written 5 5
smoke 0 4
place 1.5 2.5
field 'smoke': it is not a strided array in memory: it has sparse levels; copy its elements instead
an element of field 'height' has 4 bytes, not 1
field 'small': its numbers are quantised; kiln_field_read and kiln_field_write copy them
field 'height': index 32 along axis 1, which has 0 to 31
field 'height': it is in a CUDA device's memory; kiln_field_device_view has its address there
field 'height': its elements are in a CUDA device's memory; kiln_field_get and kiln_field_set copy \
them
{cpu}
{target}
kiln_context_new: the process uses another CUDA driver than /other/libcuda.so
"""
NO_CPU_CODE = "the module is for {targets}, and has no code for CPUs"


class Exported:
    """sim.py for a CUDA device alone, and for the CPU, too. The program itself runs on the CPU."""

    def __init__(self, folder):
        subprocess.run([KILN, "build", "emulator"], check=True, capture_output=True)
        self.folder = folder
        names = ("image", "both", "sim")
        self.image, self.both, self.linked = (folder / f"{name}.kiln" for name in names)
        self.static = folder / "libsim.a"
        environment = {**os.environ, "KILN_HOME": str(folder / "home")}
        text = ""
        for path, targets in (
            (self.image, "sm_90"),
            (self.both, "compute_75,x86-64-v2"),
            (self.linked, "sm_90"),
        ):
            more = ("--static", self.static) if path == self.linked else ()
            command = (KILN, "export", SOURCES / "sim.py", "-o", path, "--target", targets, *more)
            text = run(*command, env=environment)
        self.printed, _, _ = text.partition(str(self.linked))
        run(KILN, "stop", env=environment)


@pytest.fixture(scope="module")
def sim(tmp_path_factory):
    return Exported(tmp_path_factory.mktemp("sim"))


def loaded(path, code="print(m.target)", settings="", **environment):
    """What a Python program prints that loads a module as `m`, or the text of its error."""
    program = f"""
import kiln as ti
try:
    m = ti.aot.load({str(path)!r})
    {code}
except (ValueError, RuntimeError) as error:
    print(type(error).__name__, str(error).replace({str(path)!r}, "FILE"))
"""
    environment = {**os.environ, **CUDA, "KILN_FAKE_CUDA": settings, **environment}
    return run(KILN, "python", "-c", program, env=environment)


def told(printed, target, cpu):
    return f"{target}\n{printed}{TOLD.format(target=target, cpu=cpu)}"


def test_c_program(sim, package, tmp_path):
    program = build(package, tmp_path, "on_cuda.c", "-ldl")
    refusal = NO_CPU_CODE.format(targets="sm_90")
    assert run(program, sim.image, EMULATOR, env=BARE) == told(sim.printed, "sm_90", refusal)
    assert run(program, sim.both, EMULATOR, env=BARE) == told(
        sim.printed, "compute_75", "x86-64-v2"
    )


@pytest.mark.parametrize("module", GOLDEN, ids=lambda path: path.stem)
def test_modules_of_all_earlier_abis_run(module, package, tmp_path):
    """Files that programs ship: one of sim.py for each CUDA ABI, kept for ever. What fails here
    needs a new number (common/module/format.h), and a file beside the old ones."""
    program = build(package, tmp_path, "on_cuda.c", "-ldl")
    printed = (pathlib.Path(__file__).parent / "golden" / "sim_abi2.txt").read_text()
    refusal = NO_CPU_CODE.format(targets="compute_75")
    assert run(program, module, EMULATOR, env=BARE) == told(printed, "compute_75", refusal)


def test_meshes(package, tmp_path):
    subprocess.run([KILN, "build", "emulator"], check=True, capture_output=True)
    module, program = tmp_path / "mesh.kiln", build(package, tmp_path, "mesh.c")
    command = (KILN, "export", SOURCES / "mesh.py", "-o", module, "--target", "sm_90")
    printed, _, _ = run(*command).partition(str(module))
    assert run(program, module, EMULATOR, env=BARE) == printed + ONLY_KERNELS


def test_cpp_program_and_linked_module(sim, package, tmp_path):
    source = tmp_path / "linked.cc"
    source.write_text("""
#include <cstdio>
#include <vector>
#include "kiln/kiln.hpp"
extern "C" const char kiln_module_v1_sim[];
int main(int, char** argv) {
  kiln::ContextOptions options;
  options.device = kiln::Device::cuda;
  options.cuda_driver = argv[1];
  kiln::Context context = kiln::Context::create(options);
  const kiln::Module module = kiln::Module::open_linked(context, kiln_module_v1_sim);
  kiln::World world = kiln::World::create(module);
  module.kernel("fill")(world, 2.0f);
  std::vector<std::int32_t> numbers = {1, 2, 3};
  module.kernel("add")(world, numbers, 4);
  context.synchronize();
  std::printf("%s %g %d\\n", module.target().c_str(), module.kernel("total").call<double>(world),
              numbers[2]);
  // What a program does with a field on either device.
  using Vec2 = std::array<float, 2>;
  world.set("place", {20}, Vec2{1.5f, 2.5f});
  world.set("smoke", {9, 17}, 4);
  const kiln::device_field<float, 2> height = world.device_field<float, 2>("height");
  std::printf("%g %d %g %g %d %d %d %d\\n", world.get<Vec2>("place", {20})[1],
              world.get<std::int32_t>("smoke", {9, 17}), world.get<float>("height", {3, 5}),
              height.read()[31], int(height.strides()[0]), int(height.on_cuda()), height.device(),
              int(height.data() != nullptr));
  try {
    (void)world.get<double>("place", {20, 1});
  } catch (const kiln::Error& error) {
    std::printf("%s\\n", error.what());
  }
  try {
    (void)world.field<float, 2>("height");
  } catch (const kiln::Error& error) {
    std::printf("%s\\n", error.what());
  }
}
""")
    program = build(package, tmp_path, source, sim.static, "-std=c++17")
    assert run(program, EMULATOR, env=BARE).splitlines() == [
        "sm_90 47616 7",
        "2.5 4 11 31 32 1 0 1",
        "field 'place' is f32 along 1 axes, with elements of 1 axes (2); the call asks for f64 "
        "along 2 axes, with elements of 0 axes",
        "field 'height': it is in a CUDA device's memory; kiln_field_device_view has its address "
        "there",
    ]


def test_python_needs_neither_daemon_nor_compiler(sim):
    program = (KILN, "python", SOURCES / "load.py", sim.image, "sm_90")
    assert run(*program, env={**os.environ, **CUDA}) == sim.printed
    # Ndarrays of a program on the device are used in place.
    code = """
    ti.init(arch=ti.cuda, log_level=ti.ERROR, offline_cache=False)
    a = ti.ndarray(ti.i32, 3)
    a[1] = 5
    m.twice.run({"a": a, "k": 2})
    a[0] = 1
    m.add(a, 1)
    print([a[i] for i in range(3)])"""
    assert loaded(sim.image, code.strip()) == "[2, 108, 103]\n"


def test_the_loader_chooses(sim):
    assert loaded(sim.both) == "compute_75\n"
    again = f"print(ti.aot.load({str(sim.both)!r}, arch=ti.cpu).target)"
    assert loaded(sim.both, again) == "x86-64-v2\n"
    # An older device of the emulator runs the PTX; without one, the CPU runs the module.
    assert loaded(sim.both, settings="arch=75") == "compute_75\n"
    assert loaded(sim.both, settings="no_device") == "x86-64-v2\n"
    assert loaded(sim.both, KILN_CUDA_DRIVER="/nowhere/libcuda.so") == "x86-64-v2\n"
    # Machine code is of its generation; newer devices compile the PTX beside it.
    assert loaded(sim.image, settings="arch=100") == "compute_90\n"


# A tree with cells of 16 KiB, 256 MiB in all.
SPARSE = """
import kiln as ti
ti.init(arch=ti.cpu)
x = ti.field(ti.f32, name="x")
block = ti.root.pointer(ti.i, 1 << 14)
block.dense(ti.i, 1 << 12).place(x)

@ti.aot.export
@ti.kernel
def fill(begin: ti.i32, end: ti.i32):
    for i in range(begin, end):
        x[i << 12] = i + 1

@ti.aot.export
@ti.kernel
def total() -> ti.f64:
    s = ti.cast(0, ti.f64)
    for i in block:
        s += x[i << 12]
    return s
"""


def test_trees_grow(tmp_path):
    """Those of a module, too: its tree begins with what the device has left, some 18 MiB, and takes
    more when another array is gone."""
    source, module = tmp_path / "sparse.py", tmp_path / "sparse.kiln"
    source.write_text(SPARSE)
    environment = {**os.environ, "KILN_HOME": str(tmp_path / "home")}
    run(KILN, "export", source, "-o", module, "--target", "sm_90", env=environment)
    run(KILN, "stop", env=environment)
    program = f"""
import gc
import kiln as ti

ti.init(arch=ti.cuda, log_level=ti.ERROR, offline_cache=False)
# Of 200 MiB, 22 are left, and 2 that the driver has.
other = ti.ndarray(ti.f32, (200 - 2 - 22) << 18)
m = ti.aot.load({str(module)!r})
del other
gc.collect()
for begin in range(0, 6000, 500):
    m.fill(begin, begin + 500)
    assert m.total() == sum(range(begin + 501)), begin
m.fill(6000, 16000)
try:
    m.total()
except RuntimeError as error:
    print(error)
print(m.total() >= sum(range(6001)))
"""
    log = tmp_path / "log"
    settings = {**CUDA, "KILN_FAKE_CUDA": f"memory=200;log={log}"}
    out = run(KILN, "python", "-c", program, env={**os.environ, **settings}).splitlines()
    assert log.read_text().split().count("cuMemMap") >= 3
    assert "cannot activate another cell of SNode" in out[0] and "with x" in out[0]
    # `total` waits for both.
    assert "the last ones are `fill`, `total`; its tree has" in out[0]
    assert out[1:] == ["True"]


@pytest.mark.parametrize(
    ("settings", "driver", "text"),
    [
        ("no_device", "emulator", "the CUDA driver does not start: CUDA_ERROR_NO_DEVICE"),
        ("", "/nowhere/libcuda.so", "no CUDA driver (/nowhere/libcuda.so)"),
        ("arch=80", "emulator", "kernel 'add' is for sm_90, this machine's Kiln PTX emulator is"),
        ("arch=70", "emulator", "has compute capability 7.0; kernels run on 7.5 and later"),
    ],
)
def test_what_is_missing_is_named(sim, settings, driver, text):
    told = loaded(sim.image, settings=settings, KILN_CUDA_DRIVER=driver)
    assert told.startswith("RuntimeError FILE: the module is for sm_90, and does not run on CUDA")
    assert text in told


def test_images_that_no_driver_loads(sim, tmp_path):
    """Of a driver that is too old for the PTX, and of one that refuses all code."""
    told = loaded(sim.image, settings="driver=11060")
    assert "kernel 'add', image for sm_90: " in told and "CUDA 11.8 (R520)" in told
    assert loaded(sim.both, settings="driver=11060") == "x86-64-v2\n"
    told = loaded(sim.image, settings="fail_image=1")
    assert "kernel 'add', image for sm_90: the CUDA driver does not load" in told


@pytest.fixture(scope="module")
def seal(tmp_path_factory):
    program = tmp_path_factory.mktemp("seal") / "seal"
    run("gcc", "-O2", "-Wall", "-Wextra", "-Werror", SOURCES / "seal.c", "-o", program)
    return program


def changed(module, seal, path, change):
    """A copy with other bytes, and a checksum that fits. change: of (bytes, tables' offset)."""
    data = bytearray(module.read_bytes())
    change(data, int.from_bytes(data[-32:-24], "little"))
    path.write_bytes(data)
    run(seal, path)
    return path


def test_newer_images_are_refused_by_number(sim, seal, tmp_path):
    def newer(data, at):
        data[at + 28] = 9

    path = changed(sim.image, seal, tmp_path / "newer.kiln", newer)
    assert "the module has CUDA ABI 9, this library reads 2 and older down to 1" in loaded(path)
    # Its code for CPUs is as before.
    path = changed(sim.both, seal, tmp_path / "newer.kiln", newer)
    assert loaded(path) == "x86-64-v2\n"
    # A library that knows no images refuses the one, and runs the CPU's code of the other.
    show = [run(KILN, "module", "show", one).splitlines()[1] for one in (sim.image, sim.both)]
    assert [line.strip() for line in show] == [
        "format 1.3, module ABI 3, tree ABI 1, CUDA ABI 2",
        "format 1.3, module ABI 2, tree ABI 1, CUDA ABI 2",
    ]


def test_damaged_images_are_refused(sim, seal, tmp_path):
    def damaged(old, new):
        def change(data, _):
            at = data.index(old)
            data[at : at + len(old)] = new

        return loaded(changed(sim.image, seal, tmp_path / "damaged.kiln", change))

    told = damaged(b"KILNCUDA", b"KILNCUDE")
    assert told.startswith("ValueError FILE: kernel ")
    assert "image for sm_90: does not begin like CUDA code" in told
    flipped = bytearray(sim.image.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    path = tmp_path / "flipped.kiln"
    path.write_bytes(flipped)
    assert loaded(path) == (
        "ValueError FILE: not a module of Kiln, or damaged: its checksum is another\n"
    )


# Runs of a graph with arguments that differ each time: its loop's length, its array's memory.
GRAPH_IN_C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kiln/kiln.h"
#define CHECK(call) if ((call) != KILN_OK) return puts(kiln_error()), 1
int main(int argc, char** argv) {
  (void)argc;
  kiln_context_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.device = KILN_DEVICE_CUDA;
  options.cuda_driver = argv[2];
  kiln_context* context;
  kiln_module* module;
  CHECK(kiln_context_new(&options, &context));
  CHECK(kiln_module_open(context, argv[1], NULL, &module));
  const kiln_graph* twice = kiln_module_graph(module, "twice");
  for (int32_t turn = 0; turn < 20; ++turn) {
    const int64_t count = 1 + 300 * (turn % 7);
    int32_t* numbers = calloc(count, sizeof *numbers);
    const kiln_array array = kiln_array_of(numbers, KILN_I32, 1, &count);
    const kiln_named_arg args[] = {{"k", kiln_int(turn)}, {"a", kiln_array_arg(&array)}};
    CHECK(kiln_graph_run(twice, NULL, args, 2, NULL));
    for (int64_t i = 0; i < count; ++i) {
      if (numbers[i] != 100 + turn) return printf("%d: %d\\n", (int)turn, (int)numbers[i]), 1;
    }
    free(numbers);
  }
  CHECK(kiln_module_free(module));
  CHECK(kiln_context_free(context));
  puts("right");
  return 0;
}
"""
# Begins a C++ program with the arguments MODULE DRIVER: a world of the module on CUDA.
MAIN_IN_CPP = """
int main(int, char** argv) {
  kiln::ContextOptions options;
  options.device = kiln::Device::cuda;
  options.cuda_driver = argv[2];
  kiln::Context context = kiln::Context::create(options);
  const kiln::Module module = kiln::Module::open(context, argv[1]);
  kiln::World world = kiln::World::create(module);
"""
GRAPH_IN_CPP = (
    """
#include <cstdio>
#include <memory>
#include <vector>
#include "kiln/kiln.hpp"
"""
    + MAIN_IN_CPP
    + """  const kiln::Graph twice = module.graph("twice");
  for (std::int32_t turn = 0; turn < 20; ++turn) {
    std::vector<std::int32_t> numbers(1 + 300 * (turn % 7));
    twice.run(world, {{"a", numbers}, {"k", turn}});
    for (const std::int32_t number : numbers) {
      if (number != 100 + turn) return std::printf("%d: %d\\n", turn, number), 1;
    }
  }
  std::puts("right");
}
"""
)


@pytest.mark.parametrize(
    ("name", "text"), [("graph.c", GRAPH_IN_C), ("graph.cc", GRAPH_IN_CPP)], ids=["C", "C++"]
)
def test_graphs_with_other_arguments_are_one_call(name, text, sim, package, tmp_path):
    """From the ninth run on, and one for each kernel."""
    source = tmp_path / name
    source.write_text(text)
    standard = ["-std=c++17"] if name.endswith(".cc") else []
    program = build(package, tmp_path, source, *standard)
    log = tmp_path / "log"
    environment = {**BARE, "KILN_FAKE_CUDA": f"check=race,init;log={log}"}
    assert run(program, sim.image, EMULATOR, env=environment) == "right\n"
    calls = log.read_text().split()
    assert calls.count("cuLaunchKernel") == 8 * 2
    assert calls.count("cuGraphLaunch") == 20 - 8
    assert calls.count("cuGraphExecKernelNodeSetParams") == (20 - 9) * 2
    assert calls.count("cuGraphInstantiateWithFlags") == calls.count("cuGraphExecDestroy") == 1


# Fields that share pages of the host's mirror.
SHARED = """
import kiln as ti
ti.init(arch=ti.cpu)
x, y = ti.field(ti.i32, name="x"), ti.field(ti.i32, name="y")
ti.root.dense(ti.i, 1024).place(x, y)

@ti.aot.export
@ti.kernel
def step():
    for i in x:
        x[i] += 1

@ti.aot.export
@ti.kernel
def stepped() -> ti.i32:
    for i in x:
        x[i] += 1
    return x[0]
"""
IN_THREADS = (
    """
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>
#include "kiln/kiln.hpp"
"""
    + MAIN_IN_CPP
    + """  constexpr int kRuns = 200;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const char* name : {"step", "stepped"}) {
    threads.emplace_back([&, step = module.kernel(name)] {
      for (int run = 0; run < kRuns; ++run) step(world);
    });
  }
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      for (int run = 0; run < kRuns; ++run) {
        world.set("y", {thread}, run);
        wrong += world.get<std::int32_t>("y", {thread}) != run;
        wrong += world.read<std::int32_t>("y")[static_cast<std::size_t>(thread)] != run;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::int32_t count : world.read<std::int32_t>("x")) wrong += count != 2 * kRuns;
  std::printf("%d wrong\\n", wrong.load());
}
"""
)


def run_on_shared(package, folder, text):
    """What a C++ program prints that uses the module SHARED on the emulator."""
    script, source, module = (folder / name for name in ("shared.py", "program.cc", "m.kiln"))
    script.write_text(SHARED)
    source.write_text(text)
    environment = {**os.environ, "KILN_HOME": str(folder / "home")}
    run(KILN, "export", script, "-o", module, "--target", "sm_90", env=environment)
    run(KILN, "stop", env=environment)
    program = build(package, folder, source, "-std=c++17", "-pthread")
    return run(program, module, EMULATOR, env=BARE)


def test_threads_use_fields_beside_launches(package, tmp_path):
    """What a launch has changed is seen after it and stays, as does what another thread writes."""
    assert run_on_shared(package, tmp_path, IN_THREADS) == "0 wrong\n"


WAITS = (
    """
#include <cstdint>
#include <cstdio>
#include "kiln/kiln.hpp"
"""
    + MAIN_IN_CPP
    + """  int waits = 0;
  auto count = [&waits] { ++waits; };
  const auto told = kiln::LaunchOptions().before_wait(count);
  module.kernel("step").with(told)(world);
  std::printf("%d", waits);
  const auto result = module.kernel("stepped").with(told).call<std::int32_t>(world);
  std::printf(" %d %d\\n", waits > 0, static_cast<int>(result));
}
"""
)


def test_programs_are_told_before_a_launch_waits(package, tmp_path):
    """Not those that return before the device is done."""
    assert run_on_shared(package, tmp_path, WAITS) == "0 1 2\n"


FORKS = (
    """
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>
#include "kiln/kiln.hpp"
template <typename Call>
bool refuses(const Call& call) {
  try {
    call();
  } catch (const kiln::Error& error) {
    return std::strstr(error.what(), "forked from one that uses CUDA") != nullptr;
  }
  return false;
}
"""
    + MAIN_IN_CPP
    + """  const kiln::Kernel step = module.kernel("step");
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] { while (!ends) step(world); });
  threads.emplace_back([&] { while (!ends) world.set("y", {1}, 1); });
  threads.emplace_back([&] { while (!ends) world.read<std::int32_t>("y"); });
  int wrong = 0;
  for (int run = 0; run < 100; ++run) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);  // ends a child that waits for a thread of its parent
      const bool all = refuses([&] { step(world); }) &&
                       refuses([&] { world.get<std::int32_t>("y", {1}); }) &&
                       refuses([&] { world.set("y", {1}, 2); }) &&
                       refuses([&] { world.read<std::int32_t>("y"); });
      _exit(all ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    wrong += status != 0;
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("%d wrong\\n", wrong);
}
"""
)


def test_children_that_are_forked_beside_launches_get_errors(package, tmp_path):
    assert run_on_shared(package, tmp_path, FORKS) == "0 wrong\n"
