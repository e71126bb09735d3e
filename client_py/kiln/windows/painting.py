"""Draws the recorded commands of a `ti.GUI` in a native window: for each kind of command a function
(window, res, …), with the arguments of the function of that name in raster.py."""

from .canvas import DISCS, LINES, TRIANGLES


def fill(screen, _res, color):
    screen.clear(_components(color))


def packed(screen, res, pixels):
    screen.packed(pixels, *res)


def image(screen, _res, pixels):
    import numpy as np

    if pixels.shape[2] == 1 or pixels.shape[2] >= 3:
        screen.image(pixels)
        return
    screen.image(np.concatenate([pixels, np.zeros_like(pixels[..., :1])], axis=2))


def circles(screen, _res, pos, radius, color):
    shape = {"kind": DISCS, "positions": pos, **_radii(radius, 1), **_colors(color, 1)}
    screen.draw(shape)


def lines(screen, _res, begin, end, radius, color):
    shape = {"kind": LINES, "positions": _interleaved(begin, end)}
    screen.draw({**shape, **_radii(radius, 2), **_colors(color, 2)})


def triangles(screen, _res, a, b, c, color):
    screen.draw({"kind": TRIANGLES, "positions": _interleaved(a, b, c), **_colors(color, 3)})


def text(screen, res, content, pos, font_size, color):
    x, y = pos[0] * res[0], (1 - pos[1]) * res[1]
    screen.label(content, x, y, float(font_size), _components(color))


def _interleaved(*corners):
    import numpy as np

    return np.stack(corners, axis=1).reshape(-1, 2)


def _components(color):
    return tuple((int(color) >> shift & 255) / 255 for shift in (16, 8, 0))


def _colors(color, repeat):
    """0xRRGGBB, one number or an array, for shapes of `repeat` vertices."""
    import numpy as np

    if not isinstance(color, np.ndarray):
        return {"color": _components(color)}
    from .. import raster

    return {"colors": np.repeat(raster.rgb(color), repeat, axis=0)}


def _radii(radius, repeat):
    import numpy as np

    if not isinstance(radius, np.ndarray):
        return {"radius": float(radius)}
    return {"radii": np.repeat(radius.astype(np.float32), repeat)}
