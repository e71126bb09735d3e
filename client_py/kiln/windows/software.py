"""The canvas of a window that NumPy draws, where there is neither a display nor OpenGL."""

from .canvas import DISCS, LINES, TRIANGLES


class SoftwareCanvas:
    """Takes the flat drawings of the native window. Circles, lines and triangles have one colour
    each; images are not smoothed."""

    def __init__(self, res):
        self.size = res
        self._background = (0.0, 0.0, 0.0)
        self._commands = []
        self._frame = None  # the last one that was shown

    def set_background(self, color):
        self._background = color

    def image(self, image):
        self._commands.append((self._paint_image, image.copy()))

    def draw(self, shape):
        import numpy as np

        kept = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in shape.items()}
        self._commands.append((self._paint_shape, kept))

    def end_frame(self):
        self._frame = self._painted()
        self._commands = []

    def picture(self, so_far):
        """The frame so far, or the last one: float32 (width, height, 3)."""
        if self._frame is None or (so_far and self._commands):
            return self._painted()
        return self._frame

    def _painted(self):
        import numpy as np

        canvas = np.zeros((*self.size, 3), np.float32)
        canvas[:] = self._background
        for paint, what in self._commands:
            paint(canvas, what)
        return canvas

    def _paint_image(self, canvas, image):
        import numpy as np

        if image.dtype.kind in "ub":
            top = 1 if image.dtype.kind == "b" else np.iinfo(image.dtype).max
            image = image.astype(np.float32) / top
        at = [np.arange(n) * m // n for n, m in zip(canvas.shape, image.shape)]
        image = np.clip(np.nan_to_num(image[np.ix_(*at)]), 0, 1)
        if image.ndim == 2 or image.shape[2] == 1:
            canvas[:] = image.reshape(*image.shape[:2], 1)
            return
        used = min(image.shape[2], 3)
        canvas[..., used:] = 0
        canvas[..., :used] = image[..., :used]

    def _paint_shape(self, canvas, shape):
        import numpy as np

        from .. import raster

        positions = shape["positions"]
        color = _packed(shape.get("colors", np.array([shape["color"]])))
        if shape["kind"] == DISCS:
            radius = shape.get("radii", shape["radius"] * shape["radius_unit"])
            raster.circles(canvas, positions, radius, color if len(color) > 1 else color[0])
            return
        corners = {LINES: 2, TRIANGLES: 3}[shape["kind"]]
        at = shape.get("indices", np.arange(len(positions) // corners * corners))
        at = at.reshape(-1, corners)
        if len(at) and not 0 <= at.min() <= at.max() < len(positions):
            raise ValueError(
                f"indices hold {at.max()}, and there are {len(positions)} vertices"
                if at.min() >= 0
                else "indices hold a negative one"
            )
        color = color[at[:, 0]] if len(color) > 1 else color[0]
        points = [positions[at[:, corner]] for corner in range(corners)]
        if shape["kind"] == LINES:
            raster.lines(canvas, *points, shape["radius"] * shape["radius_unit"], color)
        else:
            raster.triangles(canvas, *points, color)


def _packed(colors):
    """Colours (n, 3 or 4) of floats as numbers 0xRRGGBB."""
    import numpy as np

    levels = (np.clip(np.nan_to_num(colors[:, :3]), 0, 1) * 255 + 0.5).astype(np.int64)
    return levels[:, 0] << 16 | levels[:, 1] << 8 | levels[:, 2]
