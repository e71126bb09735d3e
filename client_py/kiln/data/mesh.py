"""Meshes: vertices, edges, faces and cells with attributes, and the relations between them.

Metadata describe a mesh in patches. Each patch *owns* some elements and lists all that it uses, its
own first; relations name the elements of a patch by their places in its list. Kernels need no
patches: loops run over all elements, in the order in which patches own them or in that of the
numbers (frontend/mesh.py), and relations are tables of elements' numbers. Fields have these tables,
so kernels read them as they read fields.
"""

import enum

from .. import provided, runtime
from ..active import python_scope
from ..diagnostics import say
from ..types import CompoundType, Layout, StructType, i32
from . import snode
from .field import MatrixField, ScalarField
from .making import check_dtype, field
from .tables import GROUPS, LETTERS, ElementTables, RelationTables, checked_relation


class MeshElementType(enum.IntEnum):
    """The kinds of elements, by the number of their vertices less one."""

    Vertex, Edge, Face, Cell = range(4)


MeshRelationType = enum.IntEnum(
    "MeshRelationType", [(a + b, 4 * i + j) for i, a in LETTERS for j, b in LETTERS]
)


class ConvType(enum.IntEnum):
    """Numbers of elements: in a patch (l), in the mesh (g), in the order of owners (r)."""

    l2g, l2r, g2r = range(3)


def relation_by_orders(from_order, to_order):
    return MeshRelationType(4 * from_order + to_order)


def element_type_name(element):
    return GROUPS[element]


class MeshMetadata:
    """What a mesh consists of. `Mesh.generate_meta` makes it."""

    def __init__(self, data):
        runtime.require_init("create field")
        self.num_patches = _entry(data, "num_patches")
        self.num_elements, self.max_num_per_patch = {}, {}
        self.elements = {}  # type -> ElementTables
        for entry in _entry(data, "elements"):
            element = _element_type(entry)
            self.num_elements[element] = _entry(entry, "num")
            self.max_num_per_patch[element] = _entry(entry, "max_num_per_patch")
            arrays = {name: _entry(entry, name) for name in ElementTables.ARRAYS}
            tables = ElementTables(element, entry["num"], self.num_patches, **arrays)
            if tables.num:
                self.elements[element] = tables
        self.patcher = data.get("patcher")
        self.relations = {}  # type -> RelationTables
        for entry in _entry(data, "relations"):
            self._add_relation(entry)
        self.attrs = dict(_entry(data, "attrs"))
        if "x" in self.attrs:
            self.attrs["x"] = _positions(self.attrs["x"])
        self._fields = None

    def _add_relation(self, entry):
        ends = _entry(entry, "from_order"), _entry(entry, "to_order")
        try:
            start, end = (self.elements[MeshElementType(order)] for order in ends)
        except (KeyError, ValueError):
            raise say.mesh_relation_of_absent_elements(ends=ends) from None
        names = ("value", "patch_offset", "offset") if start.order <= end.order else ("value",)
        arrays = [_entry(entry, name) for name in names]
        made = checked_relation(start, end, arrays, self.patcher)
        self.relations[relation_by_orders(*ends)] = made

    def fields(self):
        """(fields of elements, fields of relations), by type; all meshes of these metadata share
        them."""
        if self._fields is None:
            elements = {
                element: {
                    name: _constant(getattr(tables, name), f"{name} of {GROUPS[element]}")
                    for name in ElementTables.IN_KERNELS
                }
                for element, tables in self.elements.items()
            }
            relations = {
                relation: {
                    name: _constant(getattr(tables, name), f"{name} of {relation.name}")
                    for name in RelationTables.IN_KERNELS
                    if getattr(tables, name) is not None
                }
                for relation, tables in self.relations.items()
            }
            self._fields = elements, relations
        return self._fields


def _entry(data, name):
    try:
        return data[name]
    except (KeyError, TypeError, IndexError):
        raise say.mesh_metadata_lack(name=name) from None


def _element_type(entry):
    order = _entry(entry, "order")
    try:
        return MeshElementType(order)
    except ValueError:
        raise say.mesh_elements_of_other_order(order=order) from None


def _positions(numbers):
    import numpy as np

    return np.asarray(numbers).reshape(-1, 3)


