"""Cameras of scenes: position and projection, and their control by keys and mouse."""

import time
from math import asin, atan2, cos, pi, sin, tan

_STEPS_PER_SECOND = 60  # a speed is a distance or angle in a 60th of a second


class ProjectionMode:
    """The projection of a camera.

    Example::

        print(ti.ui.ProjectionMode.Perspective)  # prints: 0
    """

    Perspective, Orthogonal = 0, 1


class Camera:
    """The camera of a scene, at (0, 0, 0), which looks along z, with y up.

    Example::

        camera = ti.ui.Camera()
        camera.position(0, 1, 3)
        camera.lookat(0, 0, 0)
        print(camera.get_view_matrix()[3, 2])  # prints: -3.1622777
    """

    def __init__(self):
        self.position(0.0, 0.0, 0.0)
        self.lookat(0.0, 0.0, 1.0)
        self.up(0.0, 1.0, 0.0)
        self.projection_mode(ProjectionMode.Perspective)
        self.fov(45.0)
        self.left(-1.0)
        self.right(1.0)
        self.bottom(-1.0)
        self.top(1.0)
        self.z_near(0.1)
        self.z_far(1000.0)
        self.last_mouse_x = self.last_mouse_y = self.last_time = None

    def position(self, x, y, z):
        """Moves the camera.

        x, y, z: its position.
        """
        self.curr_position = _vector(x, y, z)

    def lookat(self, x, y, z):
        """Turns the camera.

        x, y, z: the position at which it looks.
        """
        self.curr_lookat = _vector(x, y, z)

    def up(self, x, y, z):
        """Tilts the camera.

        x, y, z: the direction that is up on the canvas.
        """
        self.curr_up = _vector(x, y, z)

    def projection_mode(self, mode):
        """Selects the projection.

        mode: ProjectionMode.Perspective or ProjectionMode.Orthogonal.
        """
        if mode not in (ProjectionMode.Perspective, ProjectionMode.Orthogonal):
            raise ValueError(f"Camera.projection_mode: {mode!r} is not a ProjectionMode")
        self._mode = mode

    def fov(self, fov):
        """Sets the vertical angle of a perspective view.

        fov: in degrees.
        """
        self._fov = float(fov)

    def left(self, left):
        """Sets the left side of an orthogonal view.

        left: its distance from the axis.
        """
        self._left = float(left)

    def right(self, right):
        """Sets the right side of an orthogonal view.

        right: its distance from the axis.
        """
        self._right = float(right)

    def top(self, top):
        """Sets the upper side of an orthogonal view.

        top: its distance from the axis.
        """
        self._top = float(top)

    def bottom(self, bottom):
        """Sets the lower side of an orthogonal view.

        bottom: its distance from the axis.
        """
        self._bottom = float(bottom)

    def z_near(self, z_near):
        """Sets the near plane.

        z_near: its distance. Nothing nearer is drawn.
        """
        self._near = float(z_near)

    def z_far(self, z_far):
        """Sets the far plane.

        z_far: its distance. Nothing farther is drawn.
        """
        self._far = float(z_far)

    def get_view_matrix(self):
        """The view: float32 (4, 4), which multiplies positions (x, y, z, 1) as rows."""
        import numpy as np

        eye, at, up = (np.array(list(v), float) for v in self._pose())
        back = _unit(eye - at, (0, 0, 1))
        right = _unit(np.cross(up, back), (1, 0, 0))
        matrix = np.eye(4)
        matrix[:3, :3] = np.stack([right, np.cross(back, right), back], axis=1)
        matrix[3, :3] = -eye @ matrix[:3, :3]
        return matrix.astype(np.float32)

    def get_projection_matrix(self, aspect):
        """The projection: float32 (4, 4), which multiplies rows. Its depth is 1 at the near plane
        and 0 at the far one.

        aspect: the canvas's width divided by its height.
        """
        import numpy as np

        near, far = self._near, self._far
        matrix = np.zeros((4, 4))
        if self._mode == ProjectionMode.Perspective:
            scale = 1 / tan(self._fov * pi / 360)
            matrix[0, 0], matrix[1, 1] = scale / aspect, scale
            matrix[2, 2], matrix[2, 3] = near / (far - near), -1
            matrix[3, 2] = near * far / (far - near)
        else:
            width, height = self._right - self._left, self._top - self._bottom
            matrix[0, 0], matrix[1, 1], matrix[2, 2] = 2 / width, 2 / height, 1 / (far - near)
            matrix[3] = (
                -(self._right + self._left) / width,
                -(self._top + self._bottom) / height,
                far / (far - near),
                1,
            )
        return matrix.astype(np.float32)

    def track_user_inputs(
        self, window, movement_speed=1.0, yaw_speed=2.0, pitch_speed=2.0, hold_key=None
    ):
        """Moves the camera by the keys w, a, s, d, e (up) and q (down), and turns it by the mouse.
        Call it once in each frame.

        window: the window whose keys and mouse count. movement_speed: a distance per 60th of a
        second. yaw_speed, pitch_speed: turns per movement of the mouse. hold_key: the key or button
        that has to be pressed for the mouse to count; None: it always counts.
        """
        import numpy as np

        now = time.perf_counter()
        steps = 0.0 if self.last_time is None else (now - self.last_time) * _STEPS_PER_SECOND
        self.last_time = now
        eye, at, up = (np.array(list(v), float) for v in self._pose())
        front = _unit(at - eye, (0, 0, 1))
        left = _unit(np.cross(up, front), (1, 0, 0))
        move = np.zeros(3)
        for key, direction in zip("wsadeq", (front, -front, left, -left, up, -up)):
            if window.is_pressed(key):
                move += direction
        eye = eye + move * movement_speed * steps
        x, y = window.get_cursor_pos()
        if hold_key is not None and not window.is_pressed(hold_key):
            self.last_mouse_x = self.last_mouse_y = None
        else:
            if self.last_mouse_x is not None:
                yaw, pitch = atan2(front[0], front[2]), asin(max(-1.0, min(1.0, front[1])))
                yaw -= (x - self.last_mouse_x) * yaw_speed * steps
                pitch += (y - self.last_mouse_y) * pitch_speed * steps
                limit = pi / 2 * 0.99
                pitch = max(-limit, min(limit, pitch))
                front = np.array([sin(yaw) * cos(pitch), sin(pitch), cos(yaw) * cos(pitch)])
            self.last_mouse_x, self.last_mouse_y = x, y
        self.position(*eye)
        self.lookat(*(eye + front))

    def _pose(self):
        return self.curr_position, self.curr_lookat, self.curr_up


def _vector(x, y, z):
    from ..values.matrix import Vector

    return Vector([float(x), float(y), float(z)])


def _unit(vector, otherwise):
    """The vector's direction; `otherwise` if it has none."""
    import numpy as np

    length = np.linalg.norm(vector)
    return vector / length if length > 0 else np.array(otherwise, float)


def make_camera():
    """A new camera.

    Example::

        print(type(ti.ui.make_camera()).__name__)  # prints: Camera
    """
    return Camera()


def euler_to_vec(yaw, pitch):
    """The unit vector of a view with these angles in radians: x and z span the ground, y is up."""
    return _vector(sin(yaw) * cos(pitch), sin(pitch), cos(yaw) * cos(pitch))


def vec_to_euler(v, eps=1e-6):
    """(yaw, pitch) of a view along `v`, in radians; `eps` has no effect."""
    x, y, z = v.normalized()
    return atan2(x, z), asin(y)
