"""Collects frames in a folder. ffmpeg makes mp4 files of them; ffmpeg or Pillow makes gif files."""

import os
import shutil
import subprocess

from ..film import Film
from ..picture import pillow
from .image import imwrite

FRAME_DIR = "frames"
FRAME_FN_TEMPLATE = "%06d.png"
_GIF_COLORS = "split[a][b];[a]palettegen[p];[b][p]paletteuse"


class VideoManager:
    """Writes frames to `output_dir`/frames; `make_video` joins them.

    Args:
        output_dir: the folder for frames and videos; it is created.
        video_filename: the name of the videos without ending; by default "video".
        width, height: the size of the video; by default that of the first frame.
        post_processor: an object whose `process(image)` is applied to each frame.
        framerate: frames per second.
        automatic_build: whether to make videos also after 4, 8, 16, … frames, if ffmpeg exists.

    Example::

        import os

        video = ti.tools.VideoManager("out", framerate=24, automatic_build=False)
        for brightness in (0, 128, 255):
            video.write_frame(np.full((16, 16), brightness, np.uint8))
        print(len(os.listdir(video.get_frame_directory())))  # prints: 3
    """

    def __init__(
        self,
        output_dir,
        video_filename=None,
        width=None,
        height=None,
        post_processor=None,
        framerate=24,
        automatic_build=True,
    ):
        assert (width is None) == (height is None), "give both width and height, or neither"
        self.directory = output_dir
        self.frame_directory = os.path.join(output_dir, FRAME_DIR)
        os.makedirs(self.frame_directory, exist_ok=True)
        self.video_filename = video_filename
        self.width, self.height = width, height
        self.post_processor = post_processor
        self.framerate = framerate
        self.automatic_build = automatic_build
        self.next_video_checkpoint = 4
        self.frame_counter = 0
        self.frame_fns = []

    def get_output_filename(self, suffix):
        """The path of a video.

        suffix: the ending, as ".mp4".
        """
        name, ending = os.path.splitext(self.video_filename or "video")
        if ending:
            print(f"Warning: file extension {ending} will be disregarded!")
        return os.path.join(self.directory, name + suffix)

    def get_frame_directory(self):
        """The folder of the frames."""
        return self.frame_directory

    def write_frame(self, img):
        """Saves one image as the next frame. Odd extents lose a row or column.

        img: a field or array (width, height[, components]).
        """
        img = img.to_numpy() if hasattr(img, "to_numpy") else img
        if img.shape[0] % 2:
            print("Warning: height is not divisible by 2! Dropping last row")
            img = img[:-1]
        if img.shape[1] % 2:
            print("Warning: width is not divisible by 2! Dropping last column")
            img = img[:, :-1]
        img = self.post_processor.process(img) if self.post_processor else img
        if self.width is None:
            self.width, self.height = img.shape[:2]
        name = FRAME_FN_TEMPLATE % self.frame_counter
        imwrite(img, os.path.join(self.frame_directory, name))
        self.frame_fns.append(name)
        self.frame_counter += 1
        if self.frame_counter % self.next_video_checkpoint == 0 and self.automatic_build:
            self.next_video_checkpoint *= 2
            if shutil.which(get_ffmpeg_path()):
                self.make_video()

    def write_frames(self, images):
        """Saves images as the next frames.

        images: fields or arrays, as for `write_frame`.
        """
        for image in images:
            self.write_frame(image)

    def clean_frames(self):
        """Removes the frames that were written."""
        for name in self.frame_fns:
            path = os.path.join(self.frame_directory, name)
            if os.path.exists(path):
                os.remove(path)

    def make_video(self, mp4=True, gif=True):
        """Makes videos of the frames. An mp4 file needs ffmpeg, a gif file ffmpeg or Pillow; raises
        RuntimeError if they are missing.

        mp4, gif: which files to make.
        """
        frames = os.path.join(self.frame_directory, FRAME_FN_TEMPLATE)
        if mp4:
            movie = self.get_output_filename(".mp4")
            _encode(self.framerate, frames, self.width, self.height, 1, movie)
        if not gif:
            return
        if shutil.which(get_ffmpeg_path()):
            source = ["-framerate", str(self.framerate), "-i", frames]
            _ffmpeg(*source, "-vf", _GIF_COLORS, self.get_output_filename(".gif"))
        else:
            self._make_gif_by_pillow(self.get_output_filename(".gif"))

    def _make_gif_by_pillow(self, path):
        import numpy as np

        film = Film(path, self.framerate)
        for name in self.frame_fns:
            with pillow("read").open(os.path.join(self.frame_directory, name)) as image:
                film.add(np.asarray(image.convert("RGB")))
        film.close()


