"""Matrix and struct fields whose components have different places: other axes, other trees, another
order, other offsets."""

import numpy as np
from harness import case, ti


def vector(*nodes, dtype=ti.i32):
    """A vector field with each component in a separate node."""
    v = ti.Vector.field(len(nodes), dtype)
    for number, node in enumerate(nodes):
        node.place(v.get_scalar_field(number))
    return v


@ti.kernel
def squares(v: ti.template()):
    for i in v:
        v[i] = [i, i * i]


@ti.kernel
def count(node: ti.template()) -> ti.i32:
    n = 0
    for index in ti.grouped(node):
        n += 1
    return n


@case()
def along_other_axes(show):
    v = vector(ti.root.dense(ti.i, 4), ti.root.dense(ti.j, 4))
    show(v.shape, v.get_scalar_field(1).shape)
    v[1] = [10, 20]
    show(v[1], v[1][1], v.to_numpy())
    squares(v)
    show(v[3], v.to_numpy(), v.get_scalar_field(1).to_numpy())


@case()
def two_indices_along_other_axes(show):
    v = vector(ti.root.dense(ti.ij, (2, 3)), ti.root.dense(ti.jl, (2, 3)))
    for i in range(2):
        for j in range(3):
            v[i, j] = [i * 10 + j, 100 + i * 10 + j]
    show(v.shape, v.to_numpy(), v.get_scalar_field(1).to_numpy())

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i, j in v:
            v[i, j][1] -= v[i, j][0]
            s += v[i, j][1]
        return s

    show(k(), v.to_numpy())


@case()
def in_other_order_and_in_blocks(show):
    rows = ti.root.dense(ti.ij, (4, 6))
    columns = ti.root.dense(ti.j, 6).dense(ti.i, 4)
    blocks = ti.root.dense(ti.kl, (2, 3)).dense(ti.kl, 2)
    v = vector(rows, columns, blocks)
    for i in range(4):
        for j in range(6):
            v[i, j] = [i, j, i * j]
    show(v.to_numpy())

    @ti.kernel
    def k():
        for i, j in v:
            if i > 0 and j > 0:
                v[i, j] += v[i, j] * 10

    k()
    show(v.to_numpy())


@case()
def in_several_trees(show):
    a, b = ti.FieldsBuilder(), ti.FieldsBuilder()
    v = vector(a.dense(ti.i, 4), b.dense(ti.k, 4))
    a.finalize()
    tree = b.finalize()
    squares(v)
    show(v.shape, v[3], v.to_numpy())
    tree.destroy()


@case(differs="a sparse matrix field with components in several places")
def sparse_along_other_axes(show):
    a, b = ti.root.pointer(ti.i, 4), ti.root.pointer(ti.j, 8)
    v = vector(a.dense(ti.i, 2), b)
    v[1] = [10, 20]
    v.get_scalar_field(1)[5] = 7
    show(v[1], v[5], v.to_numpy(), count(a), count(b))

    @ti.kernel
    def k():
        for i in v:
            v[i] += [100, 200]

    k()
    show(v.to_numpy(), count(a), count(b))


@case()
def dense_and_sparse_along_other_axes(show):
    block = ti.root.pointer(ti.i, 4)
    v = vector(ti.root.dense(ti.j, 8), block.dense(ti.i, 2))
    v[1] = [10, 20]
    show(v[1], v[5], v.to_numpy(), count(block))

    @ti.kernel
    def k():
        for i in v:
            if i % 4 == 0:
                v[i] += [100, 200]

    k()
    show(v.to_numpy(), count(block))


@case()
def below_one_sparse_node(show):
    block = ti.root.pointer(ti.i, 4)
    v = vector(block.dense(ti.j, 4), block.bitmasked(ti.k, 4))
    v[1, 2] = [3, 4]

    @ti.kernel
    def k():
        for i, j in v:
            v[i, j][0] += 10 * i + j
            if j % 2 == 0:
                v[i, j][1] = v[i, j][0]

    k()
    show(v.to_numpy(), count(block), v.get_scalar_field(1).to_numpy())


@case()
def stencils_along_other_axes(show):
    v = vector(ti.root.pointer(ti.j, 4).dense(ti.j, 4), ti.root.pointer(ti.i, 4).dense(ti.i, 4))

    @ti.kernel
    def fill():
        for i in range(4, 12):
            v[i] = [i, 0]

    @ti.kernel
    def k():
        for i in v.get_scalar_field(0):
            v[i][1] = v[i - 1][0] + v[i + 1][0]

    fill()
    k()
    show(v.to_numpy())


@case()
def updates(show):
    masked = ti.root.bitmasked(ti.j, 4)
    v = vector(ti.root.dense(ti.i, 4), masked)

    @ti.kernel
    def k():
        for t in range(100):
            v[t % 3] += [1, t]

    k()
    show(v.to_numpy(), count(masked))


