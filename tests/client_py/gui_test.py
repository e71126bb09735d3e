"""The software canvas: drawing, ending a program after some frames, saving."""

import struct
import subprocess
import sys

import numpy as np
import pytest
from kiln import gui as gui_module
from kiln.gui import GUI, hex_to_rgb, rgb_to_hex
from kiln.tools import image


def drawn(gui):
    """A mask of the pixels that are not black: bool (width, height)."""
    return gui.get_image()[..., :3].max(axis=2) > 0.5


def test_circle_covers_its_area():
    gui = GUI(res=(200, 100))
    gui.circle((0.25, 0.5), radius=20)
    pixels = drawn(gui)
    assert abs(pixels.sum() - np.pi * 20**2) < 30
    x, y = np.nonzero(pixels)
    assert abs(x.mean() + 0.5 - 50) < 0.5 and abs(y.mean() + 0.5 - 50) < 0.5


@pytest.mark.parametrize("radius", [0.4, 1.5, 30])
def test_many_circles_equal_one_by_one(radius):
    pos = np.random.default_rng(1).random((400, 2)) * 1.2 - 0.1
    together, apart = GUI(res=128), GUI(res=128)
    together.circles(pos, radius=radius, color=0xFF8000)
    for p in pos:
        apart.circle(p, radius=radius, color=0xFF8000)
    # Where edges overlap the two mix differently; inside and outside they agree.
    difference = np.abs(together.get_image() - apart.get_image())
    assert np.mean(difference > 0.5) < 0.01


def test_circles_take_colors_palettes_and_radii():
    pos = np.array([[0.25, 0.5], [0.75, 0.5]])
    for arguments in (
        {"color": np.array([0xFF0000, 0x00FF00])},
        {"palette": [0x00FF00, 0xFF0000], "palette_indices": [1, 0]},
    ):
        gui = GUI(res=64)
        gui.circles(pos, radius=np.array([3.0, 6.0]), **arguments)
        seen = gui.get_image()
        assert seen[16, 32, :3].tolist() == [1, 0, 0] and seen[48, 32, :3].tolist() == [0, 1, 0]
        assert (seen[..., 1] > 0.5).sum() > 3 * (seen[..., 0] > 0.5).sum()
    with pytest.raises(AssertionError, match="palette_indices"):
        gui.circles(pos, palette=[0], palette_indices=[0, 1])
    with pytest.raises(ValueError, match="Radius"):
        gui.circles(pos, radius="big")
    with pytest.raises(AssertionError, match="positions"):
        gui.circles(np.zeros((3, 4)))


def test_lines_triangles_and_the_rest_draw():
    gui = GUI(res=100)
    gui.line((0.1, 0.5), (0.9, 0.5), radius=2)
    line = drawn(gui)
    assert line[10:90, 50].all() and not line[:, :45].any() and not line[:6].any()
    gui.clear()
    gui.triangle((0, 0), (1, 0), (0, 1))
    assert abs(drawn(gui).mean() - 0.5) < 0.02
    gui.clear()
    gui.rect((0.2, 0.8), (0.8, 0.2))
    assert drawn(gui)[20, 50] and drawn(gui)[50, 80] and not drawn(gui)[50, 50]
    for draw in (
        lambda: gui.arrow((0.2, 0.2), (0.5, 0.5)),
        lambda: gui.arrow_field(np.full((5, 5, 2), 0.1)),
        lambda: gui.point_field(np.full((5, 5), 3.0)),
        lambda: gui.vector_field(np.ones((20, 20, 2))),
        lambda: gui.triangles(np.zeros((1, 2)), np.ones((1, 2)), np.array([[0.0, 1.0]])),
    ):
        gui.clear()
        draw()
        assert drawn(gui).any()


def test_absurd_positions_are_harmless():
    gui = GUI(res=50)
    gui.line((-1e30, 0.5), (1e30, 0.5))
    gui.line((float("nan"), 0), (1, 1))
    gui.circles(np.array([[np.inf, 0], [np.nan, 0.5], [-1e9, 1e9]]), radius=3)
    gui.triangle((np.nan, 0), (1, 0), (0, 1))
    assert not drawn(gui)[:, 0].any()


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "float16", "float32", "float64"])
@pytest.mark.parametrize("components", [None, 1, 2, 3, 4])
def test_set_image_takes_types_and_shapes(dtype, components):
    top = np.iinfo(dtype).max if dtype.startswith("u") else 1
    picture = np.zeros((8, 6) if components is None else (8, 6, components), dtype)
    picture[1, 2] = top
    gui = GUI(res=(8, 6))
    gui.set_image(picture)
    seen = gui.get_image()
    shown = 3 if components in (None, 1) else min(components, 3)
    assert np.allclose(seen[1, 2, :3], [1] * shown + [0] * (3 - shown))
    assert seen[..., :3].sum() == pytest.approx(shown)


