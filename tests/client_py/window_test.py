"""Windows: what they draw, off screen, on a screen (Xvfb) and by NumPy; input, and bad input."""

import os
import pathlib
import subprocess
import sys
import threading
import zlib

import numpy as np
import pytest
from kiln import png
from kiln.windows import display
from picture_cases import CASES

HERE = pathlib.Path(__file__).resolve().parent
PICTURES = HERE / "pictures"
SIZE = (96, 64)


@pytest.fixture
def window(ti):
    made = ti.ui.Window("test", SIZE, show_window=False)
    assert made._native is not None, "EGL draws nothing: see tools/packages_test.txt"
    yield made
    made.destroy()


def rows_of(window):
    """The picture as rows of bytes, the top row first."""
    image = window.get_image_buffer_as_numpy()[..., :3]
    return (image.swapaxes(0, 1)[::-1] * 255 + 0.5).astype(np.uint8)


def read_png(file):
    """The rows of a PNG file that png.py wrote."""
    data, at, found = file.read_bytes(), 8, {}
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        found[data[at + 4 : at + 8]] = data[at + 8 : at + 8 + size]
        at += size + 12
    width, height = (int.from_bytes(found[b"IHDR"][i : i + 4], "big") for i in (0, 4))
    lines = np.frombuffer(zlib.decompress(found[b"IDAT"]), np.uint8).reshape(height, -1)
    return lines[:, 1:].reshape(height, width, -1)


def share_of_others(rows, kept):
    """The share of pixels of which a component differs visibly."""
    assert rows.shape == kept.shape
    return (np.abs(rows.astype(int) - kept).max(axis=2) > 24).mean()


@pytest.mark.parametrize("name", CASES)
def test_pictures(ti, window, name):
    CASES[name](ti, window)
    rows = rows_of(window)
    file = PICTURES / f"{name}.png"
    if os.environ.get("KILN_KEEP_PICTURES"):
        file.write_bytes(png.encode(rows & 0xF0, 9))  # few colours make small files
    kept = read_png(file)
    assert kept.std() > 2, "the kept picture shows nothing"
    assert share_of_others(rows, kept) < 0.01


def test_the_graphics_library_draws_many_alike(ti):
    """With Mesa's other software renderer, which Kiln treats as a graphics processor: points and
    pictures go through OpenGL."""
    code = (
        "import sys, kiln as ti, numpy as np\n"
        "from picture_cases import CASES\n"
        "ti.init(arch=ti.cpu, log_level=ti.ERROR)\n"
        "for name in sys.stdin.read().split():\n"
        "    window = ti.ui.Window('test', (96, 64), show_window=False)\n"
        "    CASES[name](ti, window)\n"
        "    sys.stdout.write(window.get_image_buffer_as_numpy().tobytes().hex() + '\\n')\n"
        "    window.destroy()\n"
    )
    names = [name for name in CASES if name.startswith("many") or "image" in name]
    done = run(code, " ".join(names), GALLIUM_DRIVER="softpipe", KILN_SERVER="off")
    for name, text in zip(names, done.stdout.split(), strict=True):
        image = np.frombuffer(bytes.fromhex(text), np.float32).reshape(*SIZE, 4)
        rows = (image[..., :3].swapaxes(0, 1)[::-1] * 255 + 0.5).astype(np.uint8)
        # The renderer rounds the places of points differently: compare means of 8 x 8 pixels.
        means, kept = (
            r.reshape(8, 8, 12, 8, 3).mean(axis=(1, 3))
            for r in (rows, read_png(PICTURES / f"{name}.png"))
        )
        assert np.abs(means - kept).max() < 40 and np.abs(means - kept).mean() < 9, name


def test_every_picture_has_a_case():
    assert {file.stem for file in PICTURES.iterdir()} == set(CASES)


FLAT = "image grey_bytes circles many_circles triangles lines contour vector_field".split()


