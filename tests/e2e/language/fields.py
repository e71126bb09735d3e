"""Fields: making, reading, writing, filling, copying, converting to arrays."""

import copy
import pickle

import numpy as np
from harness import case, ti

SCALARS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "u1")


@case()
def scalar_fields_of_every_type(show):
    for name in SCALARS:
        x = ti.field(getattr(ti, name), shape=(2, 3))
        x[1, 2] = 1
        show(name, x.shape, str(x.dtype), x[1, 2], x[0, 0], x.to_numpy())


@case()
def forms_of_shape(show):
    for shape in (3, (3,), [3], (), [], (2, 3), np.int64(4), (np.int32(2), 2), (1,) * 12):
        x = ti.field(ti.i32, shape)
        show(x.shape)
        if len(x.shape) == 0:
            x[None] = 5
            show(x[None])


@case()
def every_number_of_axes(show):
    for count in range(13):
        x = ti.field(ti.i32, shape=tuple(1 + (n % 2) for n in range(count)))
        key = tuple(n % 2 for n in range(count)) if count else None
        x[key] = 7 + count
        show(x.shape, x[key], int(x.to_numpy().sum()))


@case(differs="errors of the compiled part")
def too_many_axes(show):
    show.error(ti.field, ti.i32, shape=(1,) * 13)


@case()
def shapes_that_are_none(show):
    show.error(ti.field, ti.i32, shape=0)
    show.error(ti.field, ti.i32, shape=(2, -1))


@case()
def fractional_shapes(show):
    show.error(ti.field, ti.i32, shape=2.5)
    show.error(ti.field, ti.i32, shape="ab")


@case(differs="numbers in Python scope that do not fit")
def offsets_and_axes_of_other_types(show):
    show.error(ti.field, ti.i32, shape=4, offset="a")
    show.error(ti.field, ti.i32, shape=4, offset=1.5)
    show.error(lambda: ti.root.dense("i", 3))
    x = ti.field(ti.i32, shape=2, offset=np.int64(3))
    x[4] = 5
    show(x[4])


@case()
def arguments_that_need_a_shape(show):
    show.error(ti.field, ti.i32, offset=1)
    show.error(ti.field, ti.i32, order="i")
    show.error(ti.Vector.field, 2, ti.i32, offset=2)
    show.error(ti.Matrix.field, 2, 2, ti.i32, order="i")
    show.error(ti.Struct.field, {"a": ti.i32}, offset=2)


@case()
def types_that_are_none(show):
    show.error(ti.field, "i32", shape=3)
    show.error(ti.field, 3, shape=3)
    show.error(ti.field, None, shape=3)
    show.error(ti.field, np.float32, shape=3)


@case()
def python_types(show):
    for kind in (int, float, bool):
        show(str(ti.field(kind, shape=3).dtype))


