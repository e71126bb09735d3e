"""What windows draw: one function for each call, which takes a window of 96 x 64 pixels.

tests/client_py/pictures holds a picture of each, which window_test.py compares and
`KILN_KEEP_PICTURES=1` writes again.
"""

import numpy as np

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def f32(rows):
    return np.array(rows, np.float32)


def camera(ti, position=(0, 1.0, 2.5)):
    made = ti.ui.Camera()
    made.position(*position)
    made.lookat(0, 0, 0)
    return made


def in_scene(ti, window, draw, **pose):
    scene = window.get_scene()
    scene.set_camera(camera(ti, **pose))
    scene.ambient_light((0.2, 0.2, 0.2))
    scene.point_light((1, 2, 2), (0.9, 0.9, 0.8))
    draw(scene)
    window.get_canvas().scene(scene)


def sheet(ti, n=8):
    """A wavy surface: (vertices (n, n), indices) of fields."""
    vertices = ti.Vector.field(3, ti.f32, shape=(n, n))
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    x, z = i / (n - 1) * 2 - 1, j / (n - 1) * 2 - 1
    vertices.from_numpy(np.stack([x, 0.3 * np.sin(3 * x), z], axis=-1).astype(np.float32))
    first = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).reshape(-1, 1)
    indices = ti.field(ti.i32, shape=(n - 1) ** 2 * 6)
    indices.from_numpy((first + [0, 1, n, 1, n + 1, n]).reshape(-1).astype(np.int32))
    return vertices, indices


@case
def image(ti, window):
    picture = ti.Vector.field(3, ti.f32, shape=(24, 16))
    values = np.fromfunction(lambda i, j, c: (i * (c == 0) + j * (c == 1)) / 24, (24, 16, 3))
    picture.from_numpy(values)
    window.get_canvas().set_image(picture)


@case
def grey_bytes(ti, window):
    window.get_canvas().set_image(np.arange(96 * 64, dtype=np.uint8).reshape(96, 64))


@case
def circles(ti, window):
    window.get_canvas().set_background_color((0.1, 0.2, 0.3))
    centers = ti.Vector.field(2, ti.f32, shape=3)
    centers.from_numpy(f32([[0.2, 0.5], [0.5, 0.2], [0.9, 1.0]]))
    window.get_canvas().circles(centers, radius=0.2, color=(1, 0.5, 0))


@case
def circles_of_sizes_and_colors(ti, window):
    window.get_canvas().circles(
        f32([[0.2, 0.5], [0.5, 0.5], [0.8, 0.5], [np.nan, 0.5]]),
        radius=1.0,
        per_vertex_color=f32([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]),
        per_vertex_radius=f32([0.1, 0.2, 0.3, 0.9]),
    )


@case
def many_circles(ti, window):
    centers = np.random.default_rng(1).random((20100, 2)).astype(np.float32) * [0.5, 1]
    window.get_canvas().circles(centers, radius=0.02, color=(0.3, 0.9, 0.6))


@case
def many_clear_circles(ti, window):
    """Clear circles of all sizes and colours; some are outside, some not finite."""
    random = np.random.default_rng(3).random((20100, 7)).astype(np.float32)
    centers = random[:, :2] * 1.4 - 0.2
    centers[::50, 0], centers[1::50, 1] = np.nan, np.inf
    colors = random[:, 2:6] * [1, 1, 1, 0.3]
    radii = np.where(np.arange(20100) % 100 == 7, 0.1, 0.002 + random[:, 6] * 0.01)
    canvas = window.get_canvas()
    canvas.set_background_color((0.5, 0.5, 0.5))
    canvas.triangles(f32([[0.2, 0.1], [0.9, 0.3], [0.4, 0.9]]), color=(1, 0, 0))
    canvas.circles(centers, radius=1, per_vertex_color=colors, per_vertex_radius=radii)


@case
def triangles(ti, window):
    window.get_canvas().triangles(f32([[0, 0], [0.5, 0], [0, 1], [np.nan, 0], [1, 1], [1, 0]]))


@case
def colored_triangles(ti, window):
    vertices = ti.Vector.field(2, ti.f64, shape=4)
    vertices.from_numpy(np.array([[0.1, 0.1], [0.9, 0.1], [0.9, 0.9], [0.1, 0.9]]))
    window.get_canvas().triangles(
        vertices,
        indices=np.array([0, 1, 2, 0, 2, 3]),
        per_vertex_color=f32([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 1, 0]]),
    )


@case
def lines(ti, window):
    vertices = f32([[0.1, 0.1], [0.9, 0.9], [0.1, 0.9], [0.5, 0.5], [-1e9, 0.3], [1e9, 0.3]])
    window.get_canvas().lines(vertices, width=0.05, color=(0, 1, 1))


