"""Mistakes in trees and their use raise an error at their line and affect nothing else."""

from harness import case, ti


def works(show):
    """Nothing else is lost."""
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 2)
    block.dense(ti.i, 2).place(x)

    @ti.kernel
    def k() -> ti.i32:
        n = 0
        for i in x:
            n += 1
        return n

    x[3] = 4
    show(k(), x[3])


def levels(show, *levels):
    """The first of the levels that is refused, and how."""

    def build():
        node = ti.root
        for kind, *arguments in levels:
            node = getattr(node, kind)(*arguments)
        x = ti.field(ti.i32)
        node.place(x)
        return x[(0,) * len(x.shape)]

    show.error(build)
    ti.init(arch=ti.cpu)


@case()
def illegal_nestings(show):
    levels(show, ("dynamic", ti.i, 4), ("dense", ti.i, 4))
    levels(show, ("dense", ti.i, 4), ("dynamic", ti.i, 4))
    works(show)


@case(differs="illegal trees")
def dynamic_of_two_axes(show):
    show.error(lambda: ti.root.dynamic(ti.ij, 4))
    show.error(lambda: ti.root.dynamic(ti.i, 4, chunk_size=0))
    show.error(lambda: ti.root.dynamic(ti.i, 4, chunk_size=-2))
    show.error(lambda: ti.root.dynamic(ti.i, 0))
    show.error(lambda: ti.root.dynamic(ti.i, 2**31))


@case(differs="illegal trees")
def wrong_dimensions(show):
    for kind in ("pointer", "bitmasked"):
        show.error(lambda: getattr(ti.root, kind)(ti.i, 0))
        show.error(lambda: getattr(ti.root, kind)(ti.ij, (2, -3)))
        show.error(lambda: getattr(ti.root, kind)(ti.ij, (2, 3, 4)))
        show.error(lambda: getattr(ti.root, kind)(ti.i, 2.5))
        show.error(lambda: getattr(ti.root, kind)(ti.i, "4"))
    works(show)


@case(differs="axes that repeat in one level")
def axes_repeat(show):
    show.error(lambda: ti.root.pointer(ti.axes(1, 1), (2, 3)))
    works(show)


@case(differs="illegal trees")
def axes_out_of_range(show):
    show.error(lambda: ti.root.pointer(ti.axes(12), 3))
    show.error(lambda: ti.root.pointer(ti.axes(-1), 3))
    works(show)


@case(differs="illegal trees")
def below_a_place(show):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).place(x)
    show.error(lambda: x.snode.dense(ti.i, 4))
    works(show)


@case(differs="errors of the compiled part")
def placing_twice(show):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).place(x)
    other = ti.root.bitmasked(ti.i, 4)
    show.error(lambda: other.place(x))
    other.place(ti.field(ti.i32))
    x[2] = 4
    show(x[2])
    works(show)


@case(differs="illegal trees")
def sizes_that_overflow(show):
    levels(show, ("pointer", ti.ij, 2**30), ("dense", ti.ij, 2**30))
    levels(show, ("bitmasked", ti.ij, 2**30))
    levels(show, ("pointer", ti.i, 2**40))
    works(show)


@case(differs="illegal trees")
def trees_that_are_too_deep(show):
    levels(show, *[("pointer", ti.i, 2)] * 40)
    works(show)


@case(differs="illegal trees")
def levels_without_fields(show):
    p = ti.root.pointer(ti.i, 4).dense(ti.i, 2)
    x = ti.field(ti.i32, shape=3)
    show.error(lambda: x[1])
    works(show)
    builder = ti.FieldsBuilder()
    builder.pointer(ti.i, 4)
    show.error(builder.finalize)
    works(show)
    show.error(lambda: p.place(ti.field(ti.i32)))