@case()
def order_of_axes(show):
    for order in (None, "ij", "ji"):
        x = ti.field(ti.i32, shape=(2, 3), order=order)
        for i in range(2):
            for j in range(3):
                x[i, j] = 10 * i + j
        show(x.to_numpy(), x.shape)
    x = ti.field(ti.f32, shape=(2, 3, 4), order="kij")
    x.from_numpy(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    show(x[1, 2, 3], x[0, 1, 2], x.to_numpy())


@case()
def wrong_orders(show):
    show.error(ti.field, ti.i32, shape=(2, 3), order="i")
    show.error(ti.field, ti.i32, shape=(2, 3), order="ii")
    show.error(ti.field, ti.i32, shape=(2, 3), order="ik")
    show.error(ti.field, ti.i32, shape=(2, 3), order="xy")
    show.error(ti.Vector.field, 2, ti.i32, shape=(2, 3), order="ijk")


@case()
def offsets(show):
    x = ti.field(ti.i32, shape=(4, 4), offset=(-2, 3))
    for i in range(-2, 2):
        for j in range(3, 7):
            x[i, j] = 10 * i + j
    show(x.shape, x[-2, 3], x[1, 6], x.to_numpy())

    @ti.kernel
    def total() -> ti.i32:
        s = 0
        for i, j in x:
            s += i * 100 + j + x[i, j]
        return s

    show(total())
    y = ti.field(ti.i32, shape=3, offset=-1)
    y[-1] = 4
    show(y[-1], y.to_numpy())
    v = ti.Vector.field(2, ti.i32, shape=(2, 2), offset=(1, 1), layout=ti.Layout.SOA)
    v[2, 1] = [5, 6]
    show(v.to_numpy())


@case(differs="calls that trip over Taichi's own code")
def offsets_of_struct_fields(show):
    s = ti.Struct.field({"a": ti.i32}, shape=2, offset=10)
    s[11].a = 3
    show(s.to_numpy())


@case()
def wrong_offsets(show):
    show.error(ti.field, ti.i32, shape=(2, 3), offset=1)
    show.error(ti.field, ti.i32, shape=2, offset=(1, 2))
    show.error(ti.Vector.field, 2, ti.i32, shape=(2, 3), offset=(1,))


@case()
def names(show):
    x = ti.field(ti.f32, shape=3, name="x")
    v = ti.Vector.field(2, ti.f32, shape=3, name="v")
    show(repr(x), repr(v), str(x))
    show(repr(ti.field(ti.f32, shape=3)), repr(ti.Matrix.field(2, 3, ti.f32, shape=3)))
    show(type(ti.Struct.field({"a": ti.i32, "b": ti.f32}, shape=2)).__name__)


@case()
def vector_and_matrix_fields(show):
    for layout in (ti.Layout.AOS, ti.Layout.SOA):
        v = ti.Vector.field(3, ti.f32, shape=(2, 2), layout=layout)
        v[0, 1] = [1, 2, 3]
        v[1, 1] = ti.Vector([4, 5, 6])
        show(v.shape, v.n, v.m, str(v.dtype), v[0, 1].to_numpy(), v.to_numpy())
        m = ti.Matrix.field(2, 3, ti.i32, shape=2, layout=layout)
        m[1] = [[1, 2, 3], [4, 5, 6]]
        show(m.shape, m.n, m.m, m[1].to_numpy(), m.to_numpy())
        show(m[1][1, 2], m[1][0, 0])


@case()
def forms_of_vector_fields(show):
    for v in (
        ti.Vector.field(2, ti.f32, 3),
        ti.Vector.field(2, dtype=ti.f32, shape=(3,)),
        ti.Vector.field(n=2, dtype=ti.f32, shape=[3]),
        ti.field(ti.math.vec2, 3),
        ti.field(ti.types.vector(2, ti.f32), shape=3),
        ti.types.vector(2, ti.f32).field(shape=3),
    ):
        show(v.shape, v.n, v.to_numpy())
    for m in (
        ti.Matrix.field(2, 1, ti.i32, 2),
        ti.Matrix.field(n=1, m=2, dtype=ti.i32, shape=2),
        ti.field(ti.types.matrix(2, 2, ti.i32), 2),
        ti.types.matrix(2, 2, ti.i32).field(shape=2),
    ):
        show(m.shape, m.n, m.m, m.to_numpy(), m.to_numpy(keep_dims=True))


@case()
def wrong_matrix_fields(show):
    show.error(ti.Vector.field, 2)
    show.error(ti.Vector.field, 2, "f32", shape=2)
    show.error(ti.Matrix.field, 2, ti.f32, shape=2)


@case()
def elements_are_live_views(show):
    v = ti.Vector.field(2, ti.i32, shape=3)
    a = v[0]
    v[0] = [9, 8]
    show(a.to_numpy())
    v[0].x = 3
    v[0][1] = 5
    a[0] += 1
    show(v[0].to_numpy(), v.to_numpy(), a.x, a.y, a.xy.to_numpy())
    b = v[0] + 1
    v[0] = [0, 0]
    show(b.to_numpy(), type(b[0]), type(v[0][0]))
    v[1] = v[0]
    v[1] = (1, 2)
    v[2] = np.array([7, 8])
    v[0] += 3
    show(v.to_numpy())
    m = ti.Matrix.field(2, 2, ti.f32, shape=())
    m[None] = [[1, 2], [3, 4]]
    e = m[None]
    m[None][0, 1] = 20
    show(e.to_numpy(), (e @ e).to_numpy(), e.transpose().to_numpy())


@case()
def struct_elements_are_live_views(show):
    s = ti.Struct.field({"p": ti.math.vec2, "m": ti.f32, "n": ti.i32}, shape=2)
    e = s[0]
    s[0].p = [1, 2]
    s[0].p.x = 9
    s[0].m = 3
    s[0].n = 4
    show(e.m, e.n, e.p.to_numpy())
    s[1] = s[0]
    s[1].n = 5
    show(s.to_numpy())
    s.m[1] = 7
    show(s[1].m, s.p[1].to_numpy(), s.keys)
    s[0] = {"p": [3, 3], "m": 1, "n": 2}
    show(s.to_numpy())


@case(differs="`to_dict` of an element of a struct field")
def struct_elements_as_dicts(show):
    s = ti.Struct.field({"p": ti.math.vec2, "m": ti.f32}, shape=2)
    s[0].m = 3
    show(s[0].to_dict())


@case()
def nested_struct_fields(show):
    inner = ti.types.struct(a=ti.i32, v=ti.types.vector(2, ti.f32))
    outer = ti.types.struct(s=inner, m=ti.types.matrix(2, 2, ti.i32), k=ti.u8)
    x = outer.field(shape=2)
    x[0].s.a = 1
    x[0].s.v = [2, 3]
    x[0].m = [[1, 2], [3, 4]]
    x[1].k = 200
    show(x[0].s.a, x[0].m.to_numpy(), x.to_numpy(), x.shape)
    show(x.s.a[0], x.s.v[0].to_numpy())
    for layout in (ti.Layout.AOS, ti.Layout.SOA):
        y = outer.field(shape=(2, 2), layout=layout)
        y.from_numpy(
            {
                "s": {
                    "a": np.arange(4, dtype=np.int32).reshape(2, 2),
                    "v": np.arange(8, dtype=np.float32).reshape(2, 2, 2),
                },
                "m": np.arange(16, dtype=np.int32).reshape(2, 2, 2, 2),
                "k": np.arange(4, dtype=np.uint8).reshape(2, 2),
            }
        )
        show(y[1, 0].s.v.to_numpy(), y[1, 0].k, y.to_numpy())


@case()
def dataclass_fields(show):
    @ti.dataclass
    class Sphere:
        center: ti.math.vec3
        radius: ti.f32

        @ti.func
        def area(self):
            return 4 * self.radius * self.radius

    x = Sphere.field(shape=2)
    x[0].radius = 2
    x[1] = Sphere(center=[1, 2, 3], radius=4)

    @ti.kernel
    def total() -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i].area()
        return s

    show(total(), x.to_numpy())


