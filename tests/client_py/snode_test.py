"""Trees of SNodes: shapes, sizes, errors, building and destroying."""

import pytest


def test_attributes_of_nodes(ti):
    x = ti.field(ti.f32)
    block = ti.root.dense(ti.i, 3)
    block.dense(ti.jk, (4, 5)).place(x)
    assert x.shape == (3, 4, 5) and block.shape == (3,)
    assert str(x.snode) == "ti.root => dense [3] => dense [3, 4, 5] => place [3, 4, 5]"
    assert repr(x.snode) == "<ti.SNode of type place>"
    assert x.parent() is x.snode.parent() and x.parent(2) is block
    assert x.parent(3) is ti.root and x.parent(4) is None
    assert str(ti.root) == "ti.root" and ti.root.shape == ()
    assert x.snode._physical_index_position() == {0: 0, 1: 1, 2: 2}
    assert block._cell_size_bytes == 80


def test_fields_placed_later_make_a_new_tree(ti):
    x = ti.field(ti.f32, 3)
    x[0] = 1
    y = ti.field(ti.f32, 3)
    y[0] = 2
    assert (x[0], y[0]) == (1, 2)


def test_axes_are_compressed(ti):
    x = ti.field(ti.i32)
    ti.root.dense(ti.j, 4).place(x)
    x[3] = 1
    assert x.shape == (4,) and x.to_numpy().tolist() == [0, 0, 0, 1]


def test_builder_and_destroy(ti):
    x, y = ti.field(ti.i32), ti.field(ti.f64)
    builder = ti.FieldsBuilder()
    builder.dense(ti.ij, 8).place(x, y)
    with pytest.raises(RuntimeError, match="not been finalized"):
        x[0, 0]
    tree = builder.finalize()
    x[7, 7] = 3
    assert x[7, 7] == 3
    with pytest.raises(RuntimeError, match="finalized"):
        builder.dense(ti.i, 2)
    tree.destroy()
    with pytest.raises(RuntimeError, match="is gone"):
        x[7, 7]
    with pytest.raises(RuntimeError, match="has been destroyed"):
        tree.destroy()


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda ti, x: ti.root.dense(ti.i, 0).place(x), "should be positive"),
        (lambda ti, x: ti.root.dense([ti.i[0], ti.i[0]], 4), "must be different"),
        (lambda ti, x: ti.root.dense(ti.ij, (4, 4, 4)), "of different number"),
        (lambda ti, x: ti.root.dense(ti.i, 4).place(x).place(x), "has been placed already"),
        (lambda ti, x: ti.root.dense(ti.ij, 4).place(x, offset=1), "must be the same"),
        (lambda ti, x: ti.root.place(3), "cannot be placed"),
        (lambda ti, x: ti.root.dynamic(ti.ij, 4), "one axis"),
        (lambda ti, x: ti.root.dynamic(ti.i, 2**31), "32-bit signed"),
    ],
)
def test_bad_trees(ti, build, message):
    with pytest.raises((RuntimeError, ValueError), match=message):
        build(ti, ti.field(ti.f32))


def test_too_large_a_field_names_its_size(ti):
    x = ti.field(ti.f64)
    ti.root.dense(ti.i, 2**30).dense(ti.j, 2**15).place(x)
    with pytest.raises((RuntimeError, MemoryError)):
        x[0, 0]


def test_get_addr_shows_the_layout(ti):
    blocked, numbers = ti.field(ti.i32), ti.field(ti.f64, 10, offset=-2)
    ti.root.dense(ti.ij, (1, 2)).dense(ti.ij, 2).place(blocked)
    order = ti.field(ti.i32, (2, 4))

    @ti.kernel
    def measure() -> ti.u64:
        for i, j in blocked:
            first = ti.get_addr(blocked.snode, [0, 0])
            order[i, j] = int(ti.get_addr(blocked.snode, [i, j]) - first) // 4
        return ti.get_addr(numbers, [5]) - ti.get_addr(numbers.snode, ti.Vector([-2]))

    assert measure() == 7 * 8
    assert order.to_numpy().tolist() == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_get_addr_refuses(ti):
    numbers = ti.field(ti.f64, 10)

    @ti.kernel
    def too_many():
        ti.get_addr(numbers.snode, [1, 2])

    with pytest.raises(ti.TaichiCompilationError, match="indices of dim 2"):
        too_many()
    with pytest.raises(ti.TaichiRuntimeError, match="get_addr"):
        ti.get_addr(numbers.snode, [1])


@pytest.mark.parametrize("blocks, cells", [(16, 8), (15, 9)])
def test_indices_outside_of_blocks_touch_no_other_memory(ti, blocks, cells):
    extent = blocks * cells
    x = ti.field(ti.i32)
    ti.root.dense(ti.ij, blocks).dense(ti.ij, cells).place(x)

    @ti.kernel
    def neighbours() -> ti.i32:
        for i, j in ti.ndrange(extent, extent):
            x[i, j] = 1
        total = 0
        for i, j in ti.ndrange(extent, extent):
            total += x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
        return total

    # Elements outside of the field read as zero or as an element of another row.
    assert 4 * extent * (extent - 1) <= neighbours() <= 4 * extent * extent


def test_every_kind_can_be_added(ti):
    from kiln import _native

    # Places and bit structs are made by `place`.
    kinds = [k for k in _native.SNODES.values() if k.name not in ("root", "place", "bit_struct")]
    for owner in (ti.root, ti.FieldsBuilder(), ti.root.dense(ti.i, 4)):
        assert [k.name for k in kinds if not callable(getattr(owner, k.name, None))] == []
