"""What programs with meshes cannot do: the errors of places, loops and metadata."""

import copy
import tempfile

from harness import case, ti
from mesh_patches import grid, metadata
from small_meshes import mesh_of, triangles


def in_kernel(body):
    """A function that runs `body(v)` in a loop over vertices."""
    mesh = triangles()

    @ti.kernel
    def k():
        for v in mesh.verts:
            body(v)

    return k


@case(differs="mistakes with meshes")
def relations_that_are_missing(show):
    mesh = mesh_of(grid(3), relations=["VV"])

    @ti.kernel
    def k() -> ti.i32:
        found = 0
        for f in mesh.faces:
            found += f.verts[0].id
        return found

    @ti.kernel
    def cells():
        for c in mesh.cells:
            pass

    @ti.func
    def cells_of(v):
        return v.cells.size

    show.error(k)
    show.error(cells)
    show.error(in_kernel(cells_of))
    show.error(mesh.cells.place, {"x": ti.f32})


@case(differs="mistakes with meshes")
def places_that_are_not_there(show):
    mesh = triangles()

    @ti.kernel
    def fourth():
        for f in mesh.faces:
            f.verts[3].x = 1

    @ti.kernel
    def fraction():
        for v in mesh.verts:
            v.verts[0.5].x = 1

    @ti.kernel
    def two():
        for v in mesh.verts:
            v.verts[0, 1].x = 1

    for k in (fourth, fraction, two):
        show.error(k)


@case(differs="mistakes with meshes", debug=True)
def places_in_debug_mode(show):
    mesh = triangles()

    @ti.kernel
    def k(i: ti.i32):
        for v in mesh.verts:
            if v.id == 0:
                v.x = v.verts[i].id

    show.error(k, 5)
    k(1)
    show(mesh.verts.x[0])
    show.error(k, -1)


@case(differs="mistakes with meshes")
def elements_are_no_values(show):
    mesh = triangles()
    f = ti.field(ti.f32, 16)

    @ti.kernel
    def index():
        for v in mesh.verts:
            f[v] = 1

    @ti.kernel
    def equal():
        for v in mesh.verts:
            if v == v.verts[0]:
                v.x = 1

    @ti.kernel
    def around():
        for v in mesh.verts:
            v.x = v.verts == v.faces

    @ti.kernel
    def true():
        for v in mesh.verts:
            if v:
                v.x = 1

    @ti.kernel
    def printed():
        for v in mesh.verts:
            print(v)

    @ti.kernel
    def again():
        for v in mesh.verts:
            u = v.verts[0]
            u = v.verts[1]
            v.x = u.id

    @ti.kernel
    def number():
        for v in mesh.verts:
            v.id = 3

    @ti.kernel
    def unknown():
        for v in mesh.verts:
            v.y = 3

    for k in (index, equal, around, true, printed, again, number, unknown):
        show.error(k)
    show.error(lambda: mesh.verts.y)
    show.error(lambda: list(mesh.verts))


@case(differs="mistakes with meshes")
def loops_of_other_forms(show):
    mesh = triangles()

    @ti.kernel
    def pair():
        for a, b in mesh.verts:
            pass

    @ti.kernel
    def pair_around():
        for v in mesh.verts:
            for a, b in v.verts:
                pass

    @ti.kernel
    def nested():
        for i in range(2):
            for v in mesh.verts:
                v.x += 1

    @ti.kernel
    def left():
        for v in mesh.verts:
            break

    @ti.kernel
    def outside() -> ti.i32:
        for v in mesh.verts:
            v.x = 1
        return ti.mesh_patch_idx()

    @ti.kernel
    def listed():
        for v in mesh.verts:
            v.x = sum([u.x for u in v.verts])

    @ti.kernel
    def unrolled():
        for v in mesh.verts:
            for i, u in ti.static(enumerate(v.verts)):
                v.x += u.x * i

    for k in (pair, pair_around, nested, left, outside, listed, unrolled):
        show.error(k)

    @ti.kernel
    def of_faces():
        for f in mesh.faces:
            v = f.verts[0]
            v.x = sum([u.id for u in f.verts])

    of_faces()
    show(sum(mesh.verts.x.to_numpy() > 0) > 5)


@case(differs="mistakes with meshes")
def attributes_that_cannot_be_placed(show):
    mesh = triangles()
    S = ti.types.struct(a=ti.f32)
    for members in ({"verts": ti.f32}, {"x": ti.f32}, {"keys": ti.f32}, {"s": S}, {"id": ti.i32}):
        show.error(mesh.verts.place, members)
    for kind in (ti.types.quant.int(5), ti.types.vector(2, ti.types.quant.float(4, 9))):
        show.error(mesh.verts.place, {"q": kind})

    @ti.kernel
    def k():
        for v in mesh.verts:
            v.n += 1

    k()  # no field is left without a place
    show(mesh.verts.n)


@case(differs="mistakes with meshes")
def metadata_that_are_wrong(show):
    def changed(change):
        data = copy.deepcopy(metadata(grid(3), num_patches=2))
        change(data)
        return data

    def drop(*path):
        def change(data):
            for key in path[:-1]:
                data = data[key]
            del data[path[-1]]

        return change

    def put(value, *path):
        def change(data):
            for key in path[:-1]:
                data = data[key]
            data[path[-1]] = value

        return change

    for change in (
        drop("relations"),
        drop("elements", 0, "g2r_mapping"),
        drop("elements", 1),
        drop("relations", 0, "offset"),
        put(5, "elements", 0, "order"),
        put(8, "elements", 0, "num"),
        put(99, "elements", 0, "l2g_mapping", 0),
        put(0, "elements", 0, "g2r_mapping", 1),
        put(5, "elements", 0, "l2r_mapping", 0),
        put([0, 1], "elements", 0, "owned_offsets"),
        put("many", "elements", 0, "g2r_mapping"),
        put(99, "relations", 0, "value", 0),
        put(2, "relations", 0, "value", 0),
        put([0, 1], "relations", 0, "offset"),
    ):
        show.error(ti.Mesh.generate_meta, changed(change))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write("o grid\n")
        file.flush()
        show.error(load, file.name)


def load(name):
    """Hides the name of the file."""
    try:
        ti.Mesh.load_meta(name)
    except ValueError as error:
        raise type(error)(str(error).replace(name, "FILE")) from None


@case(differs="mistakes with meshes")
def meshes_of_other_forms(show):
    data = metadata(grid(3))
    del data["attrs"]["x"]
    mesh = ti.Mesh._create_instance(ti.Mesh.generate_meta(data))
    show.error(mesh.get_position_as_numpy)
    show.error(mesh.set_num_patches, 3)
    mesh = mesh_of(grid(4), num_patches=3)
    mesh.verts.place({"n": ti.i32}, reorder=True)
    show.error(mesh.verts.n.__dlpack__)
    show.error(lambda: mesh.verts.n.__cuda_array_interface__)
    show.error(lambda: mesh.verts.n[16])
    show.error(lambda: mesh.verts.n["a"])

    @ti.kernel
    def annotated(mesh: ti.Mesh):
        pass

    show.error(annotated, mesh)


@case(differs="mistakes with meshes")
def meshes_of_an_earlier_init(show):
    data = metadata(grid(3))
    mesh = ti.Mesh._create_instance(ti.Mesh.generate_meta(data))
    mesh.verts.place({"x": ti.f32})
    ti.init(arch=ti.cpu)

    @ti.kernel
    def k():
        for v in mesh.verts:
            v.x = 1

    show.error(k)
