"""Operations that activate cells, operations that do not, and values of inactive cells."""

import numpy as np
from harness import case, ti


def blocks():
    """A field of 4 blocks of 4 elements; the field and its two nodes."""
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 4)
    cells = block.dense(ti.i, 4)
    cells.place(x)
    return x, block, cells


@ti.kernel
def count(node: ti.template()) -> ti.i32:
    n = 0
    for index in ti.grouped(node):
        n += 1
    return n


@case()
def writing_activates_and_reading_does_not(show):
    x, block, cells = blocks()

    @ti.kernel
    def read(i: ti.i32) -> ti.i32:
        return x[i]

    @ti.kernel
    def write(i: ti.i32, v: ti.i32):
        x[i] = v

    show(read(5), count(block))
    write(5, 7)
    show(read(5), read(6), count(block), count(x))
    write(6, 8)
    write(15, 9)
    show(read(6), count(block), count(x), x.to_numpy())


@case()
def writing_zero_activates(show):
    x, block, cells = blocks()

    @ti.kernel
    def write(i: ti.i32):
        x[i] = 0

    write(9)
    show(count(block), x.to_numpy().sum())


@case()
def a_write_that_is_not_reached_activates_nothing(show):
    x, block, cells = blocks()

    @ti.kernel
    def write(n: ti.i32):
        for i in range(16):
            if i < n:
                x[i] = i

    write(0)
    show(count(block))
    write(5)
    show(count(block))


@case()
def atomics_activate(show):
    x, y, z = ti.field(ti.i32), ti.field(ti.f32), ti.field(ti.u32)
    b = ti.root.pointer(ti.i, 8)
    b.bitmasked(ti.i, 4).place(x, y)
    b.dense(ti.i, 4).place(z)

    @ti.kernel
    def k():
        for i in range(1000):
            x[i % 3 * 8] += 1
            ti.atomic_max(y[i % 5 * 2], i * 0.5)
            ti.atomic_or(z[31 - i % 2], 1 << (i % 8))

    k()
    show(count(b), count(x), x.to_numpy(), y.to_numpy(), z.to_numpy())


@case()
def old_values_of_atomics(show):
    x, block, cells = blocks()

    @ti.kernel
    def k() -> ti.i32:
        a = ti.atomic_add(x[3], 5)
        b = ti.atomic_sub(x[3], 2)
        c = ti.atomic_max(x[13], 4)
        return a * 100 + b * 10 + c

    show(k(), x.to_numpy(), count(block))


@case()
def an_inactive_read_is_zero(show):
    x, y = ti.field(ti.f32), ti.field(ti.i64)
    v = ti.Vector.field(3, ti.f32)
    ti.root.pointer(ti.ij, 3).dense(ti.ij, 2).place(x, y, v)
    y[0, 0] = 1

    @ti.kernel
    def k() -> ti.f32:
        s = 0.0
        for i, j in ti.ndrange(6, 6):
            s += x[i, j] + y[i, j] + v[i, j].sum()
        return s

    show(k(), x[5, 5], v[3, 3])