@pytest.mark.parametrize("name", FLAT)
def test_numpy_draws_flat_pictures_alike(ti, monkeypatch, name):
    monkeypatch.setenv("KILN_GUI", "software")
    window = ti.ui.Window("test", SIZE)
    assert window._native is None
    CASES[name](ti, window)
    limit = 0.3 if name == "image" else 0.1  # images and ends of lines are not smoothed
    assert share_of_others(rows_of(window), read_png(PICTURES / f"{name}.png")) < limit
    window.destroy()


def test_numpy_says_what_it_does_not_draw(ti, monkeypatch, capfd):
    monkeypatch.setenv("KILN_GUI", "software")
    monkeypatch.setattr(display, "_said", set())
    window = ti.ui.Window("test", SIZE)
    CASES["particles"](ti, window)
    CASES["widgets"](ti, window)
    assert window.get_gui().slider_int("n", 3, 0, 9) == 3
    assert not window.get_gui().button("go")
    window.show()
    assert window.get_depth_buffer_as_numpy().shape == SIZE
    assert not rows_of(window).any()
    said = capfd.readouterr().err
    assert "Canvas.scene is not drawn: there is neither a display nor OpenGL" in said
    assert said.count("Gui (widgets)") == 1


def test_without_egl_numpy_draws(tmp_path):
    """The loader finds neither EGL nor SDL."""
    code = (
        "import kiln as ti, numpy as np\n"
        "from kiln import _window\n"
        "w = ti.ui.Window('a', (16, 16))\n"
        "w.get_canvas().circles(np.array([[0.5, 0.5]]), 0.2, color=(1, 1, 1))\n"
        "print(w._native, w.get_image_buffer_as_numpy()[8, 8, 0])\n"
    )
    stub = tmp_path / "nothing.c"
    stub.write_text("int nothing;")
    for name in ("libEGL.so.1", "libSDL2-2.0.so.0"):
        subprocess.run(["cc", "-shared", "-o", tmp_path / name, stub], check=True)
    done = run(code, LD_LIBRARY_PATH=str(tmp_path), DISPLAY=":99")
    assert done.stdout == "None 1.0\n"
    assert "ti.ui.Window: no window on the screen: libSDL2 lacks SDL_" in done.stderr
    assert "ti.ui.Window: no window off screen: libEGL.so.1 lacks functions" in done.stderr


def run(code, input="", **environment):
    """Runs a program in a process of its own; returns it with its output."""
    path = os.pathsep.join([str(HERE.parent.parent / "client_py"), str(HERE)])
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    command = [sys.executable, "-c", code]
    options = {"env": environment, "input": input, "capture_output": True, "text": True}
    done = subprocess.run(command, timeout=100, **options)
    assert done.returncode == 0, done.stderr
    return done


def test_nothing_loads_the_native_module_before_a_window_opens():
    code = (
        "import sys, kiln as ti\n"
        "ti.init(arch=ti.cpu)\n"
        "ti.GUI('a').show(), ti.ui.Camera()\n"
        "print('kiln._window' in sys.modules)\n"
        "ti.ui.Window('a', (8, 8))\n"
        "print('kiln._window' in sys.modules)\n"
    )
    assert run(code).stdout == "False\nTrue\n"


# ---- frames


def test_a_frame_is_empty_and_the_last_one_can_be_read(ti, window):
    canvas = window.get_canvas()
    canvas.set_background_color((0, 0, 1))
    canvas.circles(np.array([[0.5, 0.5]]), radius=0.2, color=(1, 1, 1))
    assert window.get_image_buffer_as_numpy()[48, 32].tolist() == [1, 1, 1, 1]
    window.show()
    assert window.get_image_buffer_as_numpy()[48, 32].tolist() == [1, 1, 1, 1]
    window.show()
    assert window.get_image_buffer_as_numpy()[48, 32].tolist() == [0, 0, 1, 1]
    canvas.set_background_color((1, 0, 0))  # holds for this frame, whenever it is called
    canvas.lines(np.array([[0, 0], [1, 0]]), 0.1)
    assert window.get_image_buffer_as_numpy()[0, 60].tolist() == [1, 0, 0, 1]


