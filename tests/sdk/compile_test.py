"""libkiln-compile: what it exports, its headers, and a project outside Kiln's with kernels."""

import os
import re
import shlex
import subprocess

import pytest

from tests.sdk.conftest import ROOT, WARNINGS, run

DSL = ROOT / "client_cpp" / "dsl"
CONSUMER = ROOT / "tests" / "sdk" / "consumer" / "kernels"
INCLUDES = [f"-I{DSL / 'include'}", f"-I{ROOT / 'libkiln' / 'include'}"]
HEADERS = ["compile.h", "dsl.hpp"]
SAID = "saxpy 8\n"


@pytest.fixture(scope="module")
def prefix():
    """The folder of libraries and headers that `kiln config` makes."""
    return run(ROOT / "kiln", "config", "--prefix").strip()


def alone(tmp_path, header, compiler):
    source = tmp_path / ("alone.cc" if "++" in compiler else "alone.c")
    source.write_text(f"#include <kiln/{header}>\n#include <kiln/{header}>\nint main(void) {{}}\n")
    return source


def declared():
    header = (DSL / "include" / "kiln" / "compile.h").read_text()
    return set(re.findall(r"KILN_EXPORT[^;]*?\b(kiln_\w+)\(", header))


def test_exports_what_the_header_declares(prefix):
    lines = run("nm", "-D", "--defined-only", f"{prefix}/lib/libkiln-compile.so.1").splitlines()
    exported = {line.split()[2] for line in lines if line.split()[1].isupper()}
    assert exported - {"KILN_COMPILE_1.0"} == {f"{n}@@KILN_COMPILE_1.0" for n in declared()}
    head, version, *rest = (DSL / "libkiln-compile1.symbols").read_text().splitlines()
    assert head == "libkiln-compile.so.1 libkiln-compile1 #MINVER#"
    assert version == " KILN_COMPILE_1.0@KILN_COMPILE_1.0 1.0"
    assert rest == sorted(f" {name}@KILN_COMPILE_1.0 1.0" for name in declared())


def test_needs_no_compiler(prefix):
    library = f"{prefix}/lib/libkiln-compile.so.1"
    assert os.path.getsize(library) <= 2_500_000
    loaded = run("ldd", library)
    assert "LLVM" not in loaded and "grpc" not in loaded and "python" not in loaded


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("compiler", ["gcc -std=c11", "g++ -std=c++17", "clang++-19 -std=c++23"])
def test_headers_are_complete(tmp_path, header, compiler):
    if header.endswith("hpp") and "++" not in compiler:
        pytest.skip("a header of C++")
    flags = [*WARNINGS, *(["-fno-rtti"] if "++" in compiler else []), *INCLUDES]
    source = alone(tmp_path, header, compiler)
    run(*compiler.split(), "-O2", *flags, "-c", source, "-o", "/dev/null")


def test_kernels_without_warnings(tmp_path):
    for compiler in ("g++", "clang++-19"):
        for source in (CONSUMER / "main.cc", ROOT / "examples" / "cpp" / "mpm88.cc"):
            warnings = WARNINGS if source.name == "main.cc" else ["-Wall", "-Wextra", "-Werror"]
            command = [compiler, "-std=c++17", "-O2", *warnings, *INCLUDES, "-c", source]
            run(*command, "-o", "/dev/null")


def test_dsl_hpp_is_small(tmp_path):
    # In place of the time to parse, which depends on the machine: 0.22 s for these.
    source = alone(tmp_path, "dsl.hpp", "g++")
    assert run("g++", "-std=c++17", "-E", "-P", *INCLUDES, source).count("\n") <= 40_000


def test_lines_of_the_examples():
    saxpy = (ROOT / "docs" / "cpp.md").read_text().partition("  Kernel saxpy(")[2]
    assert saxpy.partition("  std::vector")[0].count("\n") == 3
    assert (ROOT / "examples" / "cpp" / "mpm88.cc").read_text().count("\n") <= 80


