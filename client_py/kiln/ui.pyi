# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.ui`: windows with canvases, scenes and widgets."""

from typing import Any
ALT: str
BACKSPACE: str
CAPSLOCK: str
CTRL: str
class Camera:
    """The camera of a scene, at (0, 0, 0), which looks along z, with y up.

    Example::

        camera = ti.ui.Camera()
        camera.position(0, 1, 3)
        camera.lookat(0, 0, 0)
        print(camera.get_view_matrix()[3, 2])  # prints: -3.1622777
    """

    def bottom(self, bottom: Any) -> Any:
        """Sets the lower side of an orthogonal view.

        bottom: its distance from the axis.
        """
    curr_lookat: Any
    curr_position: Any
    curr_up: Any
    def fov(self, fov: Any) -> Any:
        """Sets the vertical angle of a perspective view.

        fov: in degrees.
        """
    def get_projection_matrix(self, aspect: Any) -> Any:
        """The projection: float32 (4, 4), which multiplies rows. Its depth is 1 at the near plane
        and 0 at the far one.

        aspect: the canvas's width divided by its height.
        """
    def get_view_matrix(self) -> Any:
        """The view: float32 (4, 4), which multiplies positions (x, y, z, 1) as rows."""
    last_mouse_x: Any
    last_time: Any
    def left(self, left: Any) -> Any:
        """Sets the left side of an orthogonal view.

        left: its distance from the axis.
        """
    def lookat(self, x: Any, y: Any, z: Any) -> Any:
        """Turns the camera.

        x, y, z: the position at which it looks.
        """
    def position(self, x: Any, y: Any, z: Any) -> Any:
        """Moves the camera.

        x, y, z: its position.
        """
    def projection_mode(self, mode: Any) -> Any:
        """Selects the projection.

        mode: ProjectionMode.Perspective or ProjectionMode.Orthogonal.
        """
    def right(self, right: Any) -> Any:
        """Sets the right side of an orthogonal view.

        right: its distance from the axis.
        """
    def top(self, top: Any) -> Any:
        """Sets the upper side of an orthogonal view.

        top: its distance from the axis.
        """
    def track_user_inputs(self, window: Any, movement_speed: Any = 1.0, yaw_speed: Any = 2.0, pitch_speed: Any = 2.0, hold_key: Any = None) -> Any:
        """Moves the camera by the keys w, a, s, d, e (up) and q (down), and turns it by the mouse.
        Call it once in each frame.

        window: the window whose keys and mouse count. movement_speed: a distance per 60th of a
        second. yaw_speed, pitch_speed: turns per movement of the mouse. hold_key: the key or button
        that has to be pressed for the mouse to count; None: it always counts.
        """
    def up(self, x: Any, y: Any, z: Any) -> Any:
        """Tilts the camera.

        x, y, z: the direction that is up on the canvas.
        """
    def z_far(self, z_far: Any) -> Any:
        """Sets the far plane.

        z_far: its distance. Nothing farther is drawn.
        """
    def z_near(self, z_near: Any) -> Any:
        """Sets the near plane.

        z_near: its distance. Nothing nearer is drawn.
        """