@case()
def wrong_struct_members(show):
    s = ti.Struct.field({"a": ti.i32}, shape=2)
    show.error(lambda: s.b)
    show.error(lambda: s[0].b)


@case(differs="an unknown member that is assigned, or given to the type")
def assigning_unknown_members(show):
    s = ti.Struct.field({"a": ti.i32}, shape=2)

    def assign():
        s[0].b = 3

    show.error(assign)


@case()
def values_that_are_stored(show):
    x = ti.field(ti.i32, shape=2)
    for value in (3, -3, True, np.int64(5), np.uint8(7), 2**31 - 1):
        x[0] = value
        show(x[0])
    f = ti.field(ti.f32, shape=2)
    for value in (3, 0.1, True, np.float64(0.25), np.float32(0.1), float("inf"), 1e40):
        f[0] = value
        show(f[0])
    u = ti.field(ti.u8, shape=2)
    for value in (255, 256, 300):
        u[0] = value
        show(u[0])


@case()
def values_that_are_refused(show):
    x = ti.field(ti.i32, shape=2)

    def store(value):
        x[0] = value

    for value in ("a", None, [1], 1.5, np.float32(2)):
        show.error(store, value)


@case(differs="`x[5, 5]` out of bounds, in Python")
def indices_out_of_bounds(show):
    x = ti.field(ti.i32, shape=(2, 3), name="x")
    show.error(lambda: x[5, 5])
    show.error(lambda: x[-1, 0])
    show.error(lambda: x[0, 3])

    def store():
        x[2, 0] = 1

    show.error(store)
    v = ti.Vector.field(2, ti.i32, shape=3)
    show.error(lambda: v[3])
    show.error(lambda: v[-1])
    s = ti.Struct.field({"a": ti.i32}, shape=3)
    show.error(lambda: s[3].a)


