"""Anti-aliased drawing on a NumPy canvas: float32, shape (width, height, 3), origin lower left.

Positions are in [0, 1] x [0, 1], radii in pixels, colours 0xRRGGBB numbers or arrays of them.
Circles and lines are drawn with discs; a line is a row of discs. The one inner loop runs over the
few pixels of a disc, and NumPy handles the thousands of discs together.
"""

import numpy as np


def rgb(colors):
    """0xRRGGBB numbers as float32 components, shape (n, 3)."""
    colors = np.atleast_1d(np.asarray(colors, dtype=np.int64))
    parts = np.stack([colors >> 16, colors >> 8, colors], axis=-1) & 0xFF
    return parts.astype(np.float32) / np.float32(255)


def circles(canvas, pos, radius, color):
    """Draws discs at `pos` (n, 2); `radius` and `color` are numbers or have shape (n,)."""
    width, height = canvas.shape[:2]
    center = np.asarray(pos, np.float32) * np.array([width, height], np.float32)
    _discs(canvas, center, np.asarray(radius, np.float32), rgb(color))


def lines(canvas, begin, end, radius, color):
    """Draws segments of half-width `radius` as discs, spaced by a fraction of the radius."""
    size = np.array(canvas.shape[:2], np.float32)
    begin = np.asarray(begin, np.float32) * size
    end = np.asarray(end, np.float32) * size
    finite = np.isfinite(begin).all(1) & np.isfinite(end).all(1)
    radius = np.maximum(np.broadcast_to(np.asarray(radius, np.float32), finite.shape), 0.5)
    color = np.broadcast_to(rgb(color), (len(finite), 3))
    begin, end, radius, color = begin[finite], end[finite], radius[finite], color[finite]
    begin, end = _clip(begin, end, radius, size)
    step = np.maximum(0.5, radius / 3)
    count = (np.ceil(np.hypot(*(end - begin).T) / step) + 1).astype(np.int64)
    line = np.repeat(np.arange(len(count)), count)
    first = np.cumsum(count) - count
    t = (np.arange(len(line)) - first[line]) / np.maximum(count - 1, 1)[line]
    center = begin[line] + (end - begin)[line] * t[:, None].astype(np.float32)
    _discs(canvas, center, radius[line], color[line])


def triangles(canvas, a, b, c, color):
    """Fills triangles with corners `a`, `b`, `c`, each of shape (n, 2)."""
    size = np.array(canvas.shape[:2], np.float32)
    corners = np.stack([np.asarray(p, np.float32) * size for p in (a, b, c)], axis=1)
    colors = np.broadcast_to(rgb(color), (len(corners), 3))
    low = np.clip(np.floor(np.nan_to_num(corners.min(axis=1))), 0, size).astype(int)
    high = np.clip(np.ceil(np.nan_to_num(corners.max(axis=1))), 0, size).astype(int)
    for (p, q, r), lo, hi, color_i in zip(corners, low, high, colors):
        area = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
        if area == 0 or not np.isfinite(area) or (hi <= lo).any():
            continue
        x = np.arange(lo[0], hi[0], dtype=np.float32)[:, None] + 0.5
        y = np.arange(lo[1], hi[1], dtype=np.float32)[None, :] + 0.5
        inside = True
        for (ux, uy), (vx, vy) in ((p, q), (q, r), (r, p)):
            inside = inside & (((vx - ux) * (y - uy) - (vy - uy) * (x - ux)) * area >= 0)
        canvas[lo[0] : hi[0], lo[1] : hi[1]][inside] = color_i


