"""Milliseconds of kernels and of their gradients, beside Taichi's.

    ./kiln python bench/gradients.py --taichi-python PYTHON

Each kernel runs over the same data in both. "first gradient" is the first call, with an empty
cache: it compiles. The ratio is gradient to forward.
"""

import json
import math
import subprocess
import tempfile

import harness

PROGRAM = str(harness.ROOT / "bench" / "gradients_program.py")
MOST = 5.0  # times the forward kernel
MOST_MEAN = 3.0


def kiln():
    with tempfile.TemporaryDirectory() as home:
        found = harness.run_json([*KILN, PROGRAM, "kiln"], {"KILN_HOME": home})
        harness.stop_daemon(home)
    return found


def taichi(python):
    """The figures up to the kernel that ends the process."""
    command = [python, PROGRAM, "taichi"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=harness.environment()
    )
    return json.loads(done.stdout.splitlines()[-1])


def row(name, of_kiln, of_taichi):
    forward, gradient = of_kiln[f"{name}: forward"], of_kiln[f"{name}: gradient"]
    cells = [name, f"{forward:.2f}", f"{gradient:.2f}", f"{gradient / forward:.1f}"]
    cells.append(f"{of_kiln[f'{name}: first gradient']:.0f}")
    if of_taichi is not None and f"{name}: forward" not in of_taichi:
        cells += ["ends", "", "", ""]
    elif of_taichi is not None:
        peer_forward, peer = of_taichi[f"{name}: forward"], of_taichi[f"{name}: gradient"]
        cells += [f"{peer_forward:.2f}", f"{peer:.2f}", f"{peer / peer_forward:.1f}"]
        cells.append(f"{of_taichi[f'{name}: first gradient']:.0f}")
    return cells


def main():
    options = harness.arguments(__doc__.splitlines()[0])
    peers = {"kiln": kiln}
    if options.taichi_python:
        peers["taichi"] = lambda: taichi(options.taichi_python)
    figures = harness.interleave(options.rounds, peers)
    names = [f.split(": forward")[0] for f in figures["kiln"] if f.endswith(": forward")]
    header = ["kernel", "forward", "gradient", "ratio", "first gradient"]
    if "taichi" in figures:
        header += [f"Taichi: {what}" for what in header[1:]]
    rows = [row(name, figures["kiln"], figures.get("taichi")) for name in names]
    harness.table("milliseconds", header, rows)
    ratios = [
        figures["kiln"][f"{name}: gradient"] / figures["kiln"][f"{name}: forward"] for name in names
    ]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\ngeometric mean of the ratios: {mean:.2f} ({harness.budget(mean, MOST_MEAN)})")
    print(f"largest: {max(ratios):.2f} ({harness.budget(max(ratios), MOST)})")
    harness.save("gradients", figures, options.json)


KILN = harness.kiln_python()
if __name__ == "__main__":
    main()
