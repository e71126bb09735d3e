"""Meshes: attributes of elements, relations between them, and loops over both. Taichi raises for
each loop over the elements around another one, because of a mistake in its own call."""

import json
import os
import tempfile

import numpy as np
from harness import case, ti
from mesh_patches import ALL_OF_TETRAHEDRA, ALL_OF_TRIANGLES, grid, metadata, tetrahedra
from small_meshes import mesh_of, triangles

GROUPS = {"V": "verts", "E": "edges", "F": "faces", "C": "cells"}


def hashes(mesh, relations, show):
    """Shows for each relation the sizes and elements around each element, as one number."""

    @ti.kernel
    def hash_all(group: ti.template(), name: ti.template()):
        for a in group:
            around = getattr(a, name)
            found = around.size
            for j in range(around.size):
                found = found * 31 % 65521 + around[j].id
            a.found = found

    for letter in {r[0]: None for r in relations}:
        getattr(mesh, GROUPS[letter]).place({"found": ti.i32})
    for start, end in relations:
        group = getattr(mesh, GROUPS[start])
        hash_all(group, GROUPS[end])
        show(start + end, group.found.to_numpy())


@case()
def relations_of_triangles(show):
    hashes(mesh_of(grid(4), num_patches=3), ALL_OF_TRIANGLES, show)


@case()
def relations_of_tetrahedra(show):
    known = [r for r in ALL_OF_TETRAHEDRA if r not in ("EE", "FF", "CC")]
    mesh = mesh_of(tetrahedra(3), num_patches=4, relations=known)
    hashes(mesh, known, show)


@case()
def relations_of_elements_to_their_kind(show):
    mesh = mesh_of(tetrahedra(2), num_patches=2, relations=["EE", "FF", "CC", "VV"])
    hashes(mesh, ["EE", "FF", "CC", "VV"], show)


@case()
def sizes(show):
    mesh = mesh_of(grid(4), num_patches=2)
    mesh.faces.place({"n": ti.i32})

    @ti.kernel
    def k():
        for f in mesh.faces:
            f.n = f.verts.size * 100 + f.edges.size * 10 + f.faces.size

    k()
    show(mesh.faces.n.to_numpy(), len(mesh.verts), len(mesh.edges), len(mesh.faces))


@case()
def ids_are_signed(show):
    mesh = triangles()

    @ti.kernel
    def k() -> ti.i32:
        found = 0
        for v in mesh.verts:
            found += (v.id - 20) // 3 + v.verts.size - 10 + v.verts[0].id - 100
        return found

    show(k())


def attributes(show, reorder, layout):
    mesh = mesh_of(grid(4), num_patches=3)
    mesh.faces.place(
        {"a": ti.f64, "m": ti.types.matrix(2, 2, ti.i32), "b": ti.u8}, reorder, layout=layout
    )
    faces = mesh.faces

    @ti.kernel
    def k():
        for f in faces:
            f.a = f.id * 0.5
            f.m = ti.Matrix([[f.id, 1], [2, 3]])
            f.m[1, 0] += f.id
            f.b = f.id + 250

    k()
    show(faces.keys, faces.a.to_numpy(), faces.m.to_numpy(), faces.b.to_numpy())
    show(faces.a[3], faces.a.shape, faces.m.n, faces.m.m)
    if not reorder:
        show(faces.m[5])


@case()
def attributes_in_order(show):
    attributes(show, False, ti.Layout.SOA)
    attributes(show, False, ti.Layout.AOS)


@case()
def reordered_attributes(show):
    attributes(show, True, ti.Layout.SOA)
    attributes(show, True, ti.Layout.AOS)


def in_python(show, reorder):
    mesh = triangles(reorder)
    verts = mesh.verts
    verts.n[3] = 77
    verts.p[2] = [7, 8, 9]
    verts.p[4][1] = 5.5
    show(verts.n.to_numpy(), verts.p.to_numpy()[:5], verts.n[3], verts.p[2])
    verts.x.fill(2.5)
    show(verts.x.to_numpy())
    verts.x.from_numpy(np.arange(16, dtype=np.float32))
    other = ti.field(ti.f32, 16)
    other.copy_from(verts.x)
    show(other.to_numpy())
    other[0] = 50.0
    verts.x.copy_from(other)
    show(verts.x.to_numpy(), str(verts.n))