@case
def colored_lines(ti, window):
    window.get_canvas().lines(
        f32([[0.1, 0.2], [0.9, 0.2], [0.5, 0.9]]),
        width=0.1,
        indices=np.array([0, 1, 1, 2]),
        per_vertex_color=f32([[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    )


@case
def contour(ti, window):
    field = ti.field(ti.f32, shape=(48, 32))
    field.from_numpy(np.fromfunction(lambda i, j: i * j, (48, 32)).astype(np.float32))
    window.get_canvas().contour(field, normalize=True)


@case
def vector_field(ti, window):
    window.get_canvas().set_background_color((1, 1, 1))
    turns = np.fromfunction(lambda i, j, c: np.where(c == 0, j - 10, 15 - i), (30, 20, 2))
    window.get_canvas().vector_field(turns.astype(np.float32), arrow_spacing=4, width=0.02)


@case
def layers(ti, window):
    """Later drawings are above, and a scene is above what came before it."""
    canvas = window.get_canvas()
    canvas.set_image(np.full((2, 2), 0.5, np.float32))
    canvas.circles(f32([[0.5, 0.5]]), radius=0.45, color=(1, 0, 0))
    in_scene(ti, window, lambda scene: scene.particles(f32([[0, 0, 0]]), radius=0.4))
    canvas.lines(f32([[0, 0.5], [1, 0.5]]), width=0.05, color=(0, 0, 1))


@case
def particles(ti, window):
    centers = f32([[-0.8, 0, 0], [0, 0, 0], [0.25, 0, 0.2], [0.9, 0, -1], [0, np.nan, 0]])
    colors = f32([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    radii = f32([0.2, 0.4, 0.3, 0.5, 0.5])
    in_scene(
        ti,
        window,
        lambda scene: scene.particles(
            centers, radius=0.1, per_vertex_color=colors, per_vertex_radius=radii
        ),
    )


@case
def many_particles(ti, window):
    centers = np.random.default_rng(2).random((20100, 3)).astype(np.float32) - 0.5
    in_scene(ti, window, lambda scene: scene.particles(centers, radius=0.02, color=(0.9, 0.6, 0.2)))


@case
def many_particles_in_a_mesh(ti, window):
    """Particles before and behind a surface, of their own sizes and colours; some are behind the
    camera, some not finite."""
    random = np.random.default_rng(4).random((20100, 7)).astype(np.float32)
    centers = (random[:, :3] - 0.5) * [1.5, 1, 6]
    centers[::50] = np.nan
    radii = np.where(np.arange(20100) % 1000 == 7, 0.2, 0.005 + random[:, 6] * 0.02)
    colors = random[:, 3:7] * 0.8 + 0.2

    def draw(scene):
        scene.point_light((-2, 0, 3), (0.6, 0.2, 0.2))
        vertices, indices = sheet(ti)
        scene.mesh(vertices, indices=indices, color=(0.9, 0.9, 0.2), two_sided=True)
        scene.particles(centers, radius=1, per_vertex_color=colors, per_vertex_radius=radii)

    in_scene(ti, window, draw, position=(0.5, 1, 2.5))


@case
def some_particles(ti, window):
    centers = f32([[x / 4, 0, 0] for x in range(-4, 5)])
    options = {"index_offset": 2, "index_count": 4}
    in_scene(ti, window, lambda scene: scene.particles(centers, radius=0.1, **options))


@case
def mesh(ti, window):
    vertices, indices = sheet(ti)
    in_scene(ti, window, lambda scene: scene.mesh(vertices, indices, color=(0.8, 0.4, 0.2)))


@case
def two_sided_mesh(ti, window):
    vertices, indices = sheet(ti)
    colors = np.tile(f32([[1, 0, 0], [0, 0, 1]]), (32, 1))
    in_scene(
        ti,
        window,
        lambda scene: scene.mesh(vertices, indices, per_vertex_color=colors, two_sided=True),
        position=(0, -1.5, 2),
    )


@case
def one_sided_mesh_from_behind(ti, window):
    vertices, indices = sheet(ti)
    in_scene(ti, window, lambda scene: scene.mesh(vertices, indices), position=(0, -1.5, 2))


@case
def wireframe(ti, window):
    vertices, indices = sheet(ti)
    in_scene(ti, window, lambda scene: scene.mesh(vertices, indices, show_wireframe=True))


@case
def part_of_a_mesh(ti, window):
    vertices, indices = sheet(ti)
    options = {"index_offset": 6 * 7 * 2, "index_count": 6 * 7 * 3, "two_sided": True}
    in_scene(ti, window, lambda scene: scene.mesh(vertices, indices, **options))


@case
def mesh_with_normals(ti, window):
    corners = f32([[-1, 0, 0], [1, 0, 0], [0, 1, 0]])
    normals = f32([[-1, 0, 1], [1, 0, 1], [0, 0, 1]])
    in_scene(ti, window, lambda scene: scene.mesh(corners, normals=normals, color=(1, 1, 1)))


@case
def instances(ti, window):
    corners = f32([[-0.2, 0, 0], [0.2, 0, 0], [0, 0.4, 0]])
    transforms = ti.Matrix.field(4, 4, ti.f32, shape=4)
    moved = np.tile(np.eye(4, dtype=np.float32), (4, 1, 1))
    moved[:, 0, 3] = [-1, -0.4, 0.3, 0.9]
    moved[2, :3, :3] *= 1.5
    transforms.from_numpy(moved)
    in_scene(
        ti,
        window,
        lambda scene: scene.mesh_instance(
            corners, transforms=transforms, instance_offset=1, color=(1, 0, 1), two_sided=True
        ),
    )


@case
def scene_lines(ti, window):
    vertices = f32([[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 9]])
    colors = f32([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 1]])
    in_scene(ti, window, lambda s: s.lines(vertices, width=3, per_vertex_color=colors))


@case
def orthogonal(ti, window):
    scene = window.get_scene()
    view = camera(ti, (2, 2, 2))
    view.projection_mode(ti.ui.ProjectionMode.Orthogonal)
    view.left(-1.5)
    view.right(1.5)
    scene.set_camera(view)
    scene.ambient_light((0.5, 0.5, 0.5))
    scene.particles(f32([[0, 0, 0], [0, 0.8, 0]]), radius=0.3)
    window.get_canvas().scene(scene)


@case
def widgets(ti, window):
    with window.get_gui().sub_window("panel", 0, 0, 1, 1) as panel:
        panel.text("speed", color=(1, 1, 0))
        panel.slider_float("v", 0.5, 0, 1)