@case(differs="a component in a place of its own, by an index known at run time")
def a_component_by_number(show):
    masked = ti.root.bitmasked(ti.j, 4)
    v = vector(ti.root.dense(ti.i, 4), masked)

    @ti.kernel
    def choose(n: ti.i32) -> ti.i32:
        v[3][n] = 8
        return v[0][n]

    v[0] = [5, 6]
    show(choose(0), count(masked), choose(1), count(masked), v[3])


@case()
def a_component_by_number_in_one_cell(show):
    v, m = ti.Vector.field(3, ti.i32), ti.Matrix.field(2, 2, ti.f32)
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 4).place(v, m)

    @ti.kernel
    def read(i: ti.i32, n: ti.i32) -> ti.f32:
        return v[i][n] + m[i][n % 2, 1]

    @ti.kernel
    def write(i: ti.i32, n: ti.i32) -> ti.i32:
        v[i][n] = 10 * i
        m[i][n % 2, 1] += 0.5
        return ti.atomic_add(v[i][n], 1)

    show(read(3, 1), count(block))  # reading activates nothing
    show(write(3, 1), write(9, 2), count(block))
    show(read(3, 1), read(9, 2), read(9, 1), v[3], m[9])


@case()
def a_component_by_number_in_struct_fors(show):
    nodes = ti.root.pointer(ti.i, 4).dense(ti.i, 4), ti.root.bitmasked(ti.i, 16)
    fields = [ti.Vector.field(3, ti.i32) for node in nodes]
    for node, v in zip(nodes, fields):
        node.place(v)

    @ti.kernel
    def add(v: ti.template(), n: ti.i32):
        for i in v:
            for k in range(n):
                v[i][k] += 10 * v[i][n - k]

    for node, v in zip(nodes, fields):
        v[9] = [1, 2, 3]
        add(v, 2)
        show(v[9], v[8], v[0], count(node))


@case()
def matrices_and_gradients(show):
    m = ti.Matrix.field(2, 2, ti.f32)
    ti.root.dense(ti.i, 4).place(m.get_scalar_field(0, 0), m.get_scalar_field(1, 1))
    ti.root.dense(ti.j, 4).place(m.get_scalar_field(0, 1))
    ti.root.dense(ti.k, 2).dense(ti.k, 2).place(m.get_scalar_field(1, 0))
    ti.root.lazy_grad()

    @ti.kernel
    def k():
        for i in m:
            m[i] = ti.Matrix([[1, 2], [3, 4]]) * i
            m.grad[i] = m[i].transpose()

    k()
    show(m.to_numpy(), m.grad.to_numpy())


@case()
def structs(show):
    s = ti.Struct.field({"a": ti.i32, "b": ti.types.vector(2, ti.f32)})
    ti.root.dense(ti.i, 4).place(s.a)
    ti.root.dense(ti.j, 4).place(s.b)
    s[1].a = 3

    @ti.kernel
    def k():
        for i in s:
            s[i].a += i
            s[i].b = [i, 2 * s[i].a]

    k()
    show(s.shape, s.a.to_numpy(), s.b.to_numpy())


@case()
def whole_fields(show):
    v = vector(ti.root.dense(ti.i, 4), ti.root.dense(ti.j, 2).dense(ti.j, 2))
    other = ti.Vector.field(2, ti.i32, shape=4)
    v.fill(3)
    show(v.to_numpy())
    v.from_numpy(np.arange(8, dtype=np.int32).reshape(4, 2))
    other.copy_from(v)
    show(other.to_numpy())
    other.fill(9)
    v.copy_from(other)
    show(v.to_numpy())


@case(differs="a matrix field whose components have other offsets")
def offsets_of_the_first(show):
    v = ti.Vector.field(2, ti.i32)
    ti.root.dense(ti.i, 4).place(v.get_scalar_field(0), offset=-2)
    ti.root.dense(ti.j, 4).place(v.get_scalar_field(1), offset=7)
    v[-2] = [1, 2]
    show(v[-2], v.to_numpy())
    squares(v)
    show(v[1], v.to_numpy(), v.get_scalar_field(1)[7])


@case()
def offsets_of_the_first_in_kernels(show):
    v = ti.Vector.field(2, ti.i32)
    ti.root.dense(ti.i, 4).place(v.get_scalar_field(0), offset=-2)
    ti.root.bitmasked(ti.j, 4).place(v.get_scalar_field(1))
    squares(v)
    show(v.to_numpy(), v.get_scalar_field(1).to_numpy())


@case()
def loops_over_components(show):
    v = vector(ti.root.dense(ti.i, 4), ti.root.dense(ti.j, 4))
    x, y = v.get_scalar_field(0), v.get_scalar_field(1)

    @ti.kernel
    def k():
        for i in y:
            y[i] = i + v[i][0] + 1
        for i in x:
            x[i] = i + v[i][1]

    k()
    show(x.to_numpy(), y.to_numpy())
