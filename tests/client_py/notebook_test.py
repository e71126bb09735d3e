"""What notebooks show: fields, frames of a GUI, and `%kiln`."""

import base64
import importlib.util
import re
import struct
import zlib

import ipython_stand_in
import numpy as np
import pytest


@pytest.fixture
def shell(monkeypatch):
    return ipython_stand_in.install(monkeypatch)


def pixels(data):
    """The pixels of a PNG file that kiln.png wrote: uint8 (height, width, 3), the top row first."""
    width, height, _, kind = struct.unpack(">IIBB", data[16:26])
    assert (data[:8], kind) == (b"\x89PNG\r\n\x1a\n", 2)
    start = data.index(b"IDAT") + 4
    (length,) = struct.unpack(">I", data[start - 8 : start - 4])
    lines = np.frombuffer(zlib.decompress(data[start : start + length]), np.uint8)
    return lines.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3)


def picture_in(html):
    return pixels(base64.b64decode(re.search(r"base64,([^\"]*)", html).group(1)))


# ---- fields


def test_a_field_of_two_axes_is_a_picture(ti):
    x = ti.field(ti.f32, shape=(4, 2))
    x[3, 1] = 5.0
    html = x._repr_html_()
    assert "&lt;ti.field&gt; of f32, shape (4, 2)" in html and "colours from 0 to 5" in html
    shown = picture_in(html)
    assert shown.shape == (2, 4, 3)
    # The first index goes right, the second one up.
    assert shown[0, 3].tolist() != shown[1, 3].tolist() == shown[0, 0].tolist()


def test_vectors_of_three_elements_are_colours(ti):
    colors = ti.Vector.field(3, ti.f32, shape=(2, 2))
    colors[0, 0] = [1.0, 0.5, 7.0]
    bytes_ = ti.Vector.field(3, ti.u8, shape=(2, 2))
    bytes_[0, 0] = [255, 128, 0]
    assert picture_in(colors._repr_html_())[1, 0].tolist() == [255, 128, 255]
    assert picture_in(bytes_._repr_html_())[1, 0].tolist() == [255, 128, 0]


def test_large_fields_are_made_smaller(ti):
    assert picture_in(ti.field(ti.u8, shape=(1000, 300))._repr_html_()).shape == (75, 250, 3)
    assert "img" not in ti.field(ti.u8, shape=(4096, 1025))._repr_html_()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -3e38])
def test_unusual_numbers_are_shown(ti, value):
    x = ti.field(ti.f64, shape=(2, 2))
    x[0, 0], x[1, 1] = value, 3e38
    assert picture_in(x._repr_html_()).shape == (2, 2, 3)


def test_other_fields_are_text(ti):
    assert "img" not in ti.field(ti.f32, shape=8)._repr_html_()
    assert "img" not in ti.field(ti.f32, shape=())._repr_html_()
    assert "img" not in ti.Matrix.field(3, 3, ti.f32, shape=(2, 2))._repr_html_()
    assert "shape (2, 2)" in ti.Vector.field(2, ti.i32, shape=(2, 2))._repr_html_()


def test_showing_a_field_does_not_place_it(ti):
    x = ti.field(ti.f32)
    assert "without a place" in x._repr_html_()
    ti.root.dense(ti.ij, 4).place(x)
    assert picture_in(x._repr_html_()).shape == (4, 4, 3)


def test_a_field_without_memory_says_so(ti):
    x = ti.field(ti.f32, shape=(2, 2))
    ti.init(arch=ti.cpu)
    assert "is gone" in x._repr_html_()


def test_without_numpy_fields_are_text(run_python):
    out = run_python(
        "import sys\nsys.modules['numpy'] = None\nimport kiln as ti\nti.init(arch=ti.cpu)\n"
        "print(ti.field(ti.f32, shape=(2, 2))._repr_html_())\n"
    )
    assert "shape (2, 2)" in out and "img" not in out


# ---- frames


def frames(ti, gui, colors):
    for color in colors:
        gui.clear(color)
        gui.show()


def first_pixels(output):
    return ["%02x%02x%02x" % tuple(pixels(image.data)[0, 0]) for image in output.shown]


def test_frames_take_each_others_place(ti, shell):
    gui = ti.GUI("a", res=(4, 4))
    gui._frames._view._SECONDS = gui._frames._view._COST = 0
    frames(ti, gui, [0xFF0000, 0x00FF00, 0x0000FF])
    assert [first_pixels(output) for output in shell.outputs] == [["ff0000", "00ff00", "0000ff"]]


def test_frames_that_come_too_fast_are_skipped_but_the_last_one_is_shown(ti, shell):
    gui = ti.GUI("a", res=(4, 4))
    gui._frames._view._SECONDS = 1000
    frames(ti, gui, [0xFF0000, 0x00FF00, 0x0000FF])
    (output,) = shell.outputs
    assert first_pixels(output) == ["ff0000"]
    shell.end_cell()
    assert first_pixels(output) == ["ff0000", "0000ff"]