@case()
def wrong_indices(show):
    x = ti.field(ti.i32, shape=(2, 3))
    show.error(lambda: x[0])
    show.error(lambda: x[0, 1, 2])
    show.error(lambda: x[None])
    show.error(lambda: x[0, :])
    show.error(lambda: x[0, 1.5])
    show.error(lambda: x["a", 0])
    y = ti.field(ti.i32, shape=())
    show.error(lambda: y[0])
    v = ti.Vector.field(2, ti.i32, shape=3)
    show.error(lambda: v[0, 0])


@case()
def forms_of_indices(show):
    x = ti.field(ti.i32, shape=(2, 3))
    x[1, 2] = 5
    show(x[1, 2], x[(1, 2)], x[np.int32(1), np.int64(2)])
    y = ti.field(ti.i32, shape=())
    y[None] = 3
    show(y[None], y[()])
    z = ti.field(ti.i32, shape=4)
    z[2] = 4
    show(z[2], z[(2,)])


@case()
def fields_do_not_iterate(show):
    x = ti.field(ti.i32, shape=3)
    show.error(lambda: list(x))
    show.error(lambda: [v for v in ti.Vector.field(2, ti.i32, shape=3)])
    show.error(len, x)
    structs = ti.types.struct(a=ti.f32, v=ti.math.vec2).field(shape=3)
    show.error(lambda: list(structs))
    show.error(lambda: 3 in structs)
    show.error(len, structs)


def elements_of_all_kinds():
    """A vector, a matrix, and a struct with methods, each an element of a field."""

    @ti.dataclass
    class Ball:
        r: ti.f32
        c: ti.math.vec2

        def double(self):
            return self.r * 2

    vectors, matrices = ti.Vector.field(2, ti.f32, 3), ti.Matrix.field(2, 2, ti.i32, ())
    balls = Ball.field(shape=2)
    vectors[1], matrices[None] = [1, 2], [[1, 2], [3, 4]]
    balls[0] = Ball(r=5, c=[6, 7])
    return vectors[1], matrices[None], balls[0]


@case()
def copies_of_elements(show):
    vector, matrix, ball = (copy.copy(one) for one in elements_of_all_kinds())
    vector[1] = 20
    matrix[1, 0] = 30
    ball.c[1] = 70
    show(vector.to_list(), matrix.to_list(), ball.r, ball.c.to_list(), ball.double())


@case(differs="deep copies of elements of fields")
def deep_copies_of_elements(show):
    elements = elements_of_all_kinds()
    for made in (copy.deepcopy(elements), copy.deepcopy({"a": list(elements)})["a"]):
        vector, matrix, ball = made
        vector[1] = 20
        matrix[1, 0] = 30
        ball.c[1] = 70
        ball.r = 50
        show(vector.to_list(), matrix.to_list(), ball.to_dict(), ball.double())
    vector, matrix, ball = elements
    show(vector.to_list(), matrix.to_list(), ball.to_dict(), ball.double())
    vector, matrix = pickle.loads(pickle.dumps(elements[:2]))
    show(vector.to_list(), matrix.to_list())


