"""First calls of kernels on CUDA: the front end, the daemon, and a worker that makes machine code
for sm_90, on a driver whose calls do nothing (runtime/cuda/testdata/fake_driver.c). Beside them
NVIDIA's ptxas, a process that does the last step alone, on the PTX of the same kernels.

./kiln python bench/compile_cuda.py --docs
"""

import itertools
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import harness

BUDGETS = {"tiny": 0.06, "3,000 operations": 1.5}
KERNELS = {"mpm, four kernels": 4}
PROGRAM = str(harness.ROOT / "bench" / "compile_cuda_program.py")
TOOLKIT = pathlib.Path(os.environ.get("KILN_CUDA_TOOLKIT", "/usr/local/cuda"))


def assembled(python, folder, cases):
    """The seconds of ptxas by case. Kernels are numbered as they are loaded, and the first one is
    of no case."""
    settings = {"KILN_CUDA_DRIVER": "emulator", "KILN_FAKE_CUDA": f"no_kernels;ptx={folder}"}
    harness.run_json([*python, PROGRAM, "64"], settings)
    ptxas = str(TOOLKIT / "bin" / "ptxas")
    numbers = itertools.count(2)
    times = dict.fromkeys(cases, 0.0)
    for case in cases:
        for number in itertools.islice(numbers, KERNELS.get(case, 1)):
            text = f"{folder}/{number}.ptx"
            start = time.perf_counter()
            subprocess.run([ptxas, "-O3", "-arch=sm_90", "-o", "/dev/null", text], check=True)
            times[case] += time.perf_counter() - start
    return times


def main():
    options = harness.parser(__doc__, docs=True, rounds=5).parse_args()
    python = harness.kiln_python()
    has_ptxas = (TOOLKIT / "bin" / "ptxas").exists()
    subprocess.run([harness.ROOT / "kiln", "build", "emulator"], check=True, capture_output=True)
    home = tempfile.mkdtemp(prefix="kiln-bench-")
    os.environ["KILN_HOME"] = home
    salts = itertools.count(1)
    try:
        driver = harness.idle_driver(home)

        def kiln():
            return harness.run_json([*python, PROGRAM, str(next(salts))], driver)

        cases = kiln()
        peers = {"kiln": kiln}
        if has_ptxas:
            folder = pathlib.Path(home) / "ptx"
            folder.mkdir()
            peers["ptxas"] = lambda: assembled(python, folder, cases)
        figures = harness.interleave(options.rounds, peers)
    finally:
        harness.stop_daemon(home)
        shutil.rmtree(home, ignore_errors=True)
    rows = []
    for what, seconds in figures["kiln"].items():
        limit = BUDGETS.get(what)
        rows.append(
            [
                what,
                f"{seconds * 1e3:.0f}",
                f"{figures['ptxas'][what] * 1e3:.0f}" if has_ptxas else "–",
                f"{limit * 1e3:,.0f}, {harness.budget(seconds, limit)}" if limit else "–",
            ]
        )
    header = ["kernel", "first call", "ptxas alone", "goal"]
    harness.table("First calls on CUDA (milliseconds, medians)", header, rows)
    harness.save("compile_cuda", figures, options.json)
    if options.docs:
        lines = [header, ["---"] * len(header), *rows]
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        harness.write_docs("compile_cuda", text)


if __name__ == "__main__":
    main()
