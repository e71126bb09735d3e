"""Ends frames of a window: counts, saves and shows them, and ends the program after some.

Environment variables end a program's frame loop without a user:
  KILN_GUI_FRAMES=n       after n frames `running` is false and Escape is reported; a program that
                          checks neither is ended by SystemExit after n more frames
  KILN_GUI_SAVE=file.png  saves the last frame; a directory or a pattern such as `out/%05d.png`
                          saves every frame; `file.apng`, `.gif` or `.mp4` is a moving picture of
                          all frames. The second window of a program saves to `file-2.png`, and so
                          on
In a notebook, frames are shown in the output of the cell (notebook.py).

A window has `frame`, the number of frames so far. `_rendered(record=None)` gives a picture (width,
height, 3) of the frame, or of a record of an earlier one. `_record()` makes such a record.
"""

import atexit
import builtins
import itertools
import os
import sys

from .. import events

# Tools add functions here to observe what a program draws. They are called before each image and
# each set of circles as observer(window, kind, arrays); `arrays` maps names to arrays and numbers.
observers = []


class Frames:
    """What happens at the end of each frame of a window."""

    def __init__(self):
        self.wanted = _frames_wanted()
        self._saver = _saver()
        self._view = _notebook_view()

    @property
    def are_seen(self):
        """Whether frames are saved or shown in a notebook."""
        return self._saver is not None or self._view is not None

    def end(self, window):
        """Saves and shows a frame. Returns whether it was the last one that is wanted."""
        if self._saver:
            self._saver.frame(window)
        if self._view:
            self._view.frame(window)
        events.frame(window.frame)
        if self.wanted is None:
            return False
        if window.frame >= 2 * self.wanted:
            raise SystemExit(0)
        return window.frame == self.wanted


class _Film:
    """Saves all frames as a moving picture, which the end of the program completes."""

    def __init__(self, film):
        self._film = film
        self._begun = False

    def frame(self, window):
        from ..picture import to_rows

        if not self._begun:
            self._begun = True
            atexit.register(self._finish)
        self._film.add(to_rows(window._rendered()))

    def _finish(self):
        try:
            self._film.close()
        except (OSError, RuntimeError) as error:
            print(f"[Kiln] KILN_GUI_SAVE={error}", file=sys.stderr)


class _Pictures:
    """Saves every frame or, at the end of the program, the last one."""

    def __init__(self, where):
        self._every = where if "%" in where or not where.lower().endswith(_ENDINGS) else None
        if self._every is not None and "%" not in where:
            self._every = os.path.join(where, "%06d.png")
        self._where = where
        self._last = None

    def frame(self, window):
        if self._every is not None:
            save(window._rendered(), self._every % window.frame)
            return
        if self._last is None:
            atexit.register(self._finish)
        # Keep only a record: the frame is drawn if it turns out to be the last one.
        self._last = (window, window._record())

    def _finish(self):
        window, record = self._last
        try:
            save(window._rendered(record), self._where)
        except (OSError, RuntimeError) as error:
            print(f"[Kiln] KILN_GUI_SAVE={self._where}: {error}", file=sys.stderr)


def _saver():
    where = os.environ.get("KILN_GUI_SAVE")
    if not where:
        return None
    name, ending = os.path.splitext(where)
    number = next(_windows)
    if number > 1:
        where = f"{name}-{number}{ending}"
    if ending.lower() not in _FILMS:
        return _Pictures(where)
    from ..film import Film

    try:
        return _Film(Film(where))
    except (RuntimeError, ValueError) as error:
        sys.exit(f"KILN_GUI_SAVE={error}")


def _notebook_view():
    """What shows frames in the output of a notebook's cell; None outside of notebooks."""
    if not hasattr(builtins, "get_ipython"):
        return None
    from .. import notebook

    shell = notebook.shell()
    return None if shell is None else notebook.FrameView(shell)


_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp")
# With the formats that film.py refuses: a name without a format is that of a folder.
_FILMS = (".apng", ".gif", ".mp4", ".avi", ".mkv", ".mov", ".webm", ".webp")
_windows = itertools.count(1)  # of those that save frames


def _frames_wanted():
    text = os.environ.get("KILN_GUI_FRAMES", "")
    if not text:
        return None
    if not (text.isdecimal() and int(text) > 0):
        sys.exit(f"KILN_GUI_FRAMES={text}: expected a number of frames, at least 1")
    return int(text)


def save(canvas, file):
    """Writes a canvas (width, height, components) of floats in 0..1 to a file."""
    from ..picture import to_rows, write_rows

    write_rows(to_rows(canvas), file)
