"""Meshes beyond the language cases: relations that patches have in part, gradients and views of
reordered attributes, and what kernels leave in memory."""

import pathlib
import sys

import kiln as ti
import numpy as np
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from mesh_patches import elements_around, grid, kinds_of, metadata, tetrahedra  # noqa: E402


@pytest.fixture(autouse=True)
def initialised():
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


def mesh_of(data):
    return ti.Mesh._create_instance(ti.Mesh.generate_meta(data))


class Relation:
    """The elements around each, as the patcher's class of that name has them."""

    def __init__(self, lists):
        self.value = np.array([one for of in lists for one in of])
        self.offset = np.cumsum([0, *map(len, lists)])


class Patcher:
    """What the object that makes metadata offers."""

    def __init__(self, mesh):
        self.kinds = kinds_of(*mesh)

    def get_relation(self, start, end):
        return Relation(elements_around(self.kinds, start, end))


def neighbours(mesh, name):
    group = getattr(mesh, name)
    count = len(group)
    out = ti.field(ti.i32, (count, 16))

    @ti.kernel
    def write():
        for e in group:
            for i in range(getattr(e, name).size):
                out[e.id, i] = getattr(e, name)[i].id + 1

    write()
    return [[int(n) - 1 for n in row if n] for row in out.to_numpy()]


def with_a_hole():
    """Metadata whose relation EE names an element of another patch wrongly, as those of
    meshtaichi_patcher do."""
    data = metadata(grid(4), num_patches=3, relations=["EE"])
    value = data["relations"][0]["value"]
    value[7] = (value[7] + 1) % data["elements"][1]["max_num_per_patch"]
    return data


def test_relations_are_those_of_the_whole_mesh():
    data = with_a_hole()
    with pytest.raises(ValueError, match="relation EE has elements that are not in the patch"):
        mesh_of(data)
    data["patcher"] = Patcher(grid(4))
    mesh = mesh_of(data)
    assert neighbours(mesh, "edges") == elements_around(data["patcher"].kinds, 1, 1)
    assert mesh.patcher is data["patcher"]


def test_a_patcher_of_another_mesh_is_not_asked():
    data = metadata(grid(4), num_patches=3, relations=["VV"])
    data["patcher"] = Patcher(grid(3))
    assert neighbours(mesh_of(data), "verts") == elements_around(kinds_of(*grid(4)), 0, 0)


def test_meshes_share_the_tables_of_metadata():
    meta = ti.Mesh.generate_meta(metadata(grid(4), num_patches=2, relations=["VV"]))
    one, other = (ti.Mesh._create_instance(meta) for _ in range(2))
    one.verts.place({"x": ti.i32})
    other.verts.place({"x": ti.f32, "y": ti.f32})
    assert one.verts.keys == ["x"] and other.verts.keys == ["x", "y"]
    assert one._relations is other._relations


def test_gradients_of_reordered_attributes():
    mesh = mesh_of(metadata(grid(4), num_patches=3, relations=["EV"]))
    mesh.verts.place({"x": ti.f32, "p": ti.math.vec2}, reorder=True, needs_grad=True)
    x = mesh.verts.x
    x.from_numpy(np.arange(16, dtype=np.float32))
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def energy():
        for e in mesh.edges:
            loss[None] += (e.verts[0].x - e.verts[1].x) ** 2 * e.id
        for i in x:
            loss[None] += x[i] * i

    with ti.ad.Tape(loss):
        energy()
    expected = np.arange(16, dtype=np.float32)
    for n, (a, b) in enumerate(kinds_of(*grid(4))[1]):
        expected[a] += 2 * n * (a - b)
        expected[b] -= 2 * n * (a - b)
    assert x.grad.to_numpy().tolist() == expected.tolist()
    assert x.grad[3] == expected[3]
    assert x.grad is mesh.verts.x.grad
    mesh.verts.p[3] = [1, 2]
    column = mesh.verts.p.get_scalar_field(1)
    assert column[3] == 2 and column.to_numpy()[3] == 2
    column[4] = 5
    assert mesh.verts.p[4].y == 5


def test_fields_that_are_copied():
    import copy

    mesh = mesh_of(metadata(grid(4), num_patches=3, relations=["VV"]))
    mesh.verts.place({"x": ti.i32, "y": ti.i32}, reorder=True)
    mesh.verts.place({"z": ti.i32})
    numbers = np.arange(16, dtype=np.int32)
    mesh.verts.x.from_numpy(numbers)
    mesh.verts.y.copy_from(mesh.verts.x)
    mesh.verts.z.copy_from(mesh.verts.y)
    for field in (mesh.verts.y, mesh.verts.z, copy.copy(mesh.verts.x)):
        assert field.to_numpy().tolist() == numbers.tolist()
    # What memory has is in the order of owners, which is another one.
    assert mesh.verts.get_member_field("x").to_numpy().tolist() != numbers.tolist()


