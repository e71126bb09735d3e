"""Loops over sparse fields and nodes."""

from harness import case, ti


@ti.kernel
def count(node: ti.template()) -> ti.i32:
    n = 0
    for index in ti.grouped(node):
        n += 1
    return n


@case()
def over_fields_of_several_axes(show):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.ij, (3, 2)).dense(ti.ij, (2, 4)).place(x)
    x[3, 5] = 4

    @ti.kernel
    def separate() -> ti.i32:
        s = 0
        for i, j in x:
            s += i * 100 + j
        return s

    @ti.kernel
    def together() -> ti.i32:
        s = 0
        for P in ti.grouped(x):
            s += P[0] * 100 + P[1]
        return s

    show(separate(), together())


@case()
def over_each_level(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 4)
    b = a.pointer(ti.i, 3)
    c = b.dense(ti.i, 2)
    c.place(x)
    for i in (0, 7, 8, 20):
        x[i] = i + 1

    @ti.kernel
    def k(node: ti.template()) -> ti.types.vector(2, ti.i32):
        s, n = 0, 0
        for i in node:
            s += i
            n += 1
        return ti.Vector([n, s])

    show(k(a), k(b), k(c), k(x))


@case()
def over_two_axes_of_which_a_level_has_one(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 4)
    b = a.bitmasked(ti.j, 8)
    b.place(x)
    x[1, 3] = x[1, 4] = x[3, 0] = 1

    @ti.kernel
    def rows() -> ti.i32:
        s = 0
        for i in a:
            s += 10 + i
        return s

    @ti.kernel
    def cells() -> ti.i32:
        s = 0
        for i, j in b:
            s += 100 + i * 10 + j
        return s

    show(rows(), cells())


@case()
def over_an_empty_field(show):
    x, y, z = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(x)
    ti.root.bitmasked(ti.i, 4).place(y)
    ti.root.dynamic(ti.i, 4).place(z)
    show(count(x), count(y), count(z))


@case()
def activation_inside_the_loop_is_seen_by_the_next(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.bitmasked(ti.i, 64).place(x)
    ti.root.bitmasked(ti.i, 64).place(y)
    x[5] = 1

    @ti.kernel
    def grow(p: ti.template(), q: ti.template()):
        for i in p:
            q[i] = 1
            q[i + 1] = 1

    sizes = []
    for _ in range(3):
        grow(x, y)
        grow(y, x)
        sizes += [count(y), count(x)]
    show(sizes)


@case()
def two_loops_of_one_kernel(show):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 2).place(x)
    x[3] = 1

    @ti.kernel
    def k() -> ti.i32:
        for i in x:
            x[i + 2] = 1
        n = 0
        for i in x:
            n += 1
        return n

    show(k(), k(), k())


@case()
def activation_of_another_field(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(x)
    ti.root.pointer(ti.i, 4).bitmasked(ti.i, 8).place(y)
    for i in (2, 3, 17, 30):
        x[i] = i

    @ti.kernel
    def k():
        for i in x:
            if x[i] > 0:
                y[31 - i] = x[i] * 10

    k()
    show(y.to_numpy(), count(y), count(x))


@case()
def activation_while_others_read(show):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 64)
    block.dense(ti.i, 16).place(x)

    @ti.kernel
    def k() -> ti.i32:
        bad = 0
        for i in range(4096):
            j = i * 37 % 1024
            if i % 2 == 0:
                x[j] = 5
            else:
                v = x[j - 37 + (1024 if j < 37 else 0)]
                if v != 0 and v != 5:
                    bad += 1
        return bad

    show(k(), count(block), x.to_numpy().sum() % 5)


@case()
def deactivating_while_iterating(show):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 8)
    cells = block.bitmasked(ti.i, 4)
    cells.place(x)

    @ti.kernel
    def fill():
        for i in range(32):
            x[i] = i

    @ti.kernel
    def odd_cells():
        for i in x:
            if i % 2 == 1:
                ti.deactivate(cells, i)

    @ti.kernel
    def some_blocks():
        for b in block:
            if b % 3 == 0:
                ti.deactivate(block, b)

    fill()
    odd_cells()
    show(count(x), count(block))
    some_blocks()
    show(count(x), count(block), x.to_numpy())
    fill()
    show(count(x), count(block))


@case()
def deactivating_the_own_block(show):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 4).place(x)
    for i in range(0, 32, 3):
        x[i] = i

    @ti.kernel
    def k():
        for b in block:
            s = 0
            for j in range(4):
                s += x[b * 4 + j]
            if s < 20:
                ti.deactivate(block, b)

    k()
    show(count(block), x.to_numpy())


