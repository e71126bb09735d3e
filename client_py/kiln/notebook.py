"""What Kiln shows in notebooks: fields as pictures, the frames of a `ti.GUI`, and `%kiln`.

IPython imports this module, or a program that runs in it: nothing else does, and Kiln does not need
IPython.
"""

import builtins
import shlex
import time
from base64 import b64encode
from html import escape

from . import errors, picture, png

_MOST_ELEMENTS = 1 << 22  # of a field with a thumbnail: reading more takes too long
_THUMBNAIL = 256  # the largest width and height in pixels


def shell():
    """The shell of a notebook; None elsewhere, as in a terminal, which shows no pictures."""
    found = getattr(builtins, "get_ipython", lambda: None)()
    return None if getattr(found, "kernel", None) is None else found


# ---- fields


def field_html(field):
    """A field as HTML: its type and shape, and a picture if it has two axes and numbers or vectors
    of three elements. Reads the field, but does not place it."""
    if any(place is None for place in field._places):
        return f"<code>{escape(repr(field))}</code> without a place"
    words = f"{field!r} of {field.dtype}, shape {field.shape}"
    try:
        rows, note = _thumbnail(field)
    except errors.TaichiRuntimeError as error:  # the field's memory is gone
        return f"<code>{escape(words)}</code> {escape(str(error))}"
    except ImportError:  # of NumPy
        rows = None
    if rows is None:
        return f"<code>{escape(words)}</code>"
    return f"<code>{escape(words)}</code>{escape(note)}<br>{_image_tag(png.encode(rows))}"


def _thumbnail(field):
    """(rows of pixels, a note on the colours); (None, "") if the field has no thumbnail."""
    import numpy as np

    shape = field.shape
    count = shape[0] * shape[1] if len(shape) == 2 else 0
    if not 0 < count <= _MOST_ELEMENTS or tuple(field.element_shape) not in ((), (3,)):
        return None, ""
    step = -(-max(shape) // _THUMBNAIL)
    values = field.to_numpy()[::step, ::step]
    if field.element_shape:
        return picture.to_rows(_as_colors(values)), ""
    values = values.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    # Half the values, whose difference may be too large for a float.
    scaled = (values / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
    return picture.to_rows(picture.plasma(scaled)), f", colours from {low:g} to {high:g}"


def _as_colors(values):
    """Components in 0..1: floats as they are, integers by the range of their type."""
    import numpy as np

    if values.dtype.kind in "ui":
        return values / np.float32(np.iinfo(values.dtype).max)
    return values.astype(np.float32)


def _image_tag(data):
    text = b64encode(data).decode()
    # Pixels of small fields are enlarged, not blurred.
    style = f"min-width: {_THUMBNAIL // 2}px; image-rendering: pixelated"
    return f'<img style="{style}" src="data:image/png;base64,{text}">'


def show_rows(rows):
    """Shows a picture, uint8 rows with the top one first, as the output of the cell."""
    from IPython.display import Image, display

    display(Image(data=png.encode(rows)))


# ---- frames


class FrameView:
    """Shows the frames of a GUI in the output of the running cell, each in place of the one before.

    shell: the notebook's. It shows at most 20 frames per second, and spends at most a quarter of
    the time on that; the last frame of a cell is always shown.
    """

    _SECONDS = 0.05  # between two frames
    _COST = 4  # that many times as long as a frame takes to show

    def __init__(self, shell):
        self._shell = shell
        self._handle = None  # of the picture in this cell's output
        self._next = 0.0  # the time from which the next frame may be shown
        self._skipped = None  # (gui, record) of the last frame, if it was not shown

    def frame(self, gui):
        """Shows the frame on the canvas, or keeps its commands until the cell ends."""
        start = time.monotonic()
        if self._handle is not None and start < self._next:
            self._skipped = gui, gui._record()
            return
        self._skipped = None
        self._show(gui._rendered())
        end = time.monotonic()
        self._next = max(start + self._SECONDS, start + self._COST * (end - start))

    def _show(self, canvas):
        from IPython.display import Image, display

        image = Image(data=png.encode(picture.to_rows(canvas), 1))
        if self._handle is not None:
            self._handle.update(image)
            return
        self._handle = display(image, display_id=True)
        self._shell.events.register("post_run_cell", self._end_cell)

    def _end_cell(self, *_):
        """Shows the last frame. The next cell has an output of its own."""
        self._shell.events.unregister("post_run_cell", self._end_cell)
        if self._skipped is not None:
            gui, record = self._skipped
            self._skipped = None
            self._show(gui._rendered(record))
        self._handle = None


# ---- commands

# The words after %kiln -> the command line.
_COMMANDS = {"ir": ["ir"], "explain": ["cache", "explain"], "cache": ["cache"]}
_HELP = """\
%kiln ir KERNEL [--stage STAGE]   the stages of the compiler; the IR after one of them
%kiln explain KERNEL              how its key differs from that of the nearest cache entry
%kiln cache stats | list | show   the cache's contents and savings"""


def load_ipython_extension(shell):
    """Adds `%kiln` to a notebook or IPython; `%load_ext kiln` calls it."""
    shell.register_magic_function(_kiln, "line", "kiln")


def _kiln(line):
    """Runs a command of `kiln` on the kernels of this notebook; alone it lists the commands."""
    from . import cli, explain

    name, *arguments = shlex.split(line) or [""]
    if name not in _COMMANDS:
        print(_HELP)
        return
    explain.forget()  # cells may have made entries since
    cli.main([*_COMMANDS[name], *arguments])
