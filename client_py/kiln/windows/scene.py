"""`ti.ui.Scene`: solids in space, with lights and a camera, for a window's canvas."""

from . import drawn, latest
from .camera import Camera
from .canvas import MESH, SCENE_LINES, SPHERES, shape_of

_AMBIENT = (0.1, 0.1, 0.1)


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

    def __init__(self, scene=None):
        self._window = scene
        self._camera = Camera()
        self._lights, self._ambient = [], _AMBIENT

    def set_camera(self, camera):
        """Sets the camera from which the scene is seen.

        camera: a `Camera`.
        """
        self._camera = camera

    def point_light(self, pos, color):
        """Adds a lamp for this frame, whose light is as strong at all distances. Those after the
        sixteenth have no effect.

        pos: its position. color: of its light.
        """
        call = "Scene.point_light"
        self._lights.append((drawn.color(pos, call, "pos"), drawn.color(color, call)))

    def ambient_light(self, color):
        """Sets the light that comes from everywhere, for this frame.

        color: of the light.
        """
        self._ambient = drawn.color(color, "Scene.ambient_light")

    def particles(
        self,
        centers,
        radius,
        color=(0.5, 0.5, 0.5),
        per_vertex_color=None,
        per_vertex_radius=None,
        index_offset=0,
        index_count=None,
    ):
        """Draws spheres.

        centers: vectors of 3 numbers. radius: of all spheres. color: of all spheres.
        per_vertex_color: vectors of 3 or 4 numbers, in place of `color`. per_vertex_radius:
        numbers, in place of `radius`. index_offset, index_count: which of the centers; by default
        all.
        """
        call = "Scene.particles"
        shape = shape_of(call, SPHERES, centers, (3,), color, per_vertex_color)
        shape["radius"] = drawn.positive(radius, call, "radius")
        if per_vertex_radius is not None:
            shape["radii"] = drawn.numbers(
                per_vertex_radius, call, "per_vertex_radius", len(shape["positions"])
            )
        shape["vertex_range"] = drawn.part(index_offset, index_count)
        self._add(call, shape)

    def lines(
        self,
        vertices,
        width,
        indices=None,
        color=(0.5, 0.5, 0.5),
        per_vertex_color=None,
        vertex_offset=0,
        vertex_count=None,
        index_offset=0,
        index_count=None,
    ):
        """Draws lines.

        vertices: vectors of 3 numbers. width: in pixels. indices: two for each line; by default
        each two vertices are one. color, per_vertex_color: as for `particles`. vertex_offset,
        vertex_count: which of the vertices; indices count from the first of them. index_offset,
        index_count: which of the indices.
        """
        call = "Scene.lines"
        shape = shape_of(call, SCENE_LINES, vertices, (3,), color, per_vertex_color, indices)
        shape["radius"] = drawn.positive(width, call, "width") / 2
        shape["vertex_range"] = drawn.part(vertex_offset, vertex_count)
        shape["index_range"] = drawn.part(index_offset, index_count)
        self._add(call, shape)

    def mesh(
        self,
        vertices,
        indices=None,
        normals=None,
        color=(0.5, 0.5, 0.5),
        per_vertex_color=None,
        two_sided=False,
        vertex_offset=0,
        vertex_count=None,
        index_offset=0,
        index_count=None,
        show_wireframe=False,
    ):
        """Draws triangles.

        vertices: vectors of 3 numbers. indices: three for each triangle; by default each three
        vertices are one. normals: a vector of 3 numbers for each vertex; by default the mean of the
        normals of its triangles. color, per_vertex_color: as for `particles`. two_sided: whether
        light also reaches the backs of triangles, where corners go clockwise. vertex_offset,
        vertex_count, index_offset, index_count: as for `lines`. show_wireframe: draws the edges of
        the triangles alone.
        """
        call = "Scene.mesh"
        shape = shape_of(call, MESH, vertices, (3,), color, per_vertex_color, indices)
        shape["vertex_range"] = drawn.part(vertex_offset, vertex_count)
        shape["index_range"] = drawn.part(index_offset, index_count)
        self._add_mesh(call, shape, normals, two_sided, show_wireframe)

    def mesh_instance(
        self,
        vertices,
        indices=None,
        normals=None,
        color=(0.5, 0.5, 0.5),
        per_vertex_color=None,
        two_sided=False,
        transforms=None,
        instance_offset=0,
        instance_count=None,
        vertex_offset=0,
        vertex_count=None,
        index_offset=0,
        index_count=None,
        show_wireframe=False,
    ):
        """Draws a mesh several times.

        transforms: 4 x 4 matrices, which multiply positions (x, y, z, 1) as columns: one for each
        instance. instance_offset, instance_count: which of them. vertices, indices, normals, color,
        per_vertex_color, two_sided, vertex_offset, vertex_count, index_offset, index_count,
        show_wireframe: as for `mesh`.
        """
        call = "Scene.mesh_instance"
        shape = shape_of(call, MESH, vertices, (3,), color, per_vertex_color, indices)
        shape["vertex_range"] = drawn.part(vertex_offset, vertex_count)
        shape["index_range"] = drawn.part(index_offset, index_count)
        if transforms is not None:
            found = drawn.view(transforms, call, "transforms")
            if found.ndim < 3 or found.shape[-2:] != (4, 4):
                raise ValueError(
                    f"{call}: `transforms` must hold 4 x 4 matrices; its shape is {found.shape}"
                )
            shape["transforms"] = found.reshape(-1, 16)
            shape["instance_range"] = drawn.part(instance_offset, instance_count)
        self._add_mesh(call, shape, normals, two_sided, show_wireframe)

    def _add_mesh(self, call, shape, normals, two_sided, show_wireframe):
        if normals is not None:
            count = len(shape["positions"])
            shape["normals"] = drawn.vectors(normals, call, "normals", (3,), count)
        shape["two_sided"], shape["wireframe"] = bool(two_sided), bool(show_wireframe)
        self._add(call, shape)

    def _add(self, call, shape):
        window = self._owner(call)
        if window._native is not None:
            window._draw(call, "add_to_scene", shape)

    def _owner(self, call):
        if self._window is None:  # made by the program, not by a window
            self._window = latest.window()
        if self._window is None:
            raise RuntimeError(f"{call}: open a window before drawing scenes")
        return self._window

    def _draw(self, window):
        call = "Canvas.scene"
        if self._owner(call) is not window:
            raise ValueError(f"{call}: the scene belongs to another window")
        lights, self._lights = self._lights, []
        ambient, self._ambient = self._ambient, _AMBIENT
        if window._open(call) is None:
            from . import display

            display.say_missing(call)
            return
        width, height = window.get_window_shape()
        view = self._camera.get_view_matrix()
        projection = self._camera.get_projection_matrix(width / height)
        window._draw(call, "draw_scene", view, projection, ambient, lights)