@case()
def fill(show):
    for name in SCALARS:
        x = ti.field(getattr(ti, name), shape=(2, 2))
        x.fill(1)
        show(x.to_numpy())
    v = ti.Vector.field(2, ti.f32, shape=2)
    v.fill(3)
    show(v.to_numpy())
    v.fill([1, 2])
    show(v.to_numpy())
    v.fill(ti.Vector([5, 6]))
    show(v.to_numpy())
    m = ti.Matrix.field(2, 2, ti.i32, shape=2, layout=ti.Layout.SOA)
    m.fill([[1, 2], [3, 4]])
    show(m.to_numpy())
    m.fill(ti.Matrix([[5, 6], [7, 8]]))
    show(m.to_numpy())
    s = ti.Struct.field({"a": ti.i32, "b": ti.f32}, shape=2)
    s.fill(2)
    show(s.to_numpy())


@case()
def fills_are_cast(show):
    for name in ("i8", "i32", "i64", "u8", "u32"):
        x = ti.field(getattr(ti, name), shape=2)
        x.fill(2.7)
        show(x.to_numpy())
        x.fill(np.float32(1.5))
        show(x.to_numpy())
    v = ti.Vector.field(2, ti.i32, shape=1)
    v.fill(1.5)
    show(v.to_numpy())
    v.fill([1.5, -2.5])
    show(v.to_numpy())


@case()
def fill_in_kernels(show):
    x = ti.field(ti.f32, shape=(2, 2))
    v = ti.Vector.field(2, ti.i32, shape=2)

    @ti.kernel
    def k(a: ti.f32):
        x.fill(a)
        v.fill(7)

    k(1.5)
    show(x.to_numpy(), v.to_numpy())


@case()
def wrong_fills(show):
    v = ti.Vector.field(2, ti.f32, shape=2)
    show.error(v.fill, [1, 2, 3])
    m = ti.Matrix.field(2, 2, ti.f32, shape=2)
    show.error(m.fill, [1, 2, 3])


@case()
def copies_between_fields(show):
    x = ti.field(ti.f32, shape=(2, 3))
    x.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
    y = ti.field(ti.f32, shape=(2, 3), order="ji")
    y.copy_from(x)
    show(y.to_numpy())
    z = ti.field(ti.i32, shape=(2, 3))
    z.copy_from(x)
    show(z.to_numpy())
    v = ti.Vector.field(2, ti.f32, shape=2, layout=ti.Layout.SOA)
    w = ti.Vector.field(2, ti.f32, shape=2)
    v[1] = [3, 4]
    w.copy_from(v)
    show(w.to_numpy())
    a = ti.Struct.field({"a": ti.i32, "b": ti.math.vec2}, shape=2)
    b = ti.Struct.field({"a": ti.i32, "b": ti.math.vec2}, shape=2)
    a[1].a = 4
    a[0].b = [5, 6]
    b.copy_from(a)
    show(b.to_numpy())


@case()
def wrong_copies(show):
    x = ti.field(ti.f32, shape=(2, 3))
    show.error(x.copy_from, ti.field(ti.f32, shape=(3, 2)))
    show.error(x.copy_from, np.zeros((2, 3)))
    show.error(x.copy_from, ti.field(ti.f32, shape=6))


@case()
def to_numpy_with_a_type(show):
    x = ti.field(ti.i32, shape=3)
    x[1] = 300
    for kind in (np.float32, np.int64, np.float64):
        show(x.to_numpy(dtype=kind))
    v = ti.Vector.field(2, ti.f32, shape=2)
    v[0] = [1.5, 2.5]
    show(v.to_numpy(dtype=np.float64), v.to_numpy(keep_dims=True), v.to_numpy(True, np.float64))
    m = ti.Matrix.field(2, 1, ti.f32, shape=2)
    show(m.to_numpy(), m.to_numpy(keep_dims=True))


@case()
def from_numpy_of_every_type(show):
    for name in SCALARS:
        x = ti.field(getattr(ti, name), shape=4)
        if name != "u1":
            x.from_numpy(np.array([0, 1, 2, 3], np.float64))
            show(name, x.to_numpy())
        x.from_numpy(np.array([0, 1, 2, 3], np.int32))
        show(x.to_numpy())


