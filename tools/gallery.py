#!/usr/bin/python3
"""Takes a picture of each example program of Taichi's wheel that shows something.

    tools/gallery.py EXAMPLES            writes docs/gallery.md and its pictures
    tools/gallery.py EXAMPLES mpm99 …    takes only these pictures, and leaves the page alone

EXAMPLES is the folder `taichi/examples` of an installed wheel. The programs run unchanged, without
a display. Times are from the start of the process to the end of the first frame; the programs run
with an empty cache, then again. Needs Pillow (Debian's python3-pil).
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "images" / "gallery"
SHOWS = re.compile(r"ti\.GUI\(|ti\.ui\.Window|ti\.tools\.imshow")
LACKS = re.compile(r"import (cv2|wget|matplotlib)")
SIZE = 240  # pixels of a picture, at most, each way
FRAMES = 60
# Where fewer frames suffice, or more are needed to see what the program does.
FRAMES_OF = {
    "rendering/sdf_renderer": 2,
    "rendering/cornell_box": 4,
    "real_func/rendering/cornell_box": 4,
    "rendering/oit_renderer": 4,
    "simulation/mpm88": 150,
    "simulation/mpm99": 120,
    "simulation/mpm128": 120,
    "ggui_examples/mpm128_ggui": 120,
}

Taken = collections.namedtuple("Taken", "name kernels cold warm")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("examples", type=pathlib.Path)
    parser.add_argument("programs", nargs="*", help="parts of names")
    options = parser.parse_args()
    found = []
    for path in sorted(options.examples.rglob("*.py")):
        name = path.relative_to(options.examples).with_suffix("").as_posix()
        text = path.read_text()
        wanted = not options.programs or any(part in name for part in options.programs)
        if wanted and SHOWS.search(text) and not LACKS.search(text):
            found += take(name, path)
    if not found:
        parser.error(f"no program that shows something in {options.examples}")
    if not options.programs:
        (ROOT / "docs" / "gallery.md").write_text(page(found))
    return 0


def take(name, path):
    """[Taken], or [] with a message if the program ends otherwise or shows nothing."""
    with tempfile.TemporaryDirectory(prefix="kiln-gallery-") as folder:
        home = pathlib.Path(folder) / "home"
        try:
            run(["python", "-c", "import kiln; kiln.init(kiln.cpu)"], home)  # a daemon, as one has
            cold, warm = first_frame(path, home), first_frame(path, home)
            picture = pathlib.Path(folder) / "last.png"
            words = run(["run", path], home, frames=FRAMES_OF.get(name, FRAMES), save=picture)
        except subprocess.SubprocessError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return []
        finally:
            subprocess.run([ROOT / "kiln", "stop"], env={**os.environ, "KILN_HOME": str(home)})
        # Some programs wait for a mouse.
        if not picture.exists() or not keep(picture, PICTURES / f"{name.replace('/', '-')}.png"):
            print(f"{name} shows nothing", file=sys.stderr)
            return []
    kernels = int(re.findall(r"^kernels (\d+)", words, re.MULTILINE)[-1])
    print(f"{name}: {kernels} kernels, cold {cold:.2f} s, warm {warm:.2f} s", flush=True)
    return [Taken(name, kernels, cold, warm)]


def first_frame(path, home):
    """The seconds from the start of a program to its first picture; 0 if it shows none."""
    with tempfile.TemporaryDirectory(dir=home.parent) as frames:
        start = time.time()
        run(["run", path], home, frames=1, save=f"{frames}/%d.png")
        # Some programs compute until their next frame before they end.
        saved = [file.stat().st_mtime for file in pathlib.Path(frames).iterdir()]
        return min(saved, default=start) - start


def run(command, home, frames=None, save=None):
    """Runs ./kiln; returns what it wrote to stderr."""
    environment = {**os.environ, "KILN_HOME": str(home), "KILN_GUI": "offscreen"}
    environment.pop("DISPLAY", None)
    if frames is not None:
        environment["KILN_GUI_FRAMES"] = str(frames)
    if save is not None:
        environment["KILN_GUI_SAVE"] = str(save)
    done = subprocess.run(
        [ROOT / "kiln", *command],
        env=environment,
        cwd=home.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stderr


def keep(picture, to):
    """Stores the picture small: scaled down, and of 64 colours. False if it has one colour only."""
    with Image.open(picture) as image:
        image = image.convert("RGB")
        if all(least == most for least, most in image.getextrema()):
            return False
        image.thumbnail((SIZE, SIZE), Image.Resampling.LANCZOS)
        to.parent.mkdir(parents=True, exist_ok=True)
        image.quantize(64, dither=Image.Dither.NONE).save(to, optimize=True)
    return True


def page(found):
    lines = [
        "# Gallery",
        "",
        "The example programs of Taichi's wheel that show something, unchanged, in Kiln's windows",
        "without a display: `KILN_GUI_SAVE=picture.png ./kiln run PROGRAM`. Times are seconds from",
        "the start of the process to the end of its first frame, with an empty cache (*cold*) and",
        "again (*warm*). `tools/gallery.py` makes this page.",
        "",
        "| program | | kernels | cold | warm |",
        "|---|---|---|---|---|",
    ]
    for one in found:
        file = f"images/gallery/{one.name.replace('/', '-')}.png"
        cells = [one.name, f"![{one.name}]({file})", str(one.kernels)]
        lines.append(f"| {' | '.join(cells)} | {one.cold:.2f} | {one.warm:.2f} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
