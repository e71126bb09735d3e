"""Errors of meshes (ti.Mesh)."""

from ..errors import (
    TaichiRuntimeError,
    TaichiSyntaxError,
    TaichiTypeError,
)

ROWS = {
    "mesh_attribute_exists": (TaichiSyntaxError, "'{name}' has already use as attribute name."),
    "mesh_attribute_in_other_order": (
        BufferError,
        "{title} has its elements in another order than their numbers, which DLPack cannot say; "
        "to_numpy copies them",
    ),
    "mesh_attribute_is_quantised": (
        TaichiSyntaxError,
        "attribute '{name}' of a mesh cannot have a quantised type ({kind})",
    ),
    "mesh_attribute_is_reserved": (
        TaichiSyntaxError,
        "'{name}' cannot use as attribute name. It has been reserved as MeshTaichi's keyword.",
    ),
    "mesh_attribute_is_struct": (
        TaichiSyntaxError,
        "attribute '{name}' of a mesh cannot be a struct ({kind}): place its members",
    ),
    "mesh_attribute_only_copied": (
        AttributeError,
        "{title} has its elements in another order than their numbers: to_numpy copies them",
    ),
    "mesh_element_is_no_value": (
        TaichiTypeError,
        "elements of a mesh are not values: compare or test their `id` or attributes",
    ),
    "mesh_elements_of_other_order": (
        ValueError,
        "elements of a mesh have the order 0 (verts) to 3 (cells), got {order!r}",
    ),
    "mesh_file_is_no_json": (ValueError, "{file} is not a file of mesh metadata: {reason}"),
    "mesh_for_cannot_be_nested": (
        TaichiSyntaxError,
        "Mesh for cannot be nested: a loop over all elements of a mesh must be at the outermost "
        "scope of the kernel",
    ),
    "mesh_for_has_one_target": (
        TaichiSyntaxError,
        "Mesh for should have 1 loop target, found {count}",
    ),
    "mesh_loops_are_for_kernels": (
        TypeError,
        "kernels loop over the {elements} of a mesh; Python reads their attributes by number",
    ),
    "mesh_metadata_lack": (
        ValueError,
        "the metadata of a mesh lack '{name}'",
    ),
    "mesh_patch_outside_of_loop": (
        TaichiRuntimeError,
        "ti.mesh_patch_idx() is only valid within mesh-for loops.",
    ),
    "mesh_relation_index": (
        TaichiTypeError,
        "an element around another one is selected by one integer, got {type}",
    ),
    "mesh_relation_is_wrong": (
        ValueError,
        "the tables of relation {relation} contradict the elements of the mesh",
    ),
    "mesh_relation_leaves_patch": (
        ValueError,
        "relation {relation} has elements that are not in the patch of the element that they are "
        "around, so the metadata cannot name them",
    ),
    "mesh_relation_of_absent_elements": (
        ValueError,
        "the metadata of a mesh have a relation between the orders {ends}, but not all of these "
        "elements",
    ),
    "mesh_relation_of_varying_size": (
        TaichiSyntaxError,
        "{name} varies in size: a loop can run over it, but no comprehension, ti.static or list",
    ),
    "mesh_relation_out_of_bounds": (
        str,
        "index {index} is out of bounds for the {size} elements of {name} around one element",
    ),
    "mesh_table_is_wrong": (
        ValueError,
        "'{name}' of the mesh's {elements} contradicts the number of elements or patches, or "
        "another table",
    ),
    "mesh_tables_come_from_metadata": (
        TaichiRuntimeError,
        "the tables of a mesh are made from metadata: use ti.Mesh.generate_meta",
    ),
    "mesh_without_attribute": (
        AttributeError,
        "the {elements} of the mesh have no attribute '{name}'",
    ),
    "mesh_without_elements": (TaichiRuntimeError, "the mesh has no {elements}"),
    "mesh_without_positions": (TaichiSyntaxError, "Position info is not in the file."),
    "mesh_without_relation": (
        TaichiRuntimeError,
        "Relation {start}-{end} detected in mesh-for loop but not initialized. Please add them "
        "with syntax: Patcher.load_mesh(..., relations=[..., '{relation}'])",
    ),
}
