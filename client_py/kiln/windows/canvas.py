"""`ti.ui.Canvas`: flat drawings on a window."""

from . import drawn
from .frames import observers

# What the native module draws; see window/shape.h.
TRIANGLES, LINES, DISCS, MESH, SCENE_LINES, SPHERES = range(6)


class Canvas:
    """The canvas of a window, which `Window.get_canvas()` returns. Positions are in [0, 1] x [0, 1]
    from the lower left corner. Radii and widths are fractions of the window's height. Colours are
    three numbers in 0..1. Drawings are above each other in the order of the calls, and gone after
    `Window.show()`.

    Vertices, colours and the like are fields or ndarrays of any shape, whose elements count in the
    order of their indices, or NumPy arrays.

    Example::

        window = ti.ui.Window("dots", (64, 64), show_window=False)
        window.get_canvas().circles(np.array([[0.5, 0.5]], np.float32), radius=0.25)
        print(window.get_image_buffer_as_numpy()[32, 32, 0])  # prints: 0.5019608
        window.destroy()
    """

    def __init__(self, canvas):
        self._window = canvas

    def set_background_color(self, color):
        """Sets the colour of the window where nothing is drawn, from this frame on.

        color: three numbers in 0..1.
        """
        self._window._set_background(drawn.color(color, "Canvas.set_background_color"))

    def set_image(self, img):
        """Shows an image on the whole canvas.

        img: a field or array (width, height) with 1 to 4 components: floats in 0..1, or unsigned
        integers. It is scaled to the canvas.
        """
        call = "Canvas.set_image"
        image = drawn.image(img, call, "img")
        self._tell("image", image=img)
        self._window._draw(call, "image", image)

    def contour(self, scalar_field, cmap_name="plasma", normalize=False):
        """Shows the numbers of a field as colours.

        scalar_field: a field or array of two axes. cmap_name: the colours: "plasma", or the name of
        a colormap of matplotlib, if that is installed. normalize: whether to map the smallest and
        largest number to the first and last colour; otherwise 0 and 1 are.
        """
        import numpy as np

        call = "Canvas.contour"
        values = drawn.view(scalar_field, call, "scalar_field")
        if values.ndim != 2 or not values.size:
            raise ValueError(
                f"{call}: `scalar_field` must have two axes; its shape is {values.shape}"
            )
        values = values.astype(np.float32)
        if normalize:
            low, high = values.min(), values.max()
            values = (values - low) / (high - low if high > low else 1)
        image = _colors(values, cmap_name, call)
        self._tell("image", image=image)
        self._window._draw(call, "image", image)

    def triangles(self, vertices, color=(0.5, 0.5, 0.5), indices=None, per_vertex_color=None):
        """Draws filled triangles.

        vertices: vectors of 2 numbers (or 3, of which the last is ignored). color: of all
        triangles. indices: three for each triangle; by default each three vertices are one.
        per_vertex_color: vectors of 3 or 4 numbers, in place of `color`.
        """
        call = "Canvas.triangles"
        shape = shape_of(call, TRIANGLES, vertices, (2, 3), color, per_vertex_color, indices)
        self._tell("triangles", vertices=vertices, indices=indices)
        self._window._draw(call, "draw", shape)

    def lines(self, vertices, width, indices=None, color=(0.5, 0.5, 0.5), per_vertex_color=None):
        """Draws lines with round ends.

        vertices: vectors of 2 numbers. width: of the lines. indices: two for each line; by default
        each two vertices are one. color, per_vertex_color: as for `triangles`.
        """
        call = "Canvas.lines"
        shape = shape_of(call, LINES, vertices, (2, 3), color, per_vertex_color, indices)
        self._tell("lines", vertices=vertices, indices=indices)
        shape["radius"] = drawn.positive(width, call, "width") / 2
        shape["radius_unit"] = self._window._height()
        self._window._draw(call, "draw", shape)

    def circles(
        self,
        centers,
        radius,
        color=(0.5, 0.5, 0.5),
        per_vertex_color=None,
        per_vertex_radius=None,
    ):
        """Draws discs.

        centers: vectors of 2 numbers. radius: of all discs. color, per_vertex_color: as for
        `triangles`. per_vertex_radius: numbers, in place of `radius`.
        """
        import numpy as np

        call = "Canvas.circles"
        shape = shape_of(call, DISCS, centers, (2, 3), color, per_vertex_color)
        shape["radius"] = drawn.positive(radius, call, "radius")
        shape["radius_unit"] = self._window._height()
        if per_vertex_radius is not None:
            radii = drawn.numbers(
                per_vertex_radius, call, "per_vertex_radius", len(shape["positions"])
            )
            shape["radii"] = radii * np.float32(shape["radius_unit"])
        self._tell("circles", pos=centers)
        self._window._draw(call, "draw", shape)

    def vector_field(self, vector_field, arrow_spacing=5, scale=0.1, width=0.002, color=(0, 0, 0)):
        """Draws the vectors of a field as arrows.

        vector_field: a field or array (width, height) of vectors of 2 numbers. arrow_spacing: draws
        every n-th vector along each axis. scale: the length of the longest arrow. width: of its
        lines. color: of all arrows.
        """
        import numpy as np

        call = "Canvas.vector_field"
        vectors = drawn.view(vector_field, call, "vector_field")
        if vectors.ndim != 3 or vectors.shape[2] < 2:
            raise ValueError(
                f"{call}: `vector_field` must be (width, height) of vectors of 2 numbers; its "
                f"shape is {vectors.shape}"
            )
        step = int(arrow_spacing)
        if step < 1:
            raise ValueError(f"{call}: `arrow_spacing` must be at least 1, and is {step}")
        ends = arrows(vectors[..., :2].astype(np.float32), step, scale)
        self.lines(ends, width, color=color)

    def scene(self, scene):
        """Draws a scene, and empties it for the next frame.

        scene: from `Window.get_scene()`.
        """
        scene._draw(self._window)

    def _tell(self, kind, **values):
        """Tells the observers what is drawn, as arrays."""
        for observer in observers:
            arrays = {
                name: value.to_numpy() if hasattr(value, "to_numpy") else value
                for name, value in values.items()
                if value is not None
            }
            observer(self._window, kind, arrays)


