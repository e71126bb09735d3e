#!/usr/bin/python3
"""Packs what a machine with an NVIDIA GPU needs to try Kiln on it, into one file: Kiln's client, a
Python with NumPy, the cases of the language and of SNodes, random programs, benchmarks, and a cache
with the code of all their kernels. That machine needs a driver and glibc, but neither a network nor
LLVM.

    ./kiln python tools/gpu/pack.py [--out FILE] [--sections NAME...] [--only PART...] [--small]
                                    [--python FOLDER]

Runs all cases and programs on the emulator (tests/support/fake_cuda), which compiles them for
sm_90. With nvJitLink of NVIDIA's toolkit the cache holds cubins; without it PTX, which the driver
compiles. With nvcc, the benchmarks have peers.cu beside them. --small: benchmarks with few elements
alone, to try the program.

--python: adds Kiln's native modules for the machine's own python3, under which run.py's parts
`interop`, `libraries` and `sanitizer` run. FOLDER holds its headers: in usr/include those of one
python3.N and of a pybind11 that supports it, as `mmdebstrap --variant=extract
--include=libpython3-dev,pybind11-dev SUITE FOLDER` unpacks them; or FOLDER is such a Python itself.
With these parts alone the bundle contains no Python, and is small. Afterwards the checkout's own
modules are built again.

On the other machine:

    mkdir gpu && tar -xJf FILE -C gpu && gpu/run --out RESULTS    (run.py explains the options)
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "e2e" / "language"), str(ROOT / "tests" / "e2e")]
import harness  # noqa: E402
import run  # noqa: E402
import sanitizer  # noqa: E402

LIMIT = 48 << 20  # bytes of the bundle: with the sources of a checkout, less than 64 MiB
CPP_TESTS = "tests/e2e/cpp/dsl"  # of kernels in C++
# Of the C library, which each machine has.
GLIBC = re.compile(r"^(lib(c|m|dl|rt|pthread|util|resolv|mvec)\.so|ld-linux|linux-vdso)")
# Parts of Python's library that no case uses.
UNUSED = re.compile(
    r"(^|/)(test|tests|idlelib|lib2to3|ensurepip|tkinter|turtledemo|distutils|pydoc_data|"
    r"__pycache__|config-3[^/]*|dist-packages|site-packages)(/|$)|\.pyi$"
)
# The machine's own folders follow, for its driver may be in one of them.
LAUNCHER = """#!/bin/sh
here=$(cd "${0%/*}" && pwd)
export PYTHONDONTWRITEBYTECODE=1
[ -e "$here/python" ] || exec python3 "$here/tools/gpu/run.py" "$@"
export LD_LIBRARY_PATH=$here/lib:$LD_LIBRARY_PATH PYTHONHOME=$here/python
exec "$here/python/bin/python3" "$here/tools/gpu/run.py" "$@"
"""
# Stands in for Kiln's command, which the fuzzers call.
COMMAND = """#!/bin/sh
[ "$1" = python ] || exit 0
shift
exec "${0%/*}/python/bin/python3" "$@"
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / ".kiln" / "gpu.tar.xz")
    parser.add_argument("--sections", nargs="*")
    parser.add_argument("--only", choices=run.PARTS, nargs="*")
    parser.add_argument("--python", type=pathlib.Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.out = options.out.resolve()
    if options.only is None:
        options.only = run.PARTS if options.python else run.OWN_PARTS
    own = [part for part in run.OWN_PARTS if part in options.only]
    if options.python is None and len(own) < len(options.only):
        parser.error(f"{', '.join(run.MACHINE_PARTS)} need --python")
    subprocess.run([ROOT / "kiln", "build", "emulator"], check=True)
    if "conformance" in options.only:
        target = "//" + ":".join(CPP_TESTS.rsplit("/", 1))
        subprocess.run([ROOT / "tools" / "bazel.sh", "build", target], check=True)
    tree = options.out.with_name(options.out.name + ".tree")
    shutil.rmtree(tree, ignore_errors=True)
    home = tree / "home"
    home.mkdir(parents=True)
    suites = [name for suite in harness.SUITES for name in harness.sections(suite)]
    sections = options.sections or suites
    try:
        fill_cache(home, sections, options)
        copy_kiln(tree, home)
        if "conformance" in options.only:
            export_modules(tree)
        if own:
            copy_native(tree)
            if "conformance" in options.only:
                copy_program(ROOT / ".kiln" / "bazel-bin" / CPP_TESTS, tree / "bin" / "cpp_tests")
            if not options.small:
                build_peers(tree / "bin" / "peers")
            copy_python(tree)
            copy_libraries(tree)
        if options.python:
            build_native(tree / "native", options.python)
        (tree / "parts").write_text("\n".join(options.only) + "\n")
        (tree / "sections").write_text("\n".join(sections) + "\n")
        (tree / "commit").write_text(output(["git", "-C", ROOT, "rev-parse", "HEAD"]))
        for name, text in (("run", LAUNCHER), ("kiln", COMMAND)):
            (tree / name).write_text(text)
            (tree / name).chmod(0o755)
        with tarfile.open(options.out, "w:xz", preset=0 if options.small else 2) as archive:
            for file in sorted(tree.iterdir()):
                archive.add(file, file.name)
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    size = options.out.stat().st_size
    print(f"{options.out}: {size / 2**20:.1f} MiB")
    if size > LIMIT:
        sys.exit(f"more than {LIMIT >> 20} MiB")


def output(command, **keywords):
    done = subprocess.run(command, check=True, capture_output=True, text=True, **keywords)
    return done.stdout


def fill_cache(home, sections, options):
    """Runs cases, programs and benchmarks, so that `home` has their kernels."""
    environment = {"TI_ARCH": "cuda", "KILN_CUDA_DRIVER": "emulator", "KILN_HOME": str(home)}
    everything = {**os.environ, **environment}

    def run_case(section):
        harness.run_kiln(section, environment)
        return section

    def run_program(command):
        command = [ROOT / "kiln", "python", ROOT / command[0], *command[1:]]
        subprocess.run(command, env=everything, check=True, stdout=subprocess.DEVNULL)
        return " ".join(map(str, command[2:]))

    cases = sections if "conformance" in options.only else []
    if "sanitizer" in options.only:
        chosen = [one for one in sanitizer.SECTIONS if one in sections]
        cases = cases + [one for one in chosen if one not in cases]
    try:
        if "conformance" in options.only:
            programs = {"KILN_BIN": str(ROOT / ".kiln" / "bin"), "KILN_TEST_ARCH": "cuda"}
            command = [ROOT / ".kiln" / "bazel-bin" / CPP_TESTS, "--gtest_brief=1"]
            subprocess.run(command, env={**everything, **programs}, check=True)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for section in pool.map(run_case, cases):
                print(section, flush=True)
            if "fuzz" in options.only:
                for command in pool.map(run_program, run.fuzzers(home)):
                    print(command, flush=True)
        if "sanitizer" in options.only:
            run_program(["tools/gpu/cooperation.py"])
        if "interop" in options.only:
            run_program(["tools/gpu/interop.py", "--stand-in"])
        if {"benchmarks", "libraries", "sanitizer"} & set(options.only):
            run_program(["tools/gpu/benchmarks.py", "--small"])
            if "benchmarks" in options.only and not options.small:  # extents of fields are in keys
                everything["KILN_FAKE_CUDA"] = "no_kernels"
                run_program(["tools/gpu/benchmarks.py"])
    finally:
        subprocess.run([ROOT / "kiln", "stop"], env=everything, capture_output=True)


def copy_kiln(tree, home):
    shutil.copytree(
        ROOT / "client_py" / "kiln",
        tree / "client_py" / "kiln",
        ignore=shutil.ignore_patterns("__pycache__", "*.pyi"),
    )
    for suite in harness.SUITES:
        shutil.copytree(
            ROOT / "tests" / "e2e" / suite,
            tree / "tests" / "e2e" / suite,
            ignore=shutil.ignore_patterns("__pycache__", "names.json"),
        )
    for name in ("cuda_outcomes.py", "mesh_patches.py", "small_meshes.py"):
        shutil.copy(ROOT / "tests" / "e2e" / name, tree / "tests" / "e2e")
    shutil.copytree(
        ROOT / "tests" / "fuzz",
        tree / "tests" / "fuzz",
        ignore=shutil.ignore_patterns("__pycache__", "corpus", "kept*", "*.cc", "*_test.py"),
    )
    (tree / "tools" / "gpu").mkdir(parents=True)
    for file in (ROOT / "tools" / "gpu").glob("*.py"):
        if file.stem not in ("pack", "report", "stand_in"):
            shutil.copy(file, tree / "tools" / "gpu")
    # What remains of the home is the cache; the rest is the daemon's.
    for file in home.iterdir():
        if file.name not in ("cache", "warm"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()


def export_modules(tree):
    """Modules of a program, by the target for which the machine has to load them."""
    modules = tree / "modules"
    modules.mkdir()
    source = tree / "tests" / "sdk" / "modules"
    source.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "sdk" / "modules" / "load.py", source)
    environment = {**os.environ, "KILN_SERVER": "off", "KILN_HOME": str(modules / "home")}
    for target in ("sm_90", "compute_75"):
        path = modules / f"{target}.kiln"
        program = ROOT / "tests" / "sdk" / "modules" / "sim.py"
        command = [ROOT / "kiln", "export", program, "-o", path, "--target", target]
        told = output(command, env=environment)
        (modules / "printed").write_text(told.partition(str(path))[0])
    shutil.rmtree(modules / "home")


def copy_native(tree):
    """The native modules for the bundle's Python, which is that of the build."""
    binaries = tree / "bin"
    binaries.mkdir()
    for name in ("_native.so", "_linalg.so"):
        copy_program(ROOT / ".kiln" / "bin" / name, binaries / name)
    write_compiler(binaries / "kiln-worker")


def build_native(folder, python):
    """The native modules for the Python of the machine, with their libraries."""
    environment = {**os.environ, "KILN_PYTHON": str(python.resolve())}
    try:
        command = [ROOT / "tools" / "package.sh", "native", folder]
        subprocess.run(command, env=environment, check=True)
    finally:  # Bazel's folder has those of the checkout again
        subprocess.run([ROOT / "kiln", "build", "emulator"], check=True)
    write_compiler(folder / "kiln-worker")


def write_compiler(program):
    """Stands in for the compiler: keys of kernels contain its id, which clients ask for."""
    worker = ROOT / ".kiln" / "bin" / "kiln-worker"
    identity = output([worker, "--print-compiler-id"]).split("\n")[0]
    program.write_text(
        "#!/bin/sh\n# Stands in for the compiler, which is not here: tells its id.\n"
        f'[ "$1" = --print-compiler-id ] || exit 1\necho {identity}\necho "$0"\n'
    )
    program.chmod(0o755)


def build_peers(program):
    nvcc = shutil.which("nvcc", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")
    if nvcc is None:
        print("without peers: there is no nvcc")
        return
    source = ROOT / "tools" / "gpu" / "peers.cu"
    subprocess.run([nvcc, "-O3", "-std=c++17", "-arch=sm_90", source, "-o", program], check=True)


def copy_python(tree):
    """The system's Python with its library and NumPy."""
    version = "python%d.%d" % sys.version_info[:2]
    library = pathlib.Path(os.__file__).parent
    target = tree / "python" / "lib" / version

    def unused(folder, names):
        inside = pathlib.Path(folder).relative_to(library)
        return [name for name in names if UNUSED.search(str(inside / name))]

    shutil.copytree(library, target, ignore=unused)
    import numpy

    shutil.copytree(
        pathlib.Path(numpy.__file__).parent,
        tree / "python" / "numpy" / "numpy",
        ignore=shutil.ignore_patterns("tests", "__pycache__", "*.pyi", "*.a", "*.h", "f2py"),
    )
    binary = tree / "python" / "bin" / "python3"
    binary.parent.mkdir(parents=True)
    copy_program(os.path.realpath(sys.executable), binary)


def copy_program(program, to):
    shutil.copyfile(program, to)
    to.chmod(0o755)
    subprocess.run(["strip", to], check=True)


def copy_libraries(tree):
    """The shared libraries that the copied programs need."""
    found = {}
    for file in tree.rglob("*"):
        if file.is_file() and (".so" in file.name or file.name in ("python3", "cpp_tests")):
            done = subprocess.run(["ldd", file], capture_output=True, text=True)
            for name, path in re.findall(r"(\S+) => (/\S+)", done.stdout):
                if not GLIBC.match(name):
                    found[name] = path
    (tree / "lib").mkdir()
    for name, path in found.items():
        shutil.copy(os.path.realpath(path), tree / "lib" / name)
        subprocess.run(["strip", "--strip-unneeded", tree / "lib" / name], check=True)


if __name__ == "__main__":
    main()
