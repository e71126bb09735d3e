"""Operations on SNodes in kernels: activation, lists of dynamic SNodes, addresses; and the methods
of fields in dynamic SNodes.

Indices count cells of the SNode itself. If dense levels follow below it, a field's indices have a
larger range; `rescale_index` converts between them.
"""

from .. import _native, active
from .. import types as ti_types
from ..data.field import AnyField
from ..data.snode import AnySNode
from ..data.struct_field import StructField, leaves
from ..diagnostics import say
from ..values.matrix import Vector
from .context import ArrayArgument
from .expr import Expr
from .struct_value import PythonStruct
from .subscript import index_nodes, with_offset

DYNAMIC_METHODS = ("append", "deactivate", "length")


def activate(node, indices):
    """Makes a cell of an SNode active, zeroed if it is new. Only in kernels.

    node: a pointer, bitmasked or dynamic SNode; raises TaichiRuntimeError for others. indices:
    integers, or a vector of them, in cells of `node`. The cells above become active, too.

        x = ti.field(ti.f32)
        block = ti.root.pointer(ti.i, 4)
        block.dense(ti.i, 8).place(x)

        @ti.kernel
        def k() -> ti.i32:
            ti.activate(block, 2)
            return ti.is_active(block, 2)

        print(k())  # prints: 1
    """
    ctx, node = _of_kernel("activate", node)
    if node._kind.is_list:
        node, indices = _cell_of_container(ctx, node, _indices(ctx, node, indices, True))
        if node is None:
            return
        ctx.builder.append(_native.NODES["activate"], 0, 0, indices, ctx.param_of(node), [])
        return
    _changing(ctx, "activate", node, indices)


def deactivate(node, indices):
    """Makes a cell of an SNode and all cells below it inactive. Only in kernels.

    node: a pointer, bitmasked or dynamic SNode. indices: integers, or a vector of them, in cells of
    `node`. For a dynamic SNode they select a container, all cells of which become inactive. The
    memory is zeroed and can be reused after the task has ended.

        x = ti.field(ti.f32)
        block = ti.root.pointer(ti.i, 4)
        block.dense(ti.i, 8).place(x)
        x[3] = 1.0

        @ti.kernel
        def k():
            ti.deactivate(block, 0)

        k()
        print(x[3])  # prints: 0.0
    """
    ctx, node = _of_kernel("deactivate", node)
    _changing(ctx, "deactivate", node, indices)


def is_active(node, indices):
    """1 if a cell of an SNode is active, else 0. Only in kernels.

    node: a pointer or bitmasked SNode. indices: integers, or a vector of them, in cells of `node`.

        x = ti.field(ti.f32)
        cells = ti.root.bitmasked(ti.i, 4)
        cells.place(x)
        x[3] = 1.0

        @ti.kernel
        def k(i: ti.i32) -> ti.i32:
            return ti.is_active(cells, i)

        print(k(3), k(2))  # prints: 1 0
    """
    ctx, node = _of_kernel("is_active", node)
    if not node._kind.is_sparse or node._kind.is_list:
        raise say.is_active_needs_sparse_snode()
    found = _append(ctx, "is_active", node, _indices(ctx, node, indices), ti_types.u1)
    return ctx.cast(found, ti_types.i32)


def length(node, indices):
    """The number of active cells in a container of a dynamic SNode. Only in kernels.

    node: the dynamic SNode. indices: the indices of the levels above it.

        x = ti.field(ti.i32)
        lists = ti.root.dense(ti.i, 4).dynamic(ti.j, 16)
        lists.place(x)

        @ti.kernel
        def k() -> ti.i32:
            ti.append(lists, 2, 7)
            return ti.length(lists, 2)

        print(k())  # prints: 1
    """
    ctx, node = _of_kernel("length", node)
    if not node._kind.is_list:
        raise say.snode_is_not_dynamic(name="length")
    return _append(ctx, "length", node, _indices(ctx, node, indices, True), ti_types.i32)


def append(node, indices, val):
    """Activates the next cell of a container of a dynamic SNode and writes the fields in it. Only
    in kernels.

    node: the dynamic SNode. indices: the indices of the levels above it. val: a number, vector,
    matrix or struct, whose numbers are stored to the fields in order. Returns the number of the
    cell, or -1 if the container is full, which is an error in debug mode. Raises
    TaichiCompilationError if `val` has another size than the cell.

        x = ti.field(ti.i32)
        lists = ti.root.dense(ti.i, 4).dynamic(ti.j, 16)
        lists.place(x)

        @ti.kernel
        def k() -> ti.i32:
            return ti.append(lists, 2, 7)

        print(k(), x[2, 0])  # prints: 0 7
    """
    ctx, node = _of_kernel("append", node)
    if not node._kind.is_list:
        raise say.snode_is_not_dynamic(name="append")
    values = []
    _flatten(ctx, val, values)
    places = node._children
    if not all(place._kind.is_place for place in places):
        raise say.append_to_cells_with_snodes(node=node)
    if len(values) != len(places):
        raise say.append_of_other_size(node=node, count=len(places), got=len(values))
    fields = _cell_fields(ctx, node)
    above = _indices(ctx, node, indices, True)
    number = _append(ctx, "append", node, above, ti_types.i32)
    _store_cell(ctx, node, fields, above, number, values)
    return number


