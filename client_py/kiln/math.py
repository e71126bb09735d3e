"""ti.math: functions and types after GLSL, in both scopes.

Plain Python over the language's operators: in a kernel they run while it is
compiled and leave the nodes of their arithmetic.
"""

import math as _math

from . import matrix as _matrix
from . import ops as _ops
from . import originals as _originals
from . import types as _types
from .frontend.expr import Expr as _Expr
from .matrix_ops import cross, determinant, dot, inverse
from .matrix_ops import norm as _norm
from .ops import (
    acos,
    asin,
    atan2,
    ceil,
    clz,
    cos,
    exp,
    floor,
    isinf,
    isnan,
    log,
    max,
    min,
    popcnt,
    pow,
    round,
    sin,
    sqrt,
    tan,
    tanh,
)

e = _math.e
pi = _math.pi
inf = _math.inf
nan = _math.nan

# `float` and `int`: the defaults of the moment of use.
vec2, vec3, vec4 = (_types.VectorType(n, float) for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (_types.VectorType(n, int) for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (_types.VectorType(n, _types.DEFAULT_UNSIGNED) for n in (2, 3, 4))
mat2, mat3, mat4 = (_types.MatrixType(n, n, float) for n in (2, 3, 4))


def mix(x, y, a):
    """x * (1 - a) + y * a."""
    return x * (1.0 - a) + y * a


def clamp(x, xmin, xmax):
    return min(xmax, max(xmin, x))


def _to_float(x):
    if isinstance(x, _Expr) or hasattr(x, "cast"):
        return _ops.cast(x, float)
    return float(x)


def step(edge, x):
    """0 where x < edge, else 1."""
    return _to_float(_ops.cmp_ge(x, edge))


def fract(x):
    return x - floor(x)


def smoothstep(edge0, edge1, x):
    t = clamp((x - edge0) / (edge1 - edge0), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def sign(x):
    """-1, 0 or 1, as a float."""
    return _to_float(_ops.cmp_ge(x, 0.0)) - _to_float(_ops.cmp_le(x, 0.0))


def normalize(v):
    return v / _norm(v)


def log2(x):
    return log(x) / _math.log(2.0)


def reflect(x, n):
    """Reflection of x off a surface with unit normal n."""
    return x - 2.0 * dot(x, n) * n


def degrees(x):
    return x * (180.0 / pi)


def radians(x):
    return x * (pi / 180.0)


def distance(x, y):
    return _norm(x - y)


def refract(x, n, eta):
    """Refraction of x at a surface with unit normal n; zero for total reflection."""
    cosine = dot(x, n)
    k = 1.0 - eta * eta * (1.0 - cosine * cosine)
    refracted = eta * x - (eta * cosine + sqrt(max(k, 0.0))) * n
    if isinstance(k, _Expr):
        return refracted * _to_float(k >= 0.0)
    return refracted if k >= 0.0 else x * 0.0


def mod(x, y):
    return x - y * floor(x / y)


def translate(dx, dy, dz):
    return mat4(
        [
            [1.0, 0.0, 0.0, dx],
            [0.0, 1.0, 0.0, dy],
            [0.0, 0.0, 1.0, dz],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def scale(sx, sy, sz):
    return mat4(
        [
            [sx, 0.0, 0.0, 0.0],
            [0.0, sy, 0.0, 0.0],
            [0.0, 0.0, sz, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def rot_by_axis(axis, ang):
    """4x4 rotation by an angle about an axis."""
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
    c, s = cos(ang), sin(ang)
    return mat2([[c, -s], [s, c]])


def rotation3d(ang_x, ang_y, ang_z):
    return rot_yaw_pitch_roll(ang_z, ang_x, ang_y)


def eye(n):
    return _matrix.Matrix.identity(float, n)


def length(x):
    return _norm(x)


def vdir(ang):
    """The unit vector of an angle."""
    return vec2(cos(ang), sin(ang))


# --- complex numbers as vec2


def cconj(z):
    return vec2(z[0], -z[1])


def cmul(z1, z2):
    x1, y1, x2, y2 = z1[0], z1[1], z2[0], z2[1]
    return vec2(x1 * x2 - y1 * y2, x1 * y2 + x2 * y1)


def cdiv(z1, z2):
    x1, y1, x2, y2 = z1[0], z1[1], z2[0], z2[1]
    return vec2(x1 * x2 + y1 * y2, -x1 * y2 + x2 * y1) / dot(z2, z2)


def _polar(radius, angle):
    return vec2(radius * cos(angle), radius * sin(angle))


def csqrt(z):
    """The root with positive real part."""
    r = sqrt(z[0] * z[0] + z[1] * z[1])
    # |z| = 0 has no angle; atan2(0, 0) = 0 gives 0.
    return _polar(sqrt(r), atan2(z[1], z[0]) / 2.0)


def cinv(z):
    return cconj(z) / dot(z, z)


def cpow(z, n):
    r2 = dot(z, z)
    angle = atan2(z[1], z[0])
    radius = pow(r2, n / 2.0)
    return _polar(radius, n * angle)


def cexp(z):
    return _polar(exp(z[0]), z[1])


def clog(z):
    return vec2(log(dot(z, z)) / 2.0, atan2(z[1], z[0]))


__all__ = [
    "acos",
    "asin",
    "atan2",
    "cconj",
    "cdiv",
    "ceil",
    "cexp",
    "cinv",
    "clamp",
    "clog",
    "clz",
    "cmul",
    "cos",
    "cpow",
    "cross",
    "csqrt",
    "degrees",
    "determinant",
    "distance",
    "dot",
    "e",
    "exp",
    "eye",
    "floor",
    "fract",
    "inf",
    "inverse",
    "isinf",
    "isnan",
    "ivec2",
    "ivec3",
    "ivec4",
    "length",
    "log",
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
    "popcnt",
    "pow",
    "radians",
    "reflect",
    "refract",
    "rot_by_axis",
    "rot_yaw_pitch_roll",
    "rotation2d",
    "rotation3d",
    "round",
    "scale",
    "sign",
    "sin",
    "smoothstep",
    "sqrt",
    "step",
    "tan",
    "tanh",
    "translate",
    "uvec2",
    "uvec3",
    "uvec4",
    "vdir",
    "vec2",
    "vec3",
    "vec4",
]


def __dir__():
    return list(__all__)


_originals.keep(globals())
