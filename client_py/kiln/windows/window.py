"""`ti.ui.Window`: a window, its events and its frames."""

from . import display, latest
from .canvas import Canvas
from .frames import Frames, save
from .scene import Scene
from .software import SoftwareCanvas
from .widgets import Gui

PRESS, RELEASE = "Press", "Release"


class Window:
    """A window with a canvas, scenes and widgets. Without a display, or with `show_window=False`,
    its pictures are made off screen. Windows belong to the main thread.

    name: the title. res: width and height in pixels. vsync: whether `show` waits for the screen.
    show_window: whether the window is on the screen. fps_limit: the most frames per second on a
    screen. pos: the position of its upper left corner on the screen. KILN_GUI_FRAMES is the number
    of frames after which the program ends; KILN_GUI_SAVE is where frames are saved.

    Example::

        window = ti.ui.Window("triangle", (64, 64), show_window=False)
        canvas = window.get_canvas()
        canvas.set_background_color((0, 0, 1))
        canvas.triangles(np.array([[0, 0], [1, 0], [0, 1]], np.float32), color=(1, 1, 0))
        window.save_image("triangle.png")
        print(window.get_image_buffer_as_numpy()[60, 60])  # prints: [0. 0. 1. 1.]
        window.destroy()
    """

    class Event:
        """An input event: `type` is `ti.ui.PRESS` or `ti.ui.RELEASE`, `key` names a key or button
        of the mouse."""

        def __init__(self, type=None, key=None):
            self.type, self.key = type, key

    def __init__(self, name, res, vsync=False, show_window=True, fps_limit=1000, pos=(100, 100)):
        self._name = str(name)
        self.fps_limit = fps_limit
        res = (res, res) if isinstance(res, int) else tuple(int(n) for n in res)
        if len(res) != 2 or min(res) < 1:
            raise ValueError(f"ti.ui.Window: `res` must be width and height in pixels, not {res}")
        self._running, self._destroyed = True, False
        self.frame = 0
        self.event = None
        self._events, self._pressed, self._cursor = [], set(), (0.0, 0.0)
        self._last_picture = None  # of a window that was destroyed
        self._limit = display.Limit()
        options = {"place": tuple(int(n) for n in pos), "vsync": bool(vsync), "resizable": True}
        self._native = _open_native(self._name, res, show_window, options)
        self._target = self._native or SoftwareCanvas(res)
        self._frames = Frames()
        self._canvas, self._scene, self._gui = Canvas(self), Scene(self), Gui(self)
        latest.opened(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.destroy()

    # ---- parts

    def get_canvas(self):
        """The window's canvas."""
        return self._canvas

    def get_scene(self):
        """The window's scene."""
        return self._scene

    def get_gui(self):
        """The window's widgets."""
        return self._gui

    @property
    def GUI(self):
        """The window's widgets; an older name of `get_gui()`."""
        return self._gui

    def get_window_shape(self):
        """Width and height in pixels. The user may change them."""
        return tuple(self._target.size)

    # ---- frames

    @property
    def running(self):
        """Whether the window is open. It is False after the user has closed it; the program may
        set it, too."""
        return self._running

    @running.setter
    def running(self, value):
        self._running = bool(value)

    def show(self):
        """Ends a frame and shows it. The canvas is empty afterwards."""
        self._open("Window.show")
        self._draw("Window.show", "end_frame")
        self.frame += 1
        if self._frames.end(self):
            self.running = False
            self._events.append(Window.Event(PRESS, "Escape"))
        if self._native is not None and self._native.on_screen:
            self._pump()
            self._limit.wait(self.fps_limit)

    def get_image_buffer_as_numpy(self):
        """The picture of this frame so far, or of the last one if nothing was drawn since. It is
        float32 (width, height, 4), with numbers in 0..1, the first axis to the right and the second
        up."""
        import numpy as np

        self._open("Window.get_image_buffer_as_numpy")
        image = np.ones((*self.get_window_shape(), 4), np.float32)
        image[..., :3] = self._picture(so_far=True)
        return image

    def save_image(self, filename):
        """Writes the picture of this frame so far, or of the last one if nothing was drawn since.

        filename: the file; its ending is the format. PNG needs nothing, others need Pillow.
        """
        self._open("Window.save_image")
        save(self._picture(so_far=True), str(filename))

    write_image = save_image

    def get_depth_buffer(self, depth):
        """Copies the depths of the scene: 1 at the near plane, 0 at the far one and where nothing
        is.

        depth: a field or ndarray of floats, (width, height), which receives them.
        """
        values = self.get_depth_buffer_as_numpy()
        if tuple(depth.shape) != values.shape:
            raise ValueError(
                f"Window.get_depth_buffer: `depth` must have the shape {values.shape}, not "
                f"{tuple(depth.shape)}"
            )
        depth.from_numpy(values)

    def get_depth_buffer_as_numpy(self):
        """The depths of the scene, as `get_depth_buffer`: float32 (width, height)."""
        import numpy as np

        call = "Window.get_depth_buffer"
        if self._open(call) is None:
            display.say_missing(call)
            return np.zeros(self.get_window_shape(), np.float32)
        width, height = self.get_window_shape()
        rows = np.empty((height, width), np.float32)
        self._draw(call, "read_depth", rows)
        return np.ascontiguousarray(rows.T)

    def destroy(self):
        """Closes the window. Later calls of it are errors."""
        if self._destroyed:
            return
        if self._frames.are_seen and self.frame:
            try:
                self._last_picture = self._picture(so_far=False)
            except RuntimeError:  # the display is lost, and the picture with it
                import numpy as np

                self._last_picture = np.zeros((*self.get_window_shape(), 3), np.float32)
        self._destroyed, self._running = True, False
        self._native, self._target = None, SoftwareCanvas(self.get_window_shape())

    # ---- events

    def get_events(self, tag=None):
        """A list of the events since the last call.

        tag: `ti.ui.PRESS` or `ti.ui.RELEASE`, for events of that type alone; others are kept.
        """
        self._pump()
        found = [e for e in self._events if tag is None or e.type == tag]
        self._events = [e for e in self._events if e not in found]
        return found

    def get_event(self, tag=None):
        """Whether there was an event; if so, `self.event` is the first one.

        tag: as for `get_events`.
        """
        self._pump()
        for event in self._events:
            if tag is None or event.type == tag:
                self._events.remove(event)
                self.event = event
                return True
        return False

    def is_pressed(self, *keys):
        """Whether any of the keys or buttons is held down.

        keys: names such as "a", `ti.ui.SPACE` or `ti.ui.LMB`.
        """
        self._pump()
        return any(key in self._pressed for key in keys)

    def get_cursor_pos(self):
        """The position of the mouse in [0, 1] x [0, 1], from the lower left corner."""
        self._pump()
        return self._cursor

    # ---- internals

    def _open(self, call):
        """The native window, or None; an error after `destroy`."""
        if self._destroyed:
            raise RuntimeError(f"{call}: the window {self._name!r} was destroyed")
        return self._native

    def _draw(self, call, method, *arguments):
        """Calls a method of the native window or of its stand-in; its errors name `call`."""
        self._open(call)
        try:
            return getattr(self._target, method)(*arguments)
        except (RuntimeError, TypeError, ValueError) as error:
            raise type(error)(f"{call}: {error}") from None

    def _set_background(self, color):
        self._draw("Canvas.set_background_color", "set_background", color)

    def _height(self):
        return float(self._target.size[1])

    def _picture(self, so_far):
        """The picture, float32 (width, height, 3). so_far: includes the frame that has begun."""
        import numpy as np

        if self._last_picture is not None:
            return self._last_picture
        if self._native is None:
            return self._target.picture(so_far)
        width, height = self._native.size
        rows = np.empty((height, width, 4), np.uint8)
        self._draw("Window", "read_frame", rows, so_far)
        return rows[..., :3].swapaxes(0, 1) * np.float32(1 / 255)

    def _rendered(self, record=None):
        return self._picture(so_far=False) if record is None else record()

    def _record(self):
        return lambda: self._picture(so_far=False)

    def _pump(self):
        """Takes the events that are pending."""
        if self._native is None:
            return
        width, height = self._native.size
        for kind, key, x, y, _dx, _dy, _modifiers in self._draw("Window", "poll"):
            if kind == "close":
                self.running = False
            if kind == "move" or key in _BUTTONS:
                self._cursor = (x / width, 1 - y / height)
            if kind not in ("press", "release"):
                continue
            key = _NAMES.get(key, key)
            if kind == "press":
                self._pressed.add(key)
            else:
                self._pressed.discard(key)
            self._events.append(Window.Event(PRESS if kind == "press" else RELEASE, key))
        del self._events[:-_MOST_EVENTS]  # of a program that asks for none


_BUTTONS = ("LMB", "MMB", "RMB")
_MOST_EVENTS = 1024
# Names of the native module -> those of ti.ui, which do not tell left from right.
_NAMES = {
    **{f"{key}_{side}": key for key in ("Shift", "Alt", "Control") for side in "LR"},
    "Caps_Lock": "CapsLock",
}


def _open_native(name, res, show, options):
    """A window on the screen, or else off screen; None if there is neither."""
    where = display.kind(show)
    kinds = display.KINDS[display.KINDS.index(where) : 2]
    for where in kinds:
        opened = display.native("ti.ui.Window", where, name, res, **options)
        if opened is not None:
            return opened
    return None
