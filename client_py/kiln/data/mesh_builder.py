"""The older way to meshes: attributes are declared first, and `build` makes the mesh."""

from ..types import Layout
from .mesh import MeshInstance
from .tables import GROUPS


class MeshBuilder:
    """The older way to meshes: attributes are declared first, and `build` makes the mesh."""

    def __init__(self):
        for name in GROUPS:
            setattr(self, name, MeshElement())

    def build(self, metadata):
        """The mesh of the metadata, with the attributes that were declared."""
        made = MeshInstance._of(metadata)
        for name in GROUPS:
            declared = getattr(self, name)
            for members, options in declared.placed:
                getattr(made, name).place(members, layout=declared.layout, **options)
        return made


class MeshElement:
    """The attributes of one kind of elements of a MeshBuilder."""

    def __init__(self):
        self.layout = Layout.SOA
        self.placed = []  # (members, options)

    def place(self, members, reorder=False, needs_grad=False):
        """Declares attributes, as `mesh.verts.place` places them."""
        self.placed.append((members, {"reorder": reorder, "needs_grad": needs_grad}))

    def _set_soa(self, soa):
        self.layout = Layout.SOA if soa else Layout.AOS

    def _set_aos(self, aos):
        self.layout = Layout.AOS if aos else Layout.SOA

    SOA = property(fset=_set_soa)
    AOS = property(fset=_set_aos)


_TriMesh = _TetMesh = MeshBuilder
