"""`ti.GUI`: a canvas that is drawn by NumPy, and shown in a window if there is a display.

Drawing calls are only recorded. They are carried out by NumPy when a picture is needed
(`show(file)`, `get_image`, saving, a notebook), and by OpenGL on the screen. A program that needs
no picture only pays for copies of the arrays that it draws.
windows/frames.py has the environment variables that end a program and save its frames.
Drawing uses nothing of fields except `to_numpy`, so it also works with other implementations of the
language.
"""

import os

from .windows import display
from .windows.frames import Frames, observers, save  # noqa: F401  (tools add observers)
from .windows.gui_core import Canvas, Core
from .windows.gui_data import (
    as_image,
    from_palette,
    grid,
    one_point,
    packed,
    per_item,
    points,
    to_numpy,
    unpacked,
)


class GUI:
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

    SHIFT, ALT, CTRL, ESCAPE = "Shift", "Alt", "Control", "Escape"
    RETURN, TAB, BACKSPACE, SPACE = "Return", "Tab", "BackSpace", " "
    UP, DOWN, LEFT, RIGHT = "Up", "Down", "Left", "Right"
    CAPSLOCK, LMB, MMB, RMB = "Caps_Lock", "LMB", "MMB", "RMB"
    EXIT, WHEEL, MOVE = "WMClose", "Wheel", "Motion"
    MOTION, PRESS, RELEASE = "EType.Move", "EType.Press", "EType.Release"

    class Event:
        """An input event. It has a `type` (PRESS, RELEASE, MOTION), a `key`, the `pos` of the mouse
        and the `delta` of the wheel. `modifier` holds the names of the keys that are held down with
        it. Without a window, the only one is the Escape that ends a program."""

        def __init__(self, type=None, key=None, pos=(0.0, 0.0), delta=(0, 0), modifier=()):
            self.type, self.key = type, key
            self.modifier, self.pos, self.delta = list(modifier), pos, delta

    class EventFilter:
        """Matches events by type, by key, or by (type, key)."""

        def __init__(self, *wanted):
            self.filter = {tuple(w) if isinstance(w, list) else w for w in wanted}

        def match(self, event):
            return not self.filter.isdisjoint(((event.type, event.key), event.type, event.key))

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
        self.res = tuple(int(n) for n in res) if hasattr(res, "__len__") else (int(res),) * 2
        self.background_color = background_color
        self.fast_gui = fast_gui
        self._fps_limit = 60
        self._running = True
        self.frame = 0
        self.event = None
        self.key_pressed = set()
        self.core, self.canvas = Core(self), Canvas(self)
        self._frames = Frames()
        self._screen = _open_screen(self, show_gui, fullscreen)
        self._limit = display.Limit()
        self._events = []
        self._cursor = (0.0, 0.0)
        self._widgets = []
        self._drawing = []
        self._canvas = None
        self._img = None
        self._drawn = 0
        self.clear()

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

    # ---- drawing

    def clear(self, color=None):
        """Fills the canvas with one colour.

        color: 0xRRGGBB; by default the background's. With `fast_gui`, the picture of `img` stays.
        """
        if self.fast_gui:
            self._start("packed", None)
            return
        self._start("fill", self.background_color if color is None else color)

    def set_image(self, img):
        """Shows an image on the whole canvas.

        img: a field or array (width, height[, 1 to 4]) of the canvas's size: unsigned integers, or
        floats in 0..1.
        """
        image = as_image(img)
        if image.shape[:2] != self.res:
            raise AssertionError(
                f"Image resolution does not match GUI resolution: {image.shape[:2]}, {self.res}"
            )
        self._tell("image", image=image)
        if self.fast_gui:
            self.img[:] = packed(image)
            self.clear()
        else:
            self._img = image
            self._start("image", image)

    def contour(self, scalar_field, normalize=False):
        """Shows a field in colours, scaled to the canvas.

        scalar_field: a field or array of two axes. normalize: whether to map its smallest and
        largest numbers to the first and last colour.
        """
        import numpy as np

        from .picture import plasma, resize_bilinear

        value = resize_bilinear(np.asarray(to_numpy(scalar_field), np.float32), *self.res)
        if normalize:
            low, high = value.min(), value.max()
            value = (value - low) / (high - low if high > low else 1)
        self.set_image(plasma(value))

    def circle(self, pos, color=0xFFFFFF, radius=1):
        """Draws one disc.

        pos: its centre. color: 0xRRGGBB. radius: in pixels.
        """
        self._draw("circles", one_point(pos), radius, color)

    def circles(self, pos, radius=1, color=0xFFFFFF, palette=None, palette_indices=None):
        """Draws discs.

        pos: their centres, (n, 2). radius: in pixels; a number or (n,). color: 0xRRGGBB; a number
        or (n,). palette: colours; `palette_indices` (n,) selects one for each disc.
        """
        pos = points(pos)
        if palette is not None:
            color = from_palette(palette, palette_indices, len(pos))
        radius, color = per_item(radius, "Radius", len(pos)), per_item(color, "Color", len(pos))
        self._tell("circles", pos=pos, radius=radius, color=color)
        self._draw("circles", pos, radius, color)

    def triangle(self, a, b, c, color=0xFFFFFF):
        """Draws one filled triangle.

        a, b, c: its corners. color: 0xRRGGBB.
        """
        self._draw("triangles", one_point(a), one_point(b), one_point(c), color)

    def triangles(self, a, b, c, color=0xFFFFFF):
        """Draws filled triangles.

        a, b, c: their corners, each (n, 2). color: 0xRRGGBB; a number or (n,).
        """
        a, b, c = points(a), points(b), points(c)
        assert a.shape == b.shape == c.shape, "corners must have one shape"
        self._draw("triangles", a, b, c, per_item(color, "Color", len(a)))

    def line(self, begin, end, radius=1, color=0xFFFFFF):
        """Draws one line.

        begin, end: its ends. radius: half its width, in pixels. color: 0xRRGGBB.
        """
        self._draw("lines", one_point(begin), one_point(end), radius, color)

    def lines(self, begin, end, radius=1, color=0xFFFFFF):
        """Draws lines.

        begin, end: their ends, each (n, 2). radius: half their width, in pixels; a number or (n,).
        color: 0xRRGGBB; a number or (n,).
        """
        begin, end = points(begin), points(end)
        assert begin.shape == end.shape, "begin and end must have one shape"
        n = len(begin)
        self._draw("lines", begin, end, per_item(radius, "Radius", n), per_item(color, "Color", n))

    def rect(self, topleft, bottomright, radius=1, color=0xFFFFFF):
        """Draws the outline of a rectangle.

        topleft, bottomright: two of its corners. radius: half the width of its lines. color:
        0xRRGGBB.
        """
        (x0, y0), (x1, y1) = topleft, bottomright
        corners = points([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
        self._draw("lines", corners, corners[[1, 2, 3, 0]], radius, color)

    def arrow(self, orig, direction, radius=1, color=0xFFFFFF, **tip):
        """Draws one arrow.

        orig: its start. direction: the vector from its start to its end. radius: half the width of
        its lines. color: 0xRRGGBB. tip: `tip_scale` and `angle` (degrees) shape its head.
        """
        self.arrows(one_point(orig), one_point(direction), radius, color, **tip)

    def arrows(self, orig, direction, radius=1, color=0xFFFFFF, tip_scale=0.2, angle=45):
        """Draws arrows.

        orig: their starts, (n, 2). direction: the vectors from their starts to their ends, (n, 2).
        radius: half the width of their lines. color: 0xRRGGBB; a number or (n,). tip_scale: the
        length of a head as a fraction of its arrow. angle: the angle of a head in degrees.
        """
        import numpy as np

        orig, direction = points(orig), points(direction)
        end = orig + direction
        self.lines(orig, end, radius, color)
        for turn in (np.radians(180 - angle), np.radians(angle - 180)):
            c, s = np.cos(turn), np.sin(turn)
            side = direction @ np.array([[c, s], [-s, c]])
            self.lines(end, end + side * tip_scale, radius, color)

    def point_field(self, radius, color=0xFFFFFF, bound=0.5):
        """Draws a grid of discs.

        radius: the radius of each disc in pixels, (w, h). color: 0xRRGGBB. bound: the distance of
        the grid from the edge, in cells.
        """
        radius = to_numpy(radius)
        assert radius.ndim == 2, "radius must be two-dimensional"
        self.circles(grid(*radius.shape, bound), radius.reshape(-1), color)

    def arrow_field(self, direction, radius=1, color=0xFFFFFF, bound=0.5, **tip):
        """Draws a grid of arrows.

        direction: the direction of each arrow, (w, h, 2). radius: half the width of the lines.
        color: 0xRRGGBB. bound: the distance of the grid from the edge, in cells. tip: `tip_scale`
        and `angle` (degrees) shape the heads.
        """
        direction = to_numpy(direction)
        assert direction.ndim == 3 and direction.shape[2] == 2, "direction must be (w, h, 2)"
        base = grid(*direction.shape[:2], bound)
        self.arrows(base, direction.reshape(-1, 2), radius, color, **tip)

    def vector_field(self, vector_field, arrow_spacing=5, color=0xFFFFFF):
        """Draws vectors of a field as arrows; the longest spans a tenth of the canvas.

        vector_field: a field of vectors with two axes. arrow_spacing: draws every n-th arrow along
        each axis. color: 0xRRGGBB.
        """
        import numpy as np

        v = to_numpy(vector_field)
        scale = 0.1 / (np.linalg.norm(v, axis=-1).max() + 1e-16)
        shown = v[::arrow_spacing, ::arrow_spacing]
        x, y = np.meshgrid(
            *(np.arange(n) * arrow_spacing / size for n, size in zip(shown.shape[:2], v.shape))
        )
        base = np.dstack((x.T, y.T)).reshape(-1, 2)
        self.arrows(base, (shown * scale).reshape(-1, 2)[:, :2], radius=1, color=color)

    def text(self, content, pos, font_size=15, color=0xFFFFFF):
        """Draws a text.

        content: the text. pos: its upper left corner. font_size: in pixels. color: 0xRRGGBB.
        """
        self._draw("text", str(content), (float(pos[0]), float(pos[1])), font_size, color)

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
            self._events.append(GUI.Event(GUI.PRESS, GUI.ESCAPE))

    def get_image(self):
        """The picture on the canvas: float32 (width, height, 4)."""
        import numpy as np

        image = np.ones(self.res + (4,), np.float32)
        image[..., :3] = self._rendered()
        return image

    @property
    def img(self):
        """The picture of the latest `set_image`: float32 (width, height, 4).

        With `fast_gui` it is the window's memory, to which the program may write and which keeps
        its picture from frame to frame. It is uint32 (width * height), with numbers 0xRRGGBB, the
        top row first.
        """
        import numpy as np

        if self.fast_gui and self._img is None:
            self._img = np.zeros(self.res[0] * self.res[1], np.uint32)
        elif self._img is None:
            self._img = np.zeros(self.res + (4,), np.float32)
        elif not self.fast_gui and self._img.shape[2] < 4:
            self._img = self.cook_image(self._img)
        return self._img

    @img.setter
    def img(self, value):
        self._img = value

    def cook_image(self, img):
        """Converts an array to the form that `set_image` shows: float32 (width, height, 4).

        img: an array (width, height[, 1 to 4]).
        """
        import numpy as np

        image = as_image(img)
        image = np.repeat(image, 4, axis=2) if image.shape[2] == 1 else image
        missing = np.zeros(image.shape[:2] + (4 - image.shape[2],), np.float32)
        return np.concatenate([image, missing], axis=2)

    # ---- events

    def has_key_event(self):
        """Whether `get_key_event` has an event to return."""
        self._pump()
        return bool(self._events)

    def get_key_event(self):
        """The next event; waits for one. Without a display it ends the program instead of waiting,
        because no key can be pressed."""
        import time

        while not self.has_key_event():
            if self._screen is None:
                raise SystemExit("GUI.get_key_event: there is no display, so no key can be pressed")
            time.sleep(0.01)
        return self._taken(self._events.pop(0))

    def get_events(self, *wanted):
        """The events that match; others are dropped, except the Escape that ends a program.

        wanted: types, keys or (type, key) pairs; without any, all events match.
        """
        match = GUI.EventFilter(*wanted).match if wanted else lambda event: True
        self._pump()
        for event in self._events[:]:
            # Without a window, keep an Escape that does not match for a call that asks for it.
            if not match(event) and self._screen is None:
                continue
            if event not in self._events:
                continue  # a nested call has taken it
            self._events.remove(event)
            self._taken(event)
            if match(event):
                yield event

    def get_event(self, *wanted):
        """Whether a matching event happened; if so, `self.event` is that event.

        wanted: types, keys or (type, key) pairs; without any, all events match.
        """
        for event in self.get_events(*wanted):
            self.event = event
            return True
        return False

    def is_pressed(self, *keys):
        """Whether any of the keys or buttons of the mouse is held down; "Shift" means either shift
        key.

        keys: names such as "a", `GUI.UP` or `GUI.LMB`.
        """
        self._pump()
        return any(
            key in self.key_pressed
            or f"{key}_L" in self.key_pressed
            or f"{key}_R" in self.key_pressed
            for key in keys
        )

    def get_cursor_pos(self):
        """The position of the mouse in [0, 1] x [0, 1]; (0.0, 0.0) without a display."""
        self._pump()
        return self._cursor

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
                self._events.append(GUI.Event(GUI.PRESS, name))
            return value

        self._widget(0.0, draw)
        return name

    # ---- internals

    def _tell(self, kind, **arrays):
        for observer in observers:
            observer(self, kind, arrays)

    def _widget(self, value, draw):
        made = GUI.WidgetValue(self, value, draw)
        self._widgets.append(made)
        return made

    def _taken(self, event):
        """Notes which keys are held down, by an event that the program takes."""
        if event.type == GUI.PRESS:
            self.key_pressed.add(event.key)
        elif event.type == GUI.RELEASE:
            self.key_pressed.discard(event.key)
        return event

    def _pump(self):
        """Takes the events that are pending on the screen."""
        if self._screen is None:
            return
        for kind, key, x, y, dx, dy, modifier in self._on_screen("poll"):
            if kind == "close":
                self._running = False
                self._events.append(GUI.Event(None, GUI.EXIT))
                continue
            if kind == "move" or key in _BUTTONS:
                self._cursor = (x / self.res[0], 1 - y / self.res[1])
            if kind in _TYPES:
                kind, key = _TYPES[kind], _KEYS.get(kind, key)
                delta = (int(dx * _WHEEL_STEP), int(dy * _WHEEL_STEP))
                self._events.append(GUI.Event(kind, key, self._cursor, delta, modifier))
        del self._events[:-_MOST_EVENTS]  # of a program that asks for none

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

    def _start(self, *command):
        """Records a command that covers the whole canvas, and drops the commands before it."""
        self._drawing = [command]
        self._drawn = 0

    def _draw(self, *command):
        self._drawing.append(command)

    def _record(self):
        """This frame's commands in a form that does not depend on later changes of `img`."""
        if self.fast_gui:
            self._drawing[0] = ("packed", self.img.copy())
            self._drawn = 0
        return self._drawing

    def _rendered(self, record=None):
        """Draws the recorded commands, or an earlier frame's record; returns the canvas."""
        import numpy as np

        from . import raster

        current = self._drawing
        if record is None:
            self._record()
        else:
            self._drawing, self._drawn = record, 0
        if self._canvas is None:
            self._canvas = np.zeros(self.res + (3,), np.float32)
        for kind, *what in self._drawing[self._drawn :]:
            if kind == "fill":
                self._canvas[:] = raster.rgb(what[0])
            elif kind == "packed":
                self._canvas[:] = unpacked(what[0], self.res)
            elif kind == "image":
                image = what[0]
                used = min(image.shape[2], 3)
                self._canvas[..., used:] = 0
                self._canvas[..., :used] = image[..., :used]
                if used == 1:
                    self._canvas[:] = image
            else:
                getattr(raster, kind)(self._canvas, *what)
        self._drawn = len(self._drawing)
        if record is not None:  # the next picture is that of the commands after the record
            self._drawing, self._drawn = current, 0
        return self._canvas


_BUTTONS = (GUI.LMB, GUI.MMB, GUI.RMB)
_MOST_EVENTS = 1024
_WHEEL_STEP = 120  # what programs know as one step of the wheel
_TYPES = {"press": GUI.PRESS, "release": GUI.RELEASE, "move": GUI.MOTION, "wheel": GUI.MOTION}
_KEYS = {"move": GUI.MOVE, "wheel": GUI.WHEEL}


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