def test_each_cell_has_a_picture_of_its_own(ti, shell):
    gui = ti.GUI("a", res=(4, 4))
    for color in (0xFF0000, 0x00FF00):
        frames(ti, gui, [color])
        shell.end_cell()
    assert [first_pixels(output) for output in shell.outputs] == [["ff0000"], ["00ff00"]]
    assert not [event for event, _ in shell.callbacks if event == "post_run_cell"]


def test_the_next_cell_does_not_draw_on_the_last_frame(ti, shell):
    gui = ti.GUI("a", res=(4, 4))
    gui._frames._view._SECONDS = 1000
    frames(ti, gui, [0xFF0000, 0x00FF00])
    shell.end_cell()  # shows the second one late
    gui.line((0, 0), (0, 1), color=0x0000FF)
    assert gui.get_image()[3, 3].tolist() == [0, 0, 0, 1]
    gui.show()
    assert first_pixels(shell.outputs[1]) == ["0000ff"]


def test_frames_of_windows(ti, shell):
    window = ti.ui.Window("a", (4, 4))
    window._frames._view._SECONDS = window._frames._view._COST = 0
    for color in ((1, 0, 0), (0, 1, 0)):
        window.get_canvas().set_background_color(color)
        window.show()
    window._frames._view._SECONDS = window._frames._view._next = 1e9
    window.get_canvas().set_background_color((0, 0, 1))
    window.show()
    shell.end_cell()  # shows the last one late
    window.destroy()
    assert [first_pixels(output) for output in shell.outputs] == [["ff0000", "00ff00", "0000ff"]]


def test_terminals_show_no_frames(ti, shell):
    shell.kernel = None
    ti.GUI("a", res=(4, 4)).show()
    assert shell.outputs == []


def test_imshow_is_the_output_of_the_cell(ti, shell):
    ti.tools.imshow(np.full((4, 2, 3), 255, np.uint8))
    (output,) = shell.outputs
    assert pixels(output.shown[0].data).shape == (2, 4, 3)


# ---- commands


def test_the_magic_shows_kernels_of_the_process(ti, shell, capsys):
    import kiln

    @ti.kernel
    def doubled(a: ti.i32) -> ti.i32:
        return a * 2

    assert doubled(4) == 8
    kiln.load_ipython_extension(shell)
    magic, kind = shell.magics["kiln"]
    assert kind == "line"
    magic("ir doubled")
    shown = capsys.readouterr().out
    assert "kernel doubled  key " in shown
    stage = re.findall(r"^  (\S+) .* ms +[1-9]", shown, re.M)[0]
    magic(f"ir doubled --stage {stage}")
    assert "arith.muli" in capsys.readouterr().out
    magic("explain doubled")
    assert capsys.readouterr().out.startswith("doubled  ")
    magic("ir no_such_kernel")
    assert "no kernel 'no_such_kernel'" in capsys.readouterr().err
    magic("")
    assert "%kiln ir KERNEL" in capsys.readouterr().out


def test_the_latest_kernel_of_a_name_is_shown(ti, shell, capsys):
    import kiln

    def made(n):
        @ti.kernel
        def again() -> ti.i32:
            return n

        return again()

    assert [made(41), made(42), made(41)] == [41, 42, 41]
    kiln.load_ipython_extension(shell)
    magic, _ = shell.magics["kiln"]
    magic("ir again")
    stage = re.findall(r"^  (\S+) .* ms +[1-9]", capsys.readouterr().out, re.M)[0]
    magic(f"ir again --stage {stage}")
    assert "41" in capsys.readouterr().out


def test_nothing_of_this_is_imported_elsewhere(run_python):
    out = run_python(
        "import sys, kiln as ti\n"
        "ti.init(arch=ti.cpu)\n"
        "x = ti.field(ti.i32, 3)\n"
        "print(x)\n"
        "ti.GUI('a', res=(4, 4)).show()\n"
        "print('kiln.notebook' in sys.modules)\n"
    )
    assert out.splitlines()[-1] == "False"


# ---- in IPython itself

CELLS = """
import kiln as ti
ti.init(arch=ti.cpu)
x = ti.field(ti.f32, shape=(8, 8))
@ti.kernel
def fill(a: ti.f32):
    for i, j in x:
        x[i, j] = a * i
# ---
fill(2.0)
display(x)
# ---
gui = ti.GUI("a", res=(8, 8))
for frame in range(3):
    fill(float(frame))
    gui.set_image(x)
    gui.show()
# ---
%load_ext kiln
%kiln ir fill
"""

RUN_CELLS = """
import sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell.instance()
shell.kernel = object()  # as in a notebook
for cell in CELLS.split("# ---"):
    with capture_output() as captured:
        shell.run_cell(cell).raise_error()
    print(sorted({kind for output in captured.outputs for kind in output.data}), captured.stdout)
"""


@pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="IPython is not installed")
def test_cells_run_in_ipython(run_python, tmp_path):
    out = run_python(f"CELLS = {CELLS!r}\n{RUN_CELLS}", IPYTHONDIR=str(tmp_path))
    first, field, frames, commands = re.findall(r"^\[.*?(?=^\[|\Z)", out, re.M | re.S)
    assert first.startswith("[]")
    assert "text/html" in field
    assert "image/png" in frames
    assert "kernel fill  key" in commands
