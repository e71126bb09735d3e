"""kiln_add_module of CMake and kiln_module of Bazel: builds that export a program's kernels."""

import pytest

from tests.sdk.conftest import ROOT, run

PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(add_module LANGUAGES CXX)
find_package(kiln 1.0 REQUIRED)
kiln_add_module(sim SOURCES sim.py TARGETS x86-64-v2 x86-64-v3 {static})
add_executable(main main.cc)
target_link_libraries(main PRIVATE sim)
target_compile_definitions(main PRIVATE "MODULE=\\"$<TARGET_PROPERTY:sim,KILN_MODULE>\\"")
"""

MAIN = """
#include <cstdio>
#include <kiln/kiln.hpp>
#include "sim.hpp"

int main() {
  kiln::Context context = kiln::Context::create();
  std::printf("%g\\n", sim::Module::open(context, MODULE).scale(2.0f));
}
"""

PROGRAM = """
import kiln as ti

ti.init(arch=ti.cpu)


@ti.aot.export
@ti.kernel
def scale(a: ti.f32) -> ti.f32:
    return a * {factor}
"""


@pytest.mark.parametrize("static", ["", "STATIC"])
def test_exports_again_when_the_program_changes(kiln, package, tmp_path, static):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(static=static))
    (tmp_path / "main.cc").write_text(MAIN)
    build = tmp_path / "build"
    for factor in (2, 3):
        (tmp_path / "sim.py").write_text(PROGRAM.format(factor=factor))
        if factor == 2:
            options = [f"-DCMAKE_PREFIX_PATH={package}", f"-DKILN_EXECUTABLE={ROOT / 'kiln'}"]
            run("cmake", "-S", tmp_path, "-B", build, *options, env=kiln.environment)
        run("cmake", "--build", build, env=kiln.environment)
        assert run(build / "main") == f"{2 * factor}\n"
    assert (build / "sim.module" / "libsim.a").exists() == bool(static)


def test_refuses_a_module_without_sources(package, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        PROJECT.replace("SOURCES sim.py", "").format(static="")
    )
    with pytest.raises(AssertionError, match="expected SOURCES program.py"):
        run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={package}")


def test_bazel(kiln):
    # The action runs the command, which must find its programs built: one Bazel waits for another.
    environment = {**kiln.environment, "KILN_SERVER": "off"}
    run(ROOT / "kiln", "--version", env=environment)
    found = f"--action_env=KILN_EXECUTABLE={ROOT / 'kiln'}"
    target = "//tests/sdk/bazel:use_tiny"
    run(ROOT / "tools" / "bazel.sh", "build", found, target, env=environment)
    built = ROOT / ".kiln" / "bazel-bin" / "tests" / "sdk" / "bazel"
    assert run(built / "use_tiny", built / "tiny.kiln") == "6\n"
