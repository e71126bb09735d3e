# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.math`: functions and types in the style of GLSL, for kernels and Python.

The functions are plain Python code over the language's operators. In a kernel they run at compile
time and emit the nodes of their arithmetic.
"""

from typing import Any
from . import Matrix as _Matrix
class _Made(_Matrix):

    def __new__(cls, *args: Any) -> Any: ...
from . import acos as acos
from . import asin as asin
from . import atan2 as atan2
def cconj(z: Any) -> Any:
    """The conjugate of a complex number.

    z: a vector (real part, imaginary part).

        print(ti.math.cconj(ti.math.vec2(1, 2)))  # prints: [ 1. -2.]
    """
def cdiv(z1: Any, z2: Any) -> Any:
    """The quotient of two complex numbers.

    z1, z2: vectors (real part, imaginary part); `z2` is not 0.

        print(ti.math.cdiv(ti.math.vec2(-5, 10), ti.math.vec2(3, 4)))  # prints: [1. 2.]
    """
from . import ceil as ceil
def cexp(z: Any) -> Any:
    """The exponential of a complex number.

    z: a vector (real part, imaginary part).

        print(ti.math.cexp(ti.math.vec2(0, 0)))  # prints: [1. 0.]
    """
def cinv(z: Any) -> Any:
    """The inverse 1 / z of a complex number.

    z: a vector (real part, imaginary part); not 0.

        print(ti.math.cinv(ti.math.vec2(0, 2)))  # prints: [ 0.  -0.5]
    """
def clamp(x: Any, xmin: Any, xmax: Any) -> Any:
    """`x`, but at least `xmin` and at most `xmax`, element by element.

    x, xmin, xmax: numbers, vectors or matrices; a bound may be a number for all elements.

        print(ti.math.clamp(1.5, 0.0, 1.0))  # prints: 1.0
    """
def clog(z: Any) -> Any:
    """The logarithm of a complex number; its imaginary part is in (-pi, pi].

    z: a vector (real part, imaginary part); not 0.

        print(ti.math.clog(ti.math.vec2(1, 0)))  # prints: [0. 0.]
    """
def clz(x: Any) -> Any:
    """The number of leading zero bits of a 32-bit integer, element by element.

    x: an integer, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.math.clz(1))  # prints: 31
    """
def cmul(z1: Any, z2: Any) -> Any:
    """The product of two complex numbers.

    z1, z2: vectors (real part, imaginary part).

        print(ti.math.cmul(ti.math.vec2(1, 2), ti.math.vec2(3, 4)))  # prints: [-5. 10.]
    """
from . import cos as cos
def cpow(z: Any, n: Any) -> Any:
    """A complex number raised to a real power.

    z: a vector (real part, imaginary part). n: the exponent.

        print(ti.math.cpow(ti.math.vec2(2, 0), 3))  # prints: [8. 0.]
    """
def cross(x: Any, y: Any) -> Any:
    """The cross product: a vector for vectors of three elements, a number for vectors of two.

    x, y: vectors of equal length, 2 or 3; raises TaichiCompilationError for others.

        print(ti.math.cross(ti.Vector([1, 0, 0]), ti.Vector([0, 1, 0])))  # prints: [0 0 1]
    """
def csqrt(z: Any) -> Any:
    """The square root of a complex number; its real part is at least 0.

    z: a vector (real part, imaginary part).

        print(ti.math.csqrt(ti.math.vec2(4, 0)))  # prints: [2. 0.]
    """
def degrees(x: Any) -> Any:
    """An angle in degrees, element by element.

    x: the angle in radians; a number, vector or matrix.

        print(ti.math.degrees(ti.math.pi))  # prints: 180.0
    """
def determinant(x: Any) -> Any:
    """The determinant of a square matrix.

    x: a matrix of at most 4 x 4; raises TaichiCompilationError for others.

        print(ti.math.determinant(ti.Matrix([[1, 2], [3, 4]])))  # prints: -2
    """
def distance(x: Any, y: Any) -> Any:
    """The distance between two points.

    x, y: vectors of one length.

        print(ti.math.distance(ti.math.vec2(0, 0), ti.math.vec2(3, 4)))  # prints: 5.0
    """
def dot(x: Any, y: Any) -> Any:
    """The dot product of two vectors: the sum of the products of their elements.

    x, y: vectors of equal length. Others raise TaichiCompilationError in kernels, ValueError in
    Python.

        print(ti.math.dot(ti.Vector([1, 2]), ti.Vector([3, 4])))  # prints: 11
    """
e: float
from . import exp as exp
def eye(n: Any) -> Any:
    """The n x n matrix with ones on its diagonal, of the default float type.

    n: its number of rows.

        print(ti.math.eye(2)[0, 0])  # prints: 1.0
    """
from . import floor as floor
def fract(x: Any) -> Any:
    """The part of `x` after the decimal point, x - floor(x): in [0, 1) for negative numbers too.

    x: a float, or a vector or matrix of floats.

        print(ti.math.fract(-0.25))  # prints: 0.75
    """
inf: float
def inverse(x: Any) -> Any:
    """The inverse of a square matrix; infinities and NaNs for a singular matrix.

    x: a matrix of at most 4 x 4; raises TaichiCompilationError for others.

        print(ti.math.inverse(ti.Matrix([[2.0, 0.0], [0.0, 4.0]]))[1, 1])  # prints: 0.25
    """
def isinf(x: Any) -> Any:
    """Whether it is infinite, element by element.

    x: a number, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.math.isinf(1.0))  # prints: False
    """
def isnan(x: Any) -> Any:
    """Whether it is a NaN, element by element.

    x: a number, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.math.isnan(ti.math.nan))  # prints: True
    """
class ivec2(_Made):
    """Vectors of 2 default integers. Called as vec2."""
class ivec3(_Made):
    """Vectors of 3 default integers. Called as vec3."""
class ivec4(_Made):
    """Vectors of 4 default integers. Called as vec4."""
def length(x: Any) -> Any:
    """The Euclidean length of a vector.

    x: a vector.

        print(ti.math.length(ti.math.vec2(3, 4)))  # prints: 5.0
    """
from . import log as log
def log2(x: Any) -> Any:
    """The logarithm of `x` to base 2, element by element.

    x: a positive number, or a vector or matrix of them.

        print(ti.math.log2(8.0))  # prints: 3.0
    """
class mat2(_Made):
    """2 x 2 matrices of default floats. Called with a number, numbers or rows."""
class mat3(_Made):
    """3 x 3 matrices of default floats. Called with a number, numbers or rows."""
class mat4(_Made):
    """4 x 4 matrices of default floats. Called with a number, numbers or rows."""
from . import max as max
from . import min as min
def mix(x: Any, y: Any, a: Any) -> Any:
    """Blends `x` and `y`: x * (1 - a) + y * a, element by element.

    x, y: numbers, or vectors or matrices of the same shape. a: the share of `y`; a number, or of
    the same shape.

        print(ti.math.mix(0.0, 10.0, 0.25))  # prints: 2.5
    """
def mod(x: Any, y: Any) -> Any:
    """The remainder x - y * floor(x / y), which has the sign of `y`, element by element.

    x, y: floats, or vectors or matrices of floats; `y` is not 0.

        print(ti.math.mod(-1.0, 3.0))  # prints: 2.0
    """
nan: float
def normalize(v: Any) -> Any:
    """The vector of length 1 in the direction of `v`; NaNs if its length is 0.

    v: a vector.

        print(ti.math.normalize(ti.math.vec2(0.0, 2.0)))  # prints: [0. 1.]
    """
pi: float
def popcnt(x: Any) -> Any:
    """The number of bits that are 1, element by element.

    x: an integer, or a vector or matrix of them; in Python scope also a list or a NumPy array.

        print(ti.math.popcnt(7))  # prints: 3
    """
from . import pow as pow
def radians(x: Any) -> Any:
    """An angle in radians, element by element.

    x: the angle in degrees; a number, vector or matrix.

        print(ti.math.radians(180.0) == ti.math.pi)  # prints: True
    """
def reflect(x: Any, n: Any) -> Any:
    """`x` reflected by a surface: x - 2 * dot(x, n) * n.

    x: the incoming vector. n: the surface's normal, of length 1.

        print(ti.math.reflect(ti.math.vec2(1, -1), ti.math.vec2(0, 1)))  # prints: [1. 1.]
    """
def refract(x: Any, n: Any, eta: Any) -> Any:
    """`x` refracted by a surface; zeros for total reflection.

    x: the incoming direction, of length 1. n: the surface's normal, of length 1. eta: the ratio of
    the indices of refraction on the incoming and on the other side.

        print(ti.math.refract(ti.math.vec2(0, -1), ti.math.vec2(0, 1), 1.5))  # prints: [ 0. -1.]
    """
def rot_by_axis(axis: Any, ang: Any) -> Any:
    """The 4x4 matrix of a rotation about an axis through the origin.

    axis: a vector of three elements and any length except 0. ang: the angle in radians.

        around_z = ti.math.rot_by_axis(ti.math.vec3(0, 0, 1), ti.math.pi)
        print(ti.round(around_z @ ti.math.vec4(1, 2, 3, 1)))  # prints: [-1. -2.  3.  1.]
    """
def rot_yaw_pitch_roll(yaw: Any, pitch: Any, roll: Any) -> Any:
    """The 4x4 matrix of a rotation about y by `yaw`, x by `pitch` and z by `roll`.

    yaw, pitch, roll: angles in radians.

        print(ti.math.rot_yaw_pitch_roll(0.0, 0.0, 0.0)[0, 0])  # prints: 1.0
    """
def rotation2d(ang: Any) -> Any:
    """The 2x2 matrix of a rotation, counter-clockwise.

    ang: the angle in radians.

        print(ti.round(ti.math.rotation2d(ti.math.pi) @ ti.math.vec2(1, 2)))  # prints: [-1. -2.]
    """
def rotation3d(ang_x: Any, ang_y: Any, ang_z: Any) -> Any:
    """The 4x4 matrix of rotations about the three axes: rot_yaw_pitch_roll(ang_z, ang_x, ang_y).

    ang_x, ang_y, ang_z: angles in radians.

        print(ti.math.rotation3d(0.0, 0.0, 0.0)[1, 1])  # prints: 1.0
    """
from . import round as round
def scale(sx: Any, sy: Any, sz: Any) -> Any:
    """The 4x4 matrix that scales along the axes.

    sx, sy, sz: the factor of each axis.

        print(ti.math.scale(1, 2, 3) @ ti.math.vec4(1, 1, 1, 1))  # prints: [1. 2. 3. 1.]
    """
def sign(x: Any) -> Any:
    """-1.0, 0.0 or 1.0 if `x` is below, equal to or above 0, element by element.

    x: a number, vector or matrix.

        print(ti.math.sign(-7.0))  # prints: -1.0
    """
from . import sin as sin
def smoothstep(edge0: Any, edge1: Any, x: Any) -> Any:
    """0.0 up to `edge0`, 1.0 from `edge1` on, and a smooth curve between, element by element.

    edge0, edge1: the ends of the curve, which must differ. x: a number, vector or matrix.

        print(ti.math.smoothstep(0.0, 1.0, 0.5))  # prints: 0.5
    """
from . import sqrt as sqrt
def step(edge: Any, x: Any) -> Any:
    """0.0 where x < edge, else 1.0, element by element.

    edge, x: numbers, vectors or matrices.

        print(ti.math.step(0.5, 0.7))  # prints: 1.0
    """
from . import tan as tan
from . import tanh as tanh
def translate(dx: Any, dy: Any, dz: Any) -> Any:
    """The 4x4 matrix that translates points in homogeneous coordinates.

    dx, dy, dz: the distance along each axis.

        print(ti.math.translate(1, 2, 3) @ ti.math.vec4(0, 0, 0, 1))  # prints: [1. 2. 3. 1.]
    """
class uvec2(_Made):
    """Vectors of 2 unsigned integers, as wide as the default one. As vec2."""
class uvec3(_Made):
    """Vectors of 3 unsigned integers, as wide as the default one. As vec3."""
class uvec4(_Made):
    """Vectors of 4 unsigned integers, as wide as the default one. As vec4."""
def vdir(ang: Any) -> Any:
    """The vector (cos, sin) of an angle: the direction at that angle from the x axis.

    ang: the angle in radians.

        print(ti.math.vdir(0.0))  # prints: [1. 0.]
    """
class vec2(_Made):
    """Vectors of 2 default floats. Called with a number, 2 numbers or vectors."""
class vec3(_Made):
    """Vectors of 3 default floats. Called with a number, 3 numbers or vectors."""
class vec4(_Made):
    """Vectors of 4 default floats. Called with a number, 4 numbers or vectors."""