def make_video(input_files, width=0, height=0, frame_rate=24, crf=20, output_path="video.mp4"):
    """Makes an mp4 file of images.

    Args:
        input_files: a list of PNG files, or a pattern such as "frames/%04d.png".
        width, height: the size of the video; by default, for a list, that of the first file.
        frame_rate: frames per second.
        crf: ffmpeg's quality; 0 is the best.
        output_path: the file to write.
    """
    if isinstance(input_files, str):
        assert width and height, "of a pattern, give width and height"
        _encode(frame_rate, input_files, width, height, crf, output_path)
        return
    assert isinstance(input_files, list), (
        "input_files should be list (of files) or str (of file template, e.g., "
        f'"%04d.png") instead of {type(input_files)}'
    )
    import tempfile

    from PIL import Image

    with Image.open(input_files[0]) as image:
        width, height = (extent - extent % 2 for extent in image.size)
    with tempfile.TemporaryDirectory() as folder:
        for i, path in enumerate(input_files):
            shutil.copy(path, os.path.join(folder, FRAME_FN_TEMPLATE % i))
        frames = os.path.join(folder, FRAME_FN_TEMPLATE)
        _encode(frame_rate, frames, width, height, crf, output_path)


def mp4_to_gif(input_fn, output_fn, framerate):
    """Makes a gif of a video, with a palette computed from the video."""
    _ffmpeg("-i", input_fn, "-vf", f"fps={framerate},{_GIF_COLORS}", output_fn)


def scale_video(input_fn, output_fn, ratiow, ratioh):
    """Makes a video of another size."""
    _ffmpeg("-i", input_fn, "-vf", f"scale=iw*{ratiow:.4f}:ih*{ratioh:.4f}", output_fn)


def crop_video(input_fn, output_fn, x_begin, x_end, y_begin, y_end):
    """Cuts a rectangle out of a video; bounds are in 0..1, y counts from below."""
    width, height = f"iw*{x_end - x_begin:.4f}", f"ih*{y_end - y_begin:.4f}"
    corner = f"iw*{x_begin:.4f}:ih*{1 - y_end:.4f}"
    _ffmpeg("-i", input_fn, "-filter:v", f"crop={width}:{height}:{corner}", output_fn)


def accelerate_video(input_fn, output_fn, speed):
    """Makes a video that runs `speed` times as fast."""
    _ffmpeg("-i", input_fn, "-filter:v", f"setpts={1 / speed:.4f}*PTS", output_fn)


def get_ffmpeg_path():
    return "ffmpeg"


def _encode(frame_rate, frames, width, height, crf, output_path):
    source = ["-framerate", str(frame_rate), "-i", frames, "-s:v", f"{width}x{height}"]
    codec = ["-c:v", "libx264", "-profile:v", "high", "-crf", str(crf), "-pix_fmt", "yuv420p"]
    _ffmpeg(*source, *codec, output_path)


def _ffmpeg(*arguments):
    program = get_ffmpeg_path()
    if shutil.which(program) is None:
        raise RuntimeError("making videos needs ffmpeg: apt-get install ffmpeg")
    subprocess.run([program, "-y", "-loglevel", "error", *arguments], check=True)


__all__ = ["VideoManager"]
