"""Takes the kernels of ptx_*.mlir, and those of the runtime, to machine code for all CUDA devices
that Kiln compiles for.

    ptx.py KILN_OPT RUNTIME_PTX [--update]

Their PTX has no fault that ptx_lint.py knows, and that of the runtime has one without any of its
membars. nvJitLink takes it, and what their tasks need of a device is what ptx_resources.txt states.
--update rewrites that file; review the difference. Without a CUDA toolkit (KILN_CUDA_TOOLKIT, else
/usr/local/cuda), only the PTX is looked at.
"""

import concurrent.futures
import ctypes
import os
import pathlib
import re
import subprocess
import sys
from collections import namedtuple

import ptx_lint

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "ptx_resources.txt"
# As in common/artifact/target.cc. Of later devices than 90, LLVM 19 writes the PTX of 90.
LEVELS = (75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)
MOST_VIRTUAL = 90
# Another version of nvJitLink may need so much more without being wrong.
SLACK = 1.1

# Of a task: registers by level; of all levels the most bytes of shared memory, of the stack and of
# spilled registers.
Needs = namedtuple("Needs", "shared stack spilled registers")


def main(kiln_opt, runtime_ptx, *rest):
    linker = Linker.find()
    has_libdevice = (_toolkit() / "nvvm" / "libdevice" / "libdevice.10.bc").exists()
    paths = sorted(HERE.glob("ptx_*.mlir"))
    jobs = [
        (path, level)
        for path in paths
        for level in LEVELS
        if level <= MOST_VIRTUAL and (has_libdevice or path.stem != "ptx_math")
    ]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = pool.map(lambda job: _ptx(kiln_opt, *job), jobs)
        ptx = dict(zip(jobs, texts, strict=True))
    faults, needs = [], {}
    for (path, level), kernels in ptx.items():
        for kernel, text in kernels.items():
            faults += [f"{kernel}, sm_{level}: {fault}" for fault in ptx_lint.problems(text)]
    runtime = pathlib.Path(runtime_ptx).read_text()
    faults += [f"runtime: {fault}" for fault in ptx_lint.problems(runtime, is_runtime=True)]
    faults += [f"runtime: {fault}" for fault in unmissed_fences(runtime)]
    print(f"{'FAILED' if faults else 'passed'} PTX of {len(ptx) + 1} files\n" + "\n".join(faults))
    if linker is None or not has_libdevice:
        print("no CUDA toolkit: no machine code")
        return 1 if faults else 0
    for path in paths:
        for level in LEVELS:
            for kernel, text in ptx[path, min(level, MOST_VIRTUAL)].items():
                for task, found in linker.assemble(text, level).items():
                    needs.setdefault(f"{kernel}.{task}", {})[level] = found
    for level in LEVELS:
        for task, found in linker.assemble(runtime, level).items():
            needs.setdefault(f"runtime.{task}", {})[level] = found
    table = {name: _together(levels) for name, levels in needs.items()}
    if "--update" in rest:
        TABLE.write_text(_table_text(linker.version, table))
        return 1 if faults else 0
    wrong = differences(TABLE.read_text(), linker.version, table)
    print(f"{'FAILED' if wrong else 'passed'} machine code of {len(table)} tasks")
    print("\n".join(wrong) + ("\nptx.py --update rewrites ptx_resources.txt" if wrong else ""))
    return 1 if faults or wrong else 0


def unmissed_fences(text):
    """The membars of the runtime's PTX that ptx_lint.py would not miss."""
    lines = text.splitlines()
    fences = [number for number, line in enumerate(lines) if "membar" in line]
    if not fences:
        yield "it has no membar"
    for number in fences:
        without = "\n".join(lines[:number] + lines[number + 1 :])
        if not ptx_lint.problems(without, is_runtime=True):
            yield f"ptx_lint.py does not miss the membar of line {number + 1}"


def _toolkit():
    return pathlib.Path(os.environ.get("KILN_CUDA_TOOLKIT", "/usr/local/cuda"))


def _ptx(kiln_opt, path, level):
    """The PTX of a file's kernels, by name."""
    names = re.findall(r"(?m)^kiln\.kernel @(\w+)", path.read_text())
    command = [kiln_opt, f"--assembly=compute_{level}", path]
    done = subprocess.run(command, capture_output=True, text=True)
    texts = done.stdout.split("// -----\n")
    if done.returncode != 0 or len(texts) != len(names):
        raise SystemExit(f"FAILED {' '.join(map(str, command))}\n{done.stderr}")
    if len({*names}) != len(names):
        raise SystemExit(f"FAILED {path.name} has two kernels of one name")
    stem = path.stem.removeprefix("ptx_")
    return {f"{stem}.{name}": text for name, text in zip(names, texts, strict=True)}


