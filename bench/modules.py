"""Costs of modules in a C program: opening 20 kernels, launching one. Beside Taichi's C interface.

    ./kiln python bench/modules.py --taichi-python PYTHON --docs

A launch multiplies 16 numbers, once with checked arguments and once with slots; the loop alone is
shown, too. Kiln runs it on the calling thread, whose processor time is shown; of Taichi, the time
that passes. Opening includes the context (Taichi's: runtime), which a program makes once.

A second table has the processor time in which g++ parses the headers.
"""

import os
import pathlib
import resource
import subprocess
import tempfile

import harness

BENCH = harness.ROOT / "bench"
PROGRAM = str(BENCH / "modules_program.py")
GOALS = {"open": 0.5e-3, "checked": 100e-9, "slots": 30e-9}  # seconds; slots: beyond the loop
PARSE_GOALS = {"kiln/kiln.hpp": 0.3, "kiln/dsl.hpp": 0.6}  # seconds
FLAGS = ["-O2", "-Wall", "-Werror"]


def compiled(folder, source, *flags):
    program = pathlib.Path(folder) / pathlib.Path(source).stem
    command = ["gcc", *FLAGS, str(BENCH / source), "-o", str(program), *flags]
    subprocess.run(command, check=True)
    return str(program)


def kiln_side(folder):
    """Makes the module and the program; returns what runs it, and the library's size."""
    package = f"{folder}/package"
    subprocess.run([harness.ROOT / "tools/package.sh", "folder", package], check=True)
    module = f"{folder}/bench.kiln"
    home = f"{folder}/home"
    environment = {**os.environ, "KILN_HOME": home}
    python = harness.kiln_python()
    subprocess.run([*python, PROGRAM, "kiln", module], check=True, env=environment)
    harness.stop_daemon(home)
    program = compiled(
        folder,
        "modules_kiln.c",
        *(f"-I{package}/include", f"-L{package}/lib", "-lkiln", f"-Wl,-rpath,{package}/lib"),
    )
    size = os.path.getsize(f"{package}/lib/libkiln.so")
    return lambda: harness.run_json([program, module]), size


def taichi_side(folder, python):
    found = subprocess.run(
        [python, "-c", "import taichi; print(taichi.__path__[0])"],
        check=True,
        capture_output=True,
        text=True,
    )
    interface = f"{found.stdout.splitlines()[-1]}/_lib/c_api"
    module = f"{folder}/taichi"
    subprocess.run([python, PROGRAM, "taichi", module], check=True, capture_output=True)
    program = compiled(
        folder,
        "modules_taichi.c",
        *(f"-I{interface}/include", f"-L{interface}/lib", "-ltaichi_c_api"),
        f"-Wl,-rpath,{interface}/lib",
    )
    environment = {"TI_LIB_DIR": f"{interface}/runtime"}
    size = os.path.getsize(f"{interface}/lib/libtaichi_c_api.so")
    return lambda: harness.run_json([program, module], environment), size


def rows(figures, sizes):
    kiln = figures["kiln"]
    beyond = kiln["slots"] - kiln["loop in C"]
    for side, name in (("kiln", "Kiln"), ("taichi", "Taichi")):
        if side in figures:
            of = figures[side]
            slots = f"{of['slots'] * 1e9:.0f}" if "slots" in of else "–"
            library = f"{sizes[side] / 1e6:.2f}"
            yield [name, f"{of['open'] * 1e3:.2f}", f"{of['checked'] * 1e9:.0f}", slots, library]
    yield [
        "goal",
        f"0.50, {harness.budget(kiln['open'], GOALS['open'])}",
        f"100, {harness.budget(kiln['checked'], GOALS['checked'])}",
        f"loop + 30, {harness.budget(beyond, GOALS['slots'])}",
        f"0.40, {harness.budget(sizes['kiln'], 0.4e6)}",
    ]
    yield ["the loop in C", "–", f"{kiln['loop in C'] * 1e9:.0f}", "–", "–"]


def parse_seconds(folder, header, rounds):
    """The least processor time of g++ for a file that includes the header, as C++17."""
    source = pathlib.Path(folder) / "parse.cc"
    source.write_text(f"#include <{header}>\n")
    command = ["g++", "-std=c++17", "-fsyntax-only", f"-I{folder}/package/include", str(source)]
    times = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def as_markdown(header, lines):
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main():
    options = harness.parser(__doc__.splitlines()[0], docs=True, rounds=9).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        peers, sizes = {}, {}
        peers["kiln"], sizes["kiln"] = kiln_side(folder)
        if options.taichi_python:
            peers["taichi"], sizes["taichi"] = taichi_side(folder, options.taichi_python)
        figures = harness.interleave(options.rounds, peers)
        parsed = {name: parse_seconds(folder, name, 3 * options.rounds) for name in PARSE_GOALS}
    header = ["", "open 20 kernels, ms", "checked launch, ns", "by slots, ns", "library, MB"]
    found = list(rows(figures, sizes))
    harness.table("Modules in a C program", header, found)
    parse_header = ["header", "s to parse", "goal"]
    rows_of_headers = [
        [
            name,
            f"{seconds:.2f}",
            f"{PARSE_GOALS[name]:.1f}, {harness.budget(seconds, PARSE_GOALS[name])}",
        ]
        for name, seconds in parsed.items()
    ]
    harness.table("Headers", parse_header, rows_of_headers)
    if options.docs:
        tables = [(header, found), (parse_header, rows_of_headers)]
        harness.write_docs("modules", "\n\n".join(as_markdown(*table) for table in tables))
    figures["kiln"]["parse"] = parsed
    for side, size in sizes.items():
        figures[side]["library bytes"] = size
    harness.save("modules", figures, options.json)


if __name__ == "__main__":
    main()
