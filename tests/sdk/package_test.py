"""The package of libkiln: its bytes, and a project outside Kiln's that uses it, by CMake and by
pkg-config, where it was unpacked and elsewhere."""

import os
import shlex
import shutil
import subprocess

import pytest

from tests.sdk.conftest import ROOT, run

CONSUMER = ROOT / "tests" / "sdk" / "consumer"
SAID = "libkiln 10000\nmissing.kiln: No such file or directory\n"


@pytest.fixture(params=["as unpacked", "moved"])
def place(package, request, tmp_path):
    """The package's folder."""
    if request.param == "as unpacked":
        return package
    elsewhere = tmp_path / "moved"
    shutil.copytree(package, tmp_path / "first", symlinks=True)
    os.rename(tmp_path / "first", elsewhere)
    return elsewhere


def configure(source, build, place, check=True):
    command = ["cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={place}"]
    return run(*command, check=check)


def says(program):
    return run(program, cwd=program.parent)


def test_the_same_sources_give_the_same_bytes(tarball, tmp_path):
    again = tmp_path / "again" / "kiln.tar.gz"
    environment = {**os.environ, "TZ": "Asia/Tokyo"}
    run(ROOT / "tools" / "package.sh", "tar", again, umask=0o077, env=environment)
    assert again.read_bytes() == tarball.read_bytes()
    assert os.listdir(again.parent) == ["kiln.tar.gz"]


def test_no_file_names_this_machine(package):
    for file in package.rglob("*"):
        if file.is_file():
            assert str(ROOT).encode() not in file.read_bytes(), file


def test_has_what_programs_need(package):
    files = {str(f.relative_to(package)) for f in package.rglob("*") if not f.is_dir()}
    assert files == {
        "LICENSE",
        "include/kiln/kiln.h",
        "include/kiln/kiln.hpp",
        "lib/cmake/kiln/kilnConfig.cmake",
        "lib/cmake/kiln/kilnConfigVersion.cmake",
        "lib/libkiln.so",
        "lib/libkiln.so.1",
        "lib/libkiln.so.1.0.0",
        "lib/pkgconfig/kiln.pc",
    }


def test_cmake(place, tmp_path):
    build = tmp_path / "build"
    configure(CONSUMER, build, place)
    run("cmake", "--build", build)
    assert says(build / "main_c") == SAID
    assert says(build / "main_cc") == SAID


def test_the_project_of_the_guide(package, tmp_path):
    guide = (ROOT / "docs" / "cpp.md").read_text()
    for language, name in (("cmake", "CMakeLists.txt"), ("cpp", "main.cc")):
        block = guide.partition(f"```{language}\n")[2].partition("```")[0]
        (tmp_path / name).write_text(block)
    configure(tmp_path, tmp_path / "build", package)
    run("cmake", "--build", tmp_path / "build")
    done = subprocess.run([tmp_path / "build" / "simulate"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "sim.kiln: No such file or directory\n"


def test_cmake_without_cxx(package, tmp_path):
    build = tmp_path / "build"
    configure(CONSUMER / "c_alone", build, package)
    run("cmake", "--build", build)
    assert says(build / "main_c") == SAID


@pytest.mark.parametrize(
    "asked, fits",
    [
        ("", True),
        ("1", True),
        ("1.0.0 EXACT", True),
        ("0.9...<2", False),
        ("1.0...<2", True),
        ("2", False),
        ("1.1", False),
        ("0.1", False),
    ],
)
def test_cmake_compares_versions(package, tmp_path, asked, fits):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.19)\nproject(versions LANGUAGES NONE)\n"
        f"find_package(kiln {asked} QUIET)\n"
        'if(kiln_FOUND)\nmessage(STATUS "found")\nendif()\n'
    )
    assert ("-- found" in configure(tmp_path, tmp_path / "build", package)) == fits


def test_cmake_refuses_half_a_package(package, tmp_path):
    half = tmp_path / "half"
    shutil.copytree(package, half, symlinks=True)
    os.remove(half / "include" / "kiln" / "kiln.h")
    command = ["cmake", "-S", CONSUMER, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={half}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "the package is incomplete" in done.stderr


def test_pkg_config(place, tmp_path):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(place / "lib" / "pkgconfig")}
    assert run("pkg-config", "--modversion", "kiln", env=environment) == "1.0.0\n"
    for compiler, source in ((["cc"], "main.c"), (["c++", "-std=c++17"], "main.cc")):
        program = tmp_path / "program"
        # pkg-config writes options for a shell: it escapes the space in the folder.
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "kiln", env=environment))
        run(*compiler, CONSUMER / source, *flags, f"-Wl,-rpath,{place / 'lib'}", "-o", program)
        assert says(program) == SAID


def test_kiln_config(kiln):
    def said(option):
        return kiln("config", option, timeout=600).stdout.strip()

    prefix = said("--prefix")
    assert said("--cmakedir") == f"{prefix}/lib/cmake/kiln"
    assert said("--cflags") == f"-I{prefix}/include"
    assert said("--libs") == f"-L{prefix}/lib -lkiln"
    assert os.path.exists(f"{prefix}/lib/libkiln.so")
    assert kiln("config", check=False).returncode == 2
    assert kiln("config", "--elsewhere", check=False).returncode == 2
