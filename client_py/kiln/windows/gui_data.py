"""What programs give `ti.GUI` to draw, as NumPy arrays: images, points, and values per item."""


def to_numpy(value):
    import numpy as np

    return value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)


def as_image(img):
    """Copies a field or array to float32 (width, height, 1 to 4)."""
    import numpy as np

    if not isinstance(img, np.ndarray) and not hasattr(img, "to_numpy"):
        raise ValueError(f"GUI.set_image only takes a Taichi field or NumPy array, not {type(img)}")
    image = to_numpy(img)
    if image.dtype.kind in "ub":
        top = 1 if image.dtype.kind == "b" else np.iinfo(image.dtype).max
        image = np.multiply(image, np.float32(1 / top), dtype=np.float32)
    elif image.dtype.kind == "f":
        image = image.astype(np.float32, copy=image is img)  # what a field gave is a copy
    else:
        raise ValueError(f"Data type {image.dtype} not supported in GUI.set_image")
    if image.ndim == 2:
        image = image[..., None]
    assert image.ndim == 3 and 1 <= image.shape[2] <= 4, "Image must be grayscale, RG, RGB or RGBA"
    return image


def packed(image):
    """Converts an image to the form of GUI.img with `fast_gui`."""
    import numpy as np

    # Truncate to 8 bits. The small summand makes numbers survive that were 8-bit before.
    levels = np.clip(image * 255 + 1e-3, 0, 255).astype(np.uint32)
    red, green, blue = (levels[..., min(n, image.shape[2] - 1)] for n in range(3))
    return (red << 16 | green << 8 | blue)[:, ::-1].T.reshape(-1)


def unpacked(pixels, res):
    """The inverse of `packed`: float32 (width, height, 3)."""
    import numpy as np

    columns = np.asarray(pixels, np.uint32).reshape(res[1], res[0]).T[:, ::-1]
    channels = [(columns >> shift & 255).astype(np.float32) / 255 for shift in (16, 8, 0)]
    return np.stack(channels, axis=2)


def one_point(pos):
    return points([(float(pos[0]), float(pos[1]))])


def points(value):
    import numpy as np

    points = np.array(to_numpy(value), dtype=np.float32)
    if points.ndim == 3 and points.shape[2] == 1:
        points = points[:, :, 0]
    assert points.ndim == 2 and points.shape[1] == 2, (
        f"positions must be (n, 2), not {points.shape}"
    )
    return points


def per_item(value, what, n):
    """Checks a number for all items, or an array with one for each of n items. Copies arrays."""
    import numbers

    import numpy as np

    if isinstance(value, numbers.Integral if what == "Color" else numbers.Number):
        return value
    if not isinstance(value, np.ndarray) and not hasattr(value, "to_numpy"):
        kind = "int (e.g., 0x956333)" if what == "Color" else "float (e.g., 0.4)"
        raise ValueError(f"{what} must be an ndarray or {kind}")
    value = np.array(to_numpy(value))
    assert value.shape == (n,), f"{what.lower()} must have shape ({n},), not {value.shape}"
    return value


def from_palette(palette, indices, n):
    import numpy as np

    assert indices is not None, "palette must be used together with palette_indices"
    indices = np.array(to_numpy(indices)).astype(np.int64)
    assert indices.shape == (n,), (
        "palette_indices must be in 1-d shape with shape (num_particles, )"
    )
    if n:
        assert indices.min() >= 0, "the min of palette_indices must not be less than zero"
        assert indices.max() < len(palette), (
            "the max of palette_indices must not exceed the length of palette"
        )
    return np.array(palette, dtype=np.uint32)[indices]


def grid(w, h, bound):
    """The positions of a w by h grid, `bound` cells from the canvas's edge."""
    import numpy as np

    x = np.linspace(bound / w, 1 - bound / w, w)
    y = np.linspace(bound / h, 1 - bound / h, h)
    return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(w * h, 2)
