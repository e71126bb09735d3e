"""The client's work for a launch on CUDA, in a program on a driver whose calls do nothing
(runtime/cuda/testdata/fake_driver.c); beside it the same launches on the CPU.

./kiln python bench/launch_cuda.py
"""

import subprocess
import sysconfig
import tempfile

import harness

# What a launch may take beside the driver's own call.
BUDGETS = {
    "scalar argument": 0.3e-6,
    "two fields": 0.3e-6,
    "two ndarrays": 0.3e-6,
    "two tensors": 0.9e-6,  # 0.3 for each in addition
    "80 tasks, a captured graph": 10e-6,
}


def main():
    options = harness.parser(__doc__).parse_args()
    python = harness.kiln_python()
    program = str(harness.ROOT / "bench" / "launch_cuda_program.py")
    with tempfile.TemporaryDirectory() as folder:
        command = ["gcc", "-O2", "-shared", "-fPIC", "-I" + sysconfig.get_path("include")]
        source = harness.ROOT / "bench" / "exchanged_tensor.c"
        subprocess.run([*command, source, "-o", f"{folder}/exchanged_tensor.so"], check=True)
        on_cuda = harness.idle_driver(folder)
        figures = harness.interleave(
            options.rounds,
            {
                "cuda": lambda: harness.run_json([*python, program, "cuda", folder], on_cuda),
                "cpu": lambda: harness.run_json([*python, program, "cpu", folder]),
            },
        )
    rows = []
    for what, seconds in figures["cuda"].items():
        limit = BUDGETS.get(what)
        rows.append(
            [
                what,
                f"{seconds * 1e6:.3f}",
                f"{figures['cpu'][what] * 1e6:.3f}" if what in figures["cpu"] else "-",
                f"{limit * 1e6:.2f}" if limit else "-",
                harness.budget(seconds, limit) if limit else "-",
            ]
        )
    header = ["what", "CUDA us", "CPU us", "budget us", "verdict"]
    harness.table("Client's work of a launch (microseconds, medians)", header, rows)
    harness.save("launch_cuda", figures, options.json)


if __name__ == "__main__":
    main()
