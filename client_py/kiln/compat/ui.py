"""`ti.ui`: windows with canvases, scenes and widgets."""

from ..gui import GUI
from ..windows.camera import (  # noqa: F401  (programs import two of taichi.ui.utils)
    Camera,
    ProjectionMode,
    euler_to_vec,
    make_camera,
    vec_to_euler,
)
from ..windows.canvas import Canvas
from ..windows.scene import Scene
from ..windows.widgets import Gui
from ..windows.window import PRESS, RELEASE, Window

SHIFT, ALT, CTRL = "Shift", "Alt", "Control"
ESCAPE, RETURN, TAB, BACKSPACE, SPACE = "Escape", "Return", "Tab", "BackSpace", " "
UP, DOWN, LEFT, RIGHT, CAPSLOCK = "Up", "Down", "Left", "Right", "CapsLock"
LMB, MMB, RMB = "LMB", "MMB", "RMB"


def check_ggui_availability():
    """Does nothing: windows need no Vulkan, and are drawn without a display, too.

    Example::

        ti.ui.check_ggui_availability()
    """


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
