"""Pictures as rows of bytes: files, colours, sizes; for `ti.tools` and windows.

PNG files are written without an image library; other formats need Pillow.
"""

import os

from . import png


def write_rows(rows, filename):
    """Writes uint8 rows, top one first; the folder is made, the format is the name's ending."""
    filename = os.fspath(filename)
    os.makedirs(os.path.dirname(filename) or ".", exist_ok=True)
    if os.path.splitext(filename)[1].lower() not in ("", ".png"):
        image = pillow("write").fromarray(squeezed(rows))
        without_alpha = filename.lower().endswith((".jpg", ".jpeg"))
        (image.convert("RGB") if without_alpha else image).save(filename)
        return
    data = png.encode(rows)
    with open(filename, "wb") as out:
        out.write(data)


def squeezed(rows):
    """The rows without the axis of a single component."""
    return rows[..., 0] if rows.shape[2] == 1 else rows


def resize_bilinear(image, width, height):
    """A 2-D array of another size, interpolated between its corners."""
    import numpy as np

    if image.shape == (width, height):
        return image
    x, y = (np.linspace(0, n - 1, m) for n, m in zip(image.shape, (width, height)))
    x0, y0 = x.astype(int), y.astype(int)
    x1, y1 = np.minimum(x0 + 1, image.shape[0] - 1), np.minimum(y0 + 1, image.shape[1] - 1)
    fx, fy = (x - x0)[:, None], (y - y0)[None, :]
    low = image[x0[:, None], y0] * (1 - fy) + image[x0[:, None], y1] * fy
    high = image[x1[:, None], y0] * (1 - fy) + image[x1[:, None], y1] * fy
    return low * (1 - fx) + high * fx


def plasma(value):
    """Numbers in 0..1 as colours from dark blue over red to yellow: float32 (..., 3)."""
    import numpy as np

    stops = np.linspace(0, 1, len(_PLASMA))
    value = np.nan_to_num(value)
    return np.stack([np.interp(value, stops, c) for c in zip(*_PLASMA)], axis=-1).astype(np.float32)


# Nine colours along matplotlib's "plasma"; between them, straight lines are near enough.
_PLASMA = (
    (0.05, 0.03, 0.53),
    (0.30, 0.01, 0.63),
    (0.49, 0.01, 0.66),
    (0.66, 0.13, 0.59),
    (0.80, 0.28, 0.47),
    (0.90, 0.42, 0.36),
    (0.97, 0.58, 0.25),
    (0.99, 0.77, 0.15),
    (0.94, 0.98, 0.13),
)


def pillow(verb):
    """Pillow's Image, to read, write or show one; ImportError says how to install it."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            f"to {verb} this image file, install Pillow: apt-get install python3-pil"
        ) from None
    return Image
