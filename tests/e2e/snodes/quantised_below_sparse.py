"""Quantised numbers whose words are in cells of sparse nodes."""

from harness import case, ti

quant = ti.types.quant


@ti.kernel
def count(node: ti.template()) -> ti.i32:
    n = 0
    for index in ti.grouped(node):
        n += 1
    return n


def word(*types):
    """A word of 32 bits and the fields of these types in it."""
    made = ti.BitpackedFields(max_num_bits=32)
    fields = [ti.field(of) for of in types]
    made.place(*fields)
    return made, fields


@case()
def words_that_become_active_and_inactive(show):
    packed, (x, y) = word(quant.int(7), quant.fixed(12, max_value=8.0))
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 4).place(packed)
    x[3] = 5
    y[9] = 1.25
    show(x[3], x[9], y[9], y[3], x[30], count(block))

    @ti.kernel
    def change() -> ti.i32:
        n = 0
        for i in x:
            x[i] += i
            y[i] += 0.5
            n += 1
        return n

    show(change(), [x[i] for i in range(16)], [y[i] for i in range(16)])
    block.deactivate_all()
    show(x[3], count(block), count(x))


@case()
def bitmasked_words_keep_their_bits(show):
    packed, (x, y) = word(quant.int(7), quant.int(9, False))
    cells = ti.root.bitmasked(ti.i, 32)
    cells.place(packed)
    x[3] = -5
    y[9] = 300

    @ti.kernel
    def total() -> ti.i32:
        s = 0
        for i in y:
            s += y[i] * 10 + x[i] + i
        return s

    @ti.kernel
    def off():
        ti.deactivate(cells, 3)

    show(count(cells), count(x), total())
    off()
    show(count(cells), x[3], y[9])
    x[3] = 1
    show(x[3], y[3], count(cells))


@case()
def words_in_lists(show):
    packed, (x, y) = word(quant.int(7), quant.int(9, False))
    items = ti.root.pointer(ti.i, 4).dynamic(ti.j, 32, chunk_size=8)
    items.place(packed)

    @ti.kernel
    def write():
        for i in range(3):
            for j in range(i * 4):
                x[i, j] = i - j
                y[i, j] = i * j

    @ti.kernel
    def total() -> ti.i32:
        s = 0
        for i, j in x:
            s += x[i, j] * 3 + y[i, j] + 1
        return s

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return ti.length(items, [i])

    write()
    show(total(), length(0), length(1), length(2), x[2, 3], y[2, 7])


@case()
def arrays_below_each_kind_of_node(show):
    for kind in ("pointer", "bitmasked", "both"):
        x = ti.field(quant.int(4))
        if kind == "both":
            node = ti.root.pointer(ti.i, 8)
            inner = node.dense(ti.i, 2)
        else:
            node = inner = getattr(ti.root, kind)(ti.i, 16)
        inner.quant_array(ti.i, 8, max_num_bits=32).place(x)
        x[17] = 5
        x[100] = -3

        @ti.kernel
        def change() -> ti.i32:
            s = 0
            for i in x:
                s += i
                x[i] += 1
            return s

        show(x[17], x[18], x[100], count(node), change(), [x[i] for i in range(14, 34)])
        node.deactivate_all()
        show(count(x))


@case()
def arrays_of_two_axes(show):
    x = ti.field(quant.int(4))
    block = ti.root.pointer(ti.ij, 4)
    block.dense(ti.ij, (4, 1)).quant_array(ti.j, 8, max_num_bits=32).place(x)

    @ti.kernel
    def write():
        for index in ti.grouped(ti.ndrange(6, 20)):
            x[index] = (index[0] + index[1]) % 7

    @ti.kernel
    def total() -> ti.i32:
        s = 0
        for index in ti.grouped(x):
            s += x[index] * (index[0] * 3 + index[1])
        return s

    write()
    show(total(), count(block), count(x))


@case()
def shared_exponents(show):
    v = ti.Vector.field(2, quant.float(exp=6, frac=13, signed=True))
    packed = ti.BitpackedFields(max_num_bits=32)
    packed.place(v, shared_exponent=True)
    block = ti.root.pointer(ti.ij, 4)
    block.dense(ti.ij, 4).place(packed)
    v[3, 5] = [1.5, -100.25]
    show(v[3, 5], v[0, 0], v[15, 15], count(block))

    @ti.kernel
    def change():
        for i, j in v:
            v[i, j] = v[i, j] * 2 + ti.Vector([i, j])

    change()
    show(v[3, 5], v[2, 6], v[8, 8])


@case()
def atomics_activate(show):
    packed, (x, y) = word(quant.int(10), quant.fixed(16, max_value=64.0))
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 4).place(packed)

    @ti.kernel
    def scatter():
        for i in range(256):
            x[i % 20] += 1
            y[i % 7] += 0.25

    scatter()
    show([x[i] for i in range(24)], [y[i] for i in range(10)], count(block))


@case()
def operations_on_nodes(show):
    packed, (x, _) = word(quant.int(10), quant.int(3))
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 4).place(packed)

    @ti.kernel
    def activate() -> ti.i32:
        ti.activate(block, 2)
        active = 0
        for i in range(8):
            active = active * 2 + ti.is_active(block, i)
        return active

    @ti.kernel
    def deactivate():
        for i in block:
            ti.deactivate(block, i)

    show(activate(), count(x))
    deactivate()
    show(count(x))
