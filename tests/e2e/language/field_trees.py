"""Trees of dense SNodes: nesting, builders, placing, destroying."""

import gc

import numpy as np
from harness import case, ti


def numbered(x):
    """The field's elements numbered in row-major order, by a kernel and by NumPy."""
    shape = x.shape

    @ti.kernel
    def number():
        for P in ti.grouped(x):
            n = 0
            for a in ti.static(range(len(shape))):
                n = n * shape[a] + P[a]
            x[P] = n

    number()
    return bool((x.to_numpy().ravel() == np.arange(np.prod(shape))).all())


@case()
def one_level(show):
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 5).place(x)
    show(x.shape, numbered(x))
    y = ti.field(ti.i32)
    ti.root.dense(ti.ij, (2, 3)).place(y)
    show(y.shape, numbered(y))
    z = ti.field(ti.i32)
    ti.root.dense(ti.ijk, 3).place(z)
    show(z.shape, numbered(z))
    w = ti.field(ti.i32)
    ti.root.dense(ti.ijkl, (2, 1, 3, 2)).place(w)
    show(w.shape, numbered(w))
    s = ti.field(ti.i32)
    ti.root.place(s)
    s[None] = 4
    show(s.shape, s[None])


@case()
def nested_levels(show):
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 2).dense(ti.j, 3).place(x)
    show(x.shape, numbered(x))
    y = ti.field(ti.i32)
    ti.root.dense(ti.j, 3).dense(ti.i, 2).place(y)
    show(y.shape, numbered(y))
    z = ti.field(ti.i32)
    ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, (4, 2)).place(z)
    show(z.shape, numbered(z))
    w = ti.field(ti.i32)
    ti.root.dense(ti.i, 4).dense(ti.i, 4).dense(ti.i, 2).place(w)
    show(w.shape, numbered(w))
    v = ti.field(ti.i32)
    ti.root.dense(ti.ik, (2, 3)).dense(ti.j, 4).dense(ti.ijk, 2).place(v)
    show(v.shape, numbered(v))


@case()
def extents_that_are_no_powers_of_two(show):
    x = ti.field(ti.i32)
    ti.root.dense(ti.ij, (3, 5)).dense(ti.ij, (5, 7)).place(x)
    show(x.shape, numbered(x))
    y = ti.field(ti.i32)
    ti.root.dense(ti.i, 7).dense(ti.j, 3).dense(ti.i, 3).place(y)
    show(y.shape, numbered(y))


@case()
def several_fields_in_one_cell(show):
    x, y = ti.field(ti.i32), ti.field(ti.f64)
    v = ti.Vector.field(3, ti.i8)
    ti.root.dense(ti.i, 4).place(x, y, v)
    x[2], y[2], v[2] = 1, 2.5, [1, 2, 3]
    show(x.to_numpy(), y.to_numpy(), v.to_numpy())
    a, b, c = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    node = ti.root.dense(ti.i, 3)
    node.place(a)
    node.dense(ti.j, 2).place(b)
    node.dense(ti.j, 5).place(c)
    show(a.shape, b.shape, c.shape, numbered(a), numbered(b), numbered(c))


@case()
def placing_structs_and_matrices(show):
    m = ti.Matrix.field(2, 2, ti.f32)
    s = ti.Struct.field({"a": ti.i32, "v": ti.math.vec2})
    ti.root.dense(ti.ij, (2, 2)).place(m, s)
    m[1, 0] = [[1, 2], [3, 4]]
    s[0, 1].v = [5, 6]
    show(m.to_numpy(), s.to_numpy())
    t = ti.Struct.field({"a": ti.i32, "b": ti.f32})
    block = ti.root.dense(ti.i, 2)
    block.dense(ti.i, 2).place(t.a)
    block.dense(ti.i, 2).place(t.b)
    t.a[3] = 3
    t.b[2] = 1.5
    show(t.to_numpy(), t[3].a)