def test_images_have_their_first_axis_to_the_right_and_the_second_up(ti, window):
    picture = np.zeros((*SIZE, 3), np.float32)
    picture[90, 5] = (0, 1, 0)
    window.get_canvas().set_image(picture)
    image = window.get_image_buffer_as_numpy()
    assert image.shape == (*SIZE, 4) and np.array_equal(image[..., :3], picture)
    assert rows_of(window)[58, 90].tolist() == [0, 255, 0]


@pytest.mark.parametrize("dtype", ["u8", "u16", "u32", "f16", "f32", "f64"])
@pytest.mark.parametrize("components", [1, 3, 4])
def test_images_of_all_types(ti, window, dtype, components):
    kind = getattr(ti, dtype)
    picture = (
        ti.field(kind, shape=(4, 4))
        if components == 1
        else ti.Vector.field(components, kind, shape=(4, 4))
    )
    top = 1 if dtype[0] == "f" else 2 ** int(dtype[1:]) - 1
    values = np.zeros(picture.to_numpy().shape, picture.to_numpy().dtype)
    values[2, 3] = top
    picture.from_numpy(values)
    window.get_canvas().set_image(picture)
    image = window.get_image_buffer_as_numpy()[..., :3]
    assert (image[60, 60] > 0.95).all() and image[10, 10].tolist() == [0, 0, 0]


