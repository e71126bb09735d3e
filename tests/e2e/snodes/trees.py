"""Sparse trees: many trees, their destruction, their creation after that, their memory."""

import gc
import os

from harness import case, ti


def few(rounds):
    """The rounds of a case about memory: a hundredth where a GPU is emulated."""
    return max(rounds // 100, 1) if os.environ.get("TI_ARCH") == "cuda" else rounds


@ti.kernel
def count(node: ti.template()) -> ti.i32:
    n = 0
    for index in ti.grouped(node):
        n += 1
    return n


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def sparse_tree(n=4, m=4):
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    block = builder.pointer(ti.i, n)
    block.dense(ti.i, m).place(x)
    return x, block, builder.finalize()


@case()
def destroyed_and_made_again(show):
    for n in range(1, 6):
        x, block, tree = sparse_tree(n)
        x[n * 4 - 1] = n
        show(count(block), count(x), x.to_numpy().sum())
        tree.destroy()


@case(differs="a field of a destroyed tree")
def use_after_destroy(show):
    x, block, tree = sparse_tree()
    x[3] = 1

    @ti.kernel
    def k() -> ti.i32:
        return x[3]

    @ti.kernel
    def activate():
        ti.activate(block, 1)

    show(k())
    activate()
    tree.destroy()
    show.error(lambda: x[3])
    show.error(k)
    show.error(activate)
    show.error(lambda: count(x))
    show.error(lambda: count(block))
    show.error(block.deactivate_all)
    show.error(x.to_numpy)
    show.error(tree.destroy)
    y, other, tree = sparse_tree()
    y[2] = 5
    show(y[2], count(other))


@case()
def other_trees_are_untouched(show):
    x, a, one = sparse_tree()
    y, b, two = sparse_tree()
    z, c, three = sparse_tree()
    x[1], y[6], z[11] = 1, 2, 3
    two.destroy()
    show(x.to_numpy().sum(), z.to_numpy().sum(), count(a), count(c))
    w, d, four = sparse_tree()
    show(w.to_numpy().sum(), count(d))
    w[15] = 4
    show(x[1], z[11], w[15])
    for tree in (one, three, four):
        tree.destroy()


@case(differs="more than 512 trees")
def many_trees_at_once(show):
    kept = []
    for n in range(600):
        builder = ti.FieldsBuilder()
        x = ti.field(ti.i32)
        builder.pointer(ti.i, 4).bitmasked(ti.i, 2).place(x)
        tree = builder.finalize()
        x[n % 8] = n
        kept.append((x, tree))
    show(all(x[n % 8] == n for n, (x, tree) in enumerate(kept)))
    for x, tree in kept[::2]:
        tree.destroy()
    show(all(x[n % 8] == n for n, (x, tree) in enumerate(kept) if n % 2))


@case(differs="more than 512 trees")
def many_trees_in_turn(show):
    total = 0
    for n in range(700):
        x, block, tree = sparse_tree(2, 2)
        x[n % 4] = n
        total += x[n % 4]
        tree.destroy()
    show(total)


@case(differs="memory of sparse data")
def memory_of_destroyed_trees(show):
    @ti.kernel
    def fill(x: ti.template()):
        for i in range(1 << 20):
            x[i] = i

    def round_trip():
        x, block, tree = sparse_tree(1 << 10, 1 << 10)
        fill(x)
        tree.destroy()

    round_trip()
    before = resident()
    for _ in range(few(50)):
        round_trip()
    show(resident() - before < (60 << 20))


@case(differs="memory of sparse data")
def memory_of_deactivated_cells(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 256)
    b = a.pointer(ti.i, 4)
    b.dense(ti.i, 64).place(x)
    y = ti.field(ti.i32)
    items = ti.root.dense(ti.i, 4).dynamic(ti.j, 4096, chunk_size=64)
    items.place(y)

    @ti.kernel
    def fill():
        for i in range(65536):
            x[i] = i
        for i in range(4000):
            ti.append(items, i % 4, i)

    @ti.kernel
    def drop():
        for i in range(256):
            ti.deactivate(a, i)
        for i in range(4):
            ti.deactivate(items, i)

    def rounds(n):
        for _ in range(n):
            fill()
            drop()
        ti.sync()

    rounds(few(50))
    before = resident()
    rounds(few(1000))
    show(resident() - before < (8 << 20), count(a), count(items))


@case()
def ten_thousand_rounds(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 16)
    a.dense(ti.i, 16).place(x)

    @ti.kernel
    def k(n: ti.i32) -> ti.i32:
        bad = 0
        for i in range(256):
            if x[i] != 0:
                bad += 1
        for i in range(256):
            x[i] = n
        for i in range(16):
            ti.deactivate(a, i)
        return bad

    bad = 0
    for n in range(100):
        bad += k(n + 1)
    before = resident()
    for n in range(few(10000)):
        bad += k(n + 1)
    show(bad, resident() - before < (8 << 20), count(a))


@case()
def roots_in_turn(show):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).place(x)
    x[1] = 3
    y = ti.field(ti.i32)
    b = ti.root.bitmasked(ti.i, 4)
    b.place(y)
    y[2] = 4
    z = ti.field(ti.i32, shape=5)
    z[1] = 6

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in x:
            s += x[i]
        for i in y:
            s += y[i] * 10
        for i in z:
            s += z[i] * 100
        return s

    show(k(), count(b))


@case()
def kernels_of_several_trees_of_one_shape(show):
    @ti.kernel
    def move(p: ti.template(), q: ti.template()):
        for i in p:
            if p[i] > 0:
                q[15 - i] = p[i] + 1

    made = [sparse_tree() for _ in range(4)]
    fields = [x for x, block, tree in made]
    fields[0][2] = 5
    for p, q in zip(fields, fields[1:]):
        move(p, q)
    move(fields[3], fields[3])
    show([x.to_numpy() for x in fields], [count(block) for x, block, tree in made])


@case()
def init_starts_anew(show):
    x, block, tree = sparse_tree()
    x[3] = 5
    ti.init(arch=ti.cpu)
    y, block, tree = sparse_tree()
    show(y.to_numpy(), count(block))
    y[3] = 1
    show(count(block))


@case()
def deep_trees(show):
    x = ti.field(ti.i32)
    node = ti.root
    for level in range(8):
        node = getattr(node, "pointer" if level % 2 else "bitmasked")(ti.i, 2)
    node.place(x)
    x[0], x[255], x[100] = 1, 2, 3
    show(x.shape, count(x), x.to_numpy().sum())


@case()
def wide_cells(show):
    fields = [ti.field(ti.i32) for _ in range(40)]
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 4).place(*fields)
    for n, x in enumerate(fields):
        x[n % 16] = n

    @ti.kernel
    def k() -> ti.i32:
        s = 0
        for i in fields[0]:
            for n in ti.static(range(40)):
                s += fields[n][i]
        return s

    show(k(), count(block))


@case()
def large_index_spaces(show):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.ij, 1024)
    a.pointer(ti.ij, 8).dense(ti.ij, 4).place(x)

    @ti.kernel
    def k():
        x[0, 0] = 1
        x[32767, 32767] = 2
        x[12345, 23456] = 3

    k()
    show(x.shape, count(x), x[32767, 32767], x[12345, 23456], x[12345, 23455])