class Canvas:
    """The canvas of a window, which `Window.get_canvas()` returns. Positions are in [0, 1] x [0, 1]
    from the lower left corner. Radii and widths are fractions of the window's height. Colours are
    three numbers in 0..1. Drawings are above each other in the order of the calls, and gone after
    `Window.show()`.

    Vertices, colours and the like are fields or ndarrays of any shape, whose elements count in the
    order of their indices, or NumPy arrays.

    Example::

        window = ti.ui.Window("dots", (64, 64), show_window=False)
        window.get_canvas().circles(np.array([[0.5, 0.5]], np.float32), radius=0.25)
        print(window.get_image_buffer_as_numpy()[32, 32, 0])  # prints: 0.5019608
        window.destroy()
    """
    def __init__(self, canvas: Any) -> None: ...
    def circles(self, centers: Any, radius: Any, color: Any = ..., per_vertex_color: Any = None, per_vertex_radius: Any = None) -> Any:
        """Draws discs.

        centers: vectors of 2 numbers. radius: of all discs. color, per_vertex_color: as for
        `triangles`. per_vertex_radius: numbers, in place of `radius`.
        """
    def contour(self, scalar_field: Any, cmap_name: Any = "plasma", normalize: Any = False) -> Any:
        """Shows the numbers of a field as colours.

        scalar_field: a field or array of two axes. cmap_name: the colours: "plasma", or the name of
        a colormap of matplotlib, if that is installed. normalize: whether to map the smallest and
        largest number to the first and last colour; otherwise 0 and 1 are.
        """
    def lines(self, vertices: Any, width: Any, indices: Any = None, color: Any = ..., per_vertex_color: Any = None) -> Any:
        """Draws lines with round ends.

        vertices: vectors of 2 numbers. width: of the lines. indices: two for each line; by default
        each two vertices are one. color, per_vertex_color: as for `triangles`.
        """
    def scene(self, scene: Any) -> Any:
        """Draws a scene, and empties it for the next frame.

        scene: from `Window.get_scene()`.
        """
    def set_background_color(self, color: Any) -> Any:
        """Sets the colour of the window where nothing is drawn, from this frame on.

        color: three numbers in 0..1.
        """
    def set_image(self, img: Any) -> Any:
        """Shows an image on the whole canvas.

        img: a field or array (width, height) with 1 to 4 components: floats in 0..1, or unsigned
        integers. It is scaled to the canvas.
        """
    def triangles(self, vertices: Any, color: Any = ..., indices: Any = None, per_vertex_color: Any = None) -> Any:
        """Draws filled triangles.

        vertices: vectors of 2 numbers (or 3, of which the last is ignored). color: of all
        triangles. indices: three for each triangle; by default each three vertices are one.
        per_vertex_color: vectors of 3 or 4 numbers, in place of `color`.
        """
    def vector_field(self, vector_field: Any, arrow_spacing: Any = 5, scale: Any = 0.1, width: Any = 0.002, color: Any = ...) -> Any:
        """Draws the vectors of a field as arrows.

        vector_field: a field or array (width, height) of vectors of 2 numbers. arrow_spacing: draws
        every n-th vector along each axis. scale: the length of the longest arrow. width: of its
        lines. color: of all arrows.
        """
DOWN: str
ESCAPE: str
class Gui:
    """The widgets of a window, which `Window.get_gui()` returns. A widget is drawn, and its value
    changes, where the program calls it in each frame.

    Without a display, values stay and no button is pressed.

    Example::

        window = ti.ui.Window("panel", (128, 128), show_window=False)
        gui = window.get_gui()
        with gui.sub_window("settings", 0.1, 0.1, 0.8, 0.5) as panel:
            print(panel.slider_int("count", 3, 0, 10))  # prints: 3
        window.destroy()
    """
    def __init__(self, gui: Any) -> None: ...
    def begin(self, name: Any, x: Any, y: Any, width: Any, height: Any) -> Any:
        """Begins a panel, as `sub_window`; `end` ends it.

        name: its title. x, y: its upper left corner. width, height: its size.
        """
    def button(self, text: Any) -> Any:
        """Shows a button. Returns whether it was pressed.

        text: its caption.
        """
    def checkbox(self, text: Any, old_value: Any) -> Any:
        """Shows a box to tick. Returns its value.

        text: its caption. old_value: whether it was ticked.
        """
    def color_edit_3(self, text: Any, old_value: Any) -> Any:
        """Shows a colour to choose. Returns three numbers in 0..1.

        text: its caption. old_value: the colour so far.
        """
    def end(self) -> Any:
        """Ends the panel that `begin` began."""
    def slider_float(self, text: Any, old_value: Any, minimum: Any, maximum: Any) -> Any:
        """Shows a slider for floats. Returns its value.

        text: its caption. old_value: its value so far. minimum, maximum: the range.
        """
    def slider_int(self, text: Any, old_value: Any, minimum: Any, maximum: Any) -> Any:
        """Shows a slider for integers. Returns its value.

        text: its caption. old_value: its value so far. minimum, maximum: the range.
        """
    def sub_window(self, name: Any, x: Any, y: Any, width: Any, height: Any) -> Any:
        """A panel for the widgets of a `with` block.

        name: its title. x, y: its upper left corner, and width, height: its size, as fractions of
        the window. The user may move it and change its size.
        """
    def text(self, text: Any, color: Any = None) -> Any:
        """Shows a text.

        text: the text. color: its colour; three numbers in 0..1.
        """
