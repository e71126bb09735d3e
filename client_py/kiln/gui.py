"""`ti.GUI`: a canvas that is drawn by NumPy, and shown in a window if there is a display.

windows/gui_drawing.py has the drawing calls, windows/gui_input.py the events, and windows/frames.py
the environment variables that end a program and save its frames. Drawing uses nothing of fields
except `to_numpy`, so it also works with other implementations of the language.
"""

import os

from .windows import display
from .windows.frames import Frames, observers, save  # noqa: F401  (tools add observers)
from .windows.gui_core import Canvas, Core
from .windows.gui_drawing import Drawing
from .windows.gui_input import Input


class GUI(Drawing, Input):
    """A canvas, in a window if there is a display. The origin is at the lower left; positions are
    in [0, 1] x [0, 1].

    name: the title. res: the width and height in pixels, or one number for both. background_color:
    0xRRGGBB. show_gui: whether to open a window. fullscreen: whether it covers the screen.
    fast_gui: see `img`. KILN_GUI_FRAMES is the number of frames after which the program ends;
    KILN_GUI_SAVE is where frames are saved.

        gui = ti.GUI("disc", res=(64, 32), background_color=0x112233)
        gui.circle((0.5, 0.5), color=0xFFFFFF, radius=10)
        print(gui.get_image().shape)  # prints: (64, 32, 4)
        gui.show("disc.png")
    """

    class WidgetValue:
        """A widget's value, which the program can read and set."""

        def __init__(self, gui, value, draw=None):
            self.gui, self.value = gui, value
            self._draw = draw  # draws it in a native window; returns its new value

    def __init__(
        self,
        name="Taichi",
        res=512,
        background_color=0x0,
        show_gui=True,
        fullscreen=False,
        fast_gui=False,
    ):
        self.name = name
        size = tuple(int(n) for n in res) if hasattr(res, "__len__") else (int(res),) * 2
        Drawing.__init__(self, size, background_color, fast_gui)
        Input.__init__(self)
        self._fps_limit = 60
        self.frame = 0
        self.core, self.canvas = Core(self), Canvas(self)
        self._frames = Frames()
        self._screen = _open_screen(self, show_gui, fullscreen)
        self._limit = display.Limit()
        self._widgets = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Closes the window. Later drawing calls have no visible effect."""
        self.running = False
        self._screen = None

    @property
    def _endless(self):
        """Whether nothing will end the program's frame loop: there is no window that a user could
        close, and KILN_GUI_FRAMES is not set."""
        return self._frames.wanted is None and self._screen is None

    @property
    def running(self):
        """Whether the window is open. The program may set it to False to close the window."""
        self._pump()
        return self._running

    @running.setter
    def running(self, value):
        self._running = bool(value)

    @property
    def fps_limit(self):
        """The most frames per second, or None: `show` waits. Without a display nothing waits."""
        return self._fps_limit

    @fps_limit.setter
    def fps_limit(self, value):
        self._fps_limit = value

    @staticmethod
    def get_bool_environ(key, default):
        """An environment variable of 0 or 1.

        key: its name. default: the value if the variable is not set.
        """
        return bool(int(os.environ[key])) if key in os.environ else default

    # ---- frames

    def show(self, file=None):
        """Ends a frame: counts it, saves it if requested, and clears the canvas.

        file: the path under which to save the frame.
        """
        self.frame += 1
        if file:
            save(self._rendered(), str(file))
        if self._screen is not None:
            self._paint()
        ended = self._frames.end(self)
        self.clear()
        if self._screen is not None:
            self._pump()
            self._limit.wait(self._fps_limit)
        if ended:
            self.running = False
            self._events.append(self.Event(self.PRESS, self.ESCAPE))

    # ---- widgets

    def slider(self, text, minimum, maximum, step=1):
        """Makes a slider. Its `.value` changes if the user moves it, or if the program sets it.

        text: its caption. minimum, maximum: the range; the initial value is `minimum`. step: the
        distance between values.
        """

        def draw(screen, value):
            moved = screen.slider_float(text, value, minimum, maximum)
            if abs(moved - value) < 1e-6 * max(abs(value), 1):
                return value
            return min(minimum + round((moved - minimum) / step) * step, float(maximum))

        return self._widget(float(minimum), draw)

    def label(self, text):
        """Makes a label that shows the number `.value`.

        text: its caption.
        """

        def draw(screen, value):
            screen.text(f"{text}: {value:g}", None)
            return value

        return self._widget(0.0, draw)

    def button(self, text, event_name=None):
        """Makes a button. Returns the name of the event for pressing it: a PRESS whose key it is.

        text: its caption. event_name: the name of the event; by default derived from `text`.
        """
        name = event_name or f"WidgetButton_{text}"

        def draw(screen, value):
            if screen.button(text):
                self._events.append(self.Event(self.PRESS, name))
            return value

        self._widget(0.0, draw)
        return name

    # ---- internals

    def _widget(self, value, draw):
        made = self.WidgetValue(self, value, draw)
        self._widgets.append(made)
        return made

    def _paint(self):
        """Shows this frame's commands on the screen."""
        from .windows import painting

        self._pump()
        for kind, *what in self._record():
            getattr(painting, kind)(self._screen, self.res, *what)
        if self._widgets:
            self._screen.begin("controls", 0.01, 0.01, 0.0, 0.0)
            for widget in self._widgets:
                widget.value = widget._draw(self._screen, widget.value)
            self._screen.end()
        self._on_screen("end_frame")

    def _on_screen(self, method):
        try:
            return getattr(self._screen, method)()
        except RuntimeError as error:
            self._screen = None
            raise RuntimeError(f"ti.GUI: {error}") from None


def _open_screen(gui, show, fullscreen):
    """The window of a GUI; None without a display."""
    if display.kind(show) != "screen":
        return None
    return display.native("ti.GUI", "screen", gui.name, gui.res, fullscreen=bool(fullscreen))


def rgb_to_hex(c):
    """The colour 0xRRGGBB with the given components.

    c: red, green and blue in 0..1: numbers, or arrays of them.

        print(hex(ti.rgb_to_hex((1.0, 0.5, 0.0))))  # prints: 0xff7f00
    """
    import numpy as np

    r, g, b = (np.clip(np.int32(np.asarray(c[k]) * 255), 0, 255) for k in range(3))
    return (r << 16) + (g << 8) + b


def hex_to_rgb(color):
    """The components of a colour: red, green and blue in 0..1.

    color: 0xRRGGBB.

        print(ti.hex_to_rgb(0xFF0000))  # prints: (1.0, 0.0, 0.0)
    """
    return tuple(((color >> shift) & 0xFF) / 255 for shift in (16, 8, 0))


__all__ = ["GUI", "rgb_to_hex", "hex_to_rgb"]