@case()
def placing_lists(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    z = ti.field(ti.i32)
    ti.root.dense(ti.i, 2).place([x, y], z)
    show(x.shape, y.shape, z.shape)


@case()
def placing_with_offset(show):
    x = ti.field(ti.i32)
    y = ti.Vector.field(2, ti.i32)
    ti.root.dense(ti.ij, (2, 3)).place(x, y, offset=(-1, 2))
    x[-1, 2], x[0, 4] = 5, 6
    y[0, 2] = [1, 2]
    show(x.to_numpy(), y.to_numpy())
    z = ti.field(ti.i32)
    ti.root.dense(ti.i, 4).place(z, offset=-2)
    z[-2] = 3
    show(z.to_numpy())


@case(differs="errors of the compiled part")
def placing_with_a_wrong_offset(show):
    x = ti.field(ti.i32)
    show.error(lambda: ti.root.dense(ti.i, 4).place(x, offset=(1, 2)))


@case()
def wrong_levels(show):
    show.error(lambda: ti.root.dense(ti.i, 0))
    show.error(lambda: ti.root.dense(ti.ij, (2, -3)))
    show.error(lambda: ti.root.dense(ti.ij, (2, 3, 4)))


@case()
def placing_what_is_no_field(show):
    show.error(lambda: ti.root.dense(ti.i, 2).place(3))
    show.error(lambda: ti.root.dense(ti.i, 2).place("x"))


@case(differs="errors of the compiled part")
def placing_twice(show):
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 2).place(x)
    show.error(lambda: ti.root.dense(ti.i, 3).place(x))
    y = ti.field(ti.i32, shape=3)
    show.error(lambda: ti.root.dense(ti.i, 3).place(y))


@case()
def placing_after_materialisation(show):
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 2).place(x)
    x[1] = 5
    y = ti.field(ti.i32)
    ti.root.dense(ti.i, 3).place(y)
    y[2] = 6
    z = ti.field(ti.i32, shape=4)

    @ti.kernel
    def k() -> ti.i32:
        return x[1] + y[2] + z[3]

    show(k())
    w = ti.field(ti.i32, shape=())
    w[None] = 3
    show(k(), w[None])


@case()
def looking_at_nodes(show):
    x = ti.field(ti.i32)
    a = ti.root.dense(ti.i, 2)
    b = a.dense(ti.j, 3)
    b.place(x)
    show(a.shape, b.shape, x.snode.shape, repr(a), repr(x.snode))
    show(x.parent() == b, x.parent(2) == a, b.parent() == a, x.parent().shape)
    show(x.parent(3) == ti.root, repr(ti.root), a.parent() == ti.root)
    show(x.snode.parent(2).shape, len(ti.root._get_children()))


@case()
def root_shape(show):
    show(ti.root.shape)
    x = ti.field(ti.i32, shape=(2, 3))
    show(x.snode.parent().shape, x.parent().parent() == ti.root)


@case()
def loops_over_inner_nodes(show):
    x = ti.field(ti.i32)
    a = ti.root.dense(ti.i, 3)
    a.dense(ti.i, 4).place(x)

    @ti.kernel
    def outer() -> ti.i32:
        s = 0
        for i in a:
            s += i + 1
        return s

    show(outer())


@case()
def loops_over_several_axes(show):
    x = ti.field(ti.i32)
    a = ti.root.dense(ti.ij, (2, 3))
    b = a.dense(ti.ij, (2, 2))
    b.place(x)

    @ti.kernel
    def k(node: ti.template()) -> ti.i32:
        s = 0
        for i, j in node:
            s += 100 * i + j
        return s

    show(k(x), k(b))


@case()
def builders(show):
    one, two = ti.FieldsBuilder(), ti.FieldsBuilder()
    x, y = ti.field(ti.i32), ti.field(ti.f32)
    one.dense(ti.i, 3).place(x)
    two.dense(ti.ij, (2, 2)).dense(ti.i, 2).place(y)
    tree = one.finalize()
    other = two.finalize()
    x[1], y[3, 1] = 4, 2.5
    show(x.to_numpy(), y.to_numpy())

    @ti.kernel
    def k() -> ti.f32:
        return x[1] + y[3, 1]

    show(k())
    tree.destroy()
    show(y[3, 1])
    other.destroy()


