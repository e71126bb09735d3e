"""What windows cost.

    ./kiln python bench/windows.py [--rounds N] [--docs]

Draws off screen by OpenGL (in a machine without a graphics processor: Mesa's renderer on all
cores), and beside it what NumPy draws, and matplotlib and pyglet, where they are installed. Each
row is the shortest of ten frames, in a process of its own; rounds alternate, and the shortest
counts.
"""

import json
import pathlib
import subprocess
import sys

import harness

PROGRAM = pathlib.Path(__file__).with_name("windows_program.py")
# What windows_program.py measures: its name there, in words, and the goal in ms or None.
ROWS = {
    "particles": ("10⁶ particles, 1280 × 720, a moving camera", 100),
    "circles": ("10⁶ circles, 1280 × 720", 100),
    "matplotlib_scatter": ("10⁶ markers of a pixel by matplotlib (Agg)", None),
    "pyglet_points": ("10⁶ points of a pixel by pyglet (OpenGL, off screen)", None),
    "gui": ("10⁶ circles by NumPy (`ti.GUI` without a display)", None),
    "gui_screen": ("`ti.GUI` on a screen (Xvfb): `set_image` and `show`, 1024², three f32", 16.7),
    "image": ("`set_image` of 1080p, three f32", 4),
    "copy": ("NumPy copies as many bytes as `set_image` (roof)", None),
}
PEERS = ("matplotlib", "pyglet", "Xvfb")


def once(name):
    """(elapsed, processor) milliseconds; None if what it needs is missing."""
    command = [harness.ROOT / "kiln", "python", PROGRAM, name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=harness.ROOT)
    if any(f"'{needed}'" in done.stderr for needed in PEERS):
        return None
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    options = harness.arguments(__doc__, docs=True, rounds=3)
    found = {}
    for _ in range(options.rounds):
        for name in ROWS:
            times = once(name)
            if times:
                found[name] = [min(a, b) for a, b in zip(times, found.get(name, times))]
    rows = []
    for name, (words, goal) in ROWS.items():
        elapsed, processor = found.get(name, (None, None))
        cells = ["–" if time is None else f"{time:.1f}" for time in (elapsed, processor)]
        verdict = ["–", "–"] if elapsed is None else harness.against(elapsed, goal, "ms")
        rows.append([words, *cells, *verdict])
    header = ["a frame", "elapsed, ms", "processor, ms", "goal", ""]
    harness.table("Windows", header, rows)
    flat = {f"{name} ms": times[0] for name, times in found.items()}
    harness.save("windows", flat, options.json)
    if options.docs:
        lines = ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * 5, *rows]]
        harness.write_docs("windows", "\n".join(lines))


if __name__ == "__main__":
    main()