def shape_of(call, kind, vertices, sizes, color, per_vertex_color, indices=None):
    """What all shapes have in common, as a dict for the native module.

    sizes: how many numbers a vertex may have; of two or three, the first two count.
    """
    name = "centers" if kind in (DISCS, SPHERES) else "vertices"
    positions = drawn.vectors(vertices, call, name, sizes)
    shape = {"kind": kind, "positions": positions[:, : sizes[0]]}
    shape["color"] = drawn.color(color, call)
    if per_vertex_color is not None:
        shape["colors"] = drawn.vectors(
            per_vertex_color, call, "per_vertex_color", (3, 4), len(positions)
        )
    if indices is not None:
        corners = 2 if kind in (LINES, SCENE_LINES) else 3
        shape["indices"] = drawn.indices(indices, call, "indices", corners)
    return shape


def arrows(vectors, step, scale):
    """The segments of arrows at every `step`-th cell of (width, height, 2), as pairs of points."""
    import numpy as np

    shown = vectors[::step, ::step]
    length = np.linalg.norm(shown, axis=-1)
    longest = np.nanmax(length) if length.size else 0
    shown = shown * (scale / longest if longest > 0 else 0)
    x, y = (
        np.arange(n, dtype=np.float32) * step / size
        for n, size in zip(shown.shape[:2], vectors.shape)
    )
    begin = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    end = begin + shown
    # The two sides of a head: a fifth of the arrow, turned by 135 degrees.
    turn = np.array([[-1, 1], [-1, -1]], np.float32) * np.float32(np.sqrt(0.5) * 0.2)
    pairs = [begin, end, end, end + shown @ turn, end, end + shown @ turn.T]
    return np.stack(pairs, axis=2).reshape(-1, 2).astype(np.float32)


def _colors(values, name, call):
    import numpy as np

    from ..picture import plasma

    if name == "plasma":
        return plasma(values)
    try:
        import matplotlib
    except ImportError:
        raise ImportError(
            f"{call}: colours {name!r} are matplotlib's, which is not installed; "
            '"plasma" needs nothing'
        ) from None
    if name not in matplotlib.colormaps:
        raise ValueError(f"{call}: matplotlib has no colours {name!r}")
    return np.ascontiguousarray(matplotlib.colormaps[name](values)[..., :3], np.float32)
