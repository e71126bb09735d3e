"""Moving pictures: APNG, GIF and MP4, of windows on a screen and without one, and their errors."""

import os
import subprocess
import sys

import numpy as np
import pytest
from kiln.film import Film
from PIL import Image

COLORS = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0)]


def shades(size=(17, 33)):
    for color in COLORS:
        yield np.broadcast_to(np.uint8(color), (*size, 3))


def write(path, frames):
    film = Film(str(path), per_second=10)
    for rows in frames:
        film.add(rows)
    film.close()


def read(path):
    """The frames of a file, (height, width, 3) of integers; MP4 by way of ffmpeg."""
    if path.suffix == ".mp4":
        frames = path.with_suffix(".read.apng")
        subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "apng", frames], check=True)
        path = frames
    with Image.open(path) as image:
        found = []
        for frame in range(image.n_frames):
            image.seek(frame)
            found.append(np.asarray(image.convert("RGB"), int))
        return found


def hide_programs(monkeypatch, folder):
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize("ending", [".apng", ".gif", ".mp4"])
def test_formats(tmp_path, ending):
    path = tmp_path / "deep" / f"a{ending}"
    write(path, shades())
    found = read(path)
    # MP4 has even sides, and its colours lose a little.
    assert [f.shape for f in found] == [(18, 34, 3) if ending == ".mp4" else (17, 33, 3)] * 4
    for frame, color in zip(found, COLORS):
        assert np.abs(frame[:17, :33] - color).max() <= 8


def test_gif_by_pillow(tmp_path, monkeypatch):
    hide_programs(monkeypatch, tmp_path)
    write(tmp_path / "a.gif", shades())
    found = read(tmp_path / "a.gif")
    assert [tuple(frame[8, 8]) for frame in found] == COLORS
    with Image.open(tmp_path / "a.gif") as image:
        assert image.info["duration"] == 100 and image.info["loop"] == 0


def test_many_colors_survive_a_gif(tmp_path, monkeypatch):
    """Pillow's palettes may have less than 256 colours, and each frame has its own."""
    hide_programs(monkeypatch, tmp_path)
    noise = np.random.default_rng(1).integers(0, 256, (16, 16, 3), np.uint8)
    frames = [np.zeros_like(noise), noise, 255 - noise]
    write(tmp_path / "a.gif", frames)
    for found, frame in zip(read(tmp_path / "a.gif"), frames):
        assert np.abs(found - frame).mean() < 20


def test_frames_of_other_sizes_are_cut_and_filled(tmp_path):
    first, wide, small = (np.full((*size, 3), 255, np.uint8) for size in ((4, 6), (4, 9), (2, 3)))
    write(tmp_path / "a.apng", [first, wide, small])
    found = read(tmp_path / "a.apng")
    assert [f.shape for f in found] == [(4, 6, 3)] * 3
    assert found[1].min() == 255 and found[2].sum() == 255 * 3 * 6


@pytest.mark.parametrize(
    "name, error",
    [
        ("a.webm", "moving pictures end in .apng, .gif or .mp4"),
        ("a.mp4", "MP4 needs ffmpeg"),
        ("a.gif", "GIF needs Pillow .* or ffmpeg"),
    ],
)
def test_what_is_missing_is_named(tmp_path, monkeypatch, name, error):
    hide_programs(monkeypatch, tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises((RuntimeError, ValueError), match=error):
        Film(name)


def test_a_failure_of_ffmpeg_is_reported(tmp_path):
    (tmp_path / "a.mp4").mkdir()
    film = Film(str(tmp_path / "a.mp4"))
    with pytest.raises(RuntimeError, match="a.mp4: ffmpeg failed: .*Is a directory"):
        for _ in range(1000):
            film.add(np.zeros((64, 64, 3), np.uint8))
        film.close()


PROGRAM = """
import kiln as ti, numpy as np
if kind == "GUI":
    windows = [ti.GUI(name, res=(32, 16)) for name in "ab"]
    canvases = windows
else:
    windows = [ti.ui.Window(name, (32, 16)) for name in "ab"]
    canvases = [w.get_canvas() for w in windows]
while windows[0].running:
    for n, (window, canvas) in enumerate(zip(windows, canvases)):
        level = (window.frame + 1) / 4 if n == 0 else 1
        canvas.set_image(np.full((32, 16), level, np.float32))
        window.show()
"""


def run(kind, where, **environment):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "KILN_GUI_FRAMES": "3",
        "KILN_GUI_SAVE": str(where),
        **environment,
    }
    command = [sys.executable, "-c", f"kind = {kind!r}\n{PROGRAM}"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("kind", ["GUI", "ui"])
@pytest.mark.parametrize("way", ["screen", "offscreen", "software"])
def test_windows_save_moving_pictures(tmp_path, request, kind, way):
    display = request.getfixturevalue("screen") if way == "screen" else ""
    done = run(kind, tmp_path / "all.gif", KILN_GUI=way, DISPLAY=display)
    assert (done.returncode, done.stderr) == (0, "")
    levels = [frame[8, 8, 0] for frame in read(tmp_path / "all.gif")]
    assert np.abs(np.array(levels) - [64, 128, 191]).max() <= 2
    # The second window has a file of its own.
    assert [frame.min() for frame in read(tmp_path / "all-2.gif")] == [255] * 3


def test_bad_names_end_the_program(tmp_path):
    done = run("ui", tmp_path / "all.webm")
    assert done.returncode == 1
    assert "all.webm: moving pictures end in .apng, .gif or .mp4" in done.stderr
