"""Opens windows: on a screen, without one (off screen, by EGL), or not at all.

KILN_GUI selects: `screen`, `offscreen`, `software` (neither OpenGL nor a display: NumPy draws). By
default a window is on the screen if there is one, and off screen otherwise; in a notebook it is off
screen, because frames appear in the cell's output.
"""

import builtins
import os
import sys
import threading

KINDS = ("screen", "offscreen", "software")


def kind(show=True):
    """Where a window is to be drawn; one of KINDS.

    show: whether the program wants to see it.
    """
    wanted = os.environ.get("KILN_GUI", "")
    if wanted:
        if wanted not in KINDS:
            sys.exit(f"KILN_GUI={wanted}: not one of {', '.join(KINDS)}")
        return wanted
    hidden = os.environ.get("TI_GUI_SHOW") == "0" or hasattr(builtins, "get_ipython")
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return "screen" if show and display and not hidden else "offscreen"


def native(call, where, title, res, **options):
    """A window of the native module; None if it cannot be opened `where`, which a message says.

    call: the constructor's name, for errors. where: "screen" or "offscreen". options: `place`,
    `vsync`, `fullscreen`, `resizable`.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            f"{call}: windows belong to the main thread, and this is {threading.current_thread()}"
        )
    try:
        from .. import _window

        return _window.Window(
            str(title),
            res,
            options.get("place", (-1, -1)),
            on_screen=where == "screen",
            vsync=options.get("vsync", False),
            fullscreen=options.get("fullscreen", False),
            resizable=options.get("resizable", False),
        )
    except (ImportError, RuntimeError) as error:
        _say(f"{call}: no window {_WORDS[where]}: {error}")
        return None
    except ValueError as error:
        raise ValueError(f"{call}: {error}") from None


_WORDS = {"screen": "on the screen", "offscreen": "off screen"}
_said = set()


def _say(text):
    """Writes a line to the standard error, once for each text."""
    if text not in _said:
        _said.add(text)
        print(f"[Kiln] {text}", file=sys.stderr)


def say_missing(what):
    """Says, once, what a window that NumPy draws does not show."""
    _say(f"{what} is not drawn: there is neither a display nor OpenGL off screen (Mesa)")


class Limit:
    """Waits so that at most `rate` frames are shown in a second."""

    def __init__(self):
        self._next = 0.0

    def wait(self, rate):
        """rate: frames per second; None or 0 for no limit."""
        import time

        now = time.monotonic()
        if rate and now < self._next:
            time.sleep(self._next - now)
            now = time.monotonic()
        if rate:
            self._next = max(self._next + 1 / rate, now)