@case()
def an_inactive_read_under_each_kind(show):
    a, b, c = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    ti.root.bitmasked(ti.i, 4).pointer(ti.i, 2).place(a)
    ti.root.pointer(ti.i, 4).bitmasked(ti.i, 2).place(b)
    ti.root.pointer(ti.i, 4).dynamic(ti.j, 8, chunk_size=4).place(c)

    @ti.kernel
    def read() -> ti.i32:
        s = 0
        for i in range(8):
            s += a[i] + b[i] + c[i // 2, i]
        return s

    @ti.kernel
    def write():
        a[3] = 1
        b[3] = 10
        c[1, 3] = 100

    show(read())
    write()
    show(read(), [a[i] for i in range(8)], [c[1, i] for i in range(8)])


@case()
def bitmasked_cells_keep_their_values(show):
    x = ti.field(ti.i32)
    b = ti.root.bitmasked(ti.i, 8)
    b.place(x)

    @ti.kernel
    def write():
        for i in range(8):
            x[i] = i + 1

    @ti.kernel
    def deactivate():
        for i in range(4):
            ti.deactivate(b, [i * 2])

    @ti.kernel
    def sums() -> ti.types.vector(2, ti.i32):
        inside, all_of_them = 0, 0
        for i in x:
            inside += x[i]
        for i in range(8):
            all_of_them += x[i]
        return ti.Vector([inside, all_of_them])

    write()
    deactivate()
    show(count(x), sums(), x.to_numpy())
    x[2] += 5
    show(count(x), sums(), x[2])


@case()
def pointer_cells_are_zero_again(show):
    x, block, cells = blocks()

    @ti.kernel
    def write(v: ti.i32):
        for i in range(16):
            x[i] = v

    @ti.kernel
    def deactivate(n: ti.i32):
        ti.deactivate(block, [n])

    @ti.kernel
    def touch(i: ti.i32):
        x[i] += 1

    write(5)
    deactivate(1)
    show(x.to_numpy(), count(block))
    touch(6)
    show(x.to_numpy(), count(block))


@case()
def activate_deactivate_is_active(show):
    x, block, cells = blocks()

    @ti.kernel
    def active(i: ti.i32) -> ti.i32:
        return ti.is_active(block, [i])

    @ti.kernel
    def activate(i: ti.i32):
        ti.activate(block, [i])

    @ti.kernel
    def deactivate(i: ti.i32):
        ti.deactivate(block, [i])

    show([active(i) for i in range(4)])
    activate(2)
    activate(2)
    show([active(i) for i in range(4)], count(x), x[8])
    deactivate(2)
    deactivate(2)
    deactivate(3)
    show([active(i) for i in range(4)], count(x))


@case()
def forms_of_indices(show):
    x = ti.field(ti.i32)
    b = ti.root.pointer(ti.ij, (3, 4))
    b.place(x)
    y = ti.field(ti.i32)
    c = ti.root.bitmasked(ti.i, 5)
    c.place(y)

    @ti.kernel
    def k():
        ti.activate(b, [0, 1])
        ti.activate(b, (1, 2))
        index = ti.Vector([2, 3])
        ti.activate(b, index)
        ti.activate(c, 3)
        ti.activate(c, [1])
        ti.activate(c, ti.Vector([4]))

    @ti.kernel
    def look() -> ti.i32:
        s = 0
        for index in ti.grouped(ti.ndrange(3, 4)):
            if ti.is_active(b, index):
                s += 100
        for i in range(5):
            s += ti.is_active(c, i)
        return s

    k()
    show(look(), count(b), count(c))


@case()
def is_active_of_outer_and_inner_nodes(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 3)
    b = a.bitmasked(ti.i, 4)
    b.place(x)
    x[5] = 1

    @ti.kernel
    def outer(i: ti.i32) -> ti.i32:
        return ti.is_active(a, i)

    @ti.kernel
    def inner(i: ti.i32) -> ti.i32:
        return ti.is_active(b, i)

    show([outer(i) for i in range(3)], [inner(i) for i in range(12)])


@case(differs="`activate` below an inactive cell")
def activating_an_inner_node_activates_what_is_above(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 4)
    b = a.pointer(ti.i, 4)
    c = b.bitmasked(ti.i, 4)
    c.place(x)

    @ti.kernel
    def k():
        ti.activate(b, 6)
        ti.activate(c, 60)

    k()
    show(count(a), count(b), count(c))


@case()
def deactivating_an_outer_node_takes_what_is_below(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 4)
    b = a.pointer(ti.i, 4)
    c = b.bitmasked(ti.i, 4)
    c.place(x)

    @ti.kernel
    def write():
        for i in range(64):
            if i % 3 == 0:
                x[i] = i

    @ti.kernel
    def drop(i: ti.i32):
        ti.deactivate(a, i)

    @ti.kernel
    def drop_inner(i: ti.i32):
        ti.deactivate(b, i)

    write()
    show(count(a), count(b), count(c), x.to_numpy().sum())
    drop(1)
    show(count(a), count(b), count(c), x.to_numpy().sum())
    drop_inner(0)
    show(count(a), count(b), count(c), x.to_numpy().sum())
    x[17] = 5
    show(count(a), count(b), count(c), x.to_numpy().sum())
    write()
    show(count(a), count(b), count(c), x.to_numpy().sum())


@case()
def deactivating_below_what_is_inactive(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 4)
    b = a.pointer(ti.i, 4)
    b.place(x)
    x[1] = 3

    @ti.kernel
    def k():
        ti.deactivate(b, 9)
        ti.deactivate(b, 2)

    k()
    show(count(b), x.to_numpy())


@case()
def no_activate(show):
    x, block, cells = blocks()

    @ti.kernel
    def write(i: ti.i32, v: ti.i32):
        ti.no_activate(x)
        x[i] = v

    @ti.kernel
    def add():
        ti.no_activate(x)
        for i in x:
            x[i] += 10

    x[5] = 1
    write(6, 2)
    add()
    show(x.to_numpy(), count(block))


@case()
def no_activate_inside_loops(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    b = ti.root.bitmasked(ti.i, 16)
    b.place(x, y)
    x[3] = 1
    x[9] = 1

    @ti.kernel
    def k():
        ti.no_activate(x)
        for i in x:
            x[i] = x[i] + 1
            y[i] = i

    k()
    show(count(b), x.to_numpy(), y.to_numpy())


@case()
def fields_of_one_cell_are_active_together(show):
    x, y = ti.field(ti.i32), ti.field(ti.f32)
    s = ti.Struct.field({"a": ti.i32, "v": ti.math.vec2})
    b = ti.root.bitmasked(ti.i, 6)
    b.place(x, y, s)

    @ti.kernel
    def k():
        s[2].v[1] = 3.5
        y[4] = 1.5

    k()
    show(count(b), count(x), count(y), s.to_numpy()["v"], y.to_numpy())


@case()
def rescaled_indices(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.ij, (4, 2))
    b = a.dense(ti.ij, (2, 8))
    b.place(x)

    @ti.kernel
    def k(i: ti.i32, j: ti.i32) -> ti.types.vector(6, ti.i32):
        down = ti.rescale_index(x, a, ti.Vector([i, j]))
        same = ti.rescale_index(x, b, ti.Vector([i, j]))
        up = ti.rescale_index(a, x, down)
        return ti.Vector([down[0], down[1], same[0], same[1], up[0], up[1]])

    show(k(7, 15), k(5, 3), k(0, 0))

    @ti.kernel
    def from_a_list(i: ti.i32, j: ti.i32) -> ti.types.vector(2, ti.i32):
        return ti.rescale_index(x, a, [i, j])

    show(from_a_list(6, 9))


@case()
def rescaled_loops(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 8)
    a.dense(ti.i, 4).place(x)
    for i in (1, 9, 10, 31):
        x[i] = 1

    @ti.kernel
    def active() -> ti.i32:
        n = 0
        for P in ti.grouped(x):
            n += ti.is_active(a, ti.rescale_index(x, a, P))
        return n

    show(active())


@case()
def addresses(show):
    x, y = ti.field(ti.i32), ti.field(ti.i16)
    b = ti.root.pointer(ti.i, 4)
    b.dense(ti.i, 4).place(x, y)
    z = ti.field(ti.f64, shape=(2, 3))

    @ti.kernel
    def distance(i: ti.i32, j: ti.i32) -> ti.i64:
        return ti.cast(ti.get_addr(x, [j]), ti.i64) - ti.cast(ti.get_addr(x, [i]), ti.i64)

    @ti.kernel
    def of_dense() -> ti.i64:
        return ti.cast(ti.get_addr(z, [1, 2]) - ti.get_addr(z, [0, 0]), ti.i64)

    x[0] = 1
    x[4] = 1
    show(distance(0, 3), distance(4, 6), distance(0, 0), of_dense())

    @ti.kernel
    def not_null() -> ti.i32:
        return ti.get_addr(x, 4) != 0

    show(not_null())


@case()
def an_address_in_a_real_function(show):
    x, y = ti.field(ti.f32, shape=8), ti.field(ti.i32, shape=8)

    @ti.real_func
    def where(i: ti.i32) -> ti.u64:
        return ti.get_addr(y, [i])

    @ti.kernel
    def distance() -> ti.i64:
        x[0] = 1
        return ti.cast(where(3) - where(1), ti.i64)

    show(distance())


@case()
def deactivate_all_of_nodes_and_root(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 4)
    b = a.bitmasked(ti.i, 4)
    b.place(x)
    c = ti.root.dynamic(ti.i, 16, chunk_size=4)
    c.place(y)

    @ti.kernel
    def write():
        for i in range(16):
            if i % 5 != 0:
                x[i] = 1

    @ti.kernel
    def fill():
        for i in range(6):
            ti.append(c, [], i)

    @ti.kernel
    def length() -> ti.i32:
        return ti.length(c, [])

    write()
    fill()
    show(count(a), count(b), length())
    a.deactivate_all()
    show(count(a), count(b), length(), x.to_numpy().sum())
    write()
    b.deactivate_all()
    show(count(a), count(b), length(), x.to_numpy().sum())
    ti.root.deactivate_all()
    show(count(a), count(b), length())
    write()
    fill()
    show(count(a), count(b), length())
    ti.deactivate_all_snodes()
    show(count(a), count(b), length(), x.to_numpy().sum())


@case()
def method_forms(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 4)
    a.dense(ti.i, 2).place(x)
    x[3] = 4
    x.parent(2).deactivate_all()
    show(count(a), x[3])
    x[3] = 4
    x.snode.parent().parent().deactivate_all()
    show(count(a), x[3])
    v = ti.Vector.field(2, ti.i32)
    b = ti.root.bitmasked(ti.i, 4)
    b.place(v)
    v[1] = [1, 2]
    v.parent().deactivate_all()
    show(count(b))


@case()
def builders_deactivate_all(show):
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    a = builder.pointer(ti.i, 4)
    a.place(x)
    builder.finalize()
    x[1] = x[2] = 1
    show(count(a))
    builder.deactivate_all()
    show(count(a), x.to_numpy())


@case()
def many_threads_activate_the_same_cells(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.ij, 16)
    b = a.pointer(ti.ij, 4)
    b.dense(ti.ij, 2).place(x)

    @ti.kernel
    def k(n: ti.i32):
        for i in range(n):
            x[(i * 7919) % 128, (i * 104729) % 128] += 1

    for _ in range(5):
        k(40000)
        ti.deactivate_all_snodes()
    k(40000)
    total = x.to_numpy()
    show(total.sum(), count(a), count(b), count(x), (total > 0).sum())


@case(differs="a sparse matrix field with components in several places")
def structs_of_arrays_activate_apart(show):
    x = ti.Vector.field(2, ti.i32)
    a = ti.root.pointer(ti.i, 4)
    b = ti.root.pointer(ti.i, 4)
    a.dense(ti.i, 2).place(x.get_scalar_field(0))
    b.dense(ti.i, 2).place(x.get_scalar_field(1))

    @ti.kernel
    def k():
        x[3][0] = 5
        x[6][1] = 7

    k()
    show(count(a), count(b), x[6], x[7], x.to_numpy())


@case()
def indices_of_other_integer_types(show):
    x, block, cells = blocks()

    @ti.kernel
    def k(a: ti.i64, b: ti.u8, c: ti.i16):
        x[a] = 1
        x[b] = 2
        ti.activate(block, c)

    k(0, 5, 3)
    show(x.to_numpy(), count(block))


@case()
def assigning_vectors_and_matrices(show):
    v, m = ti.Vector.field(3, ti.f32), ti.Matrix.field(2, 2, ti.i32)
    a = ti.root.pointer(ti.ij, 2)
    a.dense(ti.ij, 2).place(v)
    b = ti.root.bitmasked(ti.i, 5)
    b.place(m)

    @ti.kernel
    def k():
        v[3, 0] = [1, 2, 3]
        v[3, 1] += v[3, 0] * 2
        v[0, 0].z = 4
        m[2] = ti.Matrix([[1, 2], [3, 4]]) @ ti.Matrix([[0, 1], [1, 0]])
        for i in range(10):
            m[4] += i

    k()
    show(v.to_numpy(), m.to_numpy(), count(a), count(b))


@case()
def data_comes_and_goes(show):
    x, block, cells = blocks()
    rng = np.random.default_rng(1)

    @ti.kernel
    def write(i: ti.i32, v: ti.i32):
        x[i] = v

    @ti.kernel
    def drop(i: ti.i32):
        ti.deactivate(block, i)

    model = np.zeros(16, np.int32)
    same = True
    for step in range(200):
        i = int(rng.integers(16))
        if rng.random() < 0.3:
            drop(i // 4)
            model[i // 4 * 4 : i // 4 * 4 + 4] = 0
        else:
            write(i, step)
            model[i] = step
        same = same and bool((x.to_numpy() == model).all())
    show(same, x.to_numpy())
