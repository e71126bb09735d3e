"""Moving pictures, written frame by frame: APNG needs nothing, GIF Pillow or ffmpeg, MP4 ffmpeg."""

import os
import shutil
import subprocess
import tempfile

from . import png


class Film:
    """Writes a moving picture in the format of the file name's ending. `close` completes the file.

    path: the file, whose folder is made if necessary. per_second: the number of frames shown in a
    second; a GIF shows at most 50. Raises ValueError for other endings, and RuntimeError if a
    program or library is missing or fails.
    """

    def __init__(self, path, per_second=60):
        self._path, self._per_second = path, per_second
        self._make = _writer(path)
        self._writer = self._shape = None

    def add(self, rows):
        """Adds a frame.

        rows: uint8 (height, width, 3), the top row first. All frames have the size of the first:
        what others have more is cut off, what they have less is black.
        """
        import numpy as np

        if self._writer is None:
            os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
            self._shape = rows.shape
            self._writer = self._make(self._path, self._per_second)
        if rows.shape != self._shape:
            height, width = np.minimum(rows.shape, self._shape)[:2]
            fitted = np.zeros(self._shape, np.uint8)
            fitted[:height, :width] = rows[:height, :width]
            rows = fitted
        self._writer.add(rows)

    def close(self):
        """Completes the file. Without frames there is none."""
        if self._writer is not None:
            self._writer.close()


def _writer(path):
    """The class that writes the format of a file name."""
    ending = os.path.splitext(path)[1].lower()
    if ending == ".apng":
        return png.Animation
    if ending not in (".gif", ".mp4"):
        raise ValueError(f"{path}: moving pictures end in .apng, .gif or .mp4")
    if shutil.which("ffmpeg"):
        return _ByFfmpeg
    if ending == ".mp4":
        raise RuntimeError(f"{path}: MP4 needs ffmpeg (apt-get install ffmpeg); APNG does not")
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise RuntimeError(
            f"{path}: GIF needs Pillow (apt-get install python3-pil) or ffmpeg; APNG does not"
        ) from None
    return _ByPillow


class _ByFfmpeg:
    """Pipes frames to a process of ffmpeg."""

    # Each frame of a GIF has colours of its own, so that ffmpeg need not keep all frames.
    _OPTIONS = {
        ".gif": ["-vf", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"],
        ".mp4": "-c:v libx264 -crf 16 -pix_fmt yuv420p".split(),
    }

    def __init__(self, path, per_second):
        self._path = path
        self._ending = os.path.splitext(path)[1].lower()
        self._per_second = min(per_second, _MOST_OF_GIF) if self._ending == ".gif" else per_second
        self._process = None
        self._errors = tempfile.TemporaryFile()

    def add(self, rows):
        import numpy as np

        if self._ending == ".mp4":  # has one colour for each two by two pixels
            rows = np.pad(rows, [(0, n % 2) for n in rows.shape[:2]] + [(0, 0)], "edge")
        if self._process is None:
            self._process = self._started(*rows.shape[:2])
        try:
            self._process.stdin.write(rows.tobytes())
        except BrokenPipeError:
            self._fail()

    def _started(self, height, width):
        source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
        source += ["-r", str(self._per_second), "-i", "-"]
        to = [*self._OPTIONS[self._ending], os.path.abspath(self._path)]
        return subprocess.Popen(
            ["ffmpeg", "-y", "-loglevel", "error", *source, *to],
            stdin=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C ends the program, which then completes the file
        )

    def close(self):
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # its exit status tells
        if self._process.wait() != 0:
            self._fail()

    def _fail(self):
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip()
        raise RuntimeError(f"{self._path}: ffmpeg failed: {said}") from None


class _ByPillow:
    """Collects the frames of a GIF, in 256 colours each, in a file without a name; Pillow wants all
    of them at once."""

    def __init__(self, path, per_second):
        self._path, self._per_second = path, per_second
        self._frames = tempfile.TemporaryFile()
        self._size = None

    def add(self, rows):
        from PIL import Image

        image = Image.fromarray(rows).quantize()
        self._size = image.size
        palette = bytes(image.getpalette()).ljust(_PALETTE, b"\0")
        self._frames.write(palette + image.tobytes())

    def _images(self):
        from PIL import Image

        self._frames.seek(0)
        while palette := self._frames.read(_PALETTE):
            pixels = self._frames.read(self._size[0] * self._size[1])
            image = Image.frombytes("P", self._size, pixels)
            image.putpalette(palette)
            yield image

    def close(self):
        images = self._images()
        duration = 1000 / min(self._per_second, _MOST_OF_GIF)
        options = {"save_all": True, "append_images": images, "duration": duration, "loop": 0}
        next(images).save(self._path, format="GIF", **options)
        self._frames.close()


_MOST_OF_GIF = 50  # frames a second: browsers slow a GIF down that has more
_PALETTE = 3 * 256  # bytes
