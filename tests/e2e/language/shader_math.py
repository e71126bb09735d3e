"""`ti.math`: every function on scalars and vectors, in both scopes."""

from harness import attempt, case, ti, type_of

# name -> argument lists: numbers, or lists for vectors.
V2, W2, V3, W3 = [0.3, 0.7], [0.5, -0.4], [0.3, 0.7, -0.2], [0.5, -0.4, 0.6]
CALLS = {
    "acos": [(0.3,), (V2,)],
    "asin": [(0.3,), (V2,)],
    "atan2": [(0.3, 0.5), (V2, W2), (V2, 1.0)],
    "cconj": [(V2,)],
    "cdiv": [(V2, W2)],
    "ceil": [(0.3,), (V3,)],
    "cexp": [(V2,)],
    "cinv": [(V2,)],
    "clamp": [(1.5, 0.0, 1.0), (V3, 0.0, 0.5), (V2, W2, 1.0)],
    "clog": [(V2,)],
    "cmul": [(V2, W2)],
    "cos": [(0.3,), (V2,)],
    "cpow": [(V2, 3), (V2, 0.5)],
    "cross": [(V3, W3), (V2, W2)],
    "csqrt": [(V2,), ([-1.0, 0.0],)],
    "degrees": [(0.3,), (V2,)],
    "distance": [(V2, W2), (V3, W3)],
    "dot": [(V2, W2), (V3, W3)],
    "exp": [(0.3,), (V2,)],
    "floor": [(0.3,), (W2,)],
    "fract": [(1.75,), (-1.75,), (W2,)],
    "length": [(V2,), (V3,)],
    "log": [(0.3,), (V2,)],
    "log2": [(8.0,), (V2,)],
    "max": [(0.3, 0.5), (V2, W2), (V2, 0.5)],
    "min": [(0.3, 0.5), (V2, W2), (V2, 0.5, 0.1)],
    "mix": [(0.3, 0.5, 0.25), (V2, W2, 0.25), (V2, W2, V2)],
    "mod": [(1.7, 0.5), (-1.7, 0.5), (W2, 0.3), (V2, [0.2, 0.4])],
    "normalize": [(V2,), (V3,)],
    "pow": [(0.3, 2.0), (V2, 2.0), (V2, [1.0, 2.0])],
    "radians": [(30.0,), (V2,)],
    "reflect": [(V2, [0.0, 1.0]), (V3, [0.0, 1.0, 0.0])],
    "refract": [(V2, [0.0, 1.0], 0.8), (V3, [0.0, 1.0, 0.0], 1.5)],
    "round": [(0.3,), (1.5,), (W2,)],
    "sign": [(0.3,), (-2.0,), (0.0,), (W3,)],
    "sin": [(0.3,), (V2,)],
    "smoothstep": [(0.0, 1.0, 0.3), (0.0, 1.0, V2), (0.2, 0.6, W3)],
    "sqrt": [(0.3,), (V2,)],
    "step": [(0.5, 0.3), (0.5, 0.7), (0.5, V2), (V2, W2)],
    "tan": [(0.3,), (V2,)],
    "tanh": [(0.3,), (V2,)],
    "vdir": [(0.3,)],
}


def _in_a_kernel(show, name):
    function = getattr(ti.math, name)
    seen = []

    def note(x):
        seen.append(type_of(x))

    for arguments in CALLS[name]:
        fields = tuple(map(_field_of, arguments))

        @ti.kernel
        def k():
            r = function(*[f[None] for f in ti.static(fields)])
            ti.static(note(r))
            print(r)

        k()
    show(seen)


def _field_of(value):
    is_list = isinstance(value, list)
    made = ti.Vector.field(len(value), ti.f32, ()) if is_list else ti.field(ti.f32, ())
    made[None] = value
    return made


for _name in CALLS:

    def _one(show, name=_name):
        _in_a_kernel(show, name)

    _one.__name__ = f"{_name}_in_a_kernel"
    case()(_one)


def _in_python(show, name):
    function = getattr(ti.math, name)
    for arguments in CALLS[name]:
        values = [ti.Vector(x) if isinstance(x, list) else x for x in arguments]
        result = attempt(function, *values)
        is_number = not hasattr(result, "to_list") and not isinstance(result, str)
        show(float(result) if is_number else result)


# Functions that Taichi has in Python scope, too.
IN_PYTHON = ("acos asin atan2 ceil cos exp floor log max min pow round sin sqrt tan tanh").split()


@case()
def functions_in_python_scope(show):
    for name in IN_PYTHON:
        show(name)
        _in_python(show, name)


@case(differs="functions for kernels in Python scope")
def functions_of_kernels_in_python_scope(show):
    for name in sorted(set(CALLS) - set(IN_PYTHON)):
        show(name)
        _in_python(show, name)


@case()
def constants(show):
    show(ti.math.pi, ti.math.e, ti.math.inf, ti.math.isnan is not None)
    show(str(ti.math.nan))

    @ti.kernel
    def k(x: ti.f32):
        print(ti.math.pi * x, ti.math.e + x, ti.math.inf, -ti.math.inf * x)

    k(2.0)


