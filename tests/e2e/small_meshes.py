"""Meshes for the cases of the language."""

import numpy as np
from harness import ti
from mesh_patches import grid, metadata


def mesh_of(*arguments, **options):
    return ti.Mesh._create_instance(ti.Mesh.generate_meta(metadata(*arguments, **options)))


def triangles(reorder=False, needs_grad=False):
    """A mesh of 16 vertices and 18 triangles in three patches."""
    mesh = mesh_of(grid(4), num_patches=3)
    mesh.verts.place(
        {"x": ti.f32, "p": ti.types.vector(3, ti.f32), "n": ti.i32}, reorder, needs_grad
    )
    mesh.verts.p.from_numpy(mesh.get_position_as_numpy())
    mesh.verts.n.from_numpy(np.arange(16, dtype=np.int32))
    return mesh
