"""Inspecting trees: parents, shapes, sizes, offsets, names, printed forms."""

from harness import case, ti


def sparse():
    x, y = ti.field(ti.f32), ti.field(ti.i16)
    a = ti.root.pointer(ti.ij, (3, 4))
    b = a.bitmasked(ti.ij, (2, 5))
    b.place(x, y)
    return x, y, a, b


@case()
def parents(show):
    x, y, a, b = sparse()
    show(x.parent() == b, x.parent(2) == a, b.parent() == a, x.parent(3) == ti.root)
    show(x.snode.parent() == b, x.snode.parent(2).parent() == ti.root, a.parent(5))
    show(x.snode == y.snode, x.snode == x.snode)


@case()
def shapes(show):
    x, y, a, b = sparse()
    show(ti.root.shape, a.shape, b.shape, x.shape, y.snode.shape)
    z = ti.field(ti.i32)
    c = ti.root.dense(ti.k, 3)
    d = c.dynamic(ti.l, 8)
    d.place(z)
    show(c.shape, d.shape, z.shape)


@case()
def printed_forms(show):
    x, y, a, b = sparse()
    show(repr(ti.root), repr(a), repr(b), repr(x.snode), str(a), str(b), str(x.snode))
    z = ti.field(ti.i32)
    d = ti.root.dense(ti.i, 3).dynamic(ti.j, 8)
    d.place(z)
    show(repr(d), str(d))


@case()
def children(show):
    x, y, a, b = sparse()
    z = ti.field(ti.i32)
    a.dense(ti.i, 2).place(z)
    show(len(a._get_children()), len(b._get_children()), repr(a._get_children()[1]))
    show([str(node) for node in x.snode._path_from_root()])


@case()
def types_of_places(show):
    x, y, a, b = sparse()
    show(x.snode._dtype == ti.f32, y.snode._dtype == ti.i16)


@case()
def mapping_of_indices(show):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.j, 4).dense(ti.i, 3).place(x)
    y = ti.field(ti.i32)
    ti.root.pointer(ti.ik, 4).place(y)
    show(x.shape, y.shape)


@case()
def sizes_of_cells(show):
    x, y, a, b = sparse()
    show(b._cell_size_bytes)
    show(x.snode._offset_bytes_in_parent_cell, y.snode._offset_bytes_in_parent_cell)
    z = [ti.field(t) for t in (ti.i8, ti.f64, ti.i16, ti.i32)]
    c = ti.root.dense(ti.i, 4)
    c.place(*z)
    show(c._cell_size_bytes, [f.snode._offset_bytes_in_parent_cell for f in z])


@case(differs="containers of sparse SNodes")
def sizes_of_containers(show):
    x, y, a, b = sparse()
    show(a._cell_size_bytes, b._offset_bytes_in_parent_cell)
    z = ti.field(ti.i32)
    c = ti.root.dense(ti.i, 4)
    w = ti.field(ti.f32)
    c.place(w)
    c.pointer(ti.j, 4).place(z)
    show(c._cell_size_bytes)


@case()
def fields_say_where_they_lie(show):
    x, y, a, b = sparse()
    x.from_numpy(x.to_numpy())
    v = ti.Vector.field(2, ti.f32)
    ti.root.pointer(ti.i, 4).place(v)
    show(v.shape, v.n, v.m, v.dtype == ti.f32, v.parent().shape, repr(v.parent()))


@case()
def equality_of_nodes(show):
    x, y, a, b = sparse()
    show(a == b, a == x.parent(2), x.parent() == y.parent(), x.snode.parent(2) == a)


@case()
def static_uses_of_nodes(show):
    x, y, a, b = sparse()

    @ti.kernel
    def k() -> ti.i32:
        n = 0
        for c in ti.static(range(len(a.shape))):
            n += a.shape[c] * b.shape[c]
        return n

    show(k())
    z = ti.field(ti.i32)
    ti.root.pointer(ti.i, 3).dense(ti.i, 2).place(z)

    @ti.kernel
    def through_parents(f: ti.template()) -> ti.i32:
        n = 0
        for i in f.parent(2):
            if ti.is_active(f.parent(2), i):
                n += f.parent().shape[0]
        return n

    z[1] = z[5] = 1
    show(through_parents(z))


@case()
def how_many_cells_are_allocated(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    items = ti.root.dense(ti.i, 4).dynamic(ti.j, 64, chunk_size=8)
    items.place(x)
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 4).place(y)

    @ti.kernel
    def fill(n: ti.i32):
        for i in range(4):
            for k in range(n):
                ti.append(items, i, k)
        for i in range(8):
            if i < n:
                y[i * 4] = 1

    def counts():
        return items._num_dynamically_allocated, block._num_dynamically_allocated

    show(counts())
    for n in (20, 3, 30):
        fill(n)
        show(counts())
        items.deactivate_all()
        block.deactivate_all()
        # Inactive cells stay allocated, and later activations use them again.
        show(counts())
