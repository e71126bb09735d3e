#!/usr/bin/python3
"""Makes the moving picture of the README: tools/moving_picture.py

Runs examples/mpm88.py, halves every second frame, and writes docs/images/mpm88_moving.png, an
animated PNG.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "mpm88_moving.png"
FRAMES = 100

sys.path.insert(0, str(ROOT / "client_py" / "kiln"))

import png  # noqa: E402


def rows_of(path):
    """The rows of a PNG file that Kiln has written: 8 bits, one data chunk, no filters."""
    data = path.read_bytes()
    at, found = 8, {}
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        found[data[at + 4 : at + 8]] = data[at + 8 : at + 8 + size]
        at += size + 12
    width, height = (int.from_bytes(found[b"IHDR"][i : i + 4], "big") for i in (0, 4))
    lines = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(height, -1)
    return lines[:, 1:].reshape(height, width, -1)


def halved(rows):
    parts = [rows[i::2, j::2].astype(np.uint16) for i in (0, 1) for j in (0, 1)]
    # Few colours: a quarter of the bytes, and no visible difference.
    return (sum(parts) // 4 & 0xF0).astype(np.uint8)


def main():
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "KILN_GUI_SAVE": f"{folder}/%d.png"}
        program = [
            ROOT / "kiln",
            "run",
            ROOT / "examples" / "mpm88.py",
            str(FRAMES),
            f"{folder}/0.png",
        ]
        subprocess.run(program, check=True, env=environment)
        animation = png.Animation(PICTURE, per_second=20)
        for frame in range(1, FRAMES + 1, 2):
            animation.add(halved(rows_of(pathlib.Path(folder) / f"{frame}.png")))
        animation.close()


if __name__ == "__main__":
    main()
