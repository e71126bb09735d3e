"""`ti.ui.Gui`: the widgets of a window, drawn anew in each frame."""

from contextlib import contextmanager

from . import drawn


class Gui:
    """The widgets of a window, which `Window.get_gui()` returns. A widget is drawn, and its value
    changes, where the program calls it in each frame.

    Without a display, values stay and no button is pressed.

    Example::

        window = ti.ui.Window("panel", (128, 128), show_window=False)
        gui = window.get_gui()
        with gui.sub_window("settings", 0.1, 0.1, 0.8, 0.5) as panel:
            print(panel.slider_int("count", 3, 0, 10))  # prints: 3
        window.destroy()
    """

    def __init__(self, gui):
        self._window = gui

    @contextmanager
    def sub_window(self, name, x, y, width, height):
        """A panel for the widgets of a `with` block.

        name: its title. x, y: its upper left corner, and width, height: its size, as fractions of
        the window. The user may move it and change its size.
        """
        self.begin(name, x, y, width, height)
        try:
            yield self
        finally:
            self.end()

    def begin(self, name, x, y, width, height):
        """Begins a panel, as `sub_window`; `end` ends it.

        name: its title. x, y: its upper left corner. width, height: its size.
        """
        call = "Gui.begin"
        numbers = (("x", x), ("y", y), ("width", width), ("height", height))
        self._call("begin", name, *(drawn.number(value, call, n) for n, value in numbers))

    def end(self):
        """Ends the panel that `begin` began."""
        self._call("end")

    def text(self, text, color=None):
        """Shows a text.

        text: the text. color: its colour; three numbers in 0..1.
        """
        self._call("text", text, None if color is None else drawn.color(color, "Gui.text"))

    def checkbox(self, text, old_value):
        """Shows a box to tick. Returns its value.

        text: its caption. old_value: whether it was ticked.
        """
        return self._call("checkbox", text, bool(old_value), unchanged=bool(old_value))

    def slider_int(self, text, old_value, minimum, maximum):
        """Shows a slider for integers. Returns its value.

        text: its caption. old_value: its value so far. minimum, maximum: the range.
        """
        values = (int(old_value), int(minimum), int(maximum))
        return self._call("slider_int", text, *values, unchanged=values[0])

    def slider_float(self, text, old_value, minimum, maximum):
        """Shows a slider for floats. Returns its value.

        text: its caption. old_value: its value so far. minimum, maximum: the range.
        """
        values = (float(old_value), float(minimum), float(maximum))
        moved = self._call("slider_float", text, *values, unchanged=values[0])
        # The widget computes with 32 bits: a value that was not moved keeps its own.
        return values[0] if moved == _as_f32(values[0]) else moved

    def color_edit_3(self, text, old_value):
        """Shows a colour to choose. Returns three numbers in 0..1.

        text: its caption. old_value: the colour so far.
        """
        old = drawn.color(old_value, "Gui.color_edit_3", "old_value")
        chosen = self._call("color_edit_3", text, old, unchanged=old)
        return tuple(o if c == _as_f32(o) else c for o, c in zip(old, chosen))

    def button(self, text):
        """Shows a button. Returns whether it was pressed.

        text: its caption.
        """
        return self._call("button", text, unchanged=False)

    def _call(self, method, *arguments, unchanged=None):
        native = self._window._open(f"Gui.{method}")
        if native is None:
            from . import display

            display.say_missing("Gui (widgets)")
            return unchanged
        if method != "end":
            arguments = (str(arguments[0]), *arguments[1:])
        return self._window._draw(f"Gui.{method}", method, *arguments)


def _as_f32(number):
    import struct

    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return number
