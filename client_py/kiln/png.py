"""PNG files from 8-bit arrays, still and moving, without an image library."""

import struct
import zlib

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}  # components -> PNG colour type


def encode(rows, level=6):
    """The bytes of a PNG file. rows: uint8, shape (height, width, 1 to 4), top row first."""
    data = zlib.compress(_scan_lines(rows), level)
    return b"".join((_SIGNATURE, _header(rows), _chunk(b"IDAT", data), _chunk(b"IEND", b"")))


class Animation:
    """Writes a moving PNG file (APNG, https://www.w3.org/TR/png-3/#apng-frame-based-animation),
    frame by frame. `close` completes the file, which plays for ever.

    path: the file. per_second: the number of frames shown in a second.
    """

    def __init__(self, path, per_second=60):
        self._file = open(path, "wb")
        self._per_second = per_second
        self._last = None  # the rows of the latest frame
        self._frames = self._chunks = 0

    def add(self, rows):
        """Adds a frame. rows: as for `encode`; of the same shape in all frames."""
        import numpy as np

        top = left = 0
        changed = rows
        if self._last is None:
            self._file.write(_SIGNATURE + _header(rows) + self._control())
        elif rows.shape != self._last.shape:
            raise ValueError(f"a frame of shape {rows.shape} after one of {self._last.shape}")
        else:
            # Only the rectangle that has changed; at least one pixel, as the format wants.
            differs = (rows != self._last).any(axis=2)
            at = [np.flatnonzero(differs.any(axis=axis)) for axis in (1, 0)]
            (top, bottom), (left, right) = ((a[0], a[-1] + 1) if a.size else (0, 1) for a in at)
            changed = rows[top:bottom, left:right]
        height, width = changed.shape[:2]
        place = struct.pack(">IIIIHHBB", width, height, left, top, 1, self._per_second, 0, 0)
        self._file.write(_chunk(b"fcTL", self._number() + place))
        data = zlib.compress(_scan_lines(changed), 9)
        # The first frame is the picture that programs without animations show.
        self._file.write(
            _chunk(b"IDAT", data) if self._last is None else _chunk(b"fdAT", self._number() + data)
        )
        self._last = rows.copy()
        self._frames += 1

    def close(self):
        self._file.write(_chunk(b"IEND", b""))
        if self._frames:
            self._file.seek(len(_SIGNATURE) + len(_header(self._last)))
            self._file.write(self._control())
        self._file.close()

    def _control(self):
        return _chunk(b"acTL", struct.pack(">II", self._frames, 0))

    def _number(self):
        self._chunks += 1
        return struct.pack(">I", self._chunks - 1)


def _header(rows):
    height, width, components = rows.shape
    return _chunk(
        b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPE[components], 0, 0, 0)
    )


def _scan_lines(rows):
    import numpy as np

    rows = np.ascontiguousarray(rows)
    if rows.dtype != np.uint8 or rows.ndim != 3 or rows.shape[2] not in _COLOR_TYPE:
        raise ValueError(f"a PNG needs uint8 (height, width, 1..4), not {rows.dtype} {rows.shape}")
    height, width, components = rows.shape
    # The first byte of each scan line is its filter; 0 means none.
    lines = np.zeros((height, 1 + width * components), np.uint8)
    lines[:, 1:] = rows.reshape(height, -1)
    return lines.tobytes()


def _chunk(tag, body):
    return struct.pack(">I", len(body)) + tag + body + struct.pack(">I", zlib.crc32(tag + body))
