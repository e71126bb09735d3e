#!/usr/bin/python3
"""What windows cost: bench/windows.py

Draws off screen by OpenGL (in a machine without a graphics processor: Mesa's renderer on all
cores), and beside it what NumPy and matplotlib, if it is installed, draw. Each row is the shortest
of ten frames, in a process of its own; three rounds alternate, and the shortest counts.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "bench" / "windows_program.py"
ROWS = {
    "particles": "10⁶ particles, 1280 x 720, a moving camera",
    "circles": "10⁶ circles, 1280 x 720",
    "gui": "10⁶ circles by NumPy (`ti.GUI` without a display)",
    "matplotlib_scatter": "10⁶ markers by matplotlib (Agg)",
    "gui_screen": "`ti.GUI` on a screen (Xvfb): `set_image` and `show`, 1024², three f32",
    "image": "`set_image` of 1080p, three f32",
    "copy": "NumPy copies as many bytes (roof)",
}
ROUNDS = 3


def once(name):
    """(elapsed, processor) milliseconds; None if what it needs is missing."""
    done = subprocess.run(
        [ROOT / "kiln", "python", PROGRAM, name], capture_output=True, text=True, cwd=ROOT
    )
    if "No module named 'matplotlib'" in done.stderr or "'Xvfb'" in done.stderr:
        return None
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    found = {}
    for _ in range(ROUNDS):
        for name in ROWS:
            times = once(name)
            if times:
                found[name] = [min(a, b) for a, b in zip(times, found.get(name, times))]
    print("| | elapsed ms | processor ms |\n|---|---|---|")
    for name, words in ROWS.items():
        cells = (f"{time:.1f}" for time in found[name]) if name in found else ("–", "–")
        print(f"| {words} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