@case()
def elements_in_python(show):
    in_python(show, False)


@case()
def reordered_elements_in_python(show):
    in_python(show, True)


def as_fields(show, reorder):
    mesh = triangles(reorder)
    verts = mesh.verts

    @ti.kernel
    def by_number():
        for i in range(16):
            verts.x[i] += i * 2
            verts.p[i] = ti.Vector([i, 2.0, 3.0])
            verts.p[i][1] = i

    @ti.kernel
    def by_loop(x: ti.template(), n: ti.template()):
        for i in x:
            x[i] += n[i] * 10

    @ti.kernel
    def by_element():
        for v in verts:
            v.x += verts.n[15 - v.id] * 1000

    for k in (by_number, by_element):
        k()
        show(verts.x.to_numpy())
    by_loop(verts.x, verts.n)
    show(verts.x.to_numpy(), verts.p.to_numpy())


@case()
def attributes_as_fields(show):
    as_fields(show, False)


@case()
def reordered_attributes_as_fields(show):
    as_fields(show, True)


@case()
def components_of_reordered_attributes(show):
    mesh = triangles(True)

    @ti.kernel
    def k():
        for v in mesh.verts:
            v.p.x += 100.0
            v.p.xy += v.id
            v.p[2] = v.n

    k()
    show(mesh.verts.p.to_numpy())


@case()
def elements_around_that_are_written(show):
    mesh = triangles(True)
    mesh.faces.place({"area": ti.f32})

    @ti.kernel
    def k():
        for f in mesh.faces:
            a, b, c = f.verts[0], f.verts[1], f.verts[2]
            f.area = ti.floor((b.p - a.p).cross(c.p - a.p).norm() * 4)
            for i in ti.static(range(3)):
                f.verts[i].x += f.area
                ti.atomic_max(f.verts[i].n, f.id)

    k()
    show(mesh.faces.area.to_numpy(), mesh.verts.x.to_numpy(), mesh.verts.n.to_numpy())


@case()
def named_elements_and_relations(show):
    mesh = triangles()

    @ti.kernel
    def k():
        for v in mesh.verts:
            around = v.verts
            first = around[0]
            last = around[around.size - 1]
            w = last
            v.x = first.id * 100 + w.n

    k()
    show(mesh.verts.x.to_numpy())


@ti.func
def weight(v):
    return v.n * 10 + v.verts.size


@ti.func
def add(v: ti.template(), value):
    v.x += value


@case()
def elements_given_to_functions(show):
    mesh = triangles(True)

    @ti.kernel
    def k():
        for v in mesh.verts:
            add(v, weight(v))
            add(v.verts[0], 10000)

    k()
    show(mesh.verts.x.to_numpy())


@case()
def meshes_as_templates(show):
    @ti.kernel
    def number(mesh: ti.template()):
        for v in mesh.verts:
            v.x += v.id

    @ti.kernel
    def double(group: ti.template()):
        for v in group:
            v.x *= 2

    one, other = triangles(), mesh_of(tetrahedra(2), relations=["VV"])
    other.verts.place({"x": ti.i32}, reorder=True)
    for mesh in (one, other):
        number(mesh)
        double(mesh.verts)
        show(mesh.verts.x.to_numpy())


@ti.data_oriented
class Cloth:
    def __init__(self):
        self.mesh = triangles()

    @ti.func
    def moved(self, v):
        return v.x + v.id

    @ti.kernel
    def move(self):
        for v in self.mesh.verts:
            v.x = self.moved(v) * 2


@case()
def meshes_of_objects(show):
    cloth = Cloth()
    cloth.move()
    cloth.move()
    show(cloth.mesh.verts.x.to_numpy())


@case(differs="meshes")
def several_loops(show):
    mesh = triangles()
    count = ti.field(ti.i32, ())

    @ti.kernel
    def k(limit: ti.i32) -> ti.i32:
        for v in mesh.verts:
            if v.id > limit:
                continue
            v.x = v.verts.size
            count[None] += 1
        for e in mesh.edges:
            count[None] += e.verts[1].id - e.verts[0].id
        for i in range(3):
            count[None] += i
        return count[None]

    show(k(5), mesh.verts.x.to_numpy())