@case()
def tests_of_values(show):
    @ti.kernel
    def k(x: ti.f32, y: ti.f64):
        v = ti.Vector([x, 1.0])
        print(ti.math.isnan(x), ti.math.isinf(x), ti.math.isnan(y), ti.math.isinf(y))
        print(ti.math.isnan(v), ti.math.isinf(v))

    for value in (1.0, float("inf"), float("-inf"), float("nan"), 0.0):
        k(value, value)


@case()
def bits(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(a: ti.i32, u: ti.u32):
        ti.static(note(ti.math.popcnt(a)), note(ti.math.clz(a)))
        print(ti.math.popcnt(a), ti.math.clz(a), ti.math.popcnt(u))

    for value in (0, 1, 7, 1 << 20, 2**31 - 1):
        k(value, value)
    show(seen)


@case()
def bits_of_64_bit_integers(show):
    @ti.kernel
    def k(a: ti.i64, u: ti.u64):
        print(ti.math.popcnt(a), ti.math.clz(a), ti.math.popcnt(u), ti.math.clz(u))

    for value in (0, 1, 7, 1 << 20, 1 << 40):
        k(value, value)


@case()
def types(show):
    names = "vec2 vec3 vec4 ivec2 ivec3 ivec4 uvec2 uvec3 uvec4 mat2 mat3 mat4".split()
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k():
        for i in ti.static(range(len(names))):
            x = _type(names[i])(1)
            ti.static(note(x))

    def _type(name):
        return getattr(ti.math, name)

    k()
    show(seen)


@case(default_fp=ti.f64 if ti else None, default_ip=ti.i64 if ti else None)
def types_follow_the_default_types(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k():
        ti.static(note(ti.math.vec3(1)), note(ti.math.ivec2(1)), note(ti.math.uvec2(1)))
        ti.static(note(ti.math.mat2(1)), note(ti.math.eye(3)), note(ti.math.rotation2d(1.0)))

    k()
    show(seen)


@case()
def rotations(show):
    @ti.kernel
    def k(a: ti.f32):
        print(ti.math.rotation2d(a))
        print(ti.math.rotation3d(a, 0.2, 0.1))
        print(ti.math.rot_yaw_pitch_roll(a, 0.2, 0.1))
        print(ti.math.rot_by_axis(ti.math.vec3(1, 2, 3), a))
        print(ti.math.translate(a, 2, 3), ti.math.scale(a, 2, 3))

    k(0.3)


@case()
def matrices(show):
    @ti.kernel
    def k(a: ti.f32):
        m = ti.math.mat3([[a, 1, 2], [0, 1, 4], [5, 6, 0]])
        print(ti.math.eye(2), ti.math.eye(4), ti.math.inverse(m), ti.math.determinant(m))
        print(m @ ti.math.vec3(1, 2, 3))

    k(1.5)


@case(differs="functions for kernels in Python scope")
def matrices_in_python_scope(show):
    for text in (
        "ti.math.eye(3)",
        "ti.math.translate(1, 2, 3)",
        "ti.math.scale(1, 2, 3)",
        "ti.math.rotation2d(0.3)",
        "ti.math.rot_by_axis(ti.math.vec3(1, 2, 3), 0.3)",
        "ti.math.rot_yaw_pitch_roll(0.3, 0.2, 0.1)",
        "ti.math.rotation3d(0.3, 0.2, 0.1)",
        "ti.math.inverse(ti.math.mat2(1, 2, 3, 4))",
    ):
        show(text, attempt(eval, text, {"ti": ti}))


@case()
def integers_as_arguments(show):
    seen = []

    def note(x):
        seen.append(type_of(x))

    @ti.kernel
    def k(i: ti.i32):
        a = ti.math.mix(i, 3, 0.5)
        b = ti.math.clamp(i, 0, 3)
        c = ti.math.sign(i)
        d = ti.math.step(i, 2)
        e = ti.math.mod(i, 3.0)
        f = ti.math.degrees(i)
        g = ti.math.vec2(i, 2)
        ti.static(note(a), note(b), note(c), note(d), note(e), note(f), note(g))
        print(a, b, c, d, e, f, g)

    k(5)
    k(-1)
    show(seen)


@case()
def wrong_arguments(show):
    @ti.kernel
    def few() -> ti.f32:
        return ti.math.mix(1.0, 2.0)

    @ti.kernel
    def shapes() -> ti.f32:
        return ti.math.mix(ti.math.vec2(1, 2), ti.math.vec3(1, 2, 3), 0.5).sum()

    @ti.kernel
    def scalar() -> ti.f32:
        return ti.math.length(1.0)

    @ti.kernel
    def integers(i: ti.i32) -> ti.f32:
        return ti.math.fract(i)

    show.error(few)
    show.error(shapes)
    show.error(scalar)
    show.error(integers, 1)


@case(differs="operations without code on some types")
def bits_of_floats(show):
    @ti.kernel
    def k(x: ti.f32) -> ti.i32:
        return ti.math.clz(x)

    show.error(k, 1.0)


@case()
def no_such_name(show):
    @ti.kernel
    def k() -> ti.f32:
        return ti.math.lerp(1.0, 2.0, 0.5)

    show.error(k)
