"""Pictures as rows of bytes, for `ti.tools` and windows: writing, resizing, colour maps.

PNG files need no image library; other formats need Pillow.
"""

import os

from . import png


def write_rows(rows, filename):
    """Writes uint8 rows, the top row first. The file name's ending selects the format. Makes the
    folder if necessary."""
    filename = os.fspath(filename)
    os.makedirs(os.path.dirname(filename) or ".", exist_ok=True)
    if os.path.splitext(filename)[1].lower() not in ("", ".png"):
        image = pillow("write").fromarray(squeeze(rows))
        without_alpha = filename.lower().endswith((".jpg", ".jpeg"))
        (image.convert("RGB") if without_alpha else image).save(filename)
        return
    data = png.encode(rows)
    with open(filename, "wb") as out:
        out.write(data)


def squeeze(rows):
    """The rows without the axis of a single component."""
    return rows[..., 0] if rows.shape[2] == 1 else rows


def to_rows(canvas):
    """A canvas (width, height, components) of floats in 0..1 as rows of an image file: uint8
    (height, width, components), the top row first."""
    import numpy as np

    rows = np.clip(np.nan_to_num(canvas), 0, 1).swapaxes(0, 1)[::-1]
    return (rows * np.float32(255) + np.float32(0.5)).astype(np.uint8)


def resize_bilinear(image, width, height):
    """Resizes a 2-D array by bilinear interpolation; the corners keep their values."""
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
    """Maps numbers in 0..1 to colours from dark blue through red to yellow: float32 (..., 3)."""
    import numpy as np

    stops = np.linspace(0, 1, len(_PLASMA))
    value = np.nan_to_num(value)
    return np.stack([np.interp(value, stops, c) for c in zip(*_PLASMA)], axis=-1).astype(np.float32)


# Nine samples of matplotlib's "plasma"; linear interpolation between them is close enough.
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
    """Pillow's module Image. Without Pillow, raises an ImportError that says how to install it;
    `verb` is what needs it: "read", "write" or "show"."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            f"to {verb} this image file, install Pillow: apt-get install python3-pil"
        ) from None
    return Image
