"""Fields below pointer, bitmasked and dynamic SNodes: elements, whole fields, kernels,
destroying."""

import numpy as np
import pytest


def _field(ti, kind="pointer", dtype=None):
    x = ti.field(dtype or ti.i32)
    block = getattr(ti.root, kind)(ti.i, 4)
    block.dense(ti.i, 2).place(x)
    return x, block


def test_elements_are_zero_until_written(ti):
    x, _ = _field(ti)
    assert x[5] == 0 and x.shape == (8,)
    x[5] = 3
    assert (x[5], x[4], x[0]) == (3, 0, 0)
    assert x.to_numpy().tolist() == [0, 0, 0, 0, 0, 3, 0, 0]
    with pytest.raises(IndexError, match="axis 0"):
        x[8]


@pytest.mark.parametrize("kind", ["pointer", "bitmasked", "dynamic"])
def test_whole_fields_touch_active_cells(ti, kind):
    x, block = _field(ti, kind)
    x[2] = 1
    x.fill(7)
    active = {"dynamic": [7, 7, 7, 7, 0, 0, 0, 0]}.get(kind, [0, 0, 7, 7, 0, 0, 0, 0])
    assert x.to_numpy().tolist() == active
    x.from_numpy(np.arange(8, dtype=np.int32))
    expected = [n if seen else 0 for n, seen in enumerate(active)]
    assert x.to_numpy().tolist() == expected
    y, _ = _field(ti, kind)
    y.copy_from(x)
    y.fill(1)
    assert y.to_numpy().tolist() == [1] * 8
    block.deactivate_all()
    assert x.to_numpy().tolist() == [0] * 8


def test_views_of_matrices_and_structs(ti):
    m = ti.Matrix.field(2, 2, ti.f32)
    s = ti.types.struct(a=ti.i32, v=ti.math.vec2).field()
    ti.root.pointer(ti.i, 4).place(m, s)
    view = m[1]
    assert view[0, 1] == 0
    view[0, 1] = 3
    assert m[1].to_list() == [[0, 3], [0, 0]]
    s[2].a = 4
    s[2].v = [1, 2]
    assert s[2].v.to_list() == [1, 2] and s[2].a == 4 and s[3].a == 0
    m[0] = [[1, 2], [3, 4]]
    assert m.to_numpy()[0].tolist() == [[1, 2], [3, 4]]


def test_offsets(ti):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.ij, 2).dense(ti.ij, 2).place(x, offset=(-2, 5))
    x[-2, 8] = 1
    x[1, 5] = 2

    @ti.kernel
    def total() -> ti.i32:
        n = 0
        for i, j in x:
            n += x[i, j] * (i * 100 + j)
        return n

    assert total() == (-200 + 8) + 2 * (100 + 5)
    assert x.to_numpy()[0, 3] == 1
    with pytest.raises(IndexError):
        x[2, 5]


def test_kernels_write_read_and_loop(ti):
    x, block = _field(ti)

    @ti.kernel
    def write(i: ti.i32):
        x[i] = i

    @ti.kernel
    def count() -> ti.i32:
        n = 0
        for i in x:
            n += 1
        return n

    @ti.kernel
    def blocks() -> ti.i32:
        n = 0
        for i in block:
            n += 1 + i
        return n

    assert count() == 0
    write(5)
    write(0)
    assert (count(), blocks(), x[5]) == (4, 4, 5)
    block.deactivate_all()
    assert (count(), x[5]) == (0, 0)


def test_operations(ti):
    x, block = _field(ti)

    @ti.kernel
    def work() -> ti.types.vector(4, ti.i32):
        before = ti.is_active(block, [1])
        ti.activate(block, [1])
        after = ti.is_active(block, [1])
        return ti.Vector([before, after, ti.is_active(x.parent(2), 3), x[3]])

    assert work().to_list() == [0, 1, 0, 0]

    @ti.kernel
    def drop():
        for i in block:
            ti.deactivate(block, [i])

    x[0] = 1
    drop()
    assert x.to_numpy().sum() == 0
    assert ti.rescale_index(x, block, [7]).to_list() == [3]


def test_append(ti):
    x = ti.field(ti.i32)
    rows = ti.root.dense(ti.i, 3)
    cells = rows.dynamic(ti.j, 4, 2)
    cells.place(x)

    @ti.kernel
    def fill() -> ti.i32:
        last = 0
        for k in range(6):
            last = ti.append(cells, [1], k)
        x[2].append(9)
        return last

    @ti.kernel
    def lengths() -> ti.types.vector(3, ti.i32):
        return ti.Vector([ti.length(cells, [0]), x[1].length(), ti.length(cells, [2])])

    assert fill() == -1
    assert lengths().to_list() == [0, 4, 1]
    assert sorted(x.to_numpy()[1]) == [0, 1, 2, 3] and x[2, 0] == 9

    @ti.kernel
    def clear():
        x[1].deactivate()

    clear()
    assert lengths().to_list() == [0, 0, 1]


