# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.tools`: files of images, PLY meshes, VTK grids and videos. Modules load at their first
use.
"""

from typing import Any
class PLYWriter:
    """Collects channels of vertices and faces, and writes one file, or one per frame.

    Args:
        num_vertices, num_faces: the numbers of vertices and faces.
        face_type: "tri" or "quad".
        comment: a line in the file's header.

    Example::

        writer = ti.tools.PLYWriter(num_vertices=3, num_faces=1)
        x, y = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
        writer.add_vertex_pos(x, y, np.zeros(3))
        writer.add_faces(np.array([0, 1, 2]))
        writer.export("triangle.ply")
    """
    def __init__(self, num_vertices: Any, num_faces: Any = 0, face_type: Any = "tri", comment: Any = "created by PLYWriter") -> None: ...
    def add_face_channel(self, key: Any, data_type: Any, data: Any) -> Any:
        """Adds a channel of numbers for the faces, as `add_vertex_channel` does.

        key: the channel's name. data_type: a PLY type. data: one number, or more, for each face.
        """
    def add_face_id(self) -> Any:
        """Adds the numbers of the faces, from 0."""
    def add_face_piece(self, piece: Any) -> Any:
        """Adds the number of the piece to which each face belongs.

        piece: an array with a number for each face.
        """
    def add_faces(self, indices: Any) -> Any:
        """Adds the faces.

        indices: the numbers of the vertices, three or four per face.
        """
    def add_vertex_alpha(self, alpha: Any) -> Any:
        """Adds the opacity of the vertices.

        alpha: an array with a number in 0..1 for each vertex.
        """
    def add_vertex_channel(self, key: Any, data_type: Any, data: Any) -> Any:
        """Adds a channel of numbers for the vertices. For an unknown type it only prints a message.

        key: the channel's name. data_type: a PLY type, as "float". data: one number for each
        vertex; or (n, m) for m channels named `key`_1 to `key`_m.
        """
    def add_vertex_color(self, r: Any, g: Any, b: Any) -> Any:
        """Adds the colours of the vertices.

        r, g, b: arrays with a number in 0..1 for each vertex.
        """
    def add_vertex_id(self) -> Any:
        """Adds the numbers of the vertices, from 0."""
    def add_vertex_normal(self, nx: Any, ny: Any, nz: Any) -> Any:
        """Adds the normals of the vertices.

        nx, ny, nz: arrays with a number for each vertex.
        """
    def add_vertex_piece(self, piece: Any) -> Any:
        """Adds the number of the piece to which each vertex belongs.

        piece: an array with a number for each vertex.
        """
    def add_vertex_pos(self, x: Any, y: Any, z: Any) -> Any:
        """Adds the positions of the vertices.

        x, y, z: arrays with a number for each vertex.
        """
    def add_vertex_rgba(self, r: Any, g: Any, b: Any, a: Any) -> Any:
        """Adds the colours and opacity of the vertices.

        r, g, b, a: arrays with a number in 0..1 for each vertex.
        """
    def add_vertex_vel(self, vx: Any, vy: Any, vz: Any) -> Any:
        """Adds the velocities of the vertices.

        vx, vy, vz: arrays with a number for each vertex.
        """
    def export(self, path: Any) -> Any:
        """Writes a binary file.

        path: the file's path.
        """
    def export_ascii(self, path: Any) -> Any:
        """Writes a text file.

        path: the file's path.
        """
    def export_frame(self, series_num: Any, path: Any) -> Any:
        """Writes a binary file for one frame.

        series_num: the frame's number. path: the file's path, to which the number is added.
        """
    def export_frame_ascii(self, series_num: Any, path: Any) -> Any:
        """Writes a text file for one frame.

        series_num: the frame's number. path: the file's path, to which the number is added.
        """
    face_indices: Any
    num_face_channels: Any
    num_vertex_channels: Any
    def print_header(self, path: Any, _format: Any) -> Any:
        """Starts the file at `path` with the header."""
    def sanity_check(self) -> Any:
        """Asserts that positions were added, and that the faces refer to existing vertices."""
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
    def __init__(self, output_dir: Any, video_filename: Any = None, width: Any = None, height: Any = None, post_processor: Any = None, framerate: Any = 24, automatic_build: Any = True) -> None: ...
    automatic_build: Any
    def clean_frames(self) -> Any:
        """Removes the frames that were written."""
    directory: Any
    frame_counter: Any
    frame_directory: Any
    frame_fns: Any
    framerate: Any
    def get_frame_directory(self) -> Any:
        """The folder of the frames."""
    def get_output_filename(self, suffix: Any) -> Any:
        """The path of a video.

        suffix: the ending, as ".mp4".
        """
    def make_video(self, mp4: Any = True, gif: Any = True) -> Any:
        """Makes videos of the frames. An mp4 file needs ffmpeg, a gif file ffmpeg or Pillow; raises
        RuntimeError if they are missing.

        mp4, gif: which files to make.
        """
    next_video_checkpoint: Any
    post_processor: Any
    video_filename: Any
    def write_frame(self, img: Any) -> Any:
        """Saves one image as the next frame. Odd extents lose a row or column.

        img: a field or array (width, height[, components]).
        """
    def write_frames(self, images: Any) -> Any:
        """Saves images as the next frames.

        images: fields or arrays, as for `write_frame`.
        """
diagnose: Any
image: Any
def imread(filename: Any, channels: Any = 0) -> Any:
    """Reads an image: a uint8 array (width, height, components), indexed [x, y] from the lower
    left.

    filename: the file's path. channels: the number of components; 0 keeps the file's. Raises
    ImportError if Pillow is missing.

        ti.tools.imwrite(np.zeros((8, 4, 3), np.uint8), "black.png")
        print(ti.tools.imread("black.png").shape)  # prints: (8, 4, 3)
    """
def imresize(img: Any, w: Any, h: Any = None) -> Any:
    """Resizes an image by nearest-neighbour sampling; returns an array.

    img: a field or array (width, height[, components]). w, h: the new width and height; by default
    `h` is `w`.

        print(ti.tools.imresize(np.zeros((8, 4)), 2).shape)  # prints: (2, 2)
    """
def imshow(img: Any, title: Any = "imshow") -> Any:
    """Shows an image until its window is closed; without a display, for one frame.

    img: a field or array, as for `imwrite`. title: the window's title. KILN_GUI_FRAMES sets the
    number of frames; KILN_GUI_SAVE saves them. In a notebook the image is the cell's output.

        ti.tools.imshow(np.zeros((8, 4)))
    """
def imwrite(img: Any, filename: Any) -> Any:
    """Saves an image to a file, in the format of the file name's ending.

    img: a field or array (width, height[, 1, 3 or 4]), indexed [x, y] from the lower left. It holds
    unsigned integers by the range of their type, or floats in 0..1. filename: the file's path.

        ti.tools.imwrite(np.zeros((8, 4, 3), np.uint8), "black.png")
    """
np2ply: Any
video: Any
vtk: Any
def write_vtk(scalar_field: Any, filename: Any) -> Any:
    """Saves a field as a VTK rectilinear grid with one value per cell.

    scalar_field: a field of numbers with two or three axes. filename: the file's path without its
    ending, .vtr.

        x = ti.field(ti.f32, shape=(4, 4))
        ti.tools.write_vtk(x, "grid")
    """
