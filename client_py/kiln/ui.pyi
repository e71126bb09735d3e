# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.ui`, the 3-D windows: imports succeed, and uses raise an error that names an alternative."""

from typing import Any
ALT: str
BACKSPACE: str
CAPSLOCK: str
CTRL: str
class Camera:
    """Not supported: a scene's camera."""
    def __init__(self, *_args: Any, **_options: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
class Canvas:
    """Not supported: a window's canvas."""
    def __init__(self, *_args: Any, **_options: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
DOWN: str
ESCAPE: str
class Gui:
    """Not supported: a window's widgets."""
    def __init__(self, *_args: Any, **_options: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
LEFT: str
LMB: str
MMB: str
PRESS: str
class ProjectionMode:
    """The projection of a camera.

    Example::

        print(ti.ui.ProjectionMode.Perspective)  # prints: 0
    """

    Orthogonal: Any
    Perspective: Any
RELEASE: str
RETURN: str
RIGHT: str
RMB: str
SHIFT: str
SPACE: str
class Scene:
    """Not supported: a 3-D scene."""
    def __init__(self, *_args: Any, **_options: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
TAB: str
UP: str
class Window:
    """Not supported: a window with a 3-D scene."""
    def __init__(self, *_args: Any, **_options: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
def check_ggui_availability() -> Any:
    """Raises: there are no 3-D windows."""
def make_camera() -> Any:
    """Not supported: a scene's camera."""