@case(differs="fractions stored as bools")
def from_numpy_of_fractions_to_bools(show):
    x = ti.field(ti.u1, shape=4)
    x.from_numpy(np.array([0, 0.5, 2, 3], np.float64))
    show(x.to_numpy())


@case()
def from_numpy_of_any_stride(show):
    big = np.arange(48, dtype=np.float32).reshape(4, 12)
    x = ti.field(ti.f32, shape=(2, 3))
    for array in (big[:2, :3], big[::2, ::4], big[:3, :2].T, big[::-2, ::-4], big[1:3, 3:6]):
        x.from_numpy(array)
        show(x.to_numpy())
    x.from_numpy(np.asfortranarray(big[:2, :3]))
    show(x.to_numpy())
    v = ti.Vector.field(3, ti.f32, shape=2)
    v.from_numpy(big[:2, ::4])
    show(v.to_numpy())
    v.from_numpy(big[:2, :3, None])
    show(v.to_numpy())


@case()
def from_numpy_of_wrong_shape(show):
    x = ti.field(ti.f32, shape=(2, 3))
    show.error(x.from_numpy, np.zeros((3, 2), np.float32))
    show.error(x.from_numpy, np.zeros(6, np.float32))
    s = ti.Struct.field({"a": ti.i32}, shape=2)
    show.error(s.from_numpy, {"b": np.zeros(2, np.int32)})
    show.error(s.from_numpy, {"a": np.zeros(3, np.int32)})


@case(differs="`from_numpy` of another shape")
def matrices_from_numpy_of_wrong_shape(show):
    v = ti.Vector.field(3, ti.f32, shape=2)
    show.error(v.from_numpy, np.zeros((2, 2), np.float32))
    show.error(v.from_numpy, np.zeros((3, 2), np.float32))
    m = ti.Matrix.field(2, 2, ti.f32, shape=2)
    show.error(m.from_numpy, np.zeros((2, 4), np.float32))


@case()
def from_numpy_of_what_has_no_match(show):
    x = ti.field(ti.i32, shape=3)
    show.error(x.from_numpy, np.zeros(3, complex))
    show.error(x.from_numpy, np.array(["a", "b", "c"]))
    show.error(x.from_numpy, np.zeros(3, np.longdouble))


@case(differs="calls that trip over Taichi's own code")
def from_numpy_of_lists(show):
    x = ti.field(ti.i32, shape=3)
    show.error(x.from_numpy, [1, 2, 3])
    show.error(x.from_numpy, None)


@case()
def gradients_of_struct_fields(show):
    s = ti.Struct.field({"a": ti.f32, "n": ti.i32, "v": ti.math.vec2}, shape=2)
    show(s.keys)
    g = ti.Struct.field({"a": ti.f32, "v": ti.math.vec2}, shape=2, needs_grad=True)
    g.grad.fill(3)
    g.a.grad[1] = 4
    show(g.grad.to_numpy(), g.grad.a[1], g.v.grad.to_numpy())


@case()
def layouts_and_arrays_agree(show):
    array = np.arange(2 * 3 * 2 * 2, dtype=np.int32).reshape(2, 3, 2, 2)
    for layout in (ti.Layout.AOS, ti.Layout.SOA):
        for order in (None, "ij", "ji"):
            m = ti.Matrix.field(2, 2, ti.i32, shape=(2, 3), layout=layout, order=order)
            m.from_numpy(array)
            same = all(
                (m[i, j].to_numpy() == array[i, j]).all() for i in range(2) for j in range(3)
            )
            show(same, bool((m.to_numpy() == array).all()))


@case()
def copy_and_pickle(show):
    x = ti.field(ti.f32, shape=3)
    x[1] = 5
    v = ti.Vector([1, 2])
    w, u = copy.deepcopy(v), copy.copy(v)
    w[0] = 9
    show(v.to_numpy(), w.to_numpy(), u.to_numpy())
    s = ti.Struct({"a": 1, "b": [1, 2]})
    show(copy.deepcopy(s).to_dict())


