"""Subscripts: elements of fields and arrays, of vectors and matrices, members of structs by their
names, and items of Python containers that are known at compile time."""

from ..data.field import AnyField
from ..data.struct_field import StructField
from ..diagnostics import say
from ..func import Func
from .context import ArrayArgument
from .expr import OPS, Convertible, Expr, Ref, is_large
from .struct_value import StructRef, named_member
from .tensor import joined


def subscript(ctx, base, index):
    """`base[index]`: a Ref if the element is in memory, otherwise a value."""
    kind = base.__class__
    if kind is Ref or kind is Expr:
        return _tensor_element(ctx, base, index)
    if kind is ArrayArgument or isinstance(base, AnyField):
        return _field_element(ctx, base, index)
    # A Python matrix indexed at run time becomes a tensor of the kernel; with constants it stays
    # Python's.
    if isinstance(base, Convertible) and _has_expr(index):
        return _tensor_element(ctx, base._to_kernel(ctx), index)
    if isinstance(base, (list, tuple, dict)) and _has_expr(index):
        raise say.container_needs_a_known_index(kind=type(base).__name__)
    function = element_function(base)
    if function is not None:
        # What the function returns can be written to: `objects[i].mass += 1`.
        arguments = function.bind([base, index], {})
        return ctx.call_function(ctx, function, arguments, function.in_class, True)
    return base[index]


def element_function(base):
    """The @ti.func that is the `__getitem__` of an object's class; None if there is none."""
    found = getattr(base.__class__, "__getitem__", None)
    return found if found.__class__ is Func else None


def _has_expr(index):
    items = index if isinstance(index, tuple) else (index,)
    return any(isinstance(i, Expr) for i in items)


def index_nodes(ctx, index, nodes):
    """Appends the nodes of all indices to `nodes`; a vector adds one index per element."""
    kind = index.__class__
    if kind is Expr:
        shape = index.type.shape
        if shape:
            nodes.extend([ctx.extract(index, i).node for i in range(shape[0])])
        else:
            nodes.append(index.node)
    elif kind is int:
        nodes.append(ctx.const_i32(index))
    elif kind is tuple or kind is list:
        for i in index:
            index_nodes(ctx, i, nodes)
    elif kind is Ref:
        index_nodes(ctx, ctx.value(index), nodes)
    elif hasattr(index, "to_list"):
        index_nodes(ctx, index.to_list(), nodes)
    # NumPy's integers and other number types.
    elif hasattr(index, "__index__"):
        nodes.append(ctx.const_i32(index.__index__()))
    elif isinstance(index, slice):
        raise say.slices_are_only_supported_for_vectors()
    else:
        nodes.append(ctx.node(index))


def _field_element(ctx, field, index):
    nodes = []
    if index is not None:
        index_nodes(ctx, index, nodes)
    is_array = field.__class__ is ArrayArgument
    if is_array:
        _refuse_negative(index)
    ndim = field.ndim if is_array else field.num_axes
    if len(nodes) != ndim:
        raise say.field_with_dim_accessed_with_indices(ndim=ndim, got=len(nodes))
    if isinstance(field, StructField):
        return StructRef(ctx, field, nodes)
    if not is_array and field._order is not None:
        nodes = [ctx.builder.load(ctx.builder.global_(ctx.param_of(field._order), nodes))]
    param = ctx.param_of(field)
    if not is_array and field._parts:
        return Ref(ctx, _joined_element(ctx, field, nodes), Ref.GLOBAL)
    return Ref(ctx, ctx.builder.global_(param, nodes), Ref.GLOBAL)


def _joined_element(ctx, field, nodes):
    """The address of an element whose components are in several words."""
    places = [0] * field._num_components
    none = (0,) * len(nodes)
    first = field._places[0]._offset or none
    for part, numbers in field._parts:
        own = part._places[0]._offset or none
        # Parts may have index offsets of their own; indices are those of the first component.
        at = with_offset(ctx, nodes, [b - a for a, b in zip(first, own)])
        address = ctx.builder.global_(ctx.param_of(part), at)
        for position, number in enumerate(numbers):
            index = (ctx.const_i32(position),)
            is_vector = bool(part.element_shape)
            places[number] = ctx.builder.element(address, index) if is_vector else address
    return ctx.builder.join(places, field.element_shape)


def with_offset(ctx, nodes, offset):
    """The indices plus `offset`, which may be ()."""
    if not any(offset):
        return nodes
    add = OPS["add"]
    return [
        ctx.builder.binary(add, node, ctx.const_i32(first)) if first else node
        for node, first in zip(nodes, offset)
    ]


def _refuse_negative(index):
    """Raises for negative constant indices of arrays. (Fields may have them, by their offset.)"""
    for item in index if isinstance(index, (tuple, list)) else (index,):
        if item.__class__ is int and item < 0:
            raise say.negative_indices_are_not_supported_taichi()


