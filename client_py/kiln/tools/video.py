"""Frames collected in a folder and made into mp4 or gif files by ffmpeg."""

import os
import shutil
import subprocess

from .image import imwrite

_FRAMES, _NAME = "frames", "%06d.png"


class VideoManager:
    """Writes frames to `output_dir`/frames; `make_video` joins them."""

    def __init__(
        self,
        output_dir,
        video_filename="video",
        width=None,
        height=None,
        post_processor=None,
        framerate=24,
        automatic_build=True,
    ):
        assert (width is None) == (height is None), "give both width and height, or neither"
        self.directory = output_dir
        self.frame_directory = os.path.join(output_dir, _FRAMES)
        os.makedirs(self.frame_directory, exist_ok=True)
        self.video_filename = video_filename
        self.width, self.height = width, height
        self.post_processor = post_processor
        self.framerate = framerate
        self.automatic_build = automatic_build
        self.frame_counter = 0
        self.frame_fns = []

    def get_output_filename(self, suffix):
        return os.path.join(self.directory, self.video_filename + suffix)

    def write_frame(self, img):
        """Saves one image, (width, height[, components])."""
        img = self.post_processor.process(img) if self.post_processor else img
        name = _NAME % self.frame_counter
        imwrite(img, os.path.join(self.frame_directory, name))
        self.frame_fns.append(name)
        self.frame_counter += 1

    def write_frames(self, images):
        for image in images:
            self.write_frame(image)

    def clean_frames(self):
        shutil.rmtree(self.frame_directory, ignore_errors=True)
        os.makedirs(self.frame_directory)
        self.frame_counter = 0

    def make_video(self, mp4=True, gif=True):
        """Makes the files asked for from the frames."""
        frames = os.path.join(self.frame_directory, _NAME)
        source = ["-framerate", str(self.framerate), "-i", frames]
        if mp4:
            target = self.get_output_filename(".mp4")
            _ffmpeg(*source, "-c:v", "libx264", "-pix_fmt", "yuv420p", target)
        if gif:
            palette = "split[a][b];[a]palettegen[p];[b][p]paletteuse"
            _ffmpeg(*source, "-vf", palette, self.get_output_filename(".gif"))


def _ffmpeg(*arguments):
    if shutil.which("ffmpeg") is None:
        raise RuntimeError("making videos needs ffmpeg: apt-get install ffmpeg")
    subprocess.run(["ffmpeg", "-y", "-loglevel", "error", *arguments], check=True)


__all__ = ["VideoManager"]
