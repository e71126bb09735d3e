"""Meshes in kernels: loops over elements, their attributes, and the elements around them."""

import ast

from .. import active, originals
from ..data.tables import GROUPS, LETTERS, degree
from ..diagnostics import say
from .expr import OPS, Expr
from .loops import cell_loop, check_loop_variables, range_loop
from .names import target_names
from .subscript import static_index, subscript


class _NoValue:
    """Base class of what has no value in a kernel. (Python itself would compare identities.)"""

    __slots__ = ()

    def _refuse(self, *_operands):
        raise say.mesh_element_is_no_value()

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _refuse
    __hash__ = None


class MeshElementFieldProxy(_NoValue):
    """An element of the kind `group`. `at` is its number, and `place` its place in the order of
    owners. The compiler removes the read of one that nothing uses."""

    __slots__ = ("_at", "_ctx", "_group", "_place")

    def __init__(self, ctx, group, at, place):
        self._ctx = ctx
        self._group = group
        self._at = at
        self._place = place

    @property
    def id(self):
        return self._at

    def __getattr__(self, name):
        group = self._group
        if name in GROUPS:
            return MeshRelationAccessProxy(self, GROUPS.index(name))
        field = group.field_dict.get(name)
        if field is None:
            raise say.mesh_without_attribute(elements=group._name, name=name)
        index = self._place if group._is_reordered[name] else self._at
        return subscript(self._ctx, field, index)

    def __dir__(self):
        return ["id", *GROUPS, *self._group.field_dict]


class MeshRelationAccessProxy(_NoValue):
    """The elements of a kind around an element. `size` is their number."""

    __slots__ = ("_begin", "_ctx", "_degree", "_group", "_name", "_tables", "size")

    def __init__(self, element, order):
        ctx, group = element._ctx, element._group
        start, mesh = int(group._type), group.mesh
        tables = mesh._relations.get(4 * start + order)
        self._ctx = ctx
        self._group = getattr(mesh, GROUPS[order])
        self._group._require()
        if tables is None:
            letters = LETTERS[start][1] + LETTERS[order][1]
            names = {"start": group._name, "end": GROUPS[order], "relation": letters}
            raise say.mesh_without_relation(**names)
        self._name = f"{group._name}.{GROUPS[order]}"
        self._tables = tables
        self._degree = degree(start, order)
        if self._degree is not None:
            self._begin = element._place * self._degree
            self.size = Expr(ctx, ctx.const_i32(self._degree))
        else:
            self._begin = _read(ctx, tables["offset"], element._place)
            self.size = _read(ctx, tables["offset"], element._place + 1) - self._begin

    def __getitem__(self, index):
        ctx = self._ctx
        if self._degree is not None:
            static_index(ctx, index, self._degree)
        index = ctx.expr(index)
        info = index.type
        if info.shape or info.dtype is None or not info.dtype.is_int:
            raise say.mesh_relation_index(type=info.name)
        if ctx.config.debug:
            self._check(index)
        return self._at(index)

    def __iter__(self):
        # Python itself would go on until an index raises, and none of varying size does.
        if self._degree is None:
            raise say.mesh_relation_of_varying_size(name=self._name)
        return (self._at(Expr(self._ctx, self._ctx.const_i32(i))) for i in range(self._degree))

    def _check(self, index):
        """Makes the kernel check an index."""
        ctx, builder = self._ctx, self._ctx.builder
        text = say.mesh_relation_out_of_bounds(name=self._name, index="@", size="@")
        before, between, after = text.split("@")
        fits = ctx.binary(OPS["logical_and"], index >= 0, index < self.size)
        nodes = [index.node, self.size.node]
        texts = [(before, builder.type_of(nodes[0]), ""), (between, builder.type_of(nodes[1]), "")]
        builder.assert_(fits.node, nodes, [*texts, (after, 0, "")])

    def _at(self, index):
        ctx, entry = self._ctx, self._begin + index
        at, place = (_read(ctx, self._tables[name], entry) for name in ("value", "place"))
        return MeshElementFieldProxy(ctx, self._group, at, place)

    def _emit_loop(self, t, node):
        """Makes the loop `for … in` these elements."""
        _check_target(t, node)
        count = self.size if self._degree is None else self._degree
        range_loop(t, node, [0, count], lambda t, names, at: t.create(names[0], self._at(at[0])))


def mesh_for(t, node, group):
    """Makes the loop `for … in` all elements of a kind, which `group` has."""
    ctx = t.ctx
    _check_target(t, node)
    if ctx.depth:
        t.fail(node.iter, say.mesh_for_cannot_be_nested())
    tables = group._tables
    # Rows of relations and reordered attributes are in the order of owners. A loop that needs
    # neither follows the numbers, as its attributes do in memory.
    in_order_of_owners = any(group._is_reordered.values()) or _follows_relations(node)
    other = tables["r2g" if in_order_of_owners else "g2r"]

    def bind(t, names, indices):
        index, looked_up = indices[0], _read(ctx, other, indices[0])
        at, place = (looked_up, index) if in_order_of_owners else (index, looked_up)
        ctx.mesh_patch = tables["patch"], place
        t.create(names[0], MeshElementFieldProxy(ctx, group, at, place))

    cell_loop(t, node, other, bind)
    ctx.mesh_patch = None


def _follows_relations(node):
    """Whether the loop may need the elements around its own: it names them, or does something else
    with its element than to take an attribute, as to give it to a function."""
    uses = attributes = 0
    for part in ast.walk(node):
        if _is_load(part, node.target.id):
            uses += 1
        elif isinstance(part, ast.Attribute) and _is_load(part.value, node.target.id):
            attributes += part.attr not in GROUPS
    return uses != attributes


def _is_load(node, name):
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def _check_target(t, node):
    count = len(target_names(node.target))
    if count != 1:
        t.fail(node.target, say.mesh_for_has_one_target(count=count))
    check_loop_variables(t, node)


def _read(ctx, field, index):
    return ctx.value(subscript(ctx, field, index))


def mesh_patch_idx():
    """The number of the patch that owns the element of the loop over a mesh. Kernels call it in
    such a loop; it raises TaichiRuntimeError elsewhere.

        @ti.kernel
        def count():
            for v in mesh.verts:
                owned[ti.mesh_patch_idx()] += 1
    """
    ctx = active.context()
    if ctx is None or ctx.mesh_patch is None:
        raise say.mesh_patch_outside_of_loop()
    return _read(ctx, *ctx.mesh_patch)


originals.keep(globals())

__all__ = ["mesh_patch_idx"]