def get_addr(f, indices):
    """The address of an element of a field, a u64. Only in kernels.

    f: the field, or its SNode. indices: the indices of the element.

        x = ti.field(ti.f32, shape=4)

        @ti.kernel
        def k() -> ti.u64:
            return ti.get_addr(x, [1]) - ti.get_addr(x, [0])

        print(k())  # prints: 4
    """
    ctx = active.context()
    if ctx is None:
        raise say.only_in_kernels(name="get_addr")
    place = f._field if isinstance(f, AnySNode) and f._kind.is_place else f
    if not isinstance(place, AnyField):
        raise say.get_addr_of_snode(node=f)
    nodes = []
    index_nodes(ctx, indices, nodes)
    if len(nodes) != place.num_axes:
        raise say.field_with_dim_accessed_with_indices(ndim=place.num_axes, got=len(nodes))
    kind, type_id = _native.NODES["get_addr"], ctx.type_id(ti_types.u64)
    return Expr(ctx, ctx.builder.append(kind, type_id, 0, nodes, ctx.param_of(place), []))


def no_activate(*args):
    """Stops accesses to fields or SNodes from activating cells; writes to inactive cells are lost.
    Only in kernels.

    args: the fields or SNodes.

        x = ti.field(ti.f32)
        ti.root.pointer(ti.i, 8).place(x)

        @ti.kernel
        def k():
            ti.no_activate(x)
            for i in range(8):
                x[i] = 1.0

        k()
        print(x[3])  # prints: 0.0
    """
    ctx = active.context()
    if ctx is None:
        raise say.only_in_kernels(name="no_activate")
    for arg in args:
        if not isinstance(arg, (AnyField, AnySNode)):
            raise say.no_snode(name="no_activate", value=repr(arg))
        for one in [arg] if isinstance(arg, AnySNode) else leaves(arg):
            node = one if isinstance(one, AnySNode) else one.snode
            if node._first_sparse() is not None:
                ctx.builder.append(_native.NODES["no_activate"], 0, 0, [], ctx.param_of(one), [])


