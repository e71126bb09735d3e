"""Metadata of meshes, and the tables that kernels read.

Metadata describe a mesh in patches. Each patch *owns* some elements and lists all that it uses, its
own first; relations name the elements of a patch by their places in its list. Kernels need no
patches. Loops run over all elements, in the order in which patches own them or in that of the
numbers (frontend/mesh.py). Relations are tables of elements' numbers. Fields have these tables, so
kernels read them as they read fields.
"""

import enum

from .. import runtime
from ..diagnostics import say
from ..types import i32
from .axes import axes
from .making import field
from .tables import GROUPS, LETTERS, ElementTables, RelationTables, checked_relation
from .trees import FieldsBuilder


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
    """A field that kernels only read. Modules have its contents, which are all of its tree."""
    made = field(i32, name=f"{name} of the mesh")
    made._is_constant = True
    builder = FieldsBuilder()
    builder.dense(axes(0), max(len(numbers), 1)).place(made)
    builder.finalize()
    if len(numbers):
        made.from_numpy(numbers)
    return made