@case()
def moving_a_band(show):
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    a = ti.root.pointer(ti.i, 16)
    b = ti.root.pointer(ti.i, 16)
    a.dense(ti.i, 8).place(x)
    b.dense(ti.i, 8).place(y)
    for i in range(10, 20):
        x[i] = i

    @ti.kernel
    def move(p: ti.template(), q: ti.template()):
        for i in p:
            if p[i] != 0:
                q[i + 5] = p[i]

    sizes = []
    for _ in range(6):
        move(x, y)
        a.deactivate_all()
        move(y, x)
        b.deactivate_all()
        sizes.append(count(x))
    show(sizes, x.to_numpy().sum(), x.to_numpy().nonzero()[0].tolist())


@case()
def functions_in_the_body(show):
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.ij, 4)
    block.dense(ti.ij, 4).place(x)

    @ti.func
    def value(i, j):
        return x[i, j] + 1

    @ti.func
    def store(i, j, v):
        if v > 2:
            x[i, j] = v

    @ti.func
    def sides(i, j):
        s = 0.0
        for d in ti.static(range(2)):
            s += value(i + d, j) + value(i, j + d)
        return s

    @ti.kernel
    def k():
        for i, j in x:
            store(i, j, sides(i, j) + i)

    x[5, 6] = 3
    k()
    show(count(x), x[5, 6] > 3, x[4, 4] > 2)


@case()
def nodes_as_template_arguments_of_functions(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 6)
    a.dense(ti.i, 2).place(x)

    @ti.func
    def toggle(node: ti.template(), i):
        if ti.is_active(node, i):
            ti.deactivate(node, i)
        else:
            ti.activate(node, i)

    @ti.kernel
    def k(node: ti.template()):
        for i in range(6):
            if i % 2 == 0:
                toggle(node, i)

    x[0] = x[2] = x[11] = 1
    k(a)
    show(count(a), x.to_numpy())
    k(a)
    show(count(a), x.to_numpy())


@case()
def members_of_classes(show):
    @ti.data_oriented
    class Grid:
        def __init__(self, n):
            self.x = ti.field(ti.f32)
            self.block = ti.root.pointer(ti.ij, n)
            self.block.dense(ti.ij, 2).place(self.x)

        @ti.kernel
        def splat(self, i: ti.i32, j: ti.i32, v: ti.f32):
            for o in ti.grouped(ti.ndrange((-1, 2), (-1, 2))):
                self.x[ti.Vector([i, j]) + o] += v

        @ti.kernel
        def total(self) -> ti.f32:
            s = 0.0
            for P in ti.grouped(self.x):
                s += self.x[P]
            return s

        @ti.kernel
        def blocks(self) -> ti.i32:
            n = 0
            for P in ti.grouped(self.block):
                n += ti.is_active(self.block, P)
            return n

    small, large = Grid(4), Grid(8)
    small.splat(3, 3, 1)
    large.splat(7, 8, 0.5)
    large.splat(9, 8, 0.5)
    show(small.total(), small.blocks(), large.total(), large.blocks())


@case()
def reductions(show):
    x = ti.field(ti.f32)
    y = ti.field(ti.i32)
    ti.root.pointer(ti.i, 64).dense(ti.i, 16).place(x)
    ti.root.bitmasked(ti.i, 1024).place(y)
    total = ti.field(ti.f32, shape=())

    @ti.kernel
    def fill():
        for i in range(1024):
            if i % 100 < 20:
                x[i] = 0.5
                y[i] = i

    @ti.kernel
    def sums():
        for i in x:
            total[None] += x[i]

    @ti.kernel
    def extremes() -> ti.types.vector(3, ti.i32):
        low, high, bits = 10**6, -1, 0
        for i in y:
            ti.atomic_min(low, y[i])
            ti.atomic_max(high, y[i])
            ti.atomic_or(bits, y[i])
        return ti.Vector([low, high, bits])

    fill()
    sums()
    show(total[None], extremes())


