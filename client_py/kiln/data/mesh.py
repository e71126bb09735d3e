"""Meshes: vertices, edges, faces and cells with attributes, and the relations between them."""

from ..diagnostics import say
from .mesh_elements import MeshElementField
from .mesh_metadata import MeshElementType, MeshMetadata, element_type_name
from .tables import GROUPS


class Mesh:
    """Makes meshes of triangles or tetrahedra. Programs load them by the package
    `meshtaichi_patcher`, which divides meshes into patches and calls this class.

        both = [0, 1]
        verts = {"order": 0, "num": 2, "max_num_per_patch": 2}
        verts |= {"owned_offsets": [0, 2], "total_offsets": [0, 2]}
        verts |= {"l2g_mapping": both, "l2r_mapping": both, "g2r_mapping": both}
        data = {"num_patches": 1, "elements": [verts], "relations": [], "attrs": {}}
        print(ti.Mesh.generate_meta(data).num_patches)  # prints: 1
    """

    @staticmethod
    def load_meta(filename):
        """Reads metadata from a file.

        filename: a file of JSON with what `generate_meta` takes. Raises ValueError for others.
        """
        import json

        with open(filename) as file:
            try:
                data = json.load(file)
            except ValueError as error:
                raise say.mesh_file_is_no_json(file=filename, reason=error) from None
        return MeshMetadata(data)

    @staticmethod
    def generate_meta(data):
        """Checks metadata and makes the tables that kernels use.

        data: a dictionary as the patcher makes it: "num_patches", "elements", "relations" and
        "attrs". Raises ValueError for entries that are missing or contradict others.
        """
        return MeshMetadata(data)

    @staticmethod
    def _create_instance(metadata):
        return MeshInstance._of(metadata)


class MeshInstance:
    """A mesh: its elements are `verts`, `edges`, `faces` and `cells`. `mesh.verts.place` gives the
    vertices attributes. In kernels, `for v in mesh.verts` runs over all of them in parallel. `v.x`
    is an attribute of a vertex and `v.id` its number. `v.faces` are the faces around it. They have
    a `size` and subscripts, and loops can run over them.

        @ti.kernel
        def areas():
            for f in mesh.faces:
                a, b, c = f.verts[0].x, f.verts[1].x, f.verts[2].x
                f.area = (b - a).cross(c - a).norm() / 2
    """

    def __init__(self):
        self.relation_set = set()
        self.fields = {}
        self.patcher = None
        self._relations = {}
        self.verts = MeshElementField(self, MeshElementType.Vertex)
        self.edges = MeshElementField(self, MeshElementType.Edge)
        self.faces = MeshElementField(self, MeshElementType.Face)
        self.cells = MeshElementField(self, MeshElementType.Cell)

    @classmethod
    def _of(cls, metadata):
        made = cls()
        elements, made._relations = metadata.fields()
        for element, tables in elements.items():
            group = MeshElementField(made, element, tables, metadata.elements[element])
            setattr(made, element_type_name(element), group)
            made.fields[element] = group
        made.relation_set.update(made._relations)
        made.patcher = metadata.patcher
        made._position = metadata.attrs.get("x")
        return made

    _position = None

    def get_position_as_numpy(self):
        """The positions of the vertices that the file of the mesh has: a NumPy array of three
        columns. Raises TaichiSyntaxError if it has none."""
        if self._position is None:
            raise say.mesh_without_positions()
        return self._position

    def get_relation_size(self, from_index, to_element_type):
        """Within a kernel, the number of elements of a kind around an element.

        from_index: the element. to_element_type: the kind.
        """
        return getattr(from_index, element_type_name(to_element_type)).size

    def get_relation_access(self, from_index, to_element_type, neighbor_idx_ptr):
        """Within a kernel, an element around another one.

        from_index: the element. to_element_type: the kind. neighbor_idx_ptr: its place among
        those around.
        """
        return getattr(from_index, element_type_name(to_element_type))[neighbor_idx_ptr]

    def _parts_by_name(self):
        """What modules export of it: the attributes."""
        groups = [(name, getattr(self, name)) for name in GROUPS]
        return {f"{name}.{key}": getattr(of, key) for name, of in groups for key in of.keys}

    def _described(self):
        """What warm records know of it (warm/describe.py)."""
        groups = tuple(getattr(self, name) for name in GROUPS)
        relations = tuple(sorted((int(of), tables) for of, tables in self._relations.items()))
        return groups, relations

    _is_numbered = True

    def _recorded(self, name):
        """The attribute `name`, which a kernel has read."""
        return getattr(self, name) if name in GROUPS else None

    def add_mesh_attribute(self, element_type, snode, reorder_type):
        """Does nothing: `mesh.verts.place` gives elements attributes.

        element_type, snode, reorder_type: accepted without effect.
        """

    def _refuse(self, *_arguments):
        """Raises TaichiRuntimeError: metadata make the tables of a mesh."""
        raise say.mesh_tables_come_from_metadata()

    set_index_mapping = set_num_patches = set_owned_offset = set_patch_max_element_num = _refuse
    set_relation_dynamic = set_relation_fixed = set_total_offset = _refuse


__all__ = ["Mesh", "MeshInstance"]
