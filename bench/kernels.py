"""Kernel throughput of Kiln, C++ with OpenMP, and Taichi, in one run.

    ./kiln python bench/kernels.py --taichi-python PYTHON

Prints milliseconds per call and the ratios; the goals are C++ x 0.8 on fill, saxpy,
sum and stencil, and never slower than Taichi.
"""

import subprocess
import tempfile

import harness

GOAL_OF_CPP = {"fill": 0.8, "saxpy": 0.8, "sum": 0.8, "stencil": 0.8}
# Bytes that one call must move, for the bandwidth column.
BYTES = {"fill": 4 * 16 << 20, "saxpy": 12 * 16 << 20, "sum": 4 * 16 << 20, "stencil": 8 * 4 << 20}


def main():
    options = harness.arguments(__doc__)
    python = harness.kiln_python()
    bench = harness.ROOT / "bench"
    with tempfile.TemporaryDirectory() as scratch:
        peer = f"{scratch}/kernels_peer"
        subprocess.run(
            ["g++", "-O3", "-march=native", "-ffast-math", "-fopenmp", "-o", peer]
            + [str(bench / "kernels_peer.cc")],
            check=True,
        )
        programs = str(bench / "programs.py")
        peers = {
            "kiln": lambda: harness.run_json([*python, programs, "kiln"])["seconds"],
            "cpp": lambda: harness.run_json([peer])["seconds"],
        }
        if options.taichi_python:
            peers["taichi"] = lambda: harness.run_json([options.taichi_python, programs, "taichi"])[
                "seconds"
            ]
        figures = harness.interleave(options.rounds, peers)
    rows = []
    for kernel, seconds in figures["kiln"].items():
        cpp = figures["cpp"][kernel]
        taichi = figures.get("taichi", {}).get(kernel)
        of_cpp = cpp / seconds
        verdicts = []
        if kernel in GOAL_OF_CPP and of_cpp < GOAL_OF_CPP[kernel]:
            verdicts.append(f"below {GOAL_OF_CPP[kernel]} of C++")
        if taichi and taichi < seconds:
            verdicts.append("slower than Taichi")
        bandwidth = f"{BYTES[kernel] / seconds / 1e9:.1f}" if kernel in BYTES else "-"
        rows.append(
            [
                kernel,
                f"{seconds * 1e3:.3f}",
                f"{cpp * 1e3:.3f}",
                f"{taichi * 1e3:.3f}" if taichi else "-",
                f"{of_cpp:.2f}",
                f"{taichi / seconds:.2f}" if taichi else "-",
                bandwidth,
                ", ".join(verdicts) or "ok",
            ]
        )
    header = ["kernel", "Kiln ms", "C++ ms", "Taichi ms", "of C++", "x Taichi", "GB/s", "goal"]
    harness.table("Kernel throughput (median of rounds; higher ratio is better)", header, rows)
    harness.save("kernels", figures, options.json)


if __name__ == "__main__":
    main()
