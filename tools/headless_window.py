"""Taichi's `ti.ui.Window` without Vulkan, for comparisons. Its canvas passes all drawing calls to
the GUI's observers, as Kiln's windows do, and draws nothing; widgets keep their values.
"""

import contextlib


def install(ui, gui_class):
    """Installs the window and its parts in the module `ui`, with Kiln's GUI as their base."""

    class Window(gui_class):
        def __init__(self, name="", res=512, *_args, **_options):
            super().__init__(name, res)
            self._parts = _Canvas(self), _Ignored(), _Widgets()

        def get_canvas(self):
            return self._parts[0]

        def get_scene(self):
            return self._parts[1]

        def get_gui(self):
            return self._parts[2]

        GUI = property(get_gui)

        def get_window_shape(self):
            return self.res

        def save_image(self, _file):
            pass

        write_image = save_image

        def destroy(self):
            self.close()

    ui.Window = Window
    ui.Camera = ui.Scene = ui.make_camera = _Ignored


class _Canvas:
    """A canvas that passes its drawing calls to the observers, as arrays."""

    def __init__(self, window):
        self._window = window

    def set_image(self, img):
        self._tell("image", image=img)

    def circles(self, centers, *_args, **_options):
        self._tell("circles", pos=centers)

    def lines(self, vertices, *_args, indices=None, **_options):
        self._tell("lines", vertices=vertices, indices=indices)

    def triangles(self, vertices, *_args, indices=None, **_options):
        self._tell("triangles", vertices=vertices, indices=indices)

    def set_background_color(self, _color):
        pass

    def scene(self, _scene):
        pass

    def _tell(self, kind, **values):
        shown = {
            name: value.to_numpy() if hasattr(value, "to_numpy") else value
            for name, value in values.items()
            if value is not None
        }
        self._window._tell(kind, **shown)


class _Ignored:
    """Accepts every call. For cameras, scenes and lights."""

    def __init__(self, *_args, **_options):
        pass

    def __getattr__(self, _name):
        return lambda *_args, **_options: None


class _Widgets:
    """Sliders and boxes that never move."""

    @contextlib.contextmanager
    def sub_window(self, *_args, **_options):
        yield self

    def text(self, *_args, **_options):
        pass

    def button(self, _text):
        return False

    def slider_float(self, _text, old, *_range, **_options):
        return old

    slider_int = checkbox = color_edit_3 = slider_float