@case(differs="operations on nodes that cannot take them")
def operations_on_other_nodes(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    d = ti.root.dense(ti.i, 4)
    d.place(x)
    p = ti.root.pointer(ti.i, 4)
    p.place(y)

    @ti.kernel
    def append():
        ti.append(p, [], 4)

    @ti.kernel
    def length() -> ti.i32:
        return ti.length(p, [])

    @ti.kernel
    def append_dense():
        ti.append(d, [], 4)

    @ti.kernel
    def activate():
        ti.activate(d, 1)

    @ti.kernel
    def deactivate():
        ti.deactivate(d, 1)

    @ti.kernel
    def is_active() -> ti.i32:
        return ti.is_active(d, 1)

    @ti.kernel
    def of_a_field() -> ti.i32:
        return ti.is_active(y, 1)

    for kernel in (append, length, append_dense, activate, deactivate, is_active, of_a_field):
        show.error(kernel)
    works(show)


@case(differs="operations on nodes that cannot take them")
def indices_that_do_not_match(show):
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    p = ti.root.pointer(ti.ij, 4)
    p.place(x)
    q = ti.root.dense(ti.i, 4).dynamic(ti.j, 4)
    q.place(y)

    @ti.kernel
    def one():
        ti.activate(p, 1)

    @ti.kernel
    def three():
        ti.deactivate(p, [1, 2, 3])

    @ti.kernel
    def active() -> ti.i32:
        return ti.is_active(p, [1])

    @ti.kernel
    def length() -> ti.i32:
        return ti.length(q, [])

    @ti.kernel
    def append():
        ti.append(q, [1, 2, 3], 4)

    @ti.kernel
    def element():
        x[1] = 4

    @ti.kernel
    def fraction():
        ti.activate(p, [1.5, 2])

    for kernel in (one, three, active, length, append, element, fraction):
        show.error(kernel)
    works(show)


@case()
def appends_of_wrong_values(show):
    x = ti.field(ti.i32)
    s = ti.Struct.field({"a": ti.i32, "v": ti.math.vec2})
    p = ti.root.dynamic(ti.i, 4)
    p.place(x)
    q = ti.root.dynamic(ti.i, 4)
    q.place(s)

    @ti.kernel
    def vector():
        ti.append(p, [], ti.Vector([1, 2]))

    @ti.kernel
    def number():
        ti.append(q, [], 3)

    for kernel in (vector, number):
        show.error(kernel)
    works(show)


@case(differs="operations on nodes that cannot take them")
def operations_outside_of_kernels(show):
    x = ti.field(ti.i32)
    p = ti.root.pointer(ti.i, 4)
    p.place(x)
    show.error(lambda: ti.activate(p, 1))
    show.error(lambda: ti.is_active(p, 1))
    show.error(lambda: ti.append(p, [], 1))
    works(show)


@case()
def operations_on_no_node(show):
    @ti.kernel
    def number():
        ti.activate(3, 1)

    @ti.kernel
    def local():
        a = 3
        ti.deactivate(a, 1)

    @ti.kernel
    def array(a: ti.types.ndarray()) -> ti.i32:
        return ti.is_active(a, 1)

    show.error(number)
    show.error(local)
    show.error(array, ti.ndarray(ti.i32, 4))
    works(show)


@case()
def loops_over_nodes_of_unfinished_builders(show):
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    p = builder.pointer(ti.i, 4)
    p.place(x)

    @ti.kernel
    def k() -> ti.i32:
        n = 0
        for i in p:
            n += 1
        return n

    show.error(k)
    show.error(lambda: x[1])
    builder.finalize()
    x[1] = 3
    show(k(), x[1])


@case(differs="errors of the compiled part")
def wrong_offsets(show):
    x = ti.field(ti.i32)
    show.error(lambda: ti.root.pointer(ti.i, 4).place(x, offset=(1, 2)))


@case(differs="a field of an earlier `init`")
def nodes_of_an_earlier_init(show):
    x = ti.field(ti.i32)
    p = ti.root.pointer(ti.i, 4)
    p.place(x)
    x[1] = 1
    ti.init(arch=ti.cpu)

    @ti.kernel
    def k() -> ti.i32:
        n = 0
        for i in p:
            n += 1
        return n

    show.error(k)
    show.error(lambda: x[1])
    show.error(p.deactivate_all)
    works(show)