@case()
def patches(show):
    mesh = triangles()
    owned = ti.field(ti.i32, (3, 3))

    @ti.kernel
    def k():
        for v in mesh.verts:
            owned[0, ti.mesh_patch_idx()] += ti.min(v.verts.size, 1)
        for e in mesh.edges:
            owned[1, ti.mesh_patch_idx()] += ti.min(e.verts[0].id, 0) + 1
        for f in mesh.faces:
            owned[2, ti.mesh_patch_idx()] += ti.min(f.verts[0].id, 0) + 1

    k()
    show(owned.to_numpy())


@case()
def hints(show):
    mesh = triangles(True)

    @ti.kernel
    def k():
        ti.mesh_local(mesh.verts.p, mesh.verts.x)
        for v in mesh.verts:
            v.x = v.verts[0].p[0]

    k()
    show(mesh.verts.x.to_numpy())


@case()
def meshes_without_attributes(show):
    mesh = mesh_of(grid(3))

    @ti.kernel
    def k() -> ti.i32:
        found = 0
        for v in mesh.verts:
            found += v.id
        return found

    show(k(), mesh.verts.keys)


@case()
def positions(show):
    data = metadata(grid(3))
    mesh = ti.Mesh._create_instance(ti.Mesh.generate_meta(data))
    show(mesh.get_position_as_numpy())


@case()
def metadata_from_files(show):
    def plain(value):
        return value.tolist() if hasattr(value, "tolist") else value

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "grid.json")
        with open(path, "w") as file:
            json.dump(metadata(grid(3), num_patches=2), file, default=plain)
        mesh = ti.Mesh._create_instance(ti.Mesh.load_meta(path))
    hashes(mesh, ["VF", "EE"], show)


@case()
def declared_before_the_mesh(show):
    builder = ti.lang.mesh._TriMesh()
    builder.verts.place({"x": ti.f32, "y": ti.i32})
    builder.verts.AOS = True
    builder.faces.place({"z": ti.f32}, reorder=True)
    mesh = builder.build(ti.Mesh.generate_meta(metadata(grid(3), num_patches=2)))

    @ti.kernel
    def k():
        for v in mesh.verts:
            v.x = v.id
            v.y = v.verts.size
        for f in mesh.faces:
            f.z = f.id

    k()
    show(mesh.verts.x.to_numpy(), mesh.verts.y.to_numpy(), mesh.faces.z.to_numpy())


# ---- beyond Taichi


@case(differs="meshes")
def loops_over_elements_around(show):
    mesh = triangles(True)

    @ti.kernel
    def k():
        for v in mesh.verts:
            if v.id != 3:
                for u in v.verts:
                    if u.id == 4:
                        continue
                    if u.id == 9:
                        break
                    v.x += 1
                    for f in u.faces:
                        for w in f.verts:
                            v.n += w.id

    k()
    show(mesh.verts.x.to_numpy(), mesh.verts.n.to_numpy())


@case(differs="meshes")
def relations_of_elements_in_other_patches(show):
    mesh = triangles()
    alone = mesh_of(grid(4))
    alone.verts.place({"n": ti.i32})

    @ti.kernel
    def k(mesh: ti.template()):
        for v in mesh.verts:
            v.n = 0
            for i in range(v.verts.size):
                u = v.verts[i]
                for j in range(u.verts.size):
                    w = u.verts[j]
                    for m in range(w.faces.size):
                        v.n += w.faces[m].id * (j + 1)

    k(mesh)
    k(alone)
    show(mesh.verts.n.to_numpy(), bool((mesh.verts.n.to_numpy() == alone.verts.n.to_numpy()).all()))


@case(differs="meshes")
def elements_of_reordered_matrices(show):
    mesh = mesh_of(grid(4), num_patches=3)
    mesh.faces.place({"m": ti.types.matrix(2, 2, ti.i32)}, reorder=True)

    @ti.kernel
    def k():
        for f in mesh.faces:
            f.m = ti.Matrix([[f.id, 1], [2, 3]])

    k()
    mesh.faces.m[5][1, 1] = 9
    show(mesh.faces.m[5])