class Linker:
    """nvJitLink, as the worker calls it (server/compiler/codegen/cuda/nv_jit_link.h)."""

    def __init__(self, library):
        self._library = library
        major, minor = ctypes.c_uint(), ctypes.c_uint()
        library.nvJitLinkVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    @classmethod
    def find(cls):
        for name in ("libnvJitLink.so.13", "libnvJitLink.so.12"):
            path = _toolkit() / "lib64" / name
            if path.exists():
                return cls(ctypes.CDLL(path))
        return None

    def assemble(self, ptx, level):
        """What each entry of `ptx` needs on a device of `level`, by the entry's name."""
        options = [f"-arch=sm_{level}".encode(), b"-O3", b"-verbose"]
        handle = ctypes.c_void_p()
        made = self._library.nvJitLinkCreate(
            ctypes.byref(handle), len(options), (ctypes.c_char_p * len(options))(*options)
        )
        if made != 0:
            raise SystemExit(f"FAILED nvJitLink has no code for sm_{level} (error {made})")
        text = ptx.encode()
        kind = 2  # of input: PTX
        failed = self._library.nvJitLinkAddData(
            handle, kind, text, ctypes.c_size_t(len(text) + 1), b"kernel"
        ) or self._library.nvJitLinkComplete(handle)
        log = self._log(handle, "Error" if failed else "Info")
        self._library.nvJitLinkDestroy(ctypes.byref(handle))
        if failed:
            raise SystemExit(f"FAILED nvJitLink, sm_{level}: {log}")
        return _needs(log, level)

    def _log(self, handle, kind):
        size = ctypes.c_size_t()
        getattr(self._library, f"nvJitLinkGet{kind}LogSize")(handle, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        getattr(self._library, f"nvJitLinkGet{kind}Log")(handle, log)
        return log.value.decode(errors="replace")


def _needs(log, level):
    """What nvJitLink's report says of each entry, the functions that it calls included."""
    found, spills, name = {}, {None: 0}, None
    for line in log.splitlines():
        # First reports of ptxas, of functions and then of entries; then one of the linker.
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            name = match[1]
            spills[name] = spills[None]
        elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spills[name] += int(match[1]) + int(match[2])
        elif match := re.search(r"^info *: Function properties for '(\w+)'", line):
            name = match[1]
        elif match := re.search(
            r"^info *: used (\d+) registers.*?, (\d+) stack, (\d+) bytes smem", line
        ):
            registers, stack, shared = map(int, match.groups())
            found[name] = Needs(shared, stack, spills[name], {level: registers})
    return found


def _together(levels):
    """One row of what a task needs at each level."""
    all_levels = levels.values()
    return Needs(
        *(max(getattr(one, field) for one in all_levels) for field in Needs._fields[:3]),
        {level: one.registers[level] for level, one in levels.items()},
    )


def _table_text(version, table):
    heading = ["# kernel.task", "shared", "stack", "spilled", *(f"sm_{n}" for n in LEVELS)]
    rows = [heading] + [
        [name, *row[:3], *(row.registers[level] for level in LEVELS)]
        for name, row in sorted(table.items())
    ]
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(heading))]
    lines = [
        "# What the tasks of ptx_*.mlir need of a device: bytes of shared memory, of the stack and",
        "# of spilled registers (the most of all devices), and registers. Made by ptx.py --update.",
        f"# nvJitLink {version}",
    ]
    for row in rows:
        cells = [str(cell) for cell in row]
        numbers = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
        lines.append(cells[0].ljust(widths[0]) + " " + " ".join(numbers))
    return "\n".join(lines) + "\n"


def differences(text, version, table):
    """What `table` has otherwise than the text of ptx_resources.txt, or has too much of.

    With the version of nvJitLink that made the text, all numbers are the same. Another one may need
    somewhat more registers, and less of everything.
    """
    is_same = f"# nvJitLink {version}" in text.splitlines()
    known = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, *numbers = line.split()
            shared, stack, spilled, *registers = map(int, numbers)
            known[name] = Needs(shared, stack, spilled, dict(zip(LEVELS, registers, strict=True)))
    wrong = [f"{name}: not in the table" for name in sorted(table.keys() - known.keys())]
    wrong += [f"{name}: no such task" for name in sorted(known.keys() - table.keys())]
    for name in sorted(table.keys() & known.keys()):
        before, now = known[name], table[name]
        pairs = [(what, getattr(before, what), getattr(now, what)) for what in Needs._fields[:3]]
        pairs += [(f"registers of sm_{n}", before.registers[n], now.registers[n]) for n in LEVELS]
        for what, old, new in pairs:
            most = old * SLACK + 1 if what.startswith("registers") else old
            if new != old if is_same else new > most:
                wrong.append(f"{name}: {what}: {new}, not {old}")
    return wrong


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