def test_fields_in_parts_and_sparse_fields_are_drawn(ti, window):
    """Their memory has no single stride: it is copied."""
    apart = ti.Vector.field(2, ti.f32, shape=2, layout=ti.Layout.SOA)
    apart.from_numpy(np.array([[0.25, 0.5], [0.75, 0.5]], np.float32))
    sparse = ti.Vector.field(2, ti.f32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(sparse)
    sparse[5] = [0.5, 0.9]
    canvas = window.get_canvas()
    canvas.circles(apart, radius=0.1, color=(1, 0, 0))
    canvas.circles(sparse, radius=0.05, color=(0, 1, 0))
    image = window.get_image_buffer_as_numpy()
    assert image[24, 32, 0] == image[72, 32, 0] == image[48, 57, 1] == 1


def test_arrays_are_copied_when_they_are_drawn(ti, window):
    x = ti.Vector.field(3, ti.f32, shape=1)
    scene = window.get_scene()
    view = ti.ui.Camera()
    view.position(0, 0, 3)
    view.lookat(0, 0, 0)
    scene.set_camera(view)
    scene.ambient_light((1, 1, 1))
    scene.particles(x, radius=0.3, color=(1, 0, 0))
    x[0] = [9, 9, 9]
    window.get_canvas().scene(scene)
    assert window.get_image_buffer_as_numpy()[48, 32, 0] == 1


def test_depths(ti, window):
    scene = window.get_scene()
    view = ti.ui.Camera()
    view.position(0, 0, 3)
    view.lookat(0, 0, 0)
    scene.set_camera(view)
    scene.mesh(np.array([[-1, -1, 0], [1, -1, 0], [0, 1, 0]], np.float32))
    window.get_canvas().scene(scene)
    depth = ti.field(ti.f32, shape=SIZE)
    window.get_depth_buffer(depth)
    near, far = 0.1, 1000
    assert depth[48, 20] == pytest.approx(near * (far - 3) / (3 * (far - near)), rel=1e-4)
    assert depth[0, 63] == 0
    window.show()
    window.get_canvas().set_image(np.ones((4, 4), np.float32))  # a frame without a scene
    assert not window.get_depth_buffer_as_numpy().any()
    with pytest.raises(ValueError, match=r"`depth` must have the shape \(96, 64\)"):
        window.get_depth_buffer(ti.field(ti.f32, shape=(2, 2)))


def test_frames_end_a_program_and_are_saved(tmp_path):
    code = (
        "import kiln as ti, numpy as np\n"
        "w = ti.ui.Window('a', (16, 16))\n"
        "while w.running:\n"
        "    w.get_canvas().set_image(np.full((16, 16), (w.frame + 1) / 4, np.float32))\n"
        "    w.show()\n"
        "print(w.frame, w.get_event(ti.ui.PRESS), w.event.key)\n"
        "w.destroy()\n"
    )
    for kind in ("offscreen", "software"):
        file = tmp_path / f"{kind}.png"
        environment = {"KILN_GUI_FRAMES": "3", "KILN_GUI_SAVE": str(file), "KILN_GUI": kind}
        assert run(code, **environment).stdout == "3 True Escape\n"
        assert read_png(file)[5, 5].tolist() == [191, 191, 191]
    run(code, KILN_GUI_FRAMES="2", KILN_GUI_SAVE=str(tmp_path / "all.apng"))
    assert (tmp_path / "all.apng").read_bytes().count(b"fcTL") == 2


def test_save_image(ti, window, tmp_path):
    CASES["circles"](ti, window)
    window.save_image(str(tmp_path / "deep" / "a.png"))
    assert share_of_others(read_png(tmp_path / "deep" / "a.png"), rows_of(window)) == 0


# ---- input


def test_events(ti, window):
    inject = window._native.inject
    for kind in ("press", "release"):
        inject(kind, "Shift_L")
    inject("press", "a")
    inject("move", x=24, y=16)
    inject("press", "LMB", x=48, y=16)
    assert window.is_pressed("a", "x") and window.is_pressed(ti.ui.LMB)
    assert not window.is_pressed(ti.ui.SHIFT)
    assert window.get_cursor_pos() == (0.5, 0.75)
    released = window.get_events(ti.ui.RELEASE)
    assert [(e.type, e.key) for e in released] == [(ti.ui.RELEASE, ti.ui.SHIFT)]
    assert window.get_event() and window.event.key == ti.ui.SHIFT
    assert [e.key for e in window.get_events(ti.ui.PRESS)] == ["a", ti.ui.LMB]
    assert not window.get_event() and window.get_events() == []
    inject("close")
    window.is_pressed("a")
    assert not window.running


def test_widgets_take_input(ti, window):
    gui = window.get_gui()
    value, pressed, ticked, color = 0.25, [], False, (0.1, 0.2, 0.3)

    def frame():
        nonlocal value, ticked
        with gui.sub_window("panel", 0, 0, 1, 1):
            value = gui.slider_float("v", value, 0, 1)
            pressed.append(gui.button("push"))
            ticked = gui.checkbox("box", ticked)
        window.show()
        window.get_events()

    frame()
    assert (value, pressed, ticked) == (0.25, [False], False)  # exactly: not rounded to 32 bits
    for x, y in ((40, 30), (20, 50)):
        for kind, key in (("move", ""), ("press", "LMB"), ("release", "LMB")):
            window._native.inject(kind, key, x, y)
            frame()
        frame()
    assert 0.4 < value < 0.8 and any(pressed)
    assert gui.color_edit_3("c", color) == color
    assert gui.slider_int("n", 7, 0, 9) == 7
    assert gui.slider_float("f", 0.1, 0, 1) == 0.1


def test_camera_follows_keys_and_mouse(ti, window, monkeypatch):
    from kiln.windows import camera as module

    now = iter(range(100))
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(now) / 60)
    view = ti.ui.Camera()
    window._native.inject("press", "w")
    for _ in range(3):
        view.track_user_inputs(window, movement_speed=0.5)
    assert view.curr_position.to_list() == [0, 0, 1] and view.curr_lookat.to_list() == [0, 0, 2]
    window._native.inject("release", "w")
    window._native.inject("move", x=96 * 0.1, y=64)
    view.track_user_inputs(window, yaw_speed=2.0)
    yaw, pitch = __import__("kiln").compat.ui.vec_to_euler(view.curr_lookat - view.curr_position)
    assert yaw == pytest.approx(-0.2, abs=1e-6) and pitch == pytest.approx(0, abs=1e-6)
    held = ti.ui.Camera()
    for x in (0, 50):
        window._native.inject("move", x=x, y=0)
        held.track_user_inputs(window, hold_key=ti.ui.RMB)
    assert held.curr_lookat.to_list() == [0, 0, 1]