def test_copies_have_gradients():
    mesh = mesh_of(metadata(grid(4), num_patches=3, relations=["VV"]))
    mesh.verts.place({"x": ti.f32, "y": ti.f32}, reorder=True, needs_grad=True)
    plain = ti.field(ti.f32, 16, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    mesh.verts.x.from_numpy(np.arange(16, dtype=np.float32))

    @ti.kernel
    def total():
        for v in mesh.verts:
            loss[None] += v.y * v.id

    with ti.ad.Tape(loss):
        plain.copy_from(mesh.verts.x)
        mesh.verts.y.copy_from(plain)
        total()
    assert loss[None] == sum(i * i for i in range(16))
    assert mesh.verts.x.grad.to_numpy().tolist() == list(range(16))
    vectors = ti.Vector.field(2, ti.f32, 16)
    with pytest.raises(ValueError):
        mesh.verts.x.copy_from(vectors)
    with pytest.raises(ValueError):
        vectors.copy_from(mesh.verts.x)


def test_relations_of_relations_agree_with_a_model():
    random = np.random.default_rng(3)
    for points, tops in (grid(6), tetrahedra(3)) * 2:
        # Numbers without an order, as those of scanned surfaces.
        moved = random.permutation(len(points))
        points = [points[i] for i in np.argsort(moved)]
        tops = [tuple(int(moved[v]) for v in tops[i]) for i in random.permutation(len(tops))]
        kinds = kinds_of(points, tops)
        relations = [a + b for a in "VEFC"[: len(kinds)] for b in "VEFC"[: len(kinds)]]
        mesh = mesh_of(metadata((points, tops), int(random.integers(1, 7)), relations))
        for order, name in enumerate(NAMES[: len(kinds)]):
            group, reorder = getattr(mesh, name), bool(random.integers(2))
            group.place({"a": ti.i32}, reorder)
            group.place({"b": ti.i32}, not reorder)
            group.a.from_numpy(random.integers(0, 1000, len(kinds[order])).astype(np.int32))
        for start, middle in np.ndindex(len(kinds), len(kinds)):
            check_sums(mesh, kinds, start, middle, int(random.integers(len(kinds))))


NAMES = ("verts", "edges", "faces", "cells")


def check_sums(mesh, kinds, start, middle, end):
    """Sums over the elements around those around each, in a kernel and in Python."""
    first, second, third = (NAMES[order] for order in (start, middle, end))

    @ti.kernel
    def sums():
        for x in getattr(mesh, first):
            x.b = 0
            for y in getattr(x, second):
                around = getattr(y, third)
                j = 0
                for z in around:
                    j += 1
                    x.b += z.a * j + y.a * (y.id + 1)
                if around.size > 0:
                    x.b += around[around.size - 1].a * 7

    sums()
    of_end, of_middle = (getattr(mesh, n).a.to_numpy().tolist() for n in (third, second))
    after = elements_around(kinds, middle, end)
    expected = []
    for around in elements_around(kinds, start, middle):
        expected.append(0)
        for y in around:
            for j, z in enumerate(after[y], 1):
                expected[-1] += of_end[z] * j + of_middle[y] * (y + 1)
            if after[y]:
                expected[-1] += of_end[after[y][-1]] * 7
    assert getattr(mesh, first).b.to_numpy().tolist() == expected


def test_windows_show_reordered_attributes_by_number():
    from kiln.windows.drawn import view

    mesh = mesh_of(metadata(grid(4), num_patches=3, relations=["VV"]))
    mesh.verts.place({"x": ti.math.vec3}, reorder=True)
    positions = mesh.get_position_as_numpy()
    mesh.verts.x.from_numpy(positions)
    assert view(mesh.verts.x, "scene.mesh", "vertices").tolist() == positions.tolist()
    with pytest.raises(BufferError, match="another order"):
        np.from_dlpack(mesh.verts.x)


def test_a_placed_attribute_joins_later_kernels():
    mesh = mesh_of(metadata(grid(3), num_patches=2, relations=["VV"]))
    mesh.verts.place({"x": ti.i32})

    @ti.kernel
    def first():
        for v in mesh.verts:
            v.x = v.id

    first()
    mesh.verts.place({"y": ti.i32}, reorder=True)

    @ti.kernel
    def second():
        for v in mesh.verts:
            v.y = v.x * 2 + v.verts[0].x * 0

    second()
    first()
    assert mesh.verts.y.to_numpy().tolist() == list(range(0, 18, 2))