@case()
def reductions_into_sparse_elements(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.pointer(ti.i, 16).dense(ti.i, 8).place(x)
    ti.root.pointer(ti.i, 4).place(y)

    @ti.kernel
    def k():
        for i in range(128):
            if i < 40:
                x[i] = i

    @ti.kernel
    def sums():
        for i in x:
            y[2] += x[i]

    k()
    sums()
    show(y[2], count(y))


@case()
def stencils(show):
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    block = ti.root.pointer(ti.ij, 4)
    block.dense(ti.ij, 4).place(x, y)

    @ti.kernel
    def fill():
        for i, j in ti.ndrange((5, 10), (3, 9)):
            x[i, j] = i * 10 + j

    @ti.kernel
    def laplace():
        for i, j in x:
            if i > 0 and j > 0 and i < 15 and j < 15:
                y[i, j] = 4 * x[i, j] - x[i - 1, j] - x[i + 1, j] - x[i, j - 1] - x[i, j + 1]

    fill()
    laplace()
    show(count(block), y.to_numpy())


@case()
def stencils_over_offsets(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 4).place(x, y, offset=(-16,))
    for i in (-9, -8, 3):
        x[i] = 5 + i

    @ti.kernel
    def k():
        for i in x:
            if i > -16 and i < 15:
                y[i] = x[i - 1] + 2 * x[i] + x[i + 1]

    k()
    show(y.to_numpy(), count(block))


@case()
def loops_in_serial_code(show):
    x = ti.field(ti.i32)
    ti.root.bitmasked(ti.i, 8).place(x)
    x[2] = x[6] = 1

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        s = 0
        if n > 0:
            for i in range(8):
                s += x[i]
        return s

    show(k(1), k(0))


@case(differs="a loop over sparse data that is not outermost")
def struct_for_in_serial_code(show):
    x = ti.field(ti.i32)
    ti.root.bitmasked(ti.i, 8).place(x)
    x[2] = x[6] = 1

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        s = 0
        if n > 0:
            for i in x:
                s += i
        return s

    show.error(k, 1)


@case()
def loop_config(show):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(x)
    x[7] = x[30] = 1

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        ti.loop_config(block_dim=32)
        for i in x:
            s += i
        return s

    show(k())

    @ti.kernel
    def serially() -> ti.i32:
        s = 0
        ti.loop_config(serialize=True)
        for i in x:
            s = s * 3 + i
        return s

    show(serially())


@case()
def cache_hints(show):
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    block = ti.root.pointer(ti.ij, 4)
    block.dense(ti.ij, 4).place(x, y)
    x[5, 5] = 4

    @ti.kernel
    def k():
        ti.block_local(x)
        ti.cache_read_only(x)
        for i, j in y:
            y[i, j] = x[i, j] + x[i, j + 1] + x[i - 1, j]

    k()
    show(y.to_numpy().sum())


@case()
def continue_and_nested_loops(show):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.ij, 4).bitmasked(ti.ij, 2).place(x)
    for i in range(8):
        x[i, i] = i
    for i in range(7):
        x[i, i + 1] = -1

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i, j in x:
            if x[i, j] < 0:
                continue
            for a in range(i):
                if a == 5:
                    break
                s += a + j
        return s

    show(k())


@case()
def writing_the_loop_variable(show):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x)
    x[3] = 1

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in x:
            j = i
            j += 10
            s += j
        return s

    show(k())


@case()
def many_blocks_and_one_full_block(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 64)
    b = a.pointer(ti.i, 64)
    b.bitmasked(ti.i, 64).place(x)

    @ti.kernel
    def fill():
        for i in range(4096):
            x[i] = 1
        for i in range(64):
            x[i * 4096 + 17] = 2

    @ti.kernel
    def total() -> ti.i32:
        s = 0
        for i in x:
            s += x[i]
        return s

    fill()
    show(total(), count(a), count(b), count(x))


@case()
def several_fields_of_different_trees(show):
    x, y, z = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).place(x)
    ti.root.bitmasked(ti.i, 8).place(y)
    ti.root.dense(ti.i, 8).place(z)

    @ti.kernel
    def k():
        for i in x:
            y[i] += x[i]
        for i in y:
            z[i] += y[i]
        for i in z:
            if z[i] > 4:
                x[7 - i] = z[i]

    x[6], x[2], y[1] = 5, 3, 9
    k()
    show(x.to_numpy(), y.to_numpy(), z.to_numpy(), count(x), count(y))
    k()
    show(x.to_numpy(), y.to_numpy(), z.to_numpy(), count(x), count(y))


@case()
def loops_over_struct_fields(show):
    s = ti.Struct.field({"a": ti.i32, "v": ti.math.vec2})
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(s)
    s[3].a = 5

    @ti.kernel
    def k() -> ti.f32:
        total = 0.0
        for i in s:
            s[i].v = ti.math.vec2(i, s[i].a)
        for i in s:
            total += s[i].v.x + s[i].v.y
        return total

    show(k())


@case()
def loops_over_vector_fields_soa(show):
    v = ti.Vector.field(3, ti.f32)
    block = ti.root.pointer(ti.i, 4)
    for n in range(3):
        block.dense(ti.i, 4).place(v.get_scalar_field(n))
    v[6] = [1, 2, 3]

    @ti.kernel
    def k():
        for i in v:
            v[i] += [i, 0, 1]

    k()
    show(v.to_numpy())


@case()
def over_a_field_and_its_nodes_in_one_kernel(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    outer = ti.root.pointer(ti.ij, 4)
    inner = outer.pointer(ti.ij, 2)
    inner.dense(ti.ij, 2).place(x)
    other = ti.root.bitmasked(ti.i, 8)
    other.place(y)
    seen = ti.field(ti.i32, shape=6)

    @ti.kernel
    def k():
        x[2, 3] = x[9, 10] = 1
        y[5] = 1
        for i, j in x:
            seen[0] += 1 + i * j
        for i, j in inner:
            seen[1] += 1 + i * j
        for i, j in outer:
            seen[2] += 1 + i * j
        for i in y:
            seen[3] += 1 + i
        for i, j in x:
            seen[4] += 1 + i * j
        for i, j in inner:
            seen[5] += 1 + i * j

    k()
    show(seen.to_numpy())