def test_append_of_structs_and_vectors(ti):
    pair = ti.types.struct(a=ti.i32, v=ti.math.vec2)
    s, m = pair.field(), ti.Vector.field(3, ti.f32)
    structs = ti.root.dynamic(ti.i, 16, 4)
    structs.place(s)
    ti.root.dynamic(ti.i, 16, 4).place(m)

    @ti.kernel
    def fill():
        s.append(pair(3, [1, 2]))
        ti.append(structs, [], [4, 5, 6])
        m.append(ti.Vector([1.0, 2.0, 3.0]))

    fill()
    assert (s[0].a, s[1].a, s[1].v.to_list(), m[0].to_list()) == (3, 4, [5, 6], [1, 2, 3])

    @ti.kernel
    def wrong():
        s.append(3)

    with pytest.raises(ti.TaichiCompilationError, match="hold 3 numbers, but 1"):
        wrong()


def test_components_in_several_trees(ti):
    v = ti.Vector.field(2, ti.f32)
    first, second = ti.FieldsBuilder(), ti.FieldsBuilder()
    first.pointer(ti.i, 4).place(v.get_scalar_field(0))
    second.dense(ti.i, 4).place(v.get_scalar_field(1))
    first.finalize()
    with pytest.raises(RuntimeError, match="not been finalized"):
        v[0]
    other = second.finalize()
    v[2] = [1, 2]
    assert v[2].to_list() == [1, 2] and v.get_scalar_field(1)[2] == 2

    @ti.kernel
    def double():
        for i in range(4):
            v[i] *= 2

    double()
    assert v.to_numpy().tolist() == [[0, 0], [0, 0], [2, 4], [0, 0]]
    other.destroy()
    with pytest.raises(RuntimeError, match="is gone"):
        v[2]
    with pytest.raises(RuntimeError, match="is gone"):
        double()


def test_a_destroyed_tree_is_an_error(ti):
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    block = builder.pointer(ti.i, 4)
    block.place(x)
    tree = builder.finalize()

    @ti.kernel
    def write():
        x[0] = 1

    @ti.kernel
    def loop(b: ti.template()):
        for i in b:
            ti.deactivate(b, [i])

    write()
    loop(block)
    tree.destroy()
    for use in (lambda: x[0], write, lambda: loop(block), block.deactivate_all):
        with pytest.raises(RuntimeError, match="is gone"):
            use()


def test_many_trees_share_one_artifact(ti):
    @ti.kernel
    def write(x: ti.template()):
        x[3] += 1

    fields = []
    for _ in range(520):
        builder = ti.FieldsBuilder()
        x = ti.field(ti.i32)
        builder.pointer(ti.i, 4).dense(ti.i, 4).place(x)
        builder.finalize()
        fields.append(x)
    from kiln import runtime

    write(fields[0])
    before = runtime.session().stats()["misses"]
    for x in fields[1:40]:
        write(x)
    assert runtime.session().stats()["misses"] == before
    assert fields[39][3] == 1 and fields[40][3] == 0


def test_memory_limit(ti):
    ti.init(arch=ti.cpu, snode_memory_GB=2**-8)
    x = ti.field(ti.i32, name="x")
    ti.root.pointer(ti.i, 64).dense(ti.i, 1 << 16).place(x)
    x[0] = 5

    @ti.kernel
    def flood():
        for i in range(64):
            x[i * (1 << 16)] = 1

    with pytest.raises(ti.TaichiRuntimeError, match="pointer"):
        flood()
    with pytest.raises(ti.TaichiRuntimeError, match="pointer"):
        for i in range(64):
            x[i * (1 << 16)] = 1
    assert x[0] in (1, 5)
    x.parent(2).deactivate_all()
    x[0] = 7
    assert x[0] == 7


def test_illegal_trees(ti):
    with pytest.raises(RuntimeError, match="standalone dimensionality"):
        ti.root.dense(ti.i, 2).dynamic(ti.i, 4)
    with pytest.raises(RuntimeError, match="32-bit"):
        ti.root.pointer(ti.i, 1 << 20).dense(ti.i, 1 << 20)
    with pytest.raises(RuntimeError, match="cells"):
        ti.root.pointer(ti.ij, 1 << 16)
    node = ti.root
    with pytest.raises(RuntimeError, match="deep"):
        for _ in range(40):
            node = node.pointer(ti.i, 1)


def test_usage_of_a_grid(ti):
    grid = ti.sparse.grid({"mass": ti.f32, "velocity": ti.math.vec2}, shape=(10, 10))
    grid[0, 0].mass = 1.0
    grid[3, 4].velocity = [1, 2]
    assert abs(ti.sparse.usage(grid) - 0.02) < 1e-6
    assert grid[3, 4].velocity.to_list() == [1, 2]
    with pytest.raises(Exception, match="2D and 3D"):
        ti.sparse.grid({"mass": ti.f32}, shape=(10,))
