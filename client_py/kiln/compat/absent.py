"""Names of the reference that Kiln does not implement. They exist, so that imports succeed and
`dir()` shows them, but raise an error when they are used."""

from ..diagnostics import say


def absent_function(name):
    """A function that raises when it is called, also as a decorator."""

    def function(*_args, **_options):
        raise say.name_not_supported(name=name)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Not supported yet: `ti.{name}`."
    return function


def absent_class(name, methods=""):
    """A class that raises when a program makes an object or calls one of `methods` on the class."""
    raises = absent_function(name)
    body = {method: staticmethod(absent_function(f"{name}.{method}")) for method in methods.split()}
    body["__init__"] = lambda self, *args, **options: raises()
    body["__doc__"] = raises.__doc__
    return type(name.rpartition(".")[2], (), body)


Mesh = absent_class("Mesh", "generate_meta load_meta")
MeshInstance = absent_class(
    "MeshInstance",
    "add_mesh_attribute get_position_as_numpy get_relation_access get_relation_size "
    "set_index_mapping set_num_patches set_owned_offset set_patch_max_element_num "
    "set_relation_dynamic set_relation_fixed set_total_offset",
)
mesh_patch_idx = absent_function("mesh_patch_idx")
make_expr_group = absent_function("lang.expr.make_expr_group")

__all__ = ["Mesh", "MeshInstance", "mesh_patch_idx"]