def test_set_image_refuses():
    gui = GUI(res=(8, 6))
    with pytest.raises(AssertionError, match="resolution"):
        gui.set_image(np.zeros((6, 8)))
    with pytest.raises(ValueError, match="int32"):
        gui.set_image(np.zeros((8, 6), np.int32))
    with pytest.raises(ValueError, match="only takes"):
        gui.set_image([[1]])


def test_frames_end_a_program(monkeypatch):
    monkeypatch.setenv("KILN_GUI_FRAMES", "2")
    gui = GUI()
    gui.show()
    assert gui.running and not gui.get_event() and not list(gui.get_events())
    gui.show()
    assert not gui.running
    assert not gui.get_event(GUI.SPACE)  # does not match Escape, which is kept
    assert gui.get_event(gui.PRESS) and gui.event.key == gui.ESCAPE and gui.is_pressed(gui.ESCAPE)
    gui.show()
    with pytest.raises(SystemExit) as end:
        gui.show()
    assert end.value.code == 0


def test_colors():
    assert rgb_to_hex((1, 0.5, 0)) == 0xFF7F00 and hex_to_rgb(0xFF0000) == (1, 0, 0)
    assert rgb_to_hex(np.ones((3, 4))).tolist() == [0xFFFFFF] * 4


def test_files_round_trip(tmp_path):
    pytest.importorskip("PIL")
    picture = np.random.default_rng(2).integers(0, 256, (9, 5, 3)).astype(np.uint8)
    image.imwrite(picture, tmp_path / "new folder" / "a.png")
    assert np.array_equal(image.imread(tmp_path / "new folder" / "a.png"), picture)
    assert image.imread(tmp_path / "new folder" / "a.png", 1).shape == (9, 5, 1)


def test_imresize_takes_the_nearest_pixels():
    small = np.arange(6).reshape(2, 3)
    assert image.imresize(small, 4, 6).tolist() == np.kron(small, np.ones((2, 2), int)).tolist()
    assert image.imresize(small, 2, 3) is small


PROGRAM = """
import numpy as np
from kiln.gui import GUI
gui = GUI(res=16)
while gui.running:
    gui.set_image(np.full((16, 16), gui.frame / 4, np.float32))
    gui.show()
"""


@pytest.mark.parametrize(
    "where, files", [("last.png", ["last.png"]), ("f%d.png", ["f1.png", "f2.png", "f3.png"])]
)
def test_saving_frames(tmp_path, where, files):
    import os

    environment = {**os.environ, "KILN_GUI_FRAMES": "3", "KILN_GUI_SAVE": str(tmp_path / where)}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=environment)
    assert sorted(p.name for p in tmp_path.iterdir()) == files
    assert (tmp_path / files[-1]).read_bytes().startswith(b"\x89PNG")
    pytest.importorskip("PIL")
    assert image.imread(tmp_path / files[-1])[0, 0, 0] == 128  # the last frame is half bright


def test_saving_a_moving_picture(tmp_path):
    import os

    film = tmp_path / "deep" / "all.apng"
    environment = {**os.environ, "KILN_GUI_FRAMES": "3", "KILN_GUI_SAVE": str(film)}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=environment)
    assert film.read_bytes().count(b"fcTL") == 3
    pillow = pytest.importorskip("PIL.Image")
    shown = pillow.open(film)
    found = []
    for frame in range(shown.n_frames):
        shown.seek(frame)
        found.append(shown.convert("RGB").getpixel((8, 8))[0])
    assert found == [0, 64, 128]


def test_moving_pictures_hold_what_changes(tmp_path):
    from kiln import png

    film = png.Animation(tmp_path / "a.png", per_second=10)
    rows = np.zeros((50, 40, 3), np.uint8)
    rows[10:12, 20:30] = 255
    for frame in (np.zeros_like(rows), rows, rows):
        film.add(frame)
    film.close()
    data = (tmp_path / "a.png").read_bytes()
    control = struct.unpack(">II", data.split(b"acTL")[1][:8])
    assert control == (3, 0)
    places = [struct.unpack(">IIIIIHH", part[:24]) for part in data.split(b"fcTL")[1:]]
    assert [place[1:5] for place in places] == [(40, 50, 0, 0), (10, 2, 20, 10), (1, 1, 0, 0)]
    numbers = [place[0] for place in places]
    numbers += [struct.unpack(">I", part[:4])[0] for part in data.split(b"fdAT")[1:]]
    assert sorted(numbers) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="after one of"):
        film.add(np.zeros((4, 4, 3), np.uint8))


