"""`ti.ui`, the 3-D windows: importing works, using says what to use instead."""

from .gui import GUI

SHIFT, ALT, CTRL = "Shift", "Alt", "Control"
ESCAPE, RETURN, TAB, BACKSPACE, SPACE = "Escape", "Return", "Tab", "BackSpace", " "
UP, DOWN, LEFT, RIGHT, CAPSLOCK = "Up", "Down", "Left", "Right", "Caps_Lock"
LMB, MMB, RMB = "LMB", "MMB", "RMB"
PRESS, RELEASE = "press", "release"


class _Absent:
    def __init__(self, *_args, **_options):
        raise RuntimeError(
            f"ti.ui.{type(self).__name__} needs a display and Vulkan, which Kiln does not use; "
            "ti.GUI draws without either"
        )


class Window(_Absent):
    """Not supported: a window with a 3-D scene."""


class Canvas(_Absent):
    """Not supported: a window's canvas."""


class Scene(_Absent):
    """Not supported: a 3-D scene."""


class Camera(_Absent):
    """Not supported: a scene's camera."""


class Gui(_Absent):
    """Not supported: a window's widgets."""


class ProjectionMode:
    """How a camera projects."""

    Perspective, Orthogonal = 0, 1


def make_camera():
    """Not supported: a scene's camera."""
    return Camera()


def check_ggui_availability():
    """Raises: there are no 3-D windows."""
    Window()


__all__ = [
    "ALT",
    "BACKSPACE",
    "CAPSLOCK",
    "CTRL",
    "DOWN",
    "ESCAPE",
    "GUI",
    "LEFT",
    "LMB",
    "MMB",
    "PRESS",
    "RELEASE",
    "RETURN",
    "RIGHT",
    "RMB",
    "SHIFT",
    "SPACE",
    "TAB",
    "UP",
    "Camera",
    "Canvas",
    "Gui",
    "ProjectionMode",
    "Scene",
    "Window",
    "check_ggui_availability",
    "make_camera",
]


def __dir__():
    return [name for name in __all__ if name != "GUI"]
