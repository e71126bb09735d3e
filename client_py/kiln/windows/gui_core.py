"""The parts of the native window of Taichi's GUI that programs use."""

from .frames import save


class Core:
    """The few attributes of the reference's native window that programs use."""

    def __init__(self, gui):
        self._gui = gui

    @property
    def should_close(self):
        return int(not self._gui.running)

    @should_close.setter
    def should_close(self, value):
        self._gui.running = not value

    def screenshot(self, file):
        save(self._gui._rendered(), str(file))

    def get_cursor_pos(self):
        return self._gui.get_cursor_pos()

    def has_key_event(self):
        return self._gui.has_key_event()

    def get_canvas(self):
        return self._gui.canvas

    def update(self):
        pass


class Canvas:
    """The drawing calls under the names of the reference's native canvas."""

    def __init__(self, gui):
        self._gui = gui

    def clear(self, color=None):
        self._gui.clear(color)

    def circle_single(self, x, y, color, radius):
        self._gui.circle((x, y), color, radius)

    def path_single(self, x0, y0, x1, y1, color, radius):
        self._gui.line((x0, y0), (x1, y1), radius, color)

    def triangle_single(self, x0, y0, x1, y1, x2, y2, color):
        self._gui.triangle((x0, y0), (x1, y1), (x2, y2), color)