def _constant(numbers, name):
    """A field that kernels only read."""
    made = field(i32, shape=max(len(numbers), 1), name=f"{name} of the mesh")
    made._is_of_mesh = True  # modules would have zeros in it
    if len(numbers):
        made.from_numpy(numbers)
    return made


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
    vertices attributes. In kernels, `for v in mesh.verts` runs over all of them in parallel; `v.x`
    is an attribute of a vertex, `v.id` its number, and `v.faces` are the faces around it, which
    have a `size`, subscripts and loops of their own.

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
            check_dtype(getattr(of, "dtype", None) or of, needs_grad)
        made = {}
        for name, of in members.items():
            if isinstance(of, CompoundType):
                made[name] = of.field(shape=None, needs_grad=needs_grad, name=name)
            else:
                made[name] = field(of, shape=None, needs_grad=needs_grad, name=name)
        kinds = [list(made.values())]
        kinds += [[one.grad for one in kinds[0]]] if needs_grad else []
        root = snode._current_root().root
        for fields in kinds:
            for together in [fields] if layout is Layout.AOS else [[one] for one in fields]:
                if together:
                    root.dense(snode.axes(0), len(self)).place(*together)
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


class _Reordered:
    """Base class of what programs see of a reordered attribute: indices are the numbers of
    elements, while memory has them in the order `_order`."""

    # The field of each element's place in memory. (A field that needs none has None.)
    _order = None

    def _of(self, shared, order, places):
        self.__dict__.update(shared.__dict__)
        self._whole = shared  # the field in the order of memory
        self._shares = getattr(shared, "_shares", shared)
        self._order = order
        self._places_of = places
        self._views = {}
        return self

    def _view(self, shared):
        """A field that is stored in the same order, as programs see it."""
        if shared is None:
            return None
        if shared not in self._views:
            self._views[shared] = reordered(shared, self._order, self._places_of)
        return self._views[shared]

    def _companion(self, kind):
        return self._view(self._whole._companion(kind))

    def _component_field(self, number):
        return self._view(self._whole._component_field(number))

    def _param(self, ctx):
        self._bound_shape()
        return ctx.param_of(self._whole)

    def _materialize(self):
        self._whole._materialize()
        self._take(self._whole._storage)

    def _place_of(self, key):
        items = tuple(key) if isinstance(key, (tuple, list)) else (key,)
        if len(items) != 1 or not hasattr(items[0], "__index__"):
            self._index_error(key)
        number = items[0].__index__()
        if not 0 <= number < len(self._places_of):
            self._index_error(key)
        return int(self._places_of[number])

    @python_scope
    def __getitem__(self, key):
        return self._whole[self._place_of(key)]

    @python_scope
    def __setitem__(self, key, value):
        self._whole[self._place_of(key)] = value

    def _copy_to(self, array):
        self._bound_shape()
        stored = array.copy()
        self._whole._copy_to(stored)
        array[...] = stored[self._places_of]

    def _copy_from(self, array):
        self._bound_shape()
        stored = array.copy()
        stored[self._places_of] = array
        self._whole._copy_from(stored)

    def __copy__(self):
        return reordered(self._whole.__copy__(), self._order, self._places_of)

    def __dlpack__(self, **_options):
        raise say.mesh_attribute_in_other_order(title=self._title())

    @property
    def __cuda_array_interface__(self):
        raise say.mesh_attribute_only_copied(title=self._title())

    def _described(self):
        """What warm records know of it (warm/describe.py)."""
        return self._whole, self._order

    _is_numbered = True


class MeshReorderedScalarFieldProxy(_Reordered, ScalarField):
    """A reordered attribute of numbers."""


class MeshReorderedMatrixFieldProxy(_Reordered, MatrixField):
    """A reordered attribute of vectors or matrices."""


def reordered(shared, order, places):
    """What programs see of the field `shared`. order: the field, and places: the array, of each
    element's place in it."""
    is_matrix = isinstance(shared, MatrixField)
    kind = MeshReorderedMatrixFieldProxy if is_matrix else MeshReorderedScalarFieldProxy
    return kind.__new__(kind)._of(shared, order, places)


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

__all__ = ["Mesh", "MeshInstance"]
