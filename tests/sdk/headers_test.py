"""The public headers: each compiles alone, without warnings, in every standard that we promise."""

import re
import subprocess

import pytest

from tests.sdk.conftest import ROOT, WARNINGS, run

INCLUDE = ROOT / "libkiln" / "include"
HERE = ROOT / "tests" / "sdk"
STANDARDS = {
    "gcc": ["c11", "c17"],
    "clang-19": ["c11", "c17"],
    "g++": ["c++17", "c++20", "c++23"],
    "clang++-19": ["c++17", "c++20", "c++23"],
}
COMPILERS = [(name, standard) for name, all in STANDARDS.items() for standard in all]
CXX = [pair for pair in COMPILERS if "++" in pair[0]]


def compile(compiler, standard, source, *flags):
    """The compiler's complaints about a file."""
    command = [compiler, f"-std={standard}", "-O2", *WARNINGS, *flags, f"-I{INCLUDE}"]
    command += ["-c", "-o", "/dev/null", str(source)]
    return subprocess.run(command, capture_output=True, text=True).stderr


def alone(header, tmp_path, compiler):
    source = tmp_path / ("alone.cc" if "++" in compiler else "alone.c")
    source.write_text(f"#include <kiln/{header}>\n#include <kiln/{header}>\nint main(void) {{}}\n")
    return source


@pytest.mark.parametrize("compiler, standard", COMPILERS)
def test_kiln_h_is_complete(tmp_path, compiler, standard):
    assert compile(compiler, standard, alone("kiln.h", tmp_path, compiler)) == ""


@pytest.mark.parametrize("compiler, standard", CXX)
def test_kiln_hpp_is_complete(tmp_path, compiler, standard):
    source = alone("kiln.hpp", tmp_path, compiler)
    assert compile(compiler, standard, source, "-fno-rtti") == ""
    assert compile(compiler, standard, source, "-fno-rtti", "-fno-exceptions") == ""


@pytest.mark.slow
@pytest.mark.parametrize("compiler, standard", CXX)
def test_kiln_hpp_in_use(compiler, standard):
    assert compile(compiler, standard, HERE / "throwing.cc", "-fno-rtti") == ""
    for flag in ("-fno-exceptions", "-DKILN_NO_EXCEPTIONS"):
        assert compile(compiler, standard, HERE / "returning.cc", "-fno-rtti", flag) == ""


@pytest.mark.parametrize(
    "code, reason",
    [
        ("kernel(world, 1.0L)", "not a number that kernels take"),
        ("kernel(world, std::vector<long double>())", "not an element of Kiln's arrays"),
        ("world.field<float, 2>(name).at(1)", "one index for each axis"),
        ("world.read<bool>(name)", "read fields of u1 as std::uint8_t"),
    ],
)
def test_mistakes_are_explained(tmp_path, code, reason):
    source = tmp_path / "mistake.cc"
    source.write_text(
        "#include <kiln/kiln.hpp>\n"
        "void mistake(kiln::World& world, const kiln::Kernel& kernel, const char* name);\n"
        "void mistake(kiln::World& world, const kiln::Kernel& kernel, const char* name) {\n"
        f"  (void)name, (void)kernel, (void){code};\n}}\n"
    )
    assert reason in compile("g++", "c++17", source)


def test_kiln_hpp_is_small():
    own = (INCLUDE / "kiln" / "kiln.hpp").read_text().count("\n")
    assert own <= 3000
    # In place of the time to parse, which depends on the machine: 0.26 s for these.
    all = run("g++", "-std=c++17", "-E", "-P", f"-I{INCLUDE}", INCLUDE / "kiln" / "kiln.hpp")
    assert all.count("\n") <= 30000


@pytest.mark.parametrize("compiler, standard", [("gcc", "c11"), ("g++", "c++17")])
def test_structs_have_the_layout_of_version_1(tmp_path, compiler, standard):
    source = tmp_path / ("layout.cc" if "++" in compiler else "layout.c")
    source.write_text((HERE / "layout.c").read_text())
    assert compile(compiler, standard, source) == ""


@pytest.mark.parametrize("name", ["kiln.h", "compile.h"])
def test_functions_have_the_form_of_version_1(tmp_path, name):
    """A program that was compiled with an older header calls what it declared."""
    folder = INCLUDE if name == "kiln.h" else ROOT / "client_cpp" / "dsl" / "include"
    header = (folder / "kiln" / name).read_text()
    declared = re.findall(r"KILN_EXPORT[^;]*?\b(kiln_\w+)\(", header)
    flags = [f"-I{folder}", *(["-DKILN_COMPILE"] if name == "compile.h" else [])]
    kept = (HERE / "functions.c").read_text()
    source = tmp_path / "functions.c"
    source.write_text(kept)
    assert compile("gcc", "c11", source, *flags) == ""
    for function in declared:
        assert re.search(rf"\b{function}\(", kept), f"{function} has no line in functions.c"
    # The comparison finds a parameter that has become another.
    source.write_text(kept.replace("size_t axes", "int axes").replace("size_t count", "int count"))
    assert "conflicting types" in compile("gcc", "c11", source, *flags)


def test_every_struct_has_a_layout():
    header = (INCLUDE / "kiln" / "kiln.h").read_text()
    structs = set(re.findall(r"^\} (kiln_\w+);", header, re.M))
    assert structs == set(re.findall(r"^SIZE\((\w+)", (HERE / "layout.c").read_text(), re.M))