@case(differs="meshes")
def sizes_by_methods(show):
    mesh = triangles()
    kinds = ti.lang.mesh.MeshElementType

    @ti.kernel
    def k():
        for v in mesh.verts:
            v.n = mesh.get_relation_size(v, kinds.Face) * 100
            v.n += mesh.get_relation_access(v, kinds.Vertex, 0).id

    k()
    show(mesh.verts.n.to_numpy())


@case(differs="meshes")
def gradients(show):
    for reorder in (False, True):
        mesh = triangles(reorder, needs_grad=False)
        mesh.edges.place({"rest": ti.f32})
        verts = mesh.verts
        verts.place({"q": ti.types.vector(3, ti.f32), "e": ti.f32}, reorder, needs_grad=True)
        verts.q.from_numpy(mesh.get_position_as_numpy())
        loss = ti.field(ti.f32, (), needs_grad=True)

        @ti.kernel
        def energy():
            for e in mesh.edges:
                d = e.verts[0].q - e.verts[1].q
                loss[None] += d.dot(d) * (e.id % 3)
            for v in verts:
                for u in v.verts:
                    v.e += u.q.x * v.id

        @ti.kernel
        def total():
            for v in verts:
                loss[None] += v.e * 2

        with ti.ad.Tape(loss):
            energy()
            total()
        show(loss[None], verts.q.grad.to_numpy(), verts.q.grad[5])


def orders(show, mesh):
    """Shows in which order serial loops run."""
    order = ti.field(ti.i32, 16)
    count = ti.field(ti.i32, ())

    @ti.kernel
    def attributes():
        ti.loop_config(serialize=True)
        for v in mesh.verts:
            v.n = 1
            order[ti.atomic_add(count[None], 1)] = v.id

    @ti.kernel
    def relations():
        ti.loop_config(serialize=True)
        for v in mesh.verts:
            v.n = v.verts.size
            order[ti.atomic_add(count[None], 1)] = v.id

    for k in (attributes, relations):
        count[None] = 0
        k()
        show(order.to_numpy())


@case()
def orders_of_serial_loops(show):
    orders(show, triangles())


@case(differs="meshes")
def orders_of_serial_loops_over_reordered_attributes(show):
    orders(show, triangles(reorder=True))


@case()
def patches_of_elements_without_relations(show):
    mesh = triangles()
    patch = ti.field(ti.i32, 16)

    @ti.kernel
    def k():
        for v in mesh.verts:
            patch[v.id] = ti.mesh_patch_idx()

    k()
    show(patch.to_numpy())


@case(differs="modules of compiled kernels")
def meshes_in_modules(show):
    mesh = triangles(reorder=True)
    mesh.faces.place({"sum": ti.i32}, reorder=False)
    mesh.edges.place({"sum": ti.f64}, reorder=True, needs_grad=True)
    patches = ti.field(ti.i32, 3)

    @ti.kernel
    def sums(scale: ti.i32):
        for f in mesh.faces:
            f.sum = 0
            for v in f.verts:
                f.sum += v.n * scale
        for e in mesh.edges:
            e.sum = e.verts[0].x - e.verts[1].x
        for v in mesh.verts:
            v.n = v.faces.size
            patches[ti.mesh_patch_idx()] += v.id

    on_cuda = ti.lang.impl.current_cfg().arch == ti.cuda
    module = ti.aot.Module(targets=["sm_90" if on_cuda else "x86-64-v2"])
    module.add_field("mesh", mesh)
    module.add_field("patches", patches)
    module.add_kernel(sums)
    with tempfile.TemporaryDirectory() as folder:
        module.save(folder)
        loaded = ti.aot.load(folder)
    show(sorted(loaded.fields))
    numbers = np.arange(16)
    for world in (loaded, loaded.world()):
        world["mesh.verts.n"].from_numpy(numbers)
        world["mesh.verts.x"].from_numpy(numbers**2)
        show(world["mesh.verts.n"].to_numpy())
        world.sums(2)
        for name in ("mesh.faces.sum", "mesh.edges.sum", "mesh.verts.n", "patches"):
            show(name, world[name].to_numpy())
        numbers = numbers[::-1]
    show.error(module.add_field, "mesh", mesh)