@case()
def copies_of_fields(show):
    x = ti.field(ti.f32, shape=3)
    x[1] = 5
    show.error(copy.deepcopy, x)
    show.error(pickle.dumps, x)
    y = copy.copy(x)
    y[1] = 6
    show(x[1])
    v = ti.Vector.field(2, ti.i32, shape=2)
    w = copy.copy(v)
    w[1] = [3, 4]
    show(v.to_numpy())

    @ti.kernel
    def k():
        for i in x:
            x[i] += 1
            y[i] += 1

    k()
    show(x.to_numpy())


@case()
def fields_in_classes_and_containers(show):
    xs = [ti.field(ti.i32, shape=2) for _ in range(3)]

    @ti.kernel
    def k():
        for n in ti.static(range(3)):
            for i in xs[n]:
                xs[n][i] = n * 10 + i

    k()
    show([x.to_numpy() for x in xs])


@case()
def gradients_of_fields(show):
    x = ti.field(ti.f32, shape=3, needs_grad=True)
    x.grad[1] = 4
    show(x.grad.to_numpy(), x.grad.shape, str(x.grad.dtype))
    y = ti.Vector.field(2, ti.f64, shape=2, needs_grad=True)
    y.grad[0] = [1, 2]
    show(y.grad.to_numpy())
    z = ti.field(ti.f32, shape=3, needs_dual=True)
    z.dual.fill(2)
    show(z.dual.to_numpy())
    show(ti.field(ti.i32, shape=3).grad)

    @ti.kernel
    def k() -> ti.f32:
        x.grad[2] = 5
        return x.grad[1] + x.grad[2]

    show(k())


@case()
def gradients_of_integers(show):
    show.error(ti.field, ti.i32, shape=3, needs_grad=True)
    show.error(ti.field, ti.i32, shape=3, needs_dual=True)


@case()
def scalar_fields_of_components(show):
    v = ti.Vector.field(3, ti.i32, shape=2)
    v[1] = [1, 2, 3]
    y = v.get_scalar_field(1)
    y[0] = 7
    show(y[1], v[0].to_numpy(), y.to_numpy())
    m = ti.Matrix.field(2, 2, ti.i32, shape=())
    m.get_scalar_field(1, 0)[None] = 5
    show(m[None].to_numpy())


@case()
def str_of_fields(show):
    x = ti.field(ti.i32, shape=3)
    x[1] = 2
    print(x)
    v = ti.Vector.field(2, ti.f32, shape=2)
    print(v)


@case()
def str_of_a_field_without_place(show):
    print(ti.field(ti.f32))


@case()
def equal_fields_in_kernels(show):
    x = ti.field(ti.i32, shape=4)
    y = ti.field(ti.i32, shape=4)

    @ti.kernel
    def copy_to(a: ti.template(), b: ti.template()):
        for i in a:
            b[i] = a[i] + 1

    copy_to(x, y)
    copy_to(y, x)
    copy_to(x, x)
    show(x.to_numpy(), y.to_numpy())


@case()
def what_is_for_python_only(show):
    x = ti.field(ti.i32, shape=3)
    v = ti.Vector.field(2, ti.i32, shape=3)

    def read():
        return x[0]

    def write():
        v[0] = [1, 2]

    @ti.kernel
    def reads() -> ti.i32:
        return read()

    @ti.kernel
    def writes():
        write()

    @ti.kernel
    def copies():
        x.to_numpy()

    @ti.kernel
    def makes():
        y = ti.field(ti.i32, shape=3)  # noqa: F841

    @ti.kernel
    def makes_arrays():
        y = ti.ndarray(ti.i32, 3)  # noqa: F841

    for k in (reads, writes, copies, makes, makes_arrays):
        show.error(k)
    show(x[0], v[0].to_numpy())


@case()
def printing_a_field_in_a_kernel(show):
    x = ti.field(ti.i32, shape=3)

    @ti.kernel
    def k():
        print(x)

    show.error(k)


