"""Fields: making them, their names, axes, offsets, members and gradients."""

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


@case()
def gradients_of_struct_fields(show):
    s = ti.Struct.field({"a": ti.f32, "n": ti.i32, "v": ti.math.vec2}, shape=2)
    show(s.keys)
    g = ti.Struct.field({"a": ti.f32, "v": ti.math.vec2}, shape=2, needs_grad=True)
    g.grad.fill(3)
    g.a.grad[1] = 4
    show(g.grad.to_numpy(), g.grad.a[1], g.v.grad.to_numpy())


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