def _tensor_element(ctx, base, index):
    shape = base.type.shape
    if not shape:
        if base.type.members:
            return named_member(base, index)
        raise say.scalar_type_cannot_subscripted(type=base.type.name)
    items = list(index) if isinstance(index, tuple) else [index]
    # `m[v]` with a vector v of two indices.
    if len(items) == 1 and len(shape) == 2:
        items = _flatten(ctx, items[0])
    if len(items) != len(shape):
        raise say.expected_indices_got(count=len(shape), got=len(items))
    if any(i.__class__ is slice for i in items):
        return _slice(ctx, base, items, shape)
    static = [static_index(ctx, i, n) for i, n in zip(items, shape)]
    # Of values, constant indices cost nothing: the element is one of the scalars.
    if base.__class__ is Expr and None not in static:
        return ctx.extract(base, *static)
    nodes = [ctx.node(i) if s is None else ctx.const_i32(s) for i, s in zip(items, static)]
    if base.__class__ is Ref:
        return Ref(ctx, ctx.builder.element(base.node, nodes), base.level)
    return Expr(ctx, ctx.builder.extract(base.node, nodes))


def _flatten(ctx, index):
    index = ctx.value(index)
    if index.__class__ is Expr and index.type.shape:
        return [ctx.extract(index, i) for i in range(index.type.shape[0])]
    if hasattr(index, "to_list"):
        return index.to_list()
    return list(index) if isinstance(index, (list, tuple)) else [index]


def static_index(ctx, index, extent):
    """The index as an int if it is known at compile time, otherwise None."""
    if isinstance(index, Expr):
        return None
    if not hasattr(index, "__index__"):
        raise say.vector_or_matrix_cannot_subscripted_by(index=index)
    value = index.__index__()
    if value < 0:
        raise say.negative_indices_are_not_supported_taichi()
    if value >= extent:
        raise say.index_out_range_for_size(value=value, extent=extent)
    return value


def _slice(ctx, base, items, shape):
    """A new vector or matrix of the elements that static slices select."""
    axes = [slice_axis(i, n) if i.__class__ is slice else i for i, n in zip(items, shape)]
    # Hundreds of single reads would make the kernel long.
    if is_large(base) and not any(isinstance(a, Expr) for a in axes):
        return _pick(ctx, base, axes, shape)
    element = subscript
    if len(axes) == 1:
        return ctx.tensor_of([element(ctx, base, i) for i in axes[0]], (len(axes[0]),))
    rows, columns = axes
    if rows.__class__ is list and columns.__class__ is list:
        flat = [element(ctx, base, (i, j)) for i in rows for j in columns]
        return ctx.tensor_of(flat, (len(rows), len(columns)))
    if rows.__class__ is list:
        return ctx.tensor_of([element(ctx, base, (i, columns)) for i in rows], (len(rows),))
    return ctx.tensor_of([element(ctx, base, (rows, j)) for j in columns], (len(columns),))


def _pick(ctx, base, axes, shape):
    """The slice of a large tensor as one node, whatever its size."""
    first, strides, extents, stride = 0, [], [], 1
    # From the last axis, whose stride is 1, outwards.
    for axis, n in reversed(list(zip(axes, shape))):
        if axis.__class__ is list:
            if not axis:
                raise say.vector_needs_at_least_one_element()
            first += axis[0] * stride
            step = axis[1] - axis[0] if len(axis) > 1 else 1
            strides.insert(0, step * stride)
            extents.insert(0, len(axis))
        else:
            first += static_index(ctx, axis, n) * stride
        stride *= n
    return ctx.pick(base, extents, first, strides)


def slice_elements(ctx, base, items, shape):
    """The Refs of a slice's elements, row by row, for an assignment to it."""
    axes = [slice_axis(i, n) if i.__class__ is slice else [i] for i, n in zip(items, shape)]
    if len(axes) == 1:
        return [subscript(ctx, base, i) for i in axes[0]]
    return [subscript(ctx, base, (i, j)) for i in axes[0] for j in axes[1]]


def slice_address(ctx, base, items):
    """The Ref of a slice of a tensor in memory, for a function that writes to it."""
    shape = base.type.shape
    if len(items) != len(shape):
        raise say.expected_indices_got(count=len(shape), got=len(items))
    extents = [len(slice_axis(i, n)) for i, n in zip(items, shape) if i.__class__ is slice]
    if 0 in extents:
        raise say.vector_needs_at_least_one_element()
    return joined(slice_elements(ctx, base, items, shape), extents, base)


def slice_axis(index, extent):
    for bound in (index.start, index.stop, index.step):
        if isinstance(bound, Expr):
            raise say.taichi_does_not_support_variables_slice()
        if bound is not None and bound < 0:
            raise say.negative_indices_are_not_supported_taichi()
    stop = extent if index.stop is None else min(index.stop, extent)
    return list(range(index.start or 0, stop, index.step or 1))


Expr.__getitem__ = lambda self, index: self.ctx.value(subscript(self.ctx, self, index))