def test_camera_matrices(ti):
    """The values are those of the reference."""
    view = ti.ui.Camera()
    view.position(1, 2, 3)
    view.lookat(0, 0.5, 0)
    want = [
        [0.94868332, -0.1355262, 0.2857143, 0],
        [0, 0.90350801, 0.42857146, 0],
        [-0.31622776, -0.4065786, 0.85714293, 0],
        [0, -0.45175397, -3.7142859, 1],
    ]
    np.testing.assert_allclose(view.get_view_matrix(), want, atol=1e-6)
    projection = view.get_projection_matrix(16 / 9)
    assert projection.dtype == np.float32
    assert projection[[0, 1, 2, 3], [0, 1, 2, 2]] == pytest.approx(
        [1.3579952, 2.4142134, 1.0001e-4, 0.10001]
    )
    assert projection[2, 3] == -1
    view.projection_mode(ti.ui.ProjectionMode.Orthogonal)
    projection = view.get_projection_matrix(1)
    assert projection[[0, 1, 2, 3, 3], [0, 1, 2, 2, 3]] == pytest.approx(
        [1, 1, 1.0000999e-3, 1.0001, 1]
    )


# ---- bad input


def points(n, k=2):
    return np.zeros((n, k), np.float32)


BAD = {
    "Canvas.circles: `centers` must hold vectors of 2 or 3": lambda c, s: c.circles(
        points(3, 4), 1
    ),
    "Canvas.circles: `centers` must be a field": lambda c, s: c.circles([[0, 0]], 1),
    "Canvas.circles: `radius` must not be negative": lambda c, s: c.circles(points(1), -1),
    "Canvas.circles: `radius` must be a number": lambda c, s: c.circles(points(1), "big"),
    "Canvas.circles: `color` must be three": lambda c, s: c.circles(points(1), 1, color=1),
    "Canvas.circles: `per_vertex_color` has 2 elements, and there are 3": lambda c, s: c.circles(
        points(3), 1, per_vertex_color=points(2, 3)
    ),
    "Canvas.circles: `per_vertex_radius` has 2": lambda c, s: c.circles(
        points(3), 1, per_vertex_radius=points(2, 1)
    ),
    "Canvas.lines: `indices` must hold integers": lambda c, s: c.lines(
        points(2), 1, indices=points(1)
    ),
    "Canvas.lines: `indices` has 3 elements": lambda c, s: c.lines(
        points(2), 1, indices=np.arange(3)
    ),
    "Canvas.triangles: indices hold 3, and there are 3": lambda c, s: c.triangles(
        points(3), indices=np.arange(1, 4)
    ),
    "Canvas.triangles: indices hold a negative one": lambda c, s: c.triangles(
        points(3), indices=np.array([0, 1, -1])
    ),
    "Canvas.set_image: `img` must hold floats or unsigned": lambda c, s: c.set_image(
        np.zeros((2, 2), np.int32)
    ),
    "Canvas.set_image: `img` must hold numbers": lambda c, s: c.set_image(
        np.zeros((2, 2), complex)
    ),
    r"Canvas.set_image: `img` must have the shape": lambda c, s: c.set_image(points(2, 2)[0]),
    "Canvas.set_image: an image of 1 x 99999": lambda c, s: c.set_image(points(1, 99999)),
    "Canvas.contour: `scalar_field` must have two axes": lambda c, s: c.contour(points(2)[0]),
    "Canvas.contour: .*colours 'jet2'": lambda c, s: c.contour(points(2), cmap_name="jet2"),
    "Canvas.vector_field: `vector_field` must be": lambda c, s: c.vector_field(points(2)),
    "Canvas.vector_field: `arrow_spacing` must be at least 1": lambda c, s: c.vector_field(
        np.zeros((2, 2, 2)), arrow_spacing=0
    ),
    "Scene.particles: `centers` must hold vectors of 3": lambda c, s: s.particles(points(3), 1),
    "Scene.particles: the range of vertices": lambda c, s: s.particles(
        points(3, 3), 1, index_offset=2, index_count=2
    ),
    "Scene.mesh: the range of indices": lambda c, s: s.mesh(
        points(3, 3), indices=np.arange(3), index_count=6
    ),
    "Scene.mesh: indices hold 5, and there are 1": lambda c, s: s.mesh(
        points(3, 3), indices=np.array([0, 0, 5]), vertex_offset=2
    ),
    "Scene.mesh: `normals` has 2": lambda c, s: s.mesh(points(3, 3), normals=points(2, 3)),
    "Scene.mesh_instance: `transforms` must hold 4 x 4": lambda c, s: s.mesh_instance(
        points(3, 3), transforms=np.zeros((2, 3, 3))
    ),
    "Scene.point_light: `pos` must be three": lambda c, s: s.point_light((1, 2), (1, 1, 1)),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(ti, window, message):
    with pytest.raises((ImportError, TypeError, ValueError), match=message):
        BAD[message](window.get_canvas(), window.get_scene())
    window.show()


def test_what_is_not_finite_is_not_drawn(ti, window):
    bad = np.full((3, 3), np.nan, np.float32)
    bad[1] = np.inf
    canvas = window.get_canvas()
    canvas.circles(bad, radius=0.5)
    canvas.lines(bad[:2], width=0.5)
    canvas.triangles(bad)
    scene = window.get_scene()
    scene.particles(bad, radius=1)
    scene.mesh(bad)
    scene.lines(bad[:2], width=9)
    canvas.scene(scene)
    canvas.circles(np.zeros((0, 2)), radius=1)  # and nothing is nothing
    scene.particles(np.zeros((0, 3)), radius=1)
    canvas.scene(scene)
    assert not rows_of(window).any()


def test_windows_of_other_threads(ti, window):
    errors = []

    def work():
        for call in (
            lambda: ti.ui.Window("other", (8, 8)),
            lambda: window.get_canvas().circles(np.zeros((1, 2)), 1),
        ):
            try:
                call()
            except RuntimeError as error:
                errors.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors[0].startswith("ti.ui.Window: windows belong to the main thread, and this is")
    assert errors[1] == "Canvas.circles: it was opened by another thread"


def test_a_destroyed_window(ti, window):
    scene = window.get_scene()
    window.destroy()
    window.destroy()
    assert not window.running
    for call, use in (
        ("Canvas.circles", lambda: window.get_canvas().circles(np.zeros((1, 2)), 1)),
        ("Window.show", window.show),
        ("Gui.text", lambda: window.get_gui().text("a")),
        ("Window.get_depth_buffer", window.get_depth_buffer_as_numpy),
        ("Canvas.scene", lambda: window.get_canvas().scene(scene)),
    ):
        with pytest.raises(RuntimeError, match=f"{call}: the window 'test' was destroyed"):
            use()


def test_two_windows(ti, window):
    other = ti.ui.Window("other", (8, 8), show_window=False)
    with pytest.raises(ValueError, match="Canvas.scene: the scene belongs to another window"):
        window.get_canvas().scene(other.get_scene())
    for shown, color in ((window, (1, 0, 0)), (other, (0, 1, 0)), (window, (0, 0, 1))):
        shown.get_canvas().set_background_color(color)
        shown.show()
    assert window.get_image_buffer_as_numpy()[0, 0].tolist() == [0, 0, 1, 1]
    assert other.get_image_buffer_as_numpy()[0, 0].tolist() == [0, 1, 0, 1]
    other.destroy()


@pytest.mark.parametrize("res", [(0, 4), (4,), (-1, 4), (10**6, 4)])
def test_sizes_of_windows(ti, res):
    with pytest.raises(ValueError, match="ti.ui.Window: "):
        ti.ui.Window("a", res, show_window=False)


# ---- a screen


ON_SCREEN = """
import os, subprocess, time
import kiln as ti, numpy as np
from picture_cases import CASES

ti.init(arch=ti.cpu, log_level=ti.ERROR)
first = ti.ui.Window("first", (96, 64), pos=(10, 20))
second = ti.ui.Window("second", (64, 64), pos=(200, 20))
gui = ti.GUI("gui", res=(64, 48), background_color=0x102030)
slider = gui.slider("s", 0, 10)
button = gui.button("go")
assert first._native.on_screen and second._native.on_screen and gui._screen

def frame():
    CASES["circles"](ti, first)
    first.show()
    second.show()
    gui.circle((0.5, 0.5), radius=8, color=0xFF0000)
    gui.line((0, 0.9), (1, 0.9), color=0x00FF00, radius=2)
    gui.text("x", (0.8, 0.3))
    gui.show()

def until(done, act=lambda: None):
    end = time.monotonic() + 20
    while not done():
        assert time.monotonic() < end
        act()
        frame()

def xdotool(*words):
    subprocess.run(["xdotool", *map(str, words)], check=True)

frame()
np.save("first.npy", first.get_image_buffer_as_numpy())
pixels = np.zeros((48, 64, 4), np.uint8)
gui._screen.read_frame(pixels, False)
np.save("gui.npy", pixels)

# There is no window manager: the last window has the keys.
until(lambda: gui.get_event((gui.PRESS, "k")), lambda: xdotool("mousemove", 60, 50, "key", "k"))
until(lambda: first.get_cursor_pos() == (50 / 96, 1 - 30 / 64))
xdotool("mousemove", 220, 40)
under = ["xdotool", "getmouselocation", "--shell"]
found = subprocess.run(under, capture_output=True, text=True, check=True).stdout
xdotool("windowsize", found.split("WINDOW=")[1].split()[0], 100, 80)
until(lambda: second.get_window_shape() == (100, 80))
assert second.get_image_buffer_as_numpy().shape == (100, 80, 4)

seen = []
gui._screen.inject("press", "Shift_L")
gui._screen.inject("press", "a", 32, 12)
until(lambda: gui.get_event((gui.PRESS, "a")))
assert gui.is_pressed(gui.SHIFT, "q") and gui.is_pressed("a")
gui._screen.inject("wheel", dy=1)
until(lambda: gui.get_event(gui.WHEEL))
assert gui.event.delta == (0, 120) and gui.event.type == gui.MOTION
gui._screen.inject("press", "b")
assert gui.get_key_event().key == "b"
gui._screen.inject("close")
assert not gui.running and any(e.key == gui.EXIT for e in gui.get_events())
second._native.inject("close")
second.is_pressed("a")
assert not second.running and first.running
second.destroy()
gui.close()
first.show()
print("done")
"""


def test_windows_on_a_screen(ti, screen, tmp_path):
    path = os.getcwd()
    os.chdir(tmp_path)
    try:
        done = run(ON_SCREEN, DISPLAY=screen, KILN_SERVER="off")
    finally:
        os.chdir(path)
    assert done.stdout == "done\n"
    shown = (np.load(tmp_path / "first.npy")[..., :3].swapaxes(0, 1)[::-1] * 255).astype(np.uint8)
    assert share_of_others(shown, read_png(PICTURES / "circles.png")) < 0.01
    pixels = np.load(tmp_path / "gui.npy")[..., :3]
    assert pixels[24, 50].tolist() == [0x10, 0x20, 0x30]
    assert pixels[24, 32].tolist() == [255, 0, 0] and pixels[43, 60].tolist() == [0, 255, 0]


def test_a_fast_gui_on_a_screen_keeps_its_picture(ti, screen):
    code = (
        "import kiln as ti, numpy as np\n"
        "gui = ti.GUI('a', res=(8, 4), fast_gui=True)\n"
        "gui.img[:] = 0x336699\n"
        "gui.img[0] = 0xFF0000\n"
        "for _ in range(3):\n"
        "    gui.show()\n"
        "pixels = np.zeros((4, 8, 4), np.uint8)\n"
        "gui._screen.read_frame(pixels, False)\n"
        "print(pixels[3, 0, :3], pixels[0, 0, :3])\n"
    )
    assert run(code, DISPLAY=screen).stdout == "[255   0   0] [ 51 102 153]\n"


def test_windows_on_a_screen_and_without_one(ti, screen):
    """GLX and EGL cannot both be current."""
    code = (
        "import kiln as ti\n"
        "windows = [ti.ui.Window('a', (8, 8), show_window=n % 2 == 0) for n in range(3)]\n"
        "print([w._native.on_screen for w in windows])\n"
        "for n, w in enumerate([*windows, *windows]):\n"
        "    w.get_canvas().set_background_color((n / 5, 0, 0))\n"
        "    w.show()\n"
        "windows.pop(1).destroy()\n"
        "print([round(float(w.get_image_buffer_as_numpy()[0, 0, 0]), 1) for w in windows])\n"
    )
    assert run(code, DISPLAY=screen).stdout == "[True, False, True]\n[0.6, 1.0]\n"


FULLSCREEN = """
import os, subprocess, time
import kiln as ti, numpy as np

gui, end = ti.GUI("a", res=(64, 48), fullscreen=True), time.monotonic() + 20
subprocess.run(["xdotool", "mousemove", "320", "120"], check=True)

def is_shown():
    # The end of Xvfb's file is its memory: four bytes for each pixel.
    memory = np.fromfile(os.environ["MEMORY"], np.uint8)[-480 * 640 * 4 :]
    shown = memory.reshape(480, 640, 4)[[10, 470], :, 0].astype(int)
    return np.abs(shown - np.linspace(0, 255, 640)).max() < 8

while not (is_shown() and gui.get_cursor_pos() == (0.5, 0.75)) and time.monotonic() < end:
    gui.set_image(np.linspace([0] * 48, [1] * 48, 64, dtype=np.float32))
    gui.show()
print(is_shown(), gui.get_cursor_pos(), gui.get_image().shape)
"""


def test_fullscreen(ti, own_screen):
    """The window covers the screen and shows the picture scaled; the mouse moves in the picture."""
    memory = str(own_screen.folder / "Xvfb_screen0")
    done = run(FULLSCREEN, DISPLAY=own_screen.name, MEMORY=memory)
    assert done.stdout == "True (0.5, 0.75) (64, 48, 4)\n"


LOST = """
import gc, os, signal, time
import kiln as ti

window, gui, saved = ti.ui.Window("a", (64, 64)), ti.GUI("b", res=(8, 8)), ti.ui.Window("c", (8, 8))
for shown in (window, gui, saved):
    shown.show()
os.kill(int(os.environ["SERVER"]), signal.SIGKILL)
end = time.monotonic() + 20
while time.monotonic() < end:
    try:
        window.show()
    except RuntimeError as error:
        break
scene, canvas = window.get_scene(), window.get_canvas()
for call in (window.show, gui.show, lambda: window.is_pressed("a"), lambda: canvas.scene(scene),
             lambda: window.get_gui().text("a"), window.get_image_buffer_as_numpy):
    try:
        call()
        print("no error")
    except RuntimeError as error:
        print(error)
gui.show()  # without a display
window.destroy()
del window, canvas, scene
gc.collect()
other = ti.ui.Window("d", (8, 8))
other.get_canvas().set_background_color((1, 0, 0))
other.show()
print(other._native.on_screen, other.get_image_buffer_as_numpy()[0, 0].tolist())
"""


def test_a_lost_x_server(ti, own_screen, tmp_path):
    """Xlib would end the process."""
    save = {"KILN_GUI_SAVE": str(tmp_path / "last.png")}
    done = run(LOST, DISPLAY=own_screen.name, SERVER=str(own_screen.pid), **save)
    lost = f"the display {own_screen.name} is lost: its X server has ended"
    calls = ("Window.show", "ti.GUI", "Window", "Canvas.scene", "Gui.text", "Window")
    *errors, other = done.stdout.splitlines()
    assert errors == [f"{call}: {lost}" for call in calls]
    assert other == "False [1.0, 0.0, 0.0, 1.0]"
    assert f"ti.ui.Window: no window on the screen: {lost}" in done.stderr
    assert f"[Kiln] KILN_GUI_SAVE={tmp_path}/last-3.png: Window: {lost}" in done.stderr
