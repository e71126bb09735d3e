"""One measurement of bench/windows.py: windows_program.py WHAT, prints milliseconds of processor
and of elapsed time for a frame, as JSON."""

import atexit
import json
import sys
import time

import numpy as np

FRAMES = 10
N = 10**6


def measured(frame, between=lambda: None):
    """The shortest of several frames: (elapsed, processor) milliseconds. `between` is not timed."""
    frame()
    times = []
    for _ in range(FRAMES):
        between()
        start = time.perf_counter(), time.process_time()
        frame()
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return [1000 * min(column) for column in zip(*times)]


def positions(axes):
    return np.random.default_rng(1).random((N, axes)).astype(np.float32)


def kiln_window(res):
    import kiln as ti

    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    return ti, ti.ui.Window("bench", res, show_window=False)


def particles():
    ti, window = kiln_window((1280, 720))
    pixels = np.empty((720, 1280, 4), np.uint8)
    x = ti.Vector.field(3, ti.f32, shape=N)
    x.from_numpy(positions(3) * 2 - 1)
    camera, scene = ti.ui.Camera(), window.get_scene()
    angle = 0.0

    def frame():
        nonlocal angle
        angle += 0.05
        camera.position(3 * np.sin(angle), 1, 3 * np.cos(angle))
        camera.lookat(0, 0, 0)
        scene.set_camera(camera)
        scene.ambient_light((0.3, 0.3, 0.3))
        scene.point_light((2, 2, 2), (1, 1, 1))
        scene.particles(x, radius=0.003, color=(0.4, 0.7, 1))
        window.get_canvas().scene(scene)
        window.show()
        window._native.read_frame(pixels, False)

    return (frame,)


def circles():
    ti, window = kiln_window((1280, 720))
    pixels = np.empty((720, 1280, 4), np.uint8)
    x = ti.Vector.field(2, ti.f32, shape=N)
    x.from_numpy(positions(2))

    def frame():
        window.get_canvas().circles(x, radius=0.001, color=(0.4, 0.7, 1))
        window.show()
        window._native.read_frame(pixels, False)

    return (frame,)


def image():
    """`set_image` alone, of 1080p floats in three components."""
    ti, window = kiln_window((1920, 1080))
    picture = ti.Vector.field(3, ti.f32, shape=(1920, 1080))
    picture.from_numpy(np.random.default_rng(1).random((1920, 1080, 3)).astype(np.float32))

    def between():
        window.show()
        window._picture(so_far=False)

    return lambda: window.get_canvas().set_image(picture), between


def gui_screen():
    """`ti.GUI` on a screen (Xvfb): a field of 1024² pixels, three f32."""
    import os
    import subprocess

    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x1100x24"]
    server = subprocess.Popen([*command, "-nolisten", "tcp"], pass_fds=[write], stderr=-3)
    os.close(write)
    os.environ["DISPLAY"] = ":" + open(read).readline().strip()
    atexit.register(server.kill)

    import kiln as ti

    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    canvas = ti.GUI("bench", res=(1024, 1024))
    canvas.fps_limit = None
    picture = ti.Vector.field(3, ti.f32, shape=(1024, 1024))
    picture.from_numpy(np.random.default_rng(1).random((1024, 1024, 3)).astype(np.float32))

    def frame():
        canvas.set_image(picture)
        canvas.show()

    return (frame,)


def copy():
    """The roof of `set_image`: NumPy copies as many bytes."""
    source = np.random.default_rng(1).random((1920, 1080, 3)).astype(np.float32)
    to = np.empty_like(source)
    return (lambda: np.copyto(to, source),)


def gui():
    """`ti.GUI` by NumPy: 10⁶ circles."""
    import kiln as ti

    canvas, x = ti.GUI("bench", res=(1280, 720), show_gui=False), positions(2)

    def frame():
        canvas.circles(x, radius=1, color=0x66BBFF)
        canvas.get_image()
        canvas.show()

    return (frame,)


def matplotlib_scatter():
    """The peer: matplotlib's Agg draws as many markers of a pixel."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(12.8, 7.2), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1))
    x = positions(2)
    (drawn,) = axes.plot(x[:, 0], x[:, 1], ",")

    def frame():
        drawn.set_data(x[:, 0], x[:, 1])
        figure.canvas.draw()

    return (frame,)


def pyglet_points():
    """The peer that draws by OpenGL: pyglet, off screen, as many points of a pixel, whose
    positions change in each frame."""
    import pyglet

    pyglet.options["headless"] = True
    from pyglet import gl
    from pyglet.graphics.shader import Shader, ShaderProgram

    window = pyglet.window.Window(1280, 720)
    place = "in vec2 position; void main() { gl_Position = vec4(position * 2.0 - 1.0, 0, 1); }"
    paint = "out vec4 color; void main() { color = vec4(0.4, 0.7, 1, 1); }"
    program = ShaderProgram(
        Shader("#version 330\n" + place, "vertex"), Shader("#version 330\n" + paint, "fragment")
    )
    x = positions(2).ravel()
    points = program.vertex_list(N, gl.GL_POINTS, position=("f", x))
    pixels = np.empty((720, 1280, 4), np.uint8)

    def frame():
        window.clear()
        points.position[:] = x
        program.use()
        points.draw(gl.GL_POINTS)
        at = pixels.ctypes.data
        gl.glReadPixels(0, 0, 1280, 720, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, at)

    return (frame,)


if __name__ == "__main__":
    print(json.dumps(measured(*globals()[sys.argv[1]]())))
