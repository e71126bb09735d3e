"""The elements of a mesh, by kind, with their attributes."""

from .. import provided
from ..active import python_scope
from ..diagnostics import say
from ..types import CompoundType, Layout, QuantType, StructType
from . import trees
from .axes import axes
from .making import check_dtype, field
from .mesh_metadata import element_type_name
from .reordered import reordered
from .tables import GROUPS


class MeshElementField:
    """All elements of one kind of a mesh, as `mesh.verts`. Attributes that were placed are fields:
    `mesh.verts.x`. Kernels loop over the elements."""

    def __init__(self, mesh, element, tables=None, arrays=None):
        self.mesh = mesh
        self._type = element
        # Name -> field, and the ElementTables; None if the mesh has no such elements.
        self._tables = tables
        self._arrays = arrays
        self.field_dict = {}
        self._is_reordered = {}
        self._shown = {}

    @property
    def _name(self):
        return element_type_name(self._type)

    def place(self, members, reorder=False, needs_grad=False, layout=Layout.SOA):
        """Gives all elements attributes.

        members: the type of each attribute by its name: scalars, vectors and matrices. reorder:
        whether memory has them in the order in which patches own them; indices stay the elements'
        numbers. needs_grad: whether they have gradients. layout: ti.Layout.AOS for one array whose
        cells have all members. Raises TaichiSyntaxError for names that are in use.

            mesh.verts.place({"x": ti.math.vec3, "mass": ti.f32}, reorder=True)
        """
        self._require()
        for name, of in members.items():
            if name in GROUPS or hasattr(type(self), name) or name in _RESERVED:
                raise say.mesh_attribute_is_reserved(name=name)
            if name in self.field_dict:
                raise say.mesh_attribute_exists(name=name)
            if isinstance(of, StructType):
                raise say.mesh_attribute_is_struct(name=name, kind=of)
            # Before any field is made, which would stay without a place.
            dtype = check_dtype(getattr(of, "dtype", None) or of, needs_grad)
            if isinstance(dtype, QuantType):
                raise say.mesh_attribute_is_quantised(name=name, kind=dtype)
        made = {}
        for name, of in members.items():
            if isinstance(of, CompoundType):
                made[name] = of.field(shape=None, needs_grad=needs_grad, name=name)
            else:
                made[name] = field(of, shape=None, needs_grad=needs_grad, name=name)
        kinds = [list(made.values())]
        kinds += [[one.grad for one in kinds[0]]] if needs_grad else []
        root = trees._current_root().root
        for fields in kinds:
            for together in [fields] if layout is Layout.AOS else [[one] for one in fields]:
                if together:
                    root.dense(axes(0), len(self)).place(*together)
        self.field_dict.update(made)
        self._is_reordered.update(dict.fromkeys(made, bool(reorder)))

    @property
    def keys(self):
        """The names of the attributes, in order."""
        return list(self.field_dict)

    def get_member_field(self, key):
        """The field that has the elements of an attribute, in the order of memory.

        key: the attribute's name.
        """
        return self.field_dict[key]

    def _require(self):
        """Raises unless the mesh has such elements."""
        if self._tables is None:
            raise say.mesh_without_elements(elements=self._name)

    @python_scope
    def __len__(self):
        """The number of the elements."""
        return self._arrays.num if self._arrays else 0

    def __bool__(self):
        return True

    def __iter__(self):
        raise say.mesh_loops_are_for_kernels(elements=self._name)

    def __getattr__(self, name):
        shown = self.__dict__.get("_shown")
        if not shown or name not in shown:
            if name not in self.__dict__.get("field_dict", ()):
                raise say.mesh_without_attribute(elements=self._name, name=name)
            found = self.field_dict[name]
            if self._is_reordered[name]:
                found = reordered(found, self._tables["g2r"], self._arrays.g2r)
            self._shown[name] = found
        return self._shown[name]

    def __dir__(self):
        return sorted({*super().__dir__(), *self.field_dict})

    def _described(self):
        """What warm records know of it (warm/describe.py)."""
        attributes = [(name, getattr(self, name)) for name in self.field_dict]
        return self._name, self._tables, attributes, self.mesh

    _is_numbered = True

    def _recorded(self, name):
        """The attribute `name`, which a kernel has read."""
        return getattr(self, name) if name in self.field_dict else None

    def _emit_loop(self, t, node):
        """Makes the loop `for … in` these elements of a kernel."""
        self._require()
        provided.mesh_for(t, node, self)


# Names that elements have in Python or in kernels, besides those of the class.
_RESERVED = frozenset(
    "id mesh field_dict _arrays _is_reordered _shown _tables _type _at _ctx _group _place".split()
)
