"""libkiln.so.1: what it exports, imports and weighs, beside what the header promises."""

import os
import re

from tests.sdk.conftest import ROOT, run

LIBRARIES = {
    "libc.so.6",
    "libm.so.6",
    "libstdc++.so.6",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
}
# The library reads no environment, starts no process, does not end this one, handles no signal and
# prints nothing. It writes to stderr before an abort alone, so fprintf is not here.
FORBIDDEN = re.compile(
    r"(secure_)?getenv|setenv|putenv|environ|v?fork|posix_spawnp?|execv\w*|system|popen|_?exit|"
    r"_Exit|quick_exit|atexit|at_quick_exit|signal|sigaction|v?printf|puts|putchar|perror|stdout|"
    r"setlocale|dlmopen|_ZSt4cout|_ZSt4cerr|_ZNSt8ios_base4InitC1Ev"
)


def library(package):
    return package / "lib" / "libkiln.so.1"


def test_exports_what_the_header_declares(package):
    header = (package / "include" / "kiln" / "kiln.h").read_text()
    declared = {
        f"{name}@@KILN_1.0" for name in re.findall(r"KILN_EXPORT[^;]*?\b(kiln_\w+)\(", header)
    }
    lines = run("nm", "-D", "--defined-only", library(package)).splitlines()
    # Lower-case kinds are symbols of the library's own.
    exported = {line.split()[2] for line in lines if line.split()[1].isupper()}
    assert exported - {"KILN_1.0"} == declared
    assert len(declared) > 30


def test_the_list_of_symbols_is_current(package):
    lines = run("nm", "-D", "--defined-only", library(package)).splitlines()
    exported = {line.split()[2] for line in lines if line.split()[1].isupper()}
    expected = {f" {name.replace('@@', '@')} 1.0" for name in exported - {"KILN_1.0"}}
    head, *rest = (ROOT / "libkiln" / "libkiln1.symbols").read_text().splitlines()
    assert head == "libkiln.so.1 libkiln1 #MINVER#"
    assert rest[0] == " KILN_1.0@KILN_1.0 1.0"
    assert rest[1:] == sorted(expected)


def test_needs_the_systems_libraries_alone(package):
    dynamic = run("readelf", "-dW", library(package))
    assert set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)) <= LIBRARIES
    assert re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) == ["libkiln.so.1"]
    assert not re.search(r"RPATH|RUNPATH|TEXTREL", dynamic)


def test_imports_nothing_that_has_effects(package):
    lines = run("nm", "-D", "--undefined-only", library(package)).splitlines()
    imported = {line.split()[-1].split("@")[0] for line in lines}
    assert "memcpy" in imported
    assert not {name for name in imported if FORBIDDEN.fullmatch(name)}


def test_is_small(package):
    assert os.path.getsize(library(package)) <= 700_000


def test_both_forms_of_the_header_in_one_program(package, tmp_path):
    objects = []
    for name, flag in (("throwing", "-fexceptions"), ("returning", "-fno-exceptions")):
        objects.append(tmp_path / f"{name}.o")
        source = ROOT / "tests" / "sdk" / f"{name}.cc"
        include = f"-I{package / 'include'}"
        run("g++", "-std=c++17", "-fno-rtti", flag, include, "-c", source, "-o", objects[-1])
    program = tmp_path / "program"
    run("g++", *objects, library(package), f"-Wl,-rpath,{package / 'lib'}", "-o", program)
    text = "14 /nowhere.kiln: No such file or directory"
    assert run(program) == f"thrown: {text}\nreturned: {text}\n"
