"""`ti.math`: functions and types in the style of GLSL, for kernels and Python.

The functions are plain Python code over the language's operators. In a kernel they run at compile
time and emit the nodes of their arithmetic.
"""

import math as _math

from . import _native
from . import ops as _ops
from . import originals as _originals
from . import types as _types
from .frontend.expr import Expr as _Expr
from .ops import atan2, cos, exp, floor, log, max, min, pow, sin, sqrt
from .values import matrix as _matrix
from .values.matrix_ops import cross, determinant, dot, inverse
from .values.matrix_ops import norm as _norm

e = _math.e
pi = _math.pi
inf = _math.inf
nan = _math.nan

# `float` and `int` mean the default types at the time of use.
vec2, vec3, vec4 = (_types.VectorType(n, float) for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (_types.VectorType(n, int) for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (_types.VectorType(n, _types.DEFAULT_UNSIGNED) for n in (2, 3, 4))
mat2, mat3, mat4 = (_types.MatrixType(n, n, float) for n in (2, 3, 4))

for _n, (_vec, _ivec, _uvec, _mat) in enumerate(
    ((vec2, ivec2, uvec2, mat2), (vec3, ivec3, uvec3, mat3), (vec4, ivec4, uvec4, mat4)), 2
):
    _vec.__doc__ = f"Vectors of {_n} default floats. Called with a number, {_n} numbers or vectors."
    _ivec.__doc__ = f"Vectors of {_n} default integers. Called as vec{_n}."
    _uvec.__doc__ = f"Vectors of {_n} unsigned integers, as wide as the default one. As vec{_n}."
    _mat.__doc__ = f"{_n} x {_n} matrices of default floats. Called with a number, numbers or rows."


def mix(x, y, a):
    """Blends `x` and `y`: x * (1 - a) + y * a, element by element.

    x, y: numbers, or vectors or matrices of the same shape. a: the share of `y`; a number, or of
    the same shape.

        print(ti.math.mix(0.0, 10.0, 0.25))  # prints: 2.5
    """
    return x * (1.0 - a) + y * a


def clamp(x, xmin, xmax):
    """`x`, but at least `xmin` and at most `xmax`, element by element.

    x, xmin, xmax: numbers, vectors or matrices; a bound may be a number for all elements.

        print(ti.math.clamp(1.5, 0.0, 1.0))  # prints: 1.0
    """
    return min(xmax, max(xmin, x))


def _to_float(x):
    if isinstance(x, _Expr) or hasattr(x, "cast"):
        return _ops.cast(x, float)
    return float(x)


def step(edge, x):
    """0.0 where x < edge, else 1.0, element by element.

    edge, x: numbers, vectors or matrices.

        print(ti.math.step(0.5, 0.7))  # prints: 1.0
    """
    return _to_float(_ops.cmp_ge(x, edge))


def fract(x):
    """The part of `x` after the decimal point, x - floor(x): in [0, 1) for negative numbers too.

    x: a float, or a vector or matrix of floats.

        print(ti.math.fract(-0.25))  # prints: 0.75
    """
    return x - floor(x)


def smoothstep(edge0, edge1, x):
    """0.0 up to `edge0`, 1.0 from `edge1` on, and a smooth curve between, element by element.

    edge0, edge1: the ends of the curve, which must differ. x: a number, vector or matrix.

        print(ti.math.smoothstep(0.0, 1.0, 0.5))  # prints: 0.5
    """
    t = clamp((x - edge0) / (edge1 - edge0), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def sign(x):
    """-1.0, 0.0 or 1.0 if `x` is below, equal to or above 0, element by element.

    x: a number, vector or matrix.

        print(ti.math.sign(-7.0))  # prints: -1.0
    """
    return _to_float(_ops.cmp_ge(x, 0.0)) - _to_float(_ops.cmp_le(x, 0.0))


def normalize(v):
    """The vector of length 1 in the direction of `v`; NaNs if its length is 0.

    v: a vector.

        print(ti.math.normalize(ti.math.vec2(0.0, 2.0)))  # prints: [0. 1.]
    """
    return v / _norm(v)


def log2(x):
    """The logarithm of `x` to base 2, element by element.

    x: a positive number, or a vector or matrix of them.

        print(ti.math.log2(8.0))  # prints: 3.0
    """
    return log(x) / _math.log(2.0)


def reflect(x, n):
    """`x` reflected by a surface: x - 2 * dot(x, n) * n.

    x: the incoming vector. n: the surface's normal, of length 1.

        print(ti.math.reflect(ti.math.vec2(1, -1), ti.math.vec2(0, 1)))  # prints: [1. 1.]
    """
    return x - 2.0 * dot(x, n) * n


def degrees(x):
    """An angle in degrees, element by element.

    x: the angle in radians; a number, vector or matrix.

        print(ti.math.degrees(ti.math.pi))  # prints: 180.0
    """
    return x * (180.0 / pi)


def radians(x):
    """An angle in radians, element by element.

    x: the angle in degrees; a number, vector or matrix.

        print(ti.math.radians(180.0) == ti.math.pi)  # prints: True
    """
    return x * (pi / 180.0)


def distance(x, y):
    """The distance between two points.

    x, y: vectors of one length.

        print(ti.math.distance(ti.math.vec2(0, 0), ti.math.vec2(3, 4)))  # prints: 5.0
    """
    return _norm(x - y)


def refract(x, n, eta):
    """`x` refracted by a surface; zeros for total reflection.

    x: the incoming direction, of length 1. n: the surface's normal, of length 1. eta: the ratio of
    the indices of refraction on the incoming and on the other side.

        print(ti.math.refract(ti.math.vec2(0, -1), ti.math.vec2(0, 1), 1.5))  # prints: [ 0. -1.]
    """
    cosine = dot(x, n)
    k = 1.0 - eta * eta * (1.0 - cosine * cosine)
    refracted = eta * x - (eta * cosine + sqrt(max(k, 0.0))) * n
    if isinstance(k, _Expr):
        return refracted * _to_float(k >= 0.0)
    return refracted if k >= 0.0 else x * 0.0


def mod(x, y):
    """The remainder x - y * floor(x / y), which has the sign of `y`, element by element.

    x, y: floats, or vectors or matrices of floats; `y` is not 0.

        print(ti.math.mod(-1.0, 3.0))  # prints: 2.0
    """
    if isinstance(x, _Expr) or isinstance(y, _Expr):
        remainder = x % y  # without the other sign that a fused product can leave
        if remainder.type.dtype.is_float:
            return remainder
    return x - y * floor(x / y)


def translate(dx, dy, dz):
    """The 4x4 matrix that translates points in homogeneous coordinates.

    dx, dy, dz: the distance along each axis.

        print(ti.math.translate(1, 2, 3) @ ti.math.vec4(0, 0, 0, 1))  # prints: [1. 2. 3. 1.]
    """
    return mat4(
        [
            [1.0, 0.0, 0.0, dx],
            [0.0, 1.0, 0.0, dy],
            [0.0, 0.0, 1.0, dz],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def scale(sx, sy, sz):
    """The 4x4 matrix that scales along the axes.

    sx, sy, sz: the factor of each axis.

        print(ti.math.scale(1, 2, 3) @ ti.math.vec4(1, 1, 1, 1))  # prints: [1. 2. 3. 1.]
    """
    return mat4(
        [
            [sx, 0.0, 0.0, 0.0],
            [0.0, sy, 0.0, 0.0],
            [0.0, 0.0, sz, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def rot_by_axis(axis, ang):
    """The 4x4 matrix of a rotation about an axis through the origin.

    axis: a vector of three elements and any length except 0. ang: the angle in radians.

        around_z = ti.math.rot_by_axis(ti.math.vec3(0, 0, 1), ti.math.pi)
        print(ti.round(around_z @ ti.math.vec4(1, 2, 3, 1)))  # prints: [-1. -2.  3.  1.]
    """
    c, s = cos(ang), sin(ang)
    axis = normalize(axis)
    t = (1.0 - c) * axis
    a, b, d = axis[0], axis[1], axis[2]
    return mat4(
        [
            [c + t[0] * a, t[0] * b + s * d, t[0] * d - s * b, 0.0],
            [t[1] * a - s * d, c + t[1] * b, t[1] * d + s * a, 0.0],
            [t[2] * a + s * b, t[2] * b - s * a, c + t[2] * d, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def rot_yaw_pitch_roll(yaw, pitch, roll):
    """The 4x4 matrix of a rotation about y by `yaw`, x by `pitch` and z by `roll`.

    yaw, pitch, roll: angles in radians.

        print(ti.math.rot_yaw_pitch_roll(0.0, 0.0, 0.0)[0, 0])  # prints: 1.0
    """
    ch, sh = cos(yaw), sin(yaw)
    cp, sp = cos(pitch), sin(pitch)
    cb, sb = cos(roll), sin(roll)
    return mat4(
        [
            [ch * cb + sh * sp * sb, sb * cp, -sh * cb + ch * sp * sb, 0.0],
            [-ch * sb + sh * sp * cb, cb * cp, sb * sh + ch * sp * cb, 0.0],
            [sh * cp, -sp, ch * cp, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def rotation2d(ang):
    """The 2x2 matrix of a rotation, counter-clockwise.

    ang: the angle in radians.

        print(ti.round(ti.math.rotation2d(ti.math.pi) @ ti.math.vec2(1, 2)))  # prints: [-1. -2.]
    """
    c, s = cos(ang), sin(ang)
    return mat2([[c, -s], [s, c]])


def rotation3d(ang_x, ang_y, ang_z):
    """The 4x4 matrix of rotations about the three axes: rot_yaw_pitch_roll(ang_z, ang_x, ang_y).

    ang_x, ang_y, ang_z: angles in radians.

        print(ti.math.rotation3d(0.0, 0.0, 0.0)[1, 1])  # prints: 1.0
    """
    return rot_yaw_pitch_roll(ang_z, ang_x, ang_y)


def eye(n):
    """The n x n matrix with ones on its diagonal, of the default float type.

    n: its number of rows.

        print(ti.math.eye(2)[0, 0])  # prints: 1.0
    """
    return _matrix.Matrix.identity(float, n)


def length(x):
    """The Euclidean length of a vector.

    x: a vector.

        print(ti.math.length(ti.math.vec2(3, 4)))  # prints: 5.0
    """
    return _norm(x)


def vdir(ang):
    """The vector (cos, sin) of an angle: the direction at that angle from the x axis.

    ang: the angle in radians.

        print(ti.math.vdir(0.0))  # prints: [1. 0.]
    """
    return vec2(cos(ang), sin(ang))


# --- complex numbers as vec2


def cconj(z):
    """The conjugate of a complex number.

    z: a vector (real part, imaginary part).

        print(ti.math.cconj(ti.math.vec2(1, 2)))  # prints: [ 1. -2.]
    """
    return vec2(z[0], -z[1])


def cmul(z1, z2):
    """The product of two complex numbers.

    z1, z2: vectors (real part, imaginary part).

        print(ti.math.cmul(ti.math.vec2(1, 2), ti.math.vec2(3, 4)))  # prints: [-5. 10.]
    """
    x1, y1, x2, y2 = z1[0], z1[1], z2[0], z2[1]
    return vec2(x1 * x2 - y1 * y2, x1 * y2 + x2 * y1)


def cdiv(z1, z2):
    """The quotient of two complex numbers.

    z1, z2: vectors (real part, imaginary part); `z2` is not 0.

        print(ti.math.cdiv(ti.math.vec2(-5, 10), ti.math.vec2(3, 4)))  # prints: [1. 2.]
    """
    x1, y1, x2, y2 = z1[0], z1[1], z2[0], z2[1]
    return vec2(x1 * x2 + y1 * y2, -x1 * y2 + x2 * y1) / dot(z2, z2)


def _polar(radius, angle):
    return vec2(radius * cos(angle), radius * sin(angle))


def csqrt(z):
    """The square root of a complex number; its real part is at least 0.

    z: a vector (real part, imaginary part).

        print(ti.math.csqrt(ti.math.vec2(4, 0)))  # prints: [2. 0.]
    """
    r = sqrt(z[0] * z[0] + z[1] * z[1])
    # z = 0 has no angle; atan2(0, 0) = 0 gives the right result.
    return _polar(sqrt(r), atan2(z[1], z[0]) / 2.0)


def cinv(z):
    """The inverse 1 / z of a complex number.

    z: a vector (real part, imaginary part); not 0.

        print(ti.math.cinv(ti.math.vec2(0, 2)))  # prints: [ 0.  -0.5]
    """
    return cconj(z) / dot(z, z)


def cpow(z, n):
    """A complex number raised to a real power.

    z: a vector (real part, imaginary part). n: the exponent.

        print(ti.math.cpow(ti.math.vec2(2, 0), 3))  # prints: [8. 0.]
    """
    r2 = dot(z, z)
    angle = atan2(z[1], z[0])
    radius = pow(r2, n / 2.0)
    return _polar(radius, n * angle)


def cexp(z):
    """The exponential of a complex number.

    z: a vector (real part, imaginary part).

        print(ti.math.cexp(ti.math.vec2(0, 0)))  # prints: [1. 0.]
    """
    return _polar(exp(z[0]), z[1])


def clog(z):
    """The logarithm of a complex number; its imaginary part is in (-pi, pi].

    z: a vector (real part, imaginary part); not 0.

        print(ti.math.clog(ti.math.vec2(1, 0)))  # prints: [0. 0.]
    """
    return vec2(log(dot(z, z)) / 2.0, atan2(z[1], z[0]))


__all__ = [
    "atan2",
    "cconj",
    "cdiv",
    "cexp",
    "cinv",
    "clamp",
    "clog",
    "cmul",
    "cpow",
    "cross",
    "csqrt",
    "degrees",
    "determinant",
    "distance",
    "dot",
    "e",
    "eye",
    "fract",
    "inf",
    "inverse",
    "ivec2",
    "ivec3",
    "ivec4",
    "length",
    "log2",
    "mat2",
    "mat3",
    "mat4",
    "max",
    "min",
    "mix",
    "mod",
    "nan",
    "normalize",
    "pi",
    "pow",
    "radians",
    "reflect",
    "refract",
    "rot_by_axis",
    "rot_yaw_pitch_roll",
    "rotation2d",
    "rotation3d",
    "scale",
    "sign",
    "smoothstep",
    "step",
    "translate",
    "uvec2",
    "uvec3",
    "uvec4",
    "vdir",
    "vec2",
    "vec3",
    "vec4",
]

# Every unary op but Python's operators, functions of `ti` alone, and parts of frexp.
_ELSEWHERE = "abs frexp_exponent frexp_mantissa rsqrt".split()
for _name, (_family, _token) in _native.OP_FACTS.items():
    if _family == _native.UNARY and not (_token or _name in _ELSEWHERE):
        globals()[_name] = getattr(_ops, _name)
        __all__.append(_name)


def __dir__():
    return list(__all__)


_originals.keep(globals())
