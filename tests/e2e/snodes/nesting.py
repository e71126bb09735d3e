"""Every nesting of levels: writes activate cells, reads find them, loops visit them."""

import itertools

import numpy as np
from harness import case, ti

# Levels of a tree: a letter for the kind (d p b, or y for dynamic), axes, extents.
KINDS = {"d": "dense", "p": "pointer", "b": "bitmasked", "y": "dynamic"}


def tree(levels, *fields, chunk_size=None, offset=None):
    """Places the fields under levels (kind, axes, extents); the nodes, outermost first."""
    node, nodes = ti.root, []
    for kind, axes, extents in levels:
        more = {} if kind != "y" or chunk_size is None else {"chunk_size": chunk_size}
        node = getattr(node, KINDS[kind])(axes, extents, **more)
        nodes.append(node)
    node.place(*fields, **({} if offset is None else {"offset": offset}))
    return nodes


def points(shape, offset=None):
    """Some indices of a shape: a corner, its neighbour, the far corner, and one between."""
    offset = offset or [0] * len(shape)
    cells = list(itertools.product(*map(range, shape)))
    picked = [cells[0], cells[1], cells[len(cells) * 5 // 8], cells[-1]]
    return [tuple(c + o for c, o in zip(cell, offset)) for cell in dict.fromkeys(picked)]


def visit(show, levels, dtype=None, offset=None, chunk_size=None):
    """Writes some elements in a kernel; shows all elements, which nodes are active, and what loops
    over the field and over each node come by."""
    x = ti.field(dtype or ti.i32)
    nodes = tree(levels, x, offset=offset, chunk_size=chunk_size)
    shape = x.shape
    cells = points(shape, offset)
    dim = len(shape)
    where = ti.field(ti.i32, shape=(len(cells), dim))
    where.from_numpy(np.array(cells, dtype=np.int32))
    seen = ti.field(ti.i32, shape=len(levels) + 1)

    @ti.kernel
    def write():
        for n in range(len(cells)):
            index = ti.Vector([where[n, a] for a in ti.static(range(dim))])
            x[index] = n + 1

    @ti.kernel
    def through_the_field() -> ti.i32:
        total = 0
        for index in ti.grouped(x):
            weight = 1
            for a in ti.static(range(dim)):
                weight = weight * 7 + index[a]
            total += weight * (x[index] + 1)
            seen[0] += 1
        return total

    @ti.kernel
    def through_a_node(node: ti.template(), number: ti.template()) -> ti.i32:
        total = 0
        for index in ti.grouped(node):
            weight = 1
            for a in ti.static(range(index.n)):
                weight = weight * 7 + index[a]
            total += weight
            seen[number] += 1
        return total

    write()
    show(shape, x.to_numpy().sum(), [x[cell] for cell in cells], through_the_field())
    for number, node in enumerate(nodes):
        show(node.shape, through_a_node(node, number + 1))
    show(seen.to_numpy())


def nestings(show, axes, extents, patterns):
    for pattern in patterns:
        ti.init(arch=ti.cpu)
        show(pattern)
        visit(show, list(zip(pattern, axes, extents)))


SPARSE = "dpb"


@case()
def one_level(show):
    nestings(show, [ti.i], [6], SPARSE)


@case()
def one_level_of_two_axes(show):
    nestings(show, [ti.ij], [(3, 4)], SPARSE)


@case()
def two_levels_of_one_axis(show):
    nestings(show, [ti.i, ti.i], [4, 3], map("".join, itertools.product(SPARSE, repeat=2)))


@case()
def two_levels_of_two_axes(show):
    pairs = map("".join, itertools.product(SPARSE, repeat=2))
    nestings(show, [ti.ij, ti.ij], [(2, 3), (4, 2)], pairs)


@case()
def two_levels_of_differing_axes(show):
    nestings(show, [ti.i, ti.j], [4, 3], map("".join, itertools.product(SPARSE, repeat=2)))
    nestings(show, [ti.j, ti.i], [4, 3], ["pd", "db", "pp"])
    nestings(show, [ti.ij, ti.i], [(2, 3), 4], ["pd", "pb", "bp"])
    nestings(show, [ti.j, ti.ik], [2, (3, 4)], ["pd", "dp", "bb"])


@case()
def three_levels(show):
    triples = list(map("".join, itertools.product(SPARSE, repeat=3)))
    nestings(show, [ti.i, ti.i, ti.i], [3, 2, 4], triples[1::2])


@case()
def three_levels_of_differing_axes(show):
    triples = list(map("".join, itertools.product(SPARSE, repeat=3)))
    nestings(show, [ti.ij, ti.j, ti.ij], [(2, 3), 2, (2, 2)], triples[2::2])


@case()
def four_levels(show):
    nestings(show, [ti.ij] * 4, [(2, 2)] * 4, ["pppd", "pdpd", "dpbd", "bdpb", "ddpp", "pbdd"])


@case(differs="loops over sparse fields whose extents are not powers of two")
def dynamic_as_the_last_level(show):
    for above in ("", "d", "p", "b", "pd", "dp", "pp", "db"):
        ti.init(arch=ti.cpu)
        show(above)
        levels = list(zip(above, [ti.i, ti.i], [3, 2]))
        visit(show, [*levels, ("y", ti.j if above else ti.i, 5)], chunk_size=2)


@case(differs="loops over sparse fields whose extents are not powers of two")
def dynamic_of_one_chunk(show):
    visit(show, [("p", ti.i, 3), ("y", ti.j, 5)])
    ti.init(arch=ti.cpu)
    visit(show, [("y", ti.i, 5)], chunk_size=8)


@case(differs="loops over sparse fields whose extents are not powers of two")
def levels_below_dynamic(show):
    for below in ("d", "p", "b"):
        ti.init(arch=ti.cpu)
        show(below)
        visit(show, [("y", ti.i, 4), (below, ti.j, 3)], chunk_size=2)
        visit(show, [("p", ti.j, 2), ("y", ti.i, 3), (below, ti.j, 3)], chunk_size=2)


@case(differs="loops over sparse fields whose extents are not powers of two")
def extents_that_are_no_powers_of_two(show):
    visit(show, [("p", ti.ij, (3, 5)), ("d", ti.ij, (5, 3))])
    visit(show, [("b", ti.ij, (7, 3)), ("b", ti.ij, (3, 5))])
    visit(show, [("p", ti.i, 7), ("b", ti.j, 33), ("d", ti.i, 3)])


@case(differs="loops over sparse fields whose extents are not powers of two")
def bitmasked_of_more_than_a_word(show):
    visit(show, [("b", ti.i, 100)])
    visit(show, [("b", ti.ij, (9, 11))])
    visit(show, [("p", ti.i, 2), ("b", ti.i, 65)])


@case()
def three_axes(show):
    visit(show, [("p", ti.ijk, (2, 3, 2)), ("d", ti.ijk, (2, 2, 3))])
    visit(show, [("p", ti.ijk, 2), ("p", ti.ijk, 2), ("b", ti.ijk, 2)])
    visit(show, [("b", ti.jk, (3, 2)), ("p", ti.i, 4)])


@case()
def four_axes(show):
    visit(show, [("p", ti.ijkl, (2, 1, 3, 2)), ("d", ti.ijkl, (1, 3, 1, 2))])


@case()
def axes_that_skip(show):
    visit(show, [("p", ti.k, 3), ("d", ti.ik, (2, 2))])
    visit(show, [("p", ti.axes(5, 2), (3, 2)), ("b", ti.axes(7), 3)])


@case()
def twelve_axes(show):
    levels = [("p", ti.axes(*range(0, 6)), 2), ("d", ti.axes(*range(6, 12)), (1, 2, 1, 2, 1, 2))]
    visit(show, levels)


@case()
def offsets(show):
    visit(show, [("p", ti.i, 4), ("d", ti.i, 3)], offset=(-5,))
    visit(show, [("p", ti.ij, (2, 3)), ("b", ti.ij, (4, 2))], offset=(-8, 16))
    visit(show, [("b", ti.i, 6)], offset=(3,))


@case()
def element_types(show):
    for dtype in (ti.i8, ti.u16, ti.i64, ti.f32, ti.f64, ti.f16):
        ti.init(arch=ti.cpu)
        visit(show, [("p", ti.i, 3), ("d", ti.i, 4)], dtype=dtype)
        visit(show, [("b", ti.i, 9)], dtype=dtype)
        visit(show, [("y", ti.i, 9)], dtype=dtype, chunk_size=4)


@case()
def what_lies_at_different_levels(show):
    a, b, c, d = (ti.field(ti.i32) for _ in range(4))
    top = ti.root.pointer(ti.i, 4)
    top.place(a)
    middle = top.dense(ti.i, 2)
    middle.place(b)
    middle.bitmasked(ti.i, 3).place(c)
    top.pointer(ti.j, 3).place(d)

    @ti.kernel
    def write():
        b[5] = 1
        c[13] = 2
        d[0, 2] = 3

    @ti.kernel
    def count(x: ti.template()) -> ti.i32:
        n = 0
        for index in ti.grouped(x):
            n += 1
        return n

    write()
    show(*(x.shape for x in (a, b, c, d)))
    show([count(x) for x in (a, b, c, d)], a.to_numpy(), b.to_numpy(), c.to_numpy(), d.to_numpy())


@case()
def dense_beside_sparse(show):
    x, y, z = (ti.field(ti.i32) for _ in range(3))
    ti.root.dense(ti.i, 4).place(x)
    ti.root.pointer(ti.i, 4).place(y)
    ti.root.place(z)

    @ti.kernel
    def k():
        for i in x:
            x[i] = i + 1
            if i % 2 == 1:
                y[i] = x[i] * 10
            z[None] += 1

    k()
    show(x.to_numpy(), y.to_numpy(), z[None])