@case()
def builders_are_rebuilt(show):
    @ti.kernel
    def number(x: ti.template()):
        for i in x:
            x[i] = i

    for n in (3, 5, 4):
        builder = ti.FieldsBuilder()
        x = ti.field(ti.i32)
        builder.dense(ti.i, n).place(x)
        tree = builder.finalize()
        number(x)
        show(x.to_numpy())
        tree.destroy()


@case()
def wrong_uses_of_builders(show):
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    builder.dense(ti.i, 3).place(x)
    tree = builder.finalize()
    show.error(builder.finalize)
    show.error(lambda: builder.dense(ti.i, 3))
    show.error(lambda: builder.place(ti.field(ti.i32)))
    tree.destroy()
    show.error(tree.destroy)


@case()
def empty_builders(show):
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ti.FieldsBuilder().finalize()
        ti.FieldsBuilder().finalize(raise_warning=False)
    show(["Finalizing an empty FieldsBuilder!" in str(w.message) for w in caught])


@case(differs="a field that is not placed")
def fields_that_are_not_placed(show):
    x = ti.field(ti.i32)
    y = ti.field(ti.i32, shape=2)
    show.error(lambda: x[0])
    show.error(lambda: x.to_numpy())
    show.error(lambda: y[0])


@case(differs="a field that is not placed")
def kernels_beside_fields_that_are_not_placed(show):
    x = ti.field(ti.i32)
    y = ti.field(ti.i32, shape=2)

    @ti.kernel
    def good() -> ti.i32:
        return y[0] + 1

    @ti.kernel
    def bad() -> ti.i32:
        return x[0]

    show.error(good)
    show.error(bad)


@case(differs="a field that is not placed")
def known_kernels_after_a_declaration(show):
    y = ti.field(ti.i32, shape=2)

    @ti.kernel
    def k(a: ti.i32) -> ti.i32:
        return y[0] + a

    show(k(1))
    x = ti.field(ti.i32)
    show.error(k, 1)
    show.error(lambda: k(a=1))
    show.error(ti.sync)
    ti.root.dense(ti.i, 3).place(x)
    show(k(1), k(a=2))


@case(differs="a field that is not placed")
def members_that_are_not_placed(show):
    s = ti.types.struct(a=ti.f32, b=ti.f32).field()
    v = ti.Vector.field(2, ti.f32)
    ti.root.dense(ti.i, 3).place(s.a, v)

    @ti.kernel
    def k() -> ti.i32:
        return 1

    show.error(k)
    ti.root.dense(ti.i, 3).place(s.b)
    show(k())
    w = ti.Vector.field(2, ti.f32)
    ti.root.dense(ti.i, 3).place(w.get_scalar_field(0))
    show.error(k)
    ti.root.dense(ti.i, 4).place(w.get_scalar_field(1))
    show.error(k)


@case(differs="a field that is not placed")
def struct_fields_that_cannot_be_made(show):
    inner = ti.types.struct(c=ti.math.vec3, d=ti.i32)
    outer = ti.types.struct(a=ti.f32, b=inner)
    x = ti.field(ti.i32, shape=2)

    @ti.kernel
    def k():
        for i in x:
            x[i] += i

    for options in (
        {"shape": (2, 0)},
        {"shape": 3, "needs_grad": True},
        {"shape": (2, 3), "offset": (1,)},
        {"shape": (2, 3), "order": "ii"},
        {"shape": (1,) * 13, "layout": ti.Layout.SOA},
    ):
        show.error(lambda: outer.field(**options))
        k()  # no member is left without a place
    show(x)


@case(differs="a field that is not placed")
def gradients_that_are_not_placed(show):
    @ti.kernel
    def k() -> ti.i32:
        return 1

    x = ti.field(ti.f32, needs_grad=True)
    ti.root.dense(ti.i, 3).place(x)
    show.error(k)
    ti.root.dense(ti.i, 3).place(x.grad)
    show(k())
    s = ti.types.struct(a=ti.f32, b=ti.f32).field(needs_dual=True)
    ti.root.dense(ti.i, 3).place(s)
    show.error(k)
    ti.root.dense(ti.i, 3).place(s.dual)
    show(k())


