"""PNG files from 8-bit arrays, without an image library."""

import struct
import zlib

_COLOR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}  # components -> PNG colour type


def encode(rows, level=6):
    """The bytes of a PNG file. rows: uint8, shape (height, width, 1 to 4), top row first."""
    import numpy as np

    rows = np.ascontiguousarray(rows)
    if rows.dtype != np.uint8 or rows.ndim != 3 or rows.shape[2] not in _COLOR_TYPE:
        raise ValueError(f"a PNG needs uint8 (height, width, 1..4), not {rows.dtype} {rows.shape}")
    height, width, components = rows.shape
    # The first byte of each scan line is its filter; 0 means none.
    lines = np.zeros((height, 1 + width * components), np.uint8)
    lines[:, 1:] = rows.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPE[components], 0, 0, 0)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), level)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(tag, body):
    return struct.pack(">I", len(body)) + tag + body + struct.pack(">I", zlib.crc32(tag + body))