LEFT: str
LMB: str
MMB: str
PRESS: str
class ProjectionMode:
    """The projection of a camera.

    Example::

        print(ti.ui.ProjectionMode.Perspective)  # prints: 0
    """

    Orthogonal: Any
    Perspective: Any
RELEASE: str
RETURN: str
RIGHT: str
RMB: str
SHIFT: str
SPACE: str
class Scene:
    """A scene, which `Window.get_scene()` returns. Its calls copy what they are given;
    `Canvas.scene` draws it and empties it for the next frame.

    Without a display and without OpenGL off screen, scenes are not drawn.

    Example::

        window = ti.ui.Window("ball", (64, 64), show_window=False)
        scene, camera = window.get_scene(), ti.ui.Camera()
        camera.position(0, 0, 3)
        camera.lookat(0, 0, 0)
        scene.set_camera(camera)
        scene.ambient_light((1, 1, 1))
        scene.particles(np.zeros((1, 3), np.float32), radius=0.5, color=(1, 0, 0))
        window.get_canvas().scene(scene)
        window.show()
        window.destroy()
    """
    def __init__(self, scene: Any = None) -> None: ...
    def ambient_light(self, color: Any) -> Any:
        """Sets the light that comes from everywhere, for this frame.

        color: of the light.
        """
    def lines(self, vertices: Any, width: Any, indices: Any = None, color: Any = ..., per_vertex_color: Any = None, vertex_offset: Any = 0, vertex_count: Any = None, index_offset: Any = 0, index_count: Any = None) -> Any:
        """Draws lines.

        vertices: vectors of 3 numbers. width: in pixels. indices: two for each line; by default
        each two vertices are one. color, per_vertex_color: as for `particles`. vertex_offset,
        vertex_count: which of the vertices; indices count from the first of them. index_offset,
        index_count: which of the indices.
        """
    def mesh(self, vertices: Any, indices: Any = None, normals: Any = None, color: Any = ..., per_vertex_color: Any = None, two_sided: Any = False, vertex_offset: Any = 0, vertex_count: Any = None, index_offset: Any = 0, index_count: Any = None, show_wireframe: Any = False) -> Any:
        """Draws triangles.

        vertices: vectors of 3 numbers. indices: three for each triangle; by default each three
        vertices are one. normals: a vector of 3 numbers for each vertex; by default the mean of the
        normals of its triangles. color, per_vertex_color: as for `particles`. two_sided: whether
        light also reaches the backs of triangles, where corners go clockwise. vertex_offset,
        vertex_count, index_offset, index_count: as for `lines`. show_wireframe: draws the edges of
        the triangles alone.
        """
    def mesh_instance(self, vertices: Any, indices: Any = None, normals: Any = None, color: Any = ..., per_vertex_color: Any = None, two_sided: Any = False, transforms: Any = None, instance_offset: Any = 0, instance_count: Any = None, vertex_offset: Any = 0, vertex_count: Any = None, index_offset: Any = 0, index_count: Any = None, show_wireframe: Any = False) -> Any:
        """Draws a mesh several times.

        transforms: 4 x 4 matrices, which multiply positions (x, y, z, 1) as columns: one for each
        instance. instance_offset, instance_count: which of them. vertices, indices, normals, color,
        per_vertex_color, two_sided, vertex_offset, vertex_count, index_offset, index_count,
        show_wireframe: as for `mesh`.
        """
    def particles(self, centers: Any, radius: Any, color: Any = ..., per_vertex_color: Any = None, per_vertex_radius: Any = None, index_offset: Any = 0, index_count: Any = None) -> Any:
        """Draws spheres.

        centers: vectors of 3 numbers. radius: of all spheres. color: of all spheres.
        per_vertex_color: vectors of 3 or 4 numbers, in place of `color`. per_vertex_radius:
        numbers, in place of `radius`. index_offset, index_count: which of the centers; by default
        all.
        """
    def point_light(self, pos: Any, color: Any) -> Any:
        """Adds a lamp for this frame, whose light is as strong at all distances. Those after the
        sixteenth have no effect.

        pos: its position. color: of its light.
        """
    def set_camera(self, camera: Any) -> Any:
        """Sets the camera from which the scene is seen.

        camera: a `Camera`.
        """
