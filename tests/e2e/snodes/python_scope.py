"""Sparse fields in Python: elements, whole fields, usage, grids."""

import numpy as np
from harness import case, ti


@ti.kernel
def count(node: ti.template()) -> ti.i32:
    n = 0
    for index in ti.grouped(node):
        n += 1
    return n


def blocks(dtype=None):
    x = ti.field(dtype or ti.i32)
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 4).place(x)
    return x, block


@case()
def elements(show):
    x, block = blocks()
    show(x[3], count(block))
    x[3] = 5
    x[4] += 2
    show(x[3], x[4], x[5], count(block))


@case()
def elements_of_each_kind(show):
    a, b, c, d = (ti.field(ti.f32) for _ in range(4))
    ti.root.bitmasked(ti.ij, 3).place(a)
    ti.root.pointer(ti.i, 2).bitmasked(ti.i, 3).place(b)
    ti.root.dynamic(ti.i, 10, chunk_size=3).place(c)
    ti.root.pointer(ti.i, 3).dynamic(ti.j, 4).place(d)
    a[1, 2], b[4], c[7], d[2, 1] = 1.5, 2.5, 3.5, 4.5
    show(a[1, 2], a[0, 0], b[4], b[0], c[7], c[9], d[2, 1], d[1, 1])
    show(count(a), count(b), count(c), count(d))


@case(differs="`to_dict` of an element of a struct field")
def elements_of_vectors_matrices_and_structs(show):
    v = ti.Vector.field(3, ti.i32)
    m = ti.Matrix.field(2, 2, ti.f32)
    s = ti.Struct.field({"a": ti.i32, "w": ti.math.vec2})
    block = ti.root.pointer(ti.i, 3)
    block.dense(ti.i, 2).place(v, m, s)
    v[1] = [1, 2, 3]
    m[2][0, 1] = 5
    s[5].w = [3, 4]
    s[5].a = 9
    v[0].y = 7
    show(v[1], v[0], m[2], s[5], count(block), v[3], s[0].w)


@case()
def to_numpy_of_what_is_inactive(show):
    x, block = blocks(ti.f32)
    show(x.to_numpy())
    x[6] = 2
    show(x.to_numpy(), count(block))
    y = ti.field(ti.i32)
    b = ti.root.bitmasked(ti.i, 6)
    b.place(y)
    y[2] = y[3] = 4

    @ti.kernel
    def drop():
        ti.deactivate(b, 2)

    drop()
    show(y.to_numpy(), y[2])


@case()
def from_numpy_writes_active_cells(show):
    x, block = blocks()
    x[5] = 1
    x.from_numpy(np.arange(16, dtype=np.int32) + 1)
    show(x.to_numpy(), count(block))
    y = ti.field(ti.i32)
    ti.root.bitmasked(ti.i, 6).place(y)
    y[1] = y[4] = 1
    y.from_numpy(np.arange(6, dtype=np.int32) + 10)
    show(y.to_numpy(), count(y))


@case()
def fill_writes_active_cells(show):
    x, block = blocks()
    x[5] = 1
    x.fill(7)
    show(x.to_numpy(), count(block))
    y = ti.field(ti.i32)
    ti.root.dynamic(ti.i, 6).place(y)
    y[2] = 1
    y.fill(3)
    show(y.to_numpy())
    v = ti.Vector.field(2, ti.f32)
    ti.root.bitmasked(ti.i, 4).place(v)
    v[1] = [1, 2]
    v.fill(5)
    show(v.to_numpy())


@case()
def fill_in_kernels(show):
    x, block = blocks()
    x[9] = 1

    @ti.kernel
    def k():
        x.fill(4)

    k()
    show(x.to_numpy(), count(block))


@case()
def copy_from_writes_everything(show):
    x, block = blocks()
    y = ti.field(ti.i32, shape=16)
    for i in range(16):
        y[i] = i
    x[1] = x[14] = 1
    x.copy_from(y)
    show(x.to_numpy(), count(block))
    z, other = blocks()
    z[13] = 100
    z.copy_from(x)
    show(z.to_numpy(), count(other))
    u, third = blocks()
    w, fourth = blocks()
    u[5], w[13] = 5, 100
    w.copy_from(u)
    show(w.to_numpy(), count(third), count(fourth))
    y.copy_from(u)
    show(y.to_numpy())
    p, q = ti.Vector.field(2, ti.f32), ti.Vector.field(2, ti.f32)
    a, b = ti.root.bitmasked(ti.ij, 2), ti.root.pointer(ti.ij, 2)
    a.place(p)
    b.place(q)
    p[1, 0] = [1, 2]
    q.copy_from(p)
    show(q.to_numpy(), count(q))


@case()
def whole_fields_of_several_axes(show):
    x = ti.field(ti.i32)
    v = ti.Vector.field(2, ti.i32)
    block = ti.root.pointer(ti.ij, 2)
    block.dense(ti.ij, (2, 3)).place(x, v)
    x[1, 4] = 5
    v[3, 0] = [1, 2]
    show(x.to_numpy(), v.to_numpy().sum(axis=2))
    x.from_numpy(np.arange(24, dtype=np.int32).reshape(4, 6))
    v.from_numpy(np.arange(48, dtype=np.int32).reshape(4, 6, 2))
    show(x.to_numpy(), v.to_numpy()[:, :, 1], count(block))