def rescale_index(a, b, I):  # noqa: E741, N803
    """The grouped index `I` of the field or SNode `a`, scaled to the shape of `b`. Only in kernels.

    a, b: fields or SNodes with equally many axes; raises AssertionError for others. I: a vector of
    integers.

        fine = ti.field(ti.f32, shape=(16, 16))
        coarse = ti.field(ti.f32, shape=(4, 4))

        @ti.kernel
        def k() -> ti.math.ivec2:
            return ti.rescale_index(fine, coarse, ti.Vector([9, 5]))

        print(k())  # prints: [2 1]
    """
    for position, of in enumerate((a, b)):
        if not isinstance(of, (AnyField, AnySNode)):
            raise say.rescale_index_of_no_field(which=("first", "second")[position])
    index = list(I)
    for axis, (wide, narrow) in enumerate(zip(a.shape[: len(index)], b.shape)):
        if wide > narrow:
            index[axis] = index[axis] // (wide // narrow)
        elif wide < narrow:
            index[axis] = index[axis] * (narrow // wide)
    return Vector(index)


# --- parameters and operands


def _of_kernel(name, node):
    """The kernel under construction, and the SNode of `node`, which may be a field."""
    ctx = active.context()
    if ctx is None:
        raise say.only_in_kernels(name=name)
    if isinstance(node, AnyField):
        return ctx, node.snode
    if not isinstance(node, AnySNode):
        shown = repr(node)
        if isinstance(node, ArrayArgument):
            shown = "an array"
        elif isinstance(node, Expr):
            shown = f"a value of type {node.type.name}"
        raise say.no_snode(name=name, value=shown)
    return ctx, node._snode


def _indices(ctx, node, indices, above=False):
    """The nodes of the indices of a cell of `node`; with `above`, of its container."""
    nodes = []
    if indices is not None:
        index_nodes(ctx, indices, nodes)
    axes = node._axes_above() if above else node._path_axes()
    if len(nodes) != len(axes):
        raise say.snode_indexed_with(node=node._name, count=len(axes), got=len(nodes))
    return [_integer(ctx, n, position) for position, n in enumerate(nodes)]


def _integer(ctx, node, position):
    """The node of an index, checked to be an integer."""
    info = ctx.type_of(node)
    if info.dtype is None or info.dtype.is_float:
        raise say.snode_index_must_be_integer(type=info.name, position=position)
    if info.dtype is ti_types.u1:
        return ctx.builder.cast(node, ctx.type_id(ti_types.i32))
    return node


def _changing(ctx, name, node, indices):
    if not node._kind.is_sparse:
        raise say.operation_on_snode(name=name, kind=node._kind_name)
    nodes = _indices(ctx, node, indices, node._kind.is_list)
    ctx.builder.append(_native.NODES[name], 0, 0, nodes, ctx.param_of(node), [])


def _cell_of_container(ctx, node, above):
    """The sparse SNode whose cell contains a container of `node`, and that cell's indices; None if
    the container always exists."""
    owner = node._parent._last_sparse()
    if owner is None:
        return None, ()
    nodes = dict(zip(node._axes_above(), above))
    inner, outer = node._parent._extents(), owner._extents()
    divide = _native.OPS["floordiv"]
    indices = []
    for axis in owner._path_axes():
        ratio = inner[axis] // outer[axis]
        index = nodes[axis]
        if ratio > 1:
            index = ctx.builder.binary(divide, index, ctx.const_i32(ratio))
        indices.append(index)
    return owner, indices


def _append(ctx, name, node, nodes, dtype):
    type_id = ctx.type_id(dtype)
    kind = _native.NODES[name]
    return Expr(ctx, ctx.builder.append(kind, type_id, 0, nodes, ctx.param_of(node), []))


# --- appending


def _flatten(ctx, value, values):
    """Appends the scalars of a value to `values`, in order."""
    value = ctx.value(value)
    if isinstance(value, (list, tuple)):
        for item in value:
            _flatten(ctx, item, values)
        return
    if isinstance(value, PythonStruct):
        for item in value._entries.values():
            _flatten(ctx, item, values)
        return
    value = ctx.expr(value)
    info = value.type
    if info.members:
        for position in range(len(info.members)):
            _flatten(ctx, Expr(ctx, ctx.builder.get_member(value.node, position)), values)
    elif len(info.shape) == 1:
        values += [ctx.extract(value, i) for i in range(info.shape[0])]
    elif info.shape:
        rows, columns = info.shape
        values += [ctx.extract(value, i, j) for i in range(rows) for j in range(columns)]
    else:
        values.append(value)


def _cell_fields(ctx, node):
    """The fields in the cells of a dynamic SNode, each once."""
    fields = node._cell_fields()
    if ctx.trace is not None:
        ctx.trace.attribute(node, "cells", fields, ctx.trace.describe.objects[0])
    return fields


def _store_cell(ctx, node, fields, above, number, values):
    """Writes the values, one per place of the cell, to the cell of that number."""
    nodes = list(above)
    nodes.insert(node._own_axis_position(), number.node)
    by_place = dict(zip(map(id, node._children), values))
    for field in fields:
        at = with_offset(ctx, nodes, field._places[0]._offset)
        mine = [by_place.get(id(place)) for place in field._places]
        if None in mine:  # the other components are placed elsewhere
            for component, value in enumerate(mine):
                if value is not None:
                    one = field._component_field(component)
                    ctx.builder.store(ctx.builder.global_(ctx.param_of(one), at), value.node)
            continue
        value = mine[0]
        if field.element_shape:
            value = ctx.tensor_of(mine, field.element_shape, field.dtype)
        ctx.builder.store(ctx.builder.global_(ctx.param_of(field), at), value.node)


# --- methods


def parent_of(ctx, base):
    """The method `base.parent` of a field or SNode inside a kernel."""

    def parent(n=1):
        found = base.parent(n)
        if ctx.trace is not None:
            ctx.trace.attribute(base, f"parent:{n}", found, ctx.trace.describe.objects[0])
        return found

    return parent


def is_in_dynamic(base):
    """Whether `base` is a field whose elements are the cells of a dynamic SNode."""
    if not isinstance(base, AnyField):
        return False
    leaf = base._first_leaf() if isinstance(base, StructField) else base
    place = leaf._places[0]
    return place is not None and place._parent._kind.is_list


def dynamic_method(ctx, base, name, index):
    """The method `base[index].name`, or None; `index` are the indices above the dynamic SNode."""
    nodes = []
    index_nodes(ctx, index, nodes)
    if len(nodes) + 1 != base.num_axes:
        return None
    node = parent_of(ctx, base)()
    above = [Expr(ctx, n) for n in nodes]
    if name == "append":
        return lambda val: append(node, above, val)
    if name == "length":
        return lambda: length(node, above)
    return lambda: deactivate(node, above)


__all__ = [
    "activate",
    "append",
    "deactivate",
    "get_addr",
    "is_active",
    "length",
    "no_activate",
    "rescale_index",
]