def text(canvas, content, pos, font_size, color):
    """Draws text with its upper left corner at `pos`. Draws nothing if Pillow is missing."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        return
    try:
        font = ImageFont.truetype("DejaVuSans.ttf", max(int(font_size), 1))
    except OSError:
        font = ImageFont.load_default()
    width, height = canvas.shape[:2]
    mask = Image.new("L", (width, height), 0)
    corner = (pos[0] * width, (1 - pos[1]) * height)
    ImageDraw.Draw(mask).multiline_text(corner, content, fill=255, font=font)
    alpha = np.asarray(mask, np.float32).T[:, ::-1, None] / 255
    canvas += alpha * (rgb(color) - canvas)


def _clip(begin, end, radius, size):
    """Clips segments to the canvas (Liang and Barsky), which bounds the number of discs."""
    delta = end - begin
    t0, t1 = np.zeros(len(begin), np.float32), np.ones(len(begin), np.float32)
    margin = radius + 2
    with np.errstate(divide="ignore", invalid="ignore"):
        for axis in (0, 1):
            d, o = delta[:, axis], begin[:, axis]
            near, far = (-margin - o) / d, (size[axis] + margin - o) / d
            near, far = np.minimum(near, far), np.maximum(near, far)
            moving = d != 0
            t0 = np.where(moving, np.maximum(t0, near), t0)
            t1 = np.where(moving, np.minimum(t1, far), t1)
    empty = t0 > t1
    t0, t1 = np.where(empty, 0, t0), np.where(empty, 0, t1)
    return begin + delta * t0[:, None], begin + delta * t1[:, None]


def _discs(canvas, center, radius, colors):
    width, height = canvas.shape[:2]
    radius = np.broadcast_to(radius, (len(center),))
    colors = np.broadcast_to(colors, (len(center), 3))
    reach = radius + 1
    with np.errstate(invalid="ignore"):
        seen = (
            (center[:, 0] > -reach)
            & (center[:, 0] < width + reach)
            & (center[:, 1] > -reach)
            & (center[:, 1] < height + reach)
            & (radius > 0)
        )
    if not seen.all():
        center, radius, colors = center[seen], radius[seen], colors[seen]
    if not len(center):
        return
    span = int(np.ceil(radius.max())) + 1
    if len(center) * 4 < (2 * span + 1) ** 2:
        for c, r, color in zip(center, radius, colors):
            _one_disc(canvas, c, float(r), color)
        return
    flat = canvas.reshape(-1, 3)
    corner = np.floor(center).astype(np.int64)
    single = bool((colors == colors[0]).all())
    cover = np.zeros(len(flat), np.float32) if single else None
    for dx in range(-span, span + 1):
        x = corner[:, 0] + dx
        for dy in range(-span, span + 1):
            y = corner[:, 1] + dy
            distance = np.hypot(x + 0.5 - center[:, 0], y + 0.5 - center[:, 1])
            alpha = np.clip(radius + np.float32(0.5) - distance, 0, 1)
            hit = (alpha > 0) & (x >= 0) & (x < width) & (y >= 0) & (y < height)
            pixel, alpha = x[hit] * height + y[hit], alpha[hit].astype(np.float32)
            if single:  # one colour: blend the union of the discs in one step
                cover[pixel] = np.maximum(cover[pixel], alpha)
            else:
                flat[pixel] += alpha[:, None] * (colors[hit] - flat[pixel])
    if single:
        drawn = np.flatnonzero(cover)
        flat[drawn] += cover[drawn, None] * (colors[0] - flat[drawn])


def _one_disc(canvas, center, radius, color):
    low = np.maximum(np.floor(center - radius - 1), 0).astype(int)
    high = np.minimum(np.ceil(center + radius + 1), canvas.shape[:2]).astype(int)
    x = np.arange(low[0], high[0], dtype=np.float32)[:, None] + np.float32(0.5) - center[0]
    y = np.arange(low[1], high[1], dtype=np.float32)[None, :] + np.float32(0.5) - center[1]
    alpha = np.clip(np.float32(radius + 0.5) - np.hypot(x, y), 0, 1)[..., None]
    part = canvas[low[0] : high[0], low[1] : high[1]]
    part += alpha * (color - part)