@case()
def shapes_in_kernels(show):
    x = ti.field(ti.i32, shape=(3, 5))
    v = ti.Vector.field(4, ti.i32, shape=7)

    @ti.kernel
    def k() -> ti.i32:
        return x.shape[0] * 1000 + x.shape[1] * 100 + v.shape[0] * 10 + v.n

    show(k())


@case()
def extents_in_arrays(show):
    pair = ti.types.struct(a=ti.i32)
    several = [np.array([2, 3]), np.array([2, 3], np.uint8), ti.Vector([2, 3]), range(2, 4), [2, 3]]
    for shape in (*several, np.array([4]), np.int64(4), (2, np.int32(3))):
        field = ti.field(ti.i32, shape=shape)
        vectors = ti.Vector.field(2, ti.f32, shape=shape)
        arrays = ti.ndarray(ti.i32, shape), ti.Vector.ndarray(2, ti.i32, shape=shape)
        show(field.shape, vectors.shape, pair.field(shape=shape).shape)
        show([[int(extent) for extent in array.shape] for array in arrays])
    for shape in several:
        dense, pointer = ti.root.dense(ti.ij, shape), ti.root.pointer(ti.ij, shape)
        x, y = ti.field(ti.i32), ti.field(ti.i32)
        dense.place(x, offset=np.array([1, -1]))
        pointer.place(y)
        x[1, -1] = y[1, 2] = 7
        show(dense.shape, pointer.shape, x[1, -1], y[1, 2])
    shifted = ti.field(ti.i32, shape=np.array([2, 3]), offset=np.array([-1, 5]))
    shifted[-1, 7] = 3
    show(shifted.to_numpy())


@case()
def extents_in_arrays_of_floats(show):
    show.error(lambda: ti.field(ti.i32, shape=np.array([2.0, 3.0])))
    show.error(lambda: ti.root.dense(ti.ij, np.array([2.0, 3.0])))


@case(differs="`from_numpy` of another shape")
def rows_for_columns(show):
    numbers = np.arange(12, dtype=np.float32)
    for field in (
        ti.Vector.field(3, ti.f32, (2, 2)),
        ti.Matrix.field(3, 1, ti.f32, (2, 2)),
        ti.Matrix.field(1, 3, ti.f32, (2, 2)),
    ):
        for element in ((3,), (3, 1), (1, 3)):
            field.fill(0)
            field.from_numpy(numbers.reshape(2, 2, *element))
            show(field.to_numpy(keep_dims=True).ravel())
        show.error(field.from_numpy, numbers.reshape(2, 2, 3, 1, 1))
        show.error(field.from_numpy, numbers.reshape(4, 3))


@case()
def indices_of_narrow_integers_wrap(show):
    signed = ti.field(ti.i32, 256, offset=-128)
    unsigned, long = ti.field(ti.i32, 256), ti.field(ti.i32, 70000, offset=-35000)

    @ti.kernel
    def fill(n: ti.i32):
        for i in range(300):
            signed[ti.cast(i, ti.i8)] += i
            unsigned[ti.cast(i, ti.u8)] += i
        for i in range(n):
            signed[ti.cast(i, ti.i8) + ti.cast(5, ti.i8)] += 1000 * i
            long[ti.cast(i * 200, ti.i16) + ti.cast(500, ti.i16)] += i
        for i in long:
            if i > 34000:
                long[ti.cast(i, ti.i16)] -= 1

    fill(300)
    for field in signed, unsigned, long:
        show(field.to_numpy().sum(), (field.to_numpy() * np.arange(field.shape[0])).sum())
    show(signed[-128], signed[127], unsigned[43], long[-31036])


@case()
def sums_of_indices_with_large_numbers(show):
    x = ti.field(ti.i32, 100)

    @ti.kernel
    def fill():
        for i in range(-(2**31), -(2**31) + 100):
            x[(i + 2147483647) + 1] = i % 7

    fill()
    show(x.to_numpy().sum(), x[0], x[99])