def test_observers_see_all_drawings():
    seen = []
    gui_module.observers.append(lambda gui, kind, arrays: seen.append((kind, sorted(arrays))))
    try:
        gui = GUI(res=4)
        gui.set_image(np.zeros((4, 4)))
        gui.circles(np.zeros((1, 2)))
    finally:
        gui_module.observers.pop()
    assert seen == [("image", ["image"]), ("circles", ["color", "pos", "radius"])]


def test_names_of_the_reference():
    names = (
        "ALT BACKSPACE CAPSLOCK CTRL DOWN ESCAPE EXIT Event EventFilter LEFT LMB MMB MOTION MOVE "
        "PRESS RELEASE RETURN RIGHT RMB SHIFT SPACE TAB UP WHEEL WidgetValue arrow arrow_field "
        "arrows button circle circles clear close contour cook_image fps_limit get_bool_environ "
        "get_cursor_pos get_event get_events get_image get_key_event has_key_event is_pressed "
        "label line lines point_field rect running set_image show slider text triangle triangles "
        "vector_field"
    )
    assert not set(names.split()) - set(dir(GUI))


def test_widgets_keep_their_values(monkeypatch):
    gui = GUI("widgets", res=(8, 8))
    slider, label = gui.slider("speed", 2, 5), gui.label("score")
    assert (slider.value, label.value) == (2.0, 0.0)
    slider.value = 3
    assert slider.value == 3
    assert gui.button("go") == "WidgetButton_go" and gui.button("go", "event") == "event"
    gui.fps_limit = 24
    assert gui.fps_limit == 24 and gui.running
    gui.running = False
    assert not gui.running
    monkeypatch.setenv("SOME_SWITCH", "0")
    assert GUI.get_bool_environ("SOME_SWITCH", True) is False
    assert GUI.get_bool_environ("NO_SWITCH", True) is True


def test_keys_and_filters():
    gui = GUI("keys", res=(8, 8))
    assert not gui.is_pressed(GUI.SHIFT, "a")
    gui.key_pressed = {"Shift_L"}
    assert gui.is_pressed(GUI.SHIFT) and gui.is_pressed("a", "Shift")
    event = GUI.Event(GUI.PRESS, "a")
    for wanted, match in (
        ((GUI.PRESS,), True),
        ((GUI.RELEASE,), False),
        (("a",), True),
        (((GUI.PRESS, "a"),), True),
        (((GUI.RELEASE, "a"), "b"), False),
    ):
        assert GUI.EventFilter(*wanted).match(event) is match
    assert list(gui.get_events()) == [] and gui.get_event(GUI.ESCAPE) is False
    assert gui.get_cursor_pos() == (0.0, 0.0)


def test_a_fast_gui_keeps_its_picture_from_frame_to_frame(tmp_path):
    colors = np.random.default_rng(3).integers(0, 256, (6, 4, 3), np.uint8)
    plain, fast = GUI(res=(6, 4)), GUI(res=(6, 4), fast_gui=True)
    assert plain.img.shape == (6, 4, 4) and plain.img.dtype == np.float32
    assert fast.img.shape == (24,) and fast.img.dtype == np.uint32
    for gui in (plain, fast):
        gui.set_image(colors)
    shown = plain.get_image()
    np.testing.assert_allclose(plain.img[..., :3], shown[..., :3])
    np.testing.assert_allclose(fast.get_image(), shown, atol=1e-6)
    red, green, blue = map(int, colors[0, -1])  # the upper left corner
    assert fast.img[0] == red << 16 | green << 8 | blue
    for _ in range(3):
        fast.show()
        np.testing.assert_allclose(fast.get_image(), shown, atol=1e-6)
    fast.img[:] = 0x00FF00
    fast.show(str(tmp_path / "green.png"))
    assert fast.get_image()[2, 2].tolist() == [0, 1, 0, 1]
    pytest.importorskip("PIL")
    assert image.imread(tmp_path / "green.png")[2, 2].tolist()[:3] == [0, 255, 0]


def test_the_last_frame_of_a_fast_gui_is_saved(tmp_path):
    import os

    program = (
        "from kiln.gui import GUI\n"
        "gui = GUI(res=8, fast_gui=True)\n"
        "gui.img[:] = 0x0000FF\n"
        "while gui.running:\n    gui.show()\n"
        "gui.img[:] = 0\n"
    )
    file = tmp_path / "last.png"
    environment = {**os.environ, "KILN_GUI_FRAMES": "2", "KILN_GUI_SAVE": str(file)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    pytest.importorskip("PIL")
    assert image.imread(file)[4, 4].tolist()[:3] == [0, 0, 255]