TAB: str
UP: str
class Window:
    """A window with a canvas, scenes and widgets. Without a display, or with `show_window=False`,
    its pictures are made off screen. Windows belong to the main thread.

    name: the title. res: width and height in pixels. vsync: whether `show` waits for the screen.
    show_window: whether the window is on the screen. fps_limit: the most frames per second on a
    screen. pos: the position of its upper left corner on the screen. KILN_GUI_FRAMES is the number
    of frames after which the program ends; KILN_GUI_SAVE is where frames are saved.

    Example::

        window = ti.ui.Window("triangle", (64, 64), show_window=False)
        canvas = window.get_canvas()
        canvas.set_background_color((0, 0, 1))
        canvas.triangles(np.array([[0, 0], [1, 0], [0, 1]], np.float32), color=(1, 1, 0))
        window.save_image("triangle.png")
        print(window.get_image_buffer_as_numpy()[60, 60])  # prints: [0. 0. 1. 1.]
        window.destroy()
    """
    def __init__(self, name: Any, res: Any, vsync: Any = False, show_window: Any = True, fps_limit: Any = 1000, pos: Any = ...) -> None: ...
    Event: Any
    @property
    def GUI(self) -> Any:
        """The window's widgets; an older name of `get_gui()`."""
    def __enter__(self) -> Any: ...
    def __exit__(self, *_: Any) -> None: ...
    def destroy(self) -> Any:
        """Closes the window. Later calls of it are errors."""
    event: Any
    fps_limit: Any
    frame: Any
    def get_canvas(self) -> Any:
        """The window's canvas."""
    def get_cursor_pos(self) -> Any:
        """The position of the mouse in [0, 1] x [0, 1], from the lower left corner."""
    def get_depth_buffer(self, depth: Any) -> Any:
        """Copies the depths of the scene: 1 at the near plane, 0 at the far one and where nothing
        is.

        depth: a field or ndarray of floats, (width, height), which receives them.
        """
    def get_depth_buffer_as_numpy(self) -> Any:
        """The depths of the scene, as `get_depth_buffer`: float32 (width, height)."""
    def get_event(self, tag: Any = None) -> Any:
        """Whether there was an event; if so, `self.event` is the first one.

        tag: as for `get_events`.
        """
    def get_events(self, tag: Any = None) -> Any:
        """A list of the events since the last call.

        tag: `ti.ui.PRESS` or `ti.ui.RELEASE`, for events of that type alone; others are kept.
        """
    def get_gui(self) -> Any:
        """The window's widgets."""
    def get_image_buffer_as_numpy(self) -> Any:
        """The picture of this frame so far, or of the last one if nothing was drawn since. It is
        float32 (width, height, 4), with numbers in 0..1, the first axis to the right and the second
        up.
        """
    def get_scene(self) -> Any:
        """The window's scene."""
    def get_window_shape(self) -> Any:
        """Width and height in pixels. The user may change them."""
    def is_pressed(self, *keys: Any) -> Any:
        """Whether any of the keys or buttons is held down.

        keys: names such as "a", `ti.ui.SPACE` or `ti.ui.LMB`.
        """
    running: Any
    def save_image(self, filename: Any) -> Any:
        """Writes the picture of this frame so far, or of the last one if nothing was drawn since.

        filename: the file; its ending is the format. PNG needs nothing, others need Pillow.
        """
    def show(self) -> Any:
        """Ends a frame and shows it. The canvas is empty afterwards."""
    def write_image(self, filename: Any) -> Any:
        """Writes the picture of this frame so far, or of the last one if nothing was drawn since.

        filename: the file; its ending is the format. PNG needs nothing, others need Pillow.
        """
def check_ggui_availability() -> Any:
    """Does nothing: windows need no Vulkan, and are drawn without a display, too.

    Example::

        ti.ui.check_ggui_availability()
    """
def make_camera() -> Any:
    """A new camera.

    Example::

        print(type(ti.ui.make_camera()).__name__)  # prints: Camera
    """