@case()
def whole_structs(show):
    s = ti.Struct.field({"a": ti.i32, "w": ti.math.vec2})
    ti.root.bitmasked(ti.i, 4).place(s)
    s[1].a = 4
    s.from_numpy({"a": np.arange(4, dtype=np.int32), "w": np.ones((4, 2), dtype=np.float32)})
    show(s.to_numpy())


@case()
def whole_fields_with_offsets(show):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(x, offset=(-8,))
    x[-5] = 3
    x[7] = 4
    show(x.to_numpy(), x[-5], x[0], x[7])
    x.from_numpy(np.arange(16, dtype=np.int32))
    show(x.to_numpy(), x[-5])


@case()
def whole_dynamic_fields(show):
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 3).dynamic(ti.j, 6, chunk_size=2).place(x)
    x[1, 3] = 8
    show(x.to_numpy())
    x.from_numpy(np.ones((3, 6), dtype=np.int32))
    show(x.to_numpy())


@case(differs="`x[5, 5]` out of bounds, in Python")
def elements_out_of_range(show):
    x, block = blocks()
    show.error(lambda: x[16])
    show.error(lambda: x[-1])

    def write():
        x[100] = 4

    show.error(write)
    show(count(block))


@case()
def usage(show):
    x = ti.field(ti.i32)
    ti.root.bitmasked(ti.ij, (4, 5)).place(x)
    show(ti.sparse.usage(x))
    for i in range(4):
        x[i, i] = 1
    show(ti.sparse.usage(x))
    y = ti.field(ti.i32)
    ti.root.pointer(ti.ijk, 2).place(y)
    y[0, 1, 1] = 1
    show(ti.sparse.usage(y))


@case()
def grids(show):
    g = ti.sparse.grid(
        {
            "pos": ti.math.vec2,
            "mass": ti.f32,
            "list": ti.types.vector(20, ti.i32),
        },
        shape=(10, 10),
    )
    g[0, 0].pos = ti.math.vec2(1.0, 2.0)
    g[0, 0].mass = 1.0
    g[0, 0].list[2] = 123
    show(ti.sparse.usage(g), g[0, 0].pos, g[0, 0].list[2], g.shape)

    @ti.kernel
    def k() -> ti.f32:
        s = 0.0
        for P in ti.grouped(g):
            s += g[P].mass + g[P].pos.y
        return s

    show(k())
    h = ti.sparse.grid({"a": ti.i32}, shape=(2, 3, 4))
    h[1, 2, 3].a = 5
    show(ti.sparse.usage(h), h.shape, h[1, 2, 3].a)


@case()
def grids_of_other_dimensions(show):
    show.error(lambda: ti.sparse.grid({"a": ti.i32}, shape=(2,)))
    show.error(lambda: ti.sparse.grid({"a": ti.i32}, shape=(2, 2, 2, 2)))


@case(differs="usage of a field that has no two or three axes")
def usage_of_other_dimensions(show):
    x = ti.field(ti.i32)
    ti.root.bitmasked(ti.i, 4).place(x)
    show.error(lambda: ti.sparse.usage(x))


@case()
def numbers_are_converted(show):
    x, block = blocks(ti.u8)
    x[1] = 200
    y = ti.field(ti.f32)
    ti.root.bitmasked(ti.i, 4).place(y)
    y[1] = 3
    show(x[1], y[1], str(x.to_numpy().dtype), y.to_numpy())


@case()
def gradients_beside_sparse_fields(show):
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 2).place(x, y)
    ti.root.lazy_grad()
    x.grad[3] = 2
    show(x.grad.to_numpy(), count(block), x.grad.shape)


@case()
def views_of_components(show):
    v = ti.Vector.field(2, ti.i32)
    block = ti.root.pointer(ti.i, 3)
    block.dense(ti.i, 2).place(v)
    v[3] = [4, 5]
    part = v.get_scalar_field(1)
    show(part[3], part.to_numpy())
    part[0] = 9
    show(v[0], count(block))
    s = ti.Struct.field({"a": ti.i32, "b": ti.f32})
    ti.root.bitmasked(ti.i, 4).place(s)
    s.a[1] = 4
    show(s.get_member_field("a").to_numpy(), s.b.to_numpy(), s[1].a)


@case()
def copy_from_reads_as_kernels_do(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    from_cells, to_cells = ti.root.bitmasked(ti.i, 4), ti.root.bitmasked(ti.i, 4)
    from_cells.place(x)
    to_cells.place(y)
    x[1], x[2] = 5, 6

    @ti.kernel
    def off():
        ti.deactivate(from_cells, 1)

    off()
    y.copy_from(x)
    show(x.to_numpy(), x[1], y.to_numpy(), count(from_cells), count(to_cells))


@case()
def interleaved_with_kernels(show):
    x, block = blocks()

    @ti.kernel
    def double():
        for i in x:
            x[i] *= 2

    x[1] = 3
    double()
    x[9] = 5
    double()
    show(x[1], x[9], count(block))
    block.deactivate_all()
    double()
    show(x[1], count(block))
    x[1] = 7
    double()
    show(x[1])
