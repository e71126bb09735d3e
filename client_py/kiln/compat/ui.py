"""`ti.ui`, the 3-D windows: imports succeed, and uses raise an error that names an alternative."""

from math import asin, atan2, cos, sin

from ..gui import GUI

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
    """The projection of a camera.

    Example::

        print(ti.ui.ProjectionMode.Perspective)  # prints: 0
    """

    Perspective, Orthogonal = 0, 1


def make_camera():
    """Not supported: a scene's camera."""
    return Camera()


def check_ggui_availability():
    """Raises: there are no 3-D windows."""
    Window()


def euler_to_vec(yaw, pitch):
    """The unit vector of a view with these angles in radians: x and z span the ground, y is up."""
    from ..values.matrix import Vector

    return Vector([sin(yaw) * cos(pitch), sin(pitch), cos(yaw) * cos(pitch)])


def vec_to_euler(v, eps=1e-6):
    """(yaw, pitch) of a view along `v`, in radians; `eps` has no effect."""
    x, y, z = v.normalized()
    return atan2(x, z), asin(y)


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
