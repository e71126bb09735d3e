"""Costs of recorded launches and of a tape's gradients, from Python, from C++ and of Taichi.

    ./kiln python bench/tape.py --taichi-python PYTHON --docs

An empty serial kernel is launched 10,000 times, recorded, and replayed. The program *springs* has
16 masses and 32 springs: 2,500 steps of four kernels, then a loss. Its two sides must agree on the
loss and on a derivative.
"""

import os
import subprocess
import sys
import tempfile

import harness

PROGRAM = str(harness.ROOT / "bench" / "tape_program.py")
MOST = 0.3e-6  # seconds that a recorded or replayed launch may cost beyond itself
PAIRS = {"recorded launch": "launch", "replayed gradient": "gradient"}
MOST_OF_TAICHI = 0.1
AGREE = 1e-3


def built():
    """Builds the program of C++; returns it."""
    bazel = harness.ROOT / "tools" / "bazel.sh"
    subprocess.run([bazel, "build", "//bench:tape"], check=True, capture_output=True)
    return harness.ROOT / ".kiln" / "bazel-bin" / "bench" / "tape"


def with_home(command):
    with tempfile.TemporaryDirectory() as home:
        found = harness.run_json(command, {"KILN_HOME": home})
        harness.stop_daemon(home)
    return found


def launch_rows(figures):
    """A row for each side, in microseconds."""
    for side, name in (("kiln", "Kiln, Python"), ("c++", "Kiln, C++"), ("taichi", "Taichi")):
        if side not in figures:
            continue
        cells = [name]
        for taped, plain in PAIRS.items():
            seconds, of = figures[side][taped], figures[side][plain]
            extra = max(seconds - of, 0)  # the machine's noise may exceed it
            cells += [f"{of * 1e6:.3f}", f"{seconds * 1e6:.3f}", f"{extra * 1e6:.3f}"]
            cells.append("–" if side == "taichi" else harness.budget(extra, MOST))
        yield cells


def springs_rows(figures):
    for side, name in (("kiln", "Kiln"), ("taichi", "Taichi")):
        if side not in figures:
            continue
        of = figures[side]
        parts = [of["springs: forward"], of["springs: gradients"]]
        yield [name, *(f"{part * 1e3:.1f}" for part in (*parts, sum(parts)))]


def compare(kiln, taichi):
    """Ends the benchmark if the two sides differ; returns a sentence about their times."""
    for what in ("springs: loss", "springs: derivative"):
        if abs(kiln[what] - taichi[what]) > AGREE * abs(taichi[what]):
            sys.exit(f"{what}: {kiln[what]} of Kiln, {taichi[what]} of Taichi")
    steps = [of["springs: forward"] + of["springs: gradients"] for of in (kiln, taichi)]
    ratio = steps[0] / steps[1]
    verdict = harness.budget(ratio, MOST_OF_TAICHI)
    return f"Kiln takes {ratio:.3f} of Taichi's time (goal: {MOST_OF_TAICHI}, {verdict})."


def markdown(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main():
    options = harness.parser(__doc__.splitlines()[0], docs=True).parse_args()
    python = harness.kiln_python()
    program = str(built())
    os.environ.pop("KILN_SERVER", None)
    peers = {
        "kiln": lambda: with_home([*python, PROGRAM, "kiln"]),
        "c++": lambda: with_home([program]),
    }
    if options.taichi_python:
        peers["taichi"] = lambda: harness.run_json([options.taichi_python, PROGRAM, "taichi"])
    figures = harness.interleave(options.rounds, peers)
    header = ["µs a call"]
    for taped, plain in PAIRS.items():
        header += [plain, taped, "more", f"goal: {MOST * 1e6:.1f}"]
    launches, springs = list(launch_rows(figures)), list(springs_rows(figures))
    harness.table("10,000 empty serial launches", header, launches)
    springs_header = ["springs, ms", "forward", "gradients", "step"]
    harness.table("10,000 small launches a step", springs_header, springs)
    sentence = compare(figures["kiln"], figures["taichi"]) if "taichi" in figures else ""
    print(sentence)
    if options.docs:
        text = f"{markdown(header, launches)}\n\n{markdown(springs_header, springs)}\n\n{sentence}"
        harness.write_docs("tape", text)
    harness.save("tape", figures, options.json)


if __name__ == "__main__":
    main()
