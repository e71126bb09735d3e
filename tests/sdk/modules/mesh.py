"""A module with a mesh in three patches, which runs through positions in two orders of memory."""

import pathlib
import sys

import kiln as ti
import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from mesh_patches import grid, metadata  # noqa: E402

ti.init(arch=ti.cpu)
mesh = ti.Mesh._create_instance(ti.Mesh.generate_meta(metadata(grid(4), num_patches=3)))
mesh.verts.place({"x": ti.math.vec3}, reorder=True)
mesh.verts.place({"mass": ti.f32, "degree": ti.i32})
mesh.faces.place({"area": ti.f32})
owned = ti.field(ti.i32)
ti.root.pointer(ti.i, 3).place(owned)


@ti.aot.export
@ti.kernel
def measure():
    for f in mesh.faces:
        a, b, c = f.verts[0].x, f.verts[1].x, f.verts[2].x
        f.area = (b - a).cross(c - a).norm() / 2
    for v in mesh.verts:
        v.mass = 0.0
        for f in v.faces:
            v.mass += f.area
        v.degree = v.verts.size
        owned[ti.mesh_patch_idx()] += 1


def show(world):
    """As mesh.c does."""
    print("mass", *(f"{one:g}" for one in world["mesh.verts.mass"].to_numpy()))
    print("degree", *world["mesh.verts.degree"].to_numpy())
    print("owned", *world["owned"].to_numpy())
    print("x", *(f"{one:g}" for one in world["mesh.verts.x"].to_numpy()[6]))


positions = np.array(grid(4)[0], np.float32)
mesh.verts.x.from_numpy(positions)
measure()
names = "mesh.verts.mass mesh.verts.degree mesh.verts.x owned".split()
show(dict(zip(names, (mesh.verts.mass, mesh.verts.degree, mesh.verts.x, owned))))