@case()
def gradients_of_integers(show):
    mixed = ti.types.struct(a=ti.f32, b=ti.i32)
    show.error(lambda: ti.field(ti.i32, needs_grad=True))
    show.error(lambda: ti.Vector.field(2, ti.i32, 3, needs_dual=True))
    show.error(lambda: mixed.field(needs_grad=True))
    show.error(lambda: mixed.field(shape=3, needs_dual=True))


@case()
def builders_that_are_not_finished(show):
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    builder.dense(ti.i, 3).place(x)
    show.error(lambda: x[0])


@case(differs="a field of an earlier `init`")
def stale_fields(show):
    x = ti.field(ti.i32, shape=2, name="x")
    v = ti.Vector.field(2, ti.i32, shape=2)
    e = v[0]

    @ti.kernel
    def k() -> ti.i32:
        return x[0]

    show(k())
    ti.init(arch=ti.cpu)
    show.error(lambda: x[0])
    show.error(lambda: x.to_numpy())
    show.error(lambda: x.fill(1))
    show.error(lambda: e[0])
    show.error(k)


@case(differs="a field of a destroyed tree")
def destroyed_fields(show):
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    builder.dense(ti.i, 3).place(x)
    tree = builder.finalize()

    @ti.kernel
    def k() -> ti.i32:
        return x[0]

    show(k())
    tree.destroy()
    show.error(lambda: x[0])
    show.error(k)


@case()
def lazy_gradients(show):
    x, y = ti.field(ti.f32), ti.field(ti.i32)
    ti.root.dense(ti.i, 3).place(x, y)
    ti.root.lazy_grad()
    x.grad[1] = 2
    show(x.grad.to_numpy(), x.grad.shape, y.grad)
    z = ti.field(ti.f32)
    ti.root.dense(ti.i, 2).place(z, z.grad)
    z.grad[1] = 3
    show(z.grad.to_numpy())


@case()
def axes_by_number(show):
    x = ti.field(ti.i32)
    ti.root.dense(ti.axes(0, 2), (2, 3)).place(x)
    show(x.shape)
    y = ti.field(ti.i32)
    ti.root.dense(ti.axes(4, 1), (2, 3)).place(y)
    show(y.shape)
    y[2, 1] = 4
    show(y.to_numpy())


@case(differs="axes that repeat in one level")
def repeated_axes_of_one_level(show):
    show.error(lambda: ti.root.dense(ti.axes(0, 0), (2, 3)))


@case()
def fields_that_share_no_axes(show):
    x = ti.field(ti.i32)
    ti.root.dense(ti.k, 3).place(x)
    show(x.shape)
    x[2] = 4
    show(x.to_numpy())


@case()
def memory_is_returned(show):
    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def round_trip():
        builder = ti.FieldsBuilder()
        x = ti.field(ti.f64)
        builder.dense(ti.i, 1 << 22).place(x)
        tree = builder.finalize()
        x.fill(1)
        tree.destroy()

    round_trip()
    before = resident()
    for _ in range(4):
        round_trip()
    show(resident() - before < (40 << 20))


@case(differs="fields of more than 2**31 bytes")
def large_offsets_and_extents(show):
    x = ti.field(ti.i8, shape=(70000, 40000))
    x[69999, 39999] = 5
    x[65536, 32768] = 6
    show(x[69999, 39999], x[65536, 32768], x[0, 0])

    @ti.kernel
    def k(i: ti.i32, j: ti.i32) -> ti.i32:
        return x[i, j]

    show(k(69999, 39999), k(65536, 32768), k(1, 1))


@case()
def snodes_that_fields_lie_in(show):
    vectors = ti.Vector.field(2, ti.f32, name="vectors")
    x = ti.field(ti.i32, name="x")
    pointer = ti.root.pointer(ti.i, 4)
    dense = pointer.dense(ti.i, 2)
    dense.place(x)
    ti.root.dense(ti.i, 3).place(vectors)
    show(vectors.snode._name, x.snode._name, ti.field(ti.i32, 3, name="shaped").snode._name)
    show([x.snode.parent(n) == node for n, node in ((1, dense), (2, pointer), (3, ti.root))])
    show(x.snode.parent(4), x.parent() == dense, x.snode.parent() == pointer)
    path = [ti.root, pointer, dense, x.snode]
    show(x.snode._path_from_root() == path, pointer._path_from_root() == path[:2])