@pytest.mark.parametrize(
    "code, reason",
    [
        ("if (x[i] > 0) return;", "use If"),
        ("x[0.5f] = 1;", "no match"),
        ("Expr<int> n = 0.5;", "a fraction for an integer"),
        ("x[i] = Vector<float>(1, 2);", "a value of another shape"),
        ("x(i, i) = 1;", "as many indices as axes"),
        ("ForEach(x, [&](Int j, Int k) { x[j] = k; });", "the body takes an Int for each axis"),
        ("While(x[i] < 3, [&] { x[i] = 3; });", "the condition is a function"),
        ("x[Vector<int>(1, 2)] = 1;", "as many indices as axes"),
        ("x[i] = Vector<int>(x[i], 1)[0];", "a fraction for an integer"),
        ("Var<int> n = 3; n /= 2;", "a quotient is a fraction"),
        ("Determinant(Matrix<float, 1>(1, 2));", "a square matrix"),
        ("Outer(x[i], x[i]);", "the operand is a vector"),
        ("Svd(Identity<float, 4>());", "with two or three rows"),
        ("x[i] = Vec<float, 2>{1, 2};", "a value of another shape"),
        ("Var<Vec<int, 2>> v = Vec<float, 2>{1, 2};", "a fraction for an integer"),
        ('Print("a {}", "text");', "a number, vector or matrix, or a value of the kernel"),
        ("Field<float, 1> f({8}); x[i] = f.get(i);", r"in kernels, write x\(i\)"),
        ('Kernel k2("k", [](auto y) { y[0] = 1; });', "not auto"),
        ('Kernel k2("k", [](Array<int, 1> y) { return 3; });', "a value of its own"),
        ('Kernel k2("k", [](float y) {});', "is an Array<T, N> or a Value<T>"),
        ('Kernel k2("k", [](Array<int, 1>& y) {});', "by value"),
        ("MatMul(Vector<float>(1, 2), x[i]);", "as many rows as the first has columns"),
        ('Kernel k2("k", [](Array<int, 1> y) {}); const std::vector<int> v; k2(v);', "const"),
        ('Kernel k2("k", [](Array<int, 1> y) {}); std::vector<long> v; k2(v);', "another type"),
        ("Field<Unknown, 1> f({3});", "a struct of KILN_STRUCT"),
        ("Field<Weighted, 1> f({3}); x[i] = f[i];", "no match"),
        ("Field<Weighted, 1> f({3}, kGrad);", "only fields of floats have gradients"),
        (
            'Kernel k2("k", [](Array<Weighted, 1> y) {}); Field<Weighted, 1> f({3}); k2(f);',
            "a field of structs is no array of them",
        ),
        ("Function f([](Value<int> n) { Return(3); return n + 1; });", "a value of its own"),
        ("Function f([](Ref<Vec<int, 2>> v) { v[0] = 1; }); Var<Vec<int, 2>> v; f(v);", "a number"),
        ("Function f([](Value<int>& n) { return n + 1; });", "by value"),
        ("Function f([](Value<int> n) { return n + 1; }); f(Vector<int>(1, 2));", "another shape"),
    ],
)
def test_mistakes_do_not_compile(tmp_path, code, reason):
    source = tmp_path / "mistake.cc"
    source.write_text(
        "#include <kiln/dsl.hpp>\nusing namespace kiln::dsl;\nvoid mistake();\n"
        "struct Unknown { int n; };\n"
        "struct Weighted { int n; float w; };\nKILN_STRUCT(Weighted, n, w);\n"
        "void mistake() {\n"
        f'  Kernel k("k", [](Array<float, 1> x) {{ ForEach(x, [&](Int i) {{ {code} }}); }});\n}}\n'
    )
    command = ["g++", "-std=c++17", *INCLUDES, "-c", str(source), "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and re.search(reason, done.stderr), done.stderr


@pytest.mark.parametrize("members", ["a", "a, b", "b, a, c", "a, c"])
def test_descriptions_of_structs_are_complete(tmp_path, members):
    source = tmp_path / "incomplete.cc"
    source.write_text(
        "#include <kiln/dsl.hpp>\nstruct T { int a; kiln::dsl::Vec<float, 2> b; int c; };\n"
        f"KILN_STRUCT(T, {members});\n"
    )
    command = ["g++", "-std=c++17", *INCLUDES, "-c", str(source), "-o", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "names all members of the struct" in done.stderr, done.stderr


def says(kiln, program, **more):
    return run(program, env={**kiln.environment, **more}, cwd=kiln.home.parent)


def test_cmake(kiln, prefix, tmp_path):
    build = tmp_path / "build"
    run("cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    assert says(kiln, build / "main") == SAID
    assert says(kiln, build / "main", KILN_SERVER="off") == SAID
    assert says(kiln, build / "main_c") == "ones 4\n"


def test_pkg_config_and_a_foreign_protobuf(kiln, prefix, tmp_path):
    """One program with both libraries of Kiln and messages of its own, proto/type.proto."""
    environment = {**os.environ, "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
    packages = ["kiln", "kiln-compile", "protobuf"]
    flags = run("pkg-config", "--cflags", "--libs", *packages, env=environment)
    (tmp_path / "proto").mkdir()
    (tmp_path / "proto" / "type.proto").write_text(
        'syntax = "proto3";\npackage theirs;\nmessage Type {\n  int32 number = 1;\n}\n'
    )
    run("protoc", f"--cpp_out={tmp_path}", "proto/type.proto", cwd=tmp_path)
    program = tmp_path / "program"
    sources = [CONSUMER / "three.cc", tmp_path / "proto" / "type.pb.cc", f"-I{tmp_path}"]
    rpath = f"-Wl,-rpath,{prefix}/lib"
    run("g++", "-std=c++17", *sources, *shlex.split(flags), rpath, "-o", program)
    assert says(kiln, program) == "7 no-module.kiln: No such file or directory\n" + SAID


@pytest.mark.parametrize("first", ["python", "c++"])
def test_two_kilns_in_one_process(kiln, prefix, tmp_path, first):
    """The Python module, and a library of the application that writes kernels in C++."""
    flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lkiln-compile", f"-Wl,-rpath,{prefix}/lib"]
    library = tmp_path / "libkernels.so"
    run("g++", "-std=c++17", "-shared", "-fPIC", CONSUMER / "main.cc", *flags, "-o", library)
    program = tmp_path / "both.py"
    load = f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\n"
    program.write_text(f"""{load if first == "c++" else ""}
import kiln as ti
ti.init(arch=ti.cpu)
x = ti.field(ti.f32, shape=4)
@ti.kernel
def total() -> ti.f32:
    s = 0.0
    for i in x:
        x[i] = i
        s += x[i]
    return s
print(total(), flush=True)
{load if first == "python" else ""}
library.main()
@ti.kernel
def again() -> ti.f32:
    return x[3] + 1
print(again())
""")
    # C and Python write to the pipe at times of their own.
    assert sorted(kiln("python", program).stdout.splitlines()) == ["4.0", "6.0", SAID.strip()]


def test_bad_input_of_cpp_is_an_error(kiln, prefix, tmp_path):
    program = tmp_path / "mistakes"
    source = CONSUMER / "mistakes.cc"
    flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lkiln-compile", f"-Wl,-rpath,{prefix}/lib"]
    run("g++", "-std=c++17", *WARNINGS, source, *flags, "-o", program)
    lines = source.read_text().splitlines()

    def at(words):
        (number,) = [n for n, line in enumerate(lines, 1) if words in line]
        return f"{source}:{number}"

    assert says(kiln, program).splitlines() == [
        f"range: {at('Range(5000000000)')}: the number 5000000000 does not fit i32",
        f"store: {at('x[0] = 300')}: the number 300 does not fit u8",
        f"index: {at('<< 32')}: the number 4294967296 does not fit i32",
        f"variable: {at('small = 128')}: the number 128 does not fit i8",
        f"infinite: {at('1e300')}: the number 1e+300 does not fit f32",
        f"sum: {at('Value<int> n) { return n + 4')}: the number 4000000000 does not fit i32",
        "4000000001 8e+09 1 f0000000",
        f"value: {at('*value')}: a value of another kernel is used in this one",
        f"array: {at('*array')}: an array of another kernel is used in this one",
        f"assert: x[2] is 3 at {at('Assert(')}",
        f"bounds: Out of bound access: index (1, 0) of shape (1, 3) at {at('x(i, 0)')}",
        "overlap: the array for parameter 0 shares memory with a field that the kernel uses; pass "
        "a copy",
        "6",
        f"cells: {at('Activate(')}: activate of a dense SNode, which has no such op",
    ]


def test_bad_input_of_c_is_an_error(kiln, prefix, tmp_path):
    program = tmp_path / "mistakes"
    flags = [f"-I{prefix}/include", f"-L{prefix}/lib", "-lkiln-compile", f"-Wl,-rpath,{prefix}/lib"]
    run("gcc", "-std=c11", *WARNINGS, CONSUMER / "mistakes.c", *flags, "-o", program)
    assert says(kiln, program).splitlines() == [
        "no op: here.py:3: no op 'frobnicate' in the language",
        "no node: node 77 does not exist here",
        "no dtype: no type of the language: dtype 99",
        "axes: an array of 17 axes",
        "a field: a field's numbers have no dtype 0",
        "null: kiln_program_new: name is NULL",
        "an argument: parameter 0 is not set",
        "another field: the field for parameter 0 has elements of another type",
        "no array: parameter 5 is not an array",
        "beyond: 3 elements from number 2 of a field of 4",
        "nowhere: kiln_dense_read: to is NULL",
        "nothing: no error",
        "no gradient: no field that the kernel uses, and no array that it is given, has a gradient",
        "whole: only fields of floats have gradients and duals",
        "a loss: the loss of the tape has no gradient",
        "in the body: parameter 0 is not set",
        "not recorded: the tape has recorded nothing since its last gradients",
        'an arch: no arch \'metal\': expected "cpu" or "cuda"',
        "open: 1 blocks are open; the innermost is of struct_for node 1",
    ]
