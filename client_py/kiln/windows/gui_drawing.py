"""The drawing calls of `ti.GUI`, and the pictures that NumPy makes of them.

Calls are only recorded. They are carried out by NumPy when a picture is needed (`show(file)`,
`get_image`, saving, a notebook), and by OpenGL on the screen (painting.py). A program that needs no
picture only pays for copies of the arrays that it draws.
"""

from .frames import observers
from .gui_data import (
    as_image,
    from_palette,
    grid,
    one_point,
    packed,
    per_item,
    points,
    to_numpy,
    unpacked,
)


class Drawing:
    """Base class of GUI: a canvas of `res` pixels."""

    def __init__(self, res, background_color, fast_gui):
        self.res = res
        self.background_color = background_color
        self.fast_gui = fast_gui
        self._drawing = []  # this frame's commands: (kind, arguments...)
        self._drawn = 0  # how many of them are on `_canvas`
        self._canvas = None
        self._img = None
        self.clear()

    def clear(self, color=None):
        """Fills the canvas with one colour.

        color: 0xRRGGBB; by default the background's. With `fast_gui`, the picture of `img` stays.
        """
        if self.fast_gui:
            self._start("packed", None)
            return
        self._start("fill", self.background_color if color is None else color)

    def set_image(self, img):
        """Shows an image on the whole canvas.

        img: a field or array (width, height[, 1 to 4]) of the canvas's size: unsigned integers, or
        floats in 0..1.
        """
        image = as_image(img)
        if image.shape[:2] != self.res:
            raise AssertionError(
                f"Image resolution does not match GUI resolution: {image.shape[:2]}, {self.res}"
            )
        self._tell("image", image=image)
        if self.fast_gui:
            self.img[:] = packed(image)
            self.clear()
        else:
            self._img = image
            self._start("image", image)

    def contour(self, scalar_field, normalize=False):
        """Shows a field in colours, scaled to the canvas.

        scalar_field: a field or array of two axes. normalize: whether to map its smallest and
        largest numbers to the first and last colour.
        """
        import numpy as np

        from ..picture import plasma, resize_bilinear

        value = resize_bilinear(np.asarray(to_numpy(scalar_field), np.float32), *self.res)
        if normalize:
            low, high = value.min(), value.max()
            value = (value - low) / (high - low if high > low else 1)
        self.set_image(plasma(value))

    def circle(self, pos, color=0xFFFFFF, radius=1):
        """Draws one disc.

        pos: its centre. color: 0xRRGGBB. radius: in pixels.
        """
        self._draw("circles", one_point(pos), radius, color)

    def circles(self, pos, radius=1, color=0xFFFFFF, palette=None, palette_indices=None):
        """Draws discs.

        pos: their centres, (n, 2). radius: in pixels; a number or (n,). color: 0xRRGGBB; a number
        or (n,). palette: colours; `palette_indices` (n,) selects one for each disc.
        """
        pos = points(pos)
        if palette is not None:
            color = from_palette(palette, palette_indices, len(pos))
        radius, color = per_item(radius, "Radius", len(pos)), per_item(color, "Color", len(pos))
        self._tell("circles", pos=pos, radius=radius, color=color)
        self._draw("circles", pos, radius, color)

    def triangle(self, a, b, c, color=0xFFFFFF):
        """Draws one filled triangle.

        a, b, c: its corners. color: 0xRRGGBB.
        """
        self._draw("triangles", one_point(a), one_point(b), one_point(c), color)

    def triangles(self, a, b, c, color=0xFFFFFF):
        """Draws filled triangles.

        a, b, c: their corners, each (n, 2). color: 0xRRGGBB; a number or (n,).
        """
        a, b, c = points(a), points(b), points(c)
        assert a.shape == b.shape == c.shape, "corners must have one shape"
        self._draw("triangles", a, b, c, per_item(color, "Color", len(a)))

    def line(self, begin, end, radius=1, color=0xFFFFFF):
        """Draws one line.

        begin, end: its ends. radius: half its width, in pixels. color: 0xRRGGBB.
        """
        self._draw("lines", one_point(begin), one_point(end), radius, color)

    def lines(self, begin, end, radius=1, color=0xFFFFFF):
        """Draws lines.

        begin, end: their ends, each (n, 2). radius: half their width, in pixels; a number or (n,).
        color: 0xRRGGBB; a number or (n,).
        """
        begin, end = points(begin), points(end)
        assert begin.shape == end.shape, "begin and end must have one shape"
        n = len(begin)
        self._draw("lines", begin, end, per_item(radius, "Radius", n), per_item(color, "Color", n))

    def rect(self, topleft, bottomright, radius=1, color=0xFFFFFF):
        """Draws the outline of a rectangle.

        topleft, bottomright: two of its corners. radius: half the width of its lines. color:
        0xRRGGBB.
        """
        (x0, y0), (x1, y1) = topleft, bottomright
        corners = points([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
        self._draw("lines", corners, corners[[1, 2, 3, 0]], radius, color)

    def arrow(self, orig, direction, radius=1, color=0xFFFFFF, **tip):
        """Draws one arrow.

        orig: its start. direction: the vector from its start to its end. radius: half the width of
        its lines. color: 0xRRGGBB. tip: `tip_scale` and `angle` (degrees) shape its head.
        """
        self.arrows(one_point(orig), one_point(direction), radius, color, **tip)

    def arrows(self, orig, direction, radius=1, color=0xFFFFFF, tip_scale=0.2, angle=45):
        """Draws arrows.

        orig: their starts, (n, 2). direction: the vectors from their starts to their ends, (n, 2).
        radius: half the width of their lines. color: 0xRRGGBB; a number or (n,). tip_scale: the
        length of a head as a fraction of its arrow. angle: the angle of a head in degrees.
        """
        import numpy as np

        orig, direction = points(orig), points(direction)
        end = orig + direction
        self.lines(orig, end, radius, color)
        for turn in (np.radians(180 - angle), np.radians(angle - 180)):
            c, s = np.cos(turn), np.sin(turn)
            side = direction @ np.array([[c, s], [-s, c]])
            self.lines(end, end + side * tip_scale, radius, color)

    def point_field(self, radius, color=0xFFFFFF, bound=0.5):
        """Draws a grid of discs.

        radius: the radius of each disc in pixels, (w, h). color: 0xRRGGBB. bound: the distance of
        the grid from the edge, in cells.
        """
        radius = to_numpy(radius)
        assert radius.ndim == 2, "radius must be two-dimensional"
        self.circles(grid(*radius.shape, bound), radius.reshape(-1), color)

    def arrow_field(self, direction, radius=1, color=0xFFFFFF, bound=0.5, **tip):
        """Draws a grid of arrows.

        direction: the direction of each arrow, (w, h, 2). radius: half the width of the lines.
        color: 0xRRGGBB. bound: the distance of the grid from the edge, in cells. tip: `tip_scale`
        and `angle` (degrees) shape the heads.
        """
        direction = to_numpy(direction)
        assert direction.ndim == 3 and direction.shape[2] == 2, "direction must be (w, h, 2)"
        base = grid(*direction.shape[:2], bound)
        self.arrows(base, direction.reshape(-1, 2), radius, color, **tip)

    def vector_field(self, vector_field, arrow_spacing=5, color=0xFFFFFF):
        """Draws vectors of a field as arrows; the longest spans a tenth of the canvas.

        vector_field: a field of vectors with two axes. arrow_spacing: draws every n-th arrow along
        each axis. color: 0xRRGGBB.
        """
        import numpy as np

        v = to_numpy(vector_field)
        scale = 0.1 / (np.linalg.norm(v, axis=-1).max() + 1e-16)
        shown = v[::arrow_spacing, ::arrow_spacing]
        x, y = np.meshgrid(
            *(np.arange(n) * arrow_spacing / size for n, size in zip(shown.shape[:2], v.shape))
        )
        base = np.dstack((x.T, y.T)).reshape(-1, 2)
        self.arrows(base, (shown * scale).reshape(-1, 2)[:, :2], radius=1, color=color)

    def text(self, content, pos, font_size=15, color=0xFFFFFF):
        """Draws a text.

        content: the text. pos: its upper left corner. font_size: in pixels. color: 0xRRGGBB.
        """
        self._draw("text", str(content), (float(pos[0]), float(pos[1])), font_size, color)

    def get_image(self):
        """The picture on the canvas: float32 (width, height, 4)."""
        import numpy as np

        image = np.ones(self.res + (4,), np.float32)
        image[..., :3] = self._rendered()
        return image

    @property
    def img(self):
        """The picture of the latest `set_image`: float32 (width, height, 4).

        With `fast_gui` it is the window's memory, to which the program may write and which keeps
        its picture from frame to frame. It is uint32 (width * height), with numbers 0xRRGGBB, the
        top row first.
        """
        import numpy as np

        if self.fast_gui and self._img is None:
            self._img = np.zeros(self.res[0] * self.res[1], np.uint32)
        elif self._img is None:
            self._img = np.zeros(self.res + (4,), np.float32)
        elif not self.fast_gui and self._img.shape[2] < 4:
            self._img = self.cook_image(self._img)
        return self._img

    @img.setter
    def img(self, value):
        self._img = value

    def cook_image(self, img):
        """Converts an array to the form that `set_image` shows: float32 (width, height, 4).

        img: an array (width, height[, 1 to 4]).
        """
        import numpy as np

        image = as_image(img)
        image = np.repeat(image, 4, axis=2) if image.shape[2] == 1 else image
        missing = np.zeros(image.shape[:2] + (4 - image.shape[2],), np.float32)
        return np.concatenate([image, missing], axis=2)

    def _tell(self, kind, **arrays):
        for observer in observers:
            observer(self, kind, arrays)

    def _start(self, *command):
        """Records a command that covers the whole canvas, and drops the commands before it."""
        self._drawing = [command]
        self._drawn = 0

    def _draw(self, *command):
        self._drawing.append(command)

    def _record(self):
        """This frame's commands in a form that does not depend on later changes of `img`."""
        if self.fast_gui:
            self._drawing[0] = ("packed", self.img.copy())
            self._drawn = 0
        return self._drawing

    def _rendered(self, record=None):
        """Draws the recorded commands, or an earlier frame's record; returns the canvas."""
        import numpy as np

        from .. import raster

        current = self._drawing
        if record is None:
            self._record()
        else:
            self._drawing, self._drawn = record, 0
        if self._canvas is None:
            self._canvas = np.zeros(self.res + (3,), np.float32)
        for kind, *what in self._drawing[self._drawn :]:
            if kind == "fill":
                self._canvas[:] = raster.rgb(what[0])
            elif kind == "packed":
                self._canvas[:] = unpacked(what[0], self.res)
            elif kind == "image":
                image = what[0]
                used = min(image.shape[2], 3)
                self._canvas[..., used:] = 0
                self._canvas[..., :used] = image[..., :used]
                if used == 1:
                    self._canvas[:] = image
            else:
                getattr(raster, kind)(self._canvas, *what)
        self._drawn = len(self._drawing)
        if record is not None:  # the next picture is that of the commands after the record
            self._drawing, self._drawn = current, 0
        return self._canvas
