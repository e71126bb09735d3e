"""Errors of operations, builders and whole fields."""

from harness import case, ti


@case()
def appends_to_cells_that_hold_nodes(show):
    x = ti.field(ti.i32)
    cells = ti.root.dynamic(ti.i, 4)
    cells.dense(ti.j, 2).place(x)

    @ti.kernel
    def k():
        ti.append(cells, [], [1, 2])

    show.error(k)


@case(differs="operations on nodes that cannot take them")
def addresses_of_nodes(show):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 4)
    block.place(x)

    @ti.kernel
    def k() -> ti.u64:
        return ti.get_addr(block, [1])

    show.error(k)


@case()
def rescaled_indices_of_no_field(show):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).place(x)
    show.error(ti.rescale_index, 3, x, [1])
    show.error(ti.rescale_index, x, 3, [1])


@case(differs="illegal trees")
def components_in_arrays_of_other_shapes(show):
    v = ti.Vector.field(2, ti.f32)
    builder = ti.FieldsBuilder()
    builder.pointer(ti.i, 4).place(v.get_scalar_field(0))
    builder.dense(ti.i, 8).place(v.get_scalar_field(1))
    builder.finalize()
    show.error(lambda: v[1])


@case(differs="illegal trees")
def components_with_other_numbers_of_axes(show):
    v = ti.Vector.field(2, ti.f32)
    builder = ti.FieldsBuilder()
    builder.pointer(ti.i, 4).place(v.get_scalar_field(0))
    builder.pointer(ti.ij, (4, 1)).place(v.get_scalar_field(1))
    builder.finalize()
    show.error(lambda: v[1])


@case(differs="use after `destroy`")
def nodes_of_destroyed_trees(show):
    x = ti.field(ti.i32)
    builder = ti.FieldsBuilder()
    block = builder.pointer(ti.i, 4)
    block.place(x)
    tree = builder.finalize()
    tree.destroy()
    show.error(block.deactivate_all)
    show.error(lambda: x[1])


@case()
def deactivate_all_of_builders_and_root(show):
    x = ti.field(ti.i32)
    builder = ti.FieldsBuilder()
    builder.pointer(ti.i, 4).place(x)
    builder.deactivate_all()
    builder.finalize()
    x[1] = 3
    ti.root.deactivate_all()
    show(x[1])


@case(differs="the memory of sparse trees has no limit", snode_memory_GB=2**-8)
def memory_that_ends(show):
    x = ti.field(ti.i32, name="x")
    block = ti.root.pointer(ti.i, 64)
    block.dense(ti.i, 1 << 16).place(x)

    def write():
        for i in range(64):
            x[i << 16] = i + 1

    show.error(write)
    show(x[0])
    block.deactivate_all()
    x[7 << 16] = 1
    show(x[0], x[7 << 16])


@case(differs="illegal trees")
def levels_that_are_too_many(show):
    def build():
        node = ti.root
        for _ in range(40):
            node = node.pointer(ti.i, 1)

    show.error(build)
