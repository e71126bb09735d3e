"""Images: arrays indexed [x, y] from the lower left in memory, files on disk.

PNG files are written without an image library; reading, and other formats, need Pillow.
"""

from ..picture import pillow, write_rows


def imwrite(img, filename):
    """Saves an image to a file, in the format of the file name's ending.

    img: a field or array (width, height[, 1, 3 or 4]), indexed [x, y] from the lower left. It holds
    unsigned integers by the range of their type, or floats in 0..1. filename: the file's path.

        ti.tools.imwrite(np.zeros((8, 4, 3), np.uint8), "black.png")
    """
    write_rows(_to_rows(img), filename)


def _to_rows(img):
    """Converts a field or array to uint8 rows, the top row first."""
    import numpy as np

    img = _to_numpy(img)
    if img.dtype in (np.uint16, np.uint32, np.uint64):
        img = (img // (np.iinfo(img.dtype).max // 256)).astype(np.uint8)
    elif img.dtype.kind == "f":
        img = (np.clip(np.nan_to_num(img), 0, 1) * 255.0).astype(np.uint8)
    elif img.dtype != np.uint8:
        raise ValueError(f"Data type {img.dtype} not supported in ti.tools.imwrite")
    img = img[..., None] if img.ndim == 2 else img
    assert img.ndim == 3 and img.shape[2] in (1, 3, 4), "Image must be either RGB/RGBA or greyscale"
    if img.size == 0:
        width, height, _ = img.shape
        raise ValueError(f"an image has at least one pixel, this one {width} x {height}")
    return img.swapaxes(0, 1)[::-1]


def imread(filename, channels=0):
    """Reads an image: a uint8 array (width, height, components), indexed [x, y] from the lower
    left.

    filename: the file's path. channels: the number of components; 0 keeps the file's. Raises
    ImportError if Pillow is missing.

        ti.tools.imwrite(np.zeros((8, 4, 3), np.uint8), "black.png")
        print(ti.tools.imread("black.png").shape)  # prints: (8, 4, 3)
    """
    import numpy as np

    image = pillow("read").open(filename)
    mode = {0: None, 1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[channels]
    if mode is None and image.mode not in ("L", "LA", "RGB", "RGBA"):
        mode = "RGBA" if "transparency" in image.info else "RGB"
    rows = np.asarray(image.convert(mode) if mode else image)
    rows = rows[..., None] if rows.ndim == 2 else rows
    return rows.swapaxes(0, 1)[:, ::-1, :]


def imresize(img, w, h=None):
    """Resizes an image by nearest-neighbour sampling; returns an array.

    img: a field or array (width, height[, components]). w, h: the new width and height; by default
    `h` is `w`.

        print(ti.tools.imresize(np.zeros((8, 4)), 2).shape)  # prints: (2, 2)
    """
    import numpy as np

    img = _to_numpy(img)
    h = w if h is None else h
    if (w, h) == img.shape[:2]:
        return img
    assert isinstance(w, int) and isinstance(h, int) and w > 1 and h > 1, "bad size"
    # Divide first, then multiply, to round as the reference does.
    x = np.clip(np.arange(w) * (img.shape[0] / w), 0, img.shape[0] - 1).astype(np.int32)
    y = np.clip(np.arange(h) * (img.shape[1] / h), 0, img.shape[1] - 1).astype(np.int32)
    return img[x[:, None], y[None, :]]


def imshow(img, title="imshow"):
    """Shows an image until its window is closed; without a display, for one frame.

    img: a field or array, as for `imwrite`. title: the window's title. KILN_GUI_FRAMES sets the
    number of frames; KILN_GUI_SAVE saves them. In a notebook the image is the cell's output.

        ti.tools.imshow(np.zeros((8, 4)))
    """
    import builtins

    if hasattr(builtins, "get_ipython"):
        from .. import notebook

        notebook.show_rows(_to_rows(img))
        return
    from ..gui import GUI

    img = _to_numpy(img)
    assert img.ndim in (2, 3), "Image must be either RGB/RGBA or greyscale"
    gui = GUI(title, res=img.shape[:2])
    img = gui.cook_image(img)
    while gui.running and not gui.get_event(GUI.ESCAPE):
        gui.set_image(img)
        gui.show()
        if gui._endless:
            break


def _to_numpy(value):
    import numpy as np

    return value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)


__all__ = ["imread", "imresize", "imshow", "imwrite"]
