"""Handlers for `for`: over ranges, ndranges, fields and arrays; and static loops, which are
unrolled."""

import _ast

from .. import active
from ..data.field import AnyField
from ..data.snode import AnySNode
from ..data.struct_field import StructField
from ..diagnostics import say
from ..handlers import raised_by_handler
from ..static import Grouped, GroupedNDRange, NDRange, grouped, ndrange, static
from ..types import i32
from .context import ArrayArgument
from .expr import Expr
from .names import static_value, target_names
from .struct_value import entries_of
from .subscript import subscript
from .texture import TextureArgument
from .transformer import BREAK, CONTINUE, ENDED, HANDLERS, NORMAL, Loop

_I32_TYPES = ("i8", "i16", "i32", "u8", "u16", "u1")


def for_(t, node):
    if node.orelse:
        raise say.else_clause_for_for_not_supported()
    iterated = node.iter
    # What the loop is called with is decided by its text, before it is evaluated: `range(n)` must
    # not run as Python's range.
    func, inner = _decorator(t, iterated)
    if func is static:
        if inner is static:
            t.fail(iterated, say.ti_static_cannot_nested())
        _static_for(t, node)
    elif func is range:
        _range_for(t, node)
    elif func is ndrange:
        if inner in (static, grouped, ndrange):
            t.fail(iterated, say.no_decorator_allowed_inside_ti_ndrange())
        _ndrange_for(t, node, t.visit(iterated), False)
    else:
        if func is grouped and inner is static:
            t.fail(iterated, say.ti_static_not_allowed_inside_ti())
        if func is grouped and inner is grouped:
            t.fail(iterated, say.ti_grouped_cannot_nested())
        value = t.visit(iterated)
        if isinstance(value, TextureArgument):
            _ndrange_for(t, node, value.cells, False)
        elif isinstance(value, GroupedNDRange):
            _ndrange_for(t, node, value.ndrange, True)
        elif isinstance(value, NDRange):
            _ndrange_for(t, node, value, False)
        elif isinstance(value, Grouped) and isinstance(value.field, TextureArgument):
            _ndrange_for(t, node, value.field.cells, True)
        elif isinstance(value, Grouped):
            _struct_for(t, node, value.field, True)
        elif isinstance(value, range):
            range_loop(t, node, [value.start, value.stop], _bind_scalars)
        elif hasattr(value.__class__, "_emit_loop"):  # of a mesh
            value._emit_loop(t, node)
        else:
            _struct_for(t, node, value, False)


def _decorator(t, node):
    """The functions f and g of `for … in f(g(…))`, if they are names."""
    if node.__class__ is not _ast.Call:
        return None, None
    inner = None
    if len(node.args) == 1 and node.args[0].__class__ is _ast.Call:
        inner = _callee(t, node.args[0].func)
    return _callee(t, node.func), inner


def _callee(t, node):
    if node.__class__ in (_ast.Name, _ast.Attribute):
        # A variable of the kernel hides a function of its name.
        found = static_value(t.source, node, t.ctx) if _root(node) not in t.names else None
        return found if callable(found) else None
    return None


def _root(node):
    while node.__class__ is _ast.Attribute:
        node = node.value
    return node.id if node.__class__ is _ast.Name else None


def _targets(node):
    return target_names(node.target)


# --- loops that are unrolled


def _static_for(t, node):
    values = t.visit(node.iter)
    targets = node.target
    t.loops.append(Loop(True))
    limit = getattr(t.ctx.config, "unrolling_limit", 32)
    several = targets.__class__ is not _ast.Name
    for count, value in enumerate(values, 1):
        if count == (limit or 0) + 1 and limit:
            _warn_unrolled(t, node, limit)
        mark = len(t.undo)
        if several:
            items = _items(value)
            if len(items) != len(targets.elts):
                raise say.number_targets_not_equal_value_length()
            for element, item in zip(targets.elts, items):
                _bind_static(t, element, item)
        else:
            t.create(targets.id, value)
        t.block(node.body)
        t.leave(mark)
        # `continue` and `break` of an unrolled loop act at compile time: they end the emission of a
        # copy.
        if t.status == CONTINUE:
            t.status = NORMAL
        elif t.status:
            if t.status == BREAK:
                t.status = NORMAL
            break
    t.loops.pop()


def _items(value):
    try:
        return list(value)
    except TypeError as error:
        if raised_by_handler(error):
            raise
        raise say.cannot_unpack_type(kind=type(value)) from None


def _bind_static(t, target, value):
    if target.__class__ is _ast.Name:
        t.create(target.id, value)
        return
    for element, item in zip(target.elts, value):
        _bind_static(t, element, item)


def _warn_unrolled(t, node, limit):
    text = say.unrolling_many_iterations(limit=limit)
    t.ctx.warn(t.source, node.lineno, text, SyntaxWarning)


# --- loops of the kernel


def _range_for(t, node):
    args = node.iter.args
    if len(args) not in (1, 2) or node.iter.keywords:
        t.fail(node.iter, say.range_should_have_or_arguments_found(got=len(args)))
    if node.target.__class__ is not _ast.Name:
        t.fail(node.target, say.range_loop_has_one_loop_variable())
    check_loop_variables(t, node)
    bounds = [t.visit(a) for a in args]
    if len(bounds) == 1:
        bounds.insert(0, 0)
    range_loop(t, node, bounds, _bind_scalars)


def _ndrange_for(t, node, ndrange_value, is_grouped):
    targets = _targets(node)
    check_loop_variables(t, node)
    dimensions = len(ndrange_value.bounds)
    if is_grouped and len(targets) != 1:
        t.fail(node.target, say.group_for_should_have_loop_target(count=len(targets)))
    if not is_grouped and len(targets) != dimensions:
        t.fail(node.target, say.ndrange_for_loop_with_number_loop())
    bounds = [b for pair in ndrange_value.bounds for b in pair]
    if bounds:
        range_loop(t, node, bounds, _bind_vector if is_grouped else _bind_scalars)
    else:  # no ranges: one iteration, without indices
        range_loop(t, node, [0, 1], lambda t, targets, _: _bind_vector(t, targets, []))


def _struct_for(t, node, field, is_grouped):
    is_array = field.__class__ is ArrayArgument
    is_snode = not is_array and isinstance(field, AnySNode)
    if not (is_array or is_snode or isinstance(field, AnyField)):
        kind = f"'{field.type.name}'" if isinstance(field, Expr) else type(field)
        advice = _loop_advice(field)
        t.fail(node.iter, say.cannot_loop_over_object_taichi_scope(kind=kind, advice=advice))
    targets = _targets(node)
    check_loop_variables(t, node)
    ndim = field.ndim if is_array else len(field.shape) if is_snode else field.num_axes
    if is_grouped:
        if len(targets) != 1:
            t.fail(node.target, say.group_for_should_have_loop_target(count=len(targets)))
    elif len(targets) != ndim:
        t.fail(node.target, say.number_struct_for_indices_does_not(count=len(targets), ndim=ndim))
    # Only outermost loops become tasks, and only tasks iterate lists of cells.
    if t.ctx.depth:
        t.fail(node.iter, say.struct_for_cannot_nested_loop_over())
    t.at(node)
    config = _take_config(t)
    if is_snode:
        field = field._snode
        # A loop over a place is one over its field, with the field's offsets.
        if field._kind.is_place:
            field = field._field
    # Dense fields become struct-fors, whose order follows the layout. A field whose cells are all
    # there, but not in one array, becomes a loop over its indices.
    bounds = None if is_array else _dense_cells(t.ctx, field)
    if bounds is not None:
        loop = t.builder.begin_range_for(bounds, **config)
    else:
        loop = t.builder.begin_struct_for(t.ctx.param_of(field), **config)
    _body(t, node, loop, ndim, _bind_vector if is_grouped else _bind_scalars, config, True)


def _loop_advice(value):
    """Advice on what to write instead of a loop over an unsupported object."""
    if isinstance(value, int) or (isinstance(value, Expr) and not value.type.shape):
        return say.count_with_range()
    return say.unroll_with_static() if hasattr(value, "__iter__") else ""


def _dense_cells(ctx, looped):
    """The bounds of a loop over all cells of an SNode or elements of a field. None for dense fields
    and sparse SNodes, which struct-fors iterate."""
    first = ()
    if isinstance(looped, AnySNode):
        if looped._first_sparse() is not None:
            return None
    else:
        field = looped._first_leaf() if isinstance(looped, StructField) else looped
        ctx.param_of(field)
        if not field._loops_densely():
            return None
        first = field._places[0]._offset
    bounds = []
    for axis, extent in enumerate(looped.shape):
        begin = first[axis] if first else 0
        bounds += [ctx.const_i32(begin), ctx.const_i32(begin + extent)]
    return bounds


def range_loop(t, node, bounds, bind):
    """Makes a loop over the ranges whose bounds are given in pairs. bind(t, names, indices): names
    what an iteration has."""
    t.at(node)
    nodes = [_bound(t, b, node) for b in bounds]
    config = _take_config(t)
    loop = t.builder.begin_range_for(nodes, **config)
    _body(t, node, loop, len(bounds) // 2, bind, config, False)


def cell_loop(t, node, field, bind):
    """Makes a loop over the indices of a dense field of one axis, outside of all others. `bind` is
    as in `range_loop`."""
    t.at(node)
    config = _take_config(t)
    loop = t.builder.begin_struct_for(t.ctx.param_of(field), **config)
    _body(t, node, loop, 1, bind, config, True)


def _bound(t, value, node):
    ctx = t.ctx
    if value.__class__ is int:
        return ctx.const_i32(value)
    expr = ctx.expr(value)
    info = expr.type
    if info.shape or info.dtype is None:
        raise say.loop_cannot_run_value_type(type=info.name)
    # Loop indices are i32, as in Taichi.
    if info.dtype.name not in _I32_TYPES:
        text = say.loop_bound_is_cast(type=info.dtype)
        ctx.warn(t.source, node.lineno, text, Warning)
    return ctx.cast(expr, i32).node


def _take_config(t):
    ctx = t.ctx
    # ti.loop_config holds for the next loop only.
    config, ctx.loop_config = ctx.loop_config, {}
    if ctx.selected and not ctx.depth:
        config = {**config, "serialize": True}
    return config


def _body(t, node, loop, dimensions, bind, config, is_struct):
    ctx, builder = t.ctx, t.builder
    outermost = not ctx.depth
    parallel = outermost and not config.get("serialize")
    # `break` may not leave a loop over a field, even if it runs serially.
    t.loops.append(Loop(False, parallel or is_struct))
    if parallel:
        # The number tells variables of this loop's iterations from those outside, which need
        # atomics.
        ctx.num_parallel += 1
        ctx.parallel = ctx.num_parallel
    ctx.depth += 1
    t.dynamic += 1
    mark = len(t.undo)
    indices = [Expr(ctx, builder.loop_index(loop, d)) for d in range(dimensions)]
    bind(t, _targets(node), indices)
    t.scope(node.body)
    # Whatever jump ended the body, the code after the loop is reached.
    if t.status == ENDED:
        t.status = NORMAL
    t.leave(mark)
    t.dynamic -= 1
    ctx.depth -= 1
    if parallel:
        ctx.parallel = 0
    t.loops.pop()
    builder.end()


def _bind_scalars(t, targets, indices):
    for name, index in zip(targets, indices):
        t.declare(name, index)


def _bind_vector(t, targets, indices):
    ctx = t.ctx
    if not indices:  # a field without dimensions has one element, at ()
        t.create(targets[0], ())
        return
    node = t.builder.make_tensor([i.node for i in indices], (len(indices),))
    t.declare(targets[0], Expr(ctx, node, indices))


def check_loop_variables(t, node):
    for name in _targets(node):
        if name in t.names:
            t.fail(node.target, say.variable_already_declared_outer_scope_and(name=name))


def field_filler(field):
    """The function `field.fill` inside a kernel, which emits a loop over the field."""

    def fill(value):
        ctx = active.context()
        builder = ctx.builder
        struct = getattr(field, "_type", None)
        value = ctx.node(value) if struct is None else _struct_of_fill(struct, value)
        ndim = field.num_axes
        if ctx.depth and field.snode._first_sparse() is not None:
            raise say.struct_for_cannot_nested_loop_over()
        bounds = _dense_cells(ctx, field)
        # Within another loop there is no task of its own: loops over the indices instead.
        if bounds is None and ctx.depth:
            bounds = []
            for extent, first in zip(field.shape, field.snode._offset or (0,) * ndim):
                bounds += [ctx.const_i32(first), ctx.const_i32(first + extent)]
        if bounds is not None:
            loop = builder.begin_range_for(bounds)
        else:
            loop = builder.begin_struct_for(ctx.param_of(field))
        index = [Expr(ctx, builder.loop_index(loop, d)) for d in range(ndim)]
        element = subscript(ctx, field, tuple(index))
        if struct is None:
            builder.store(element.node, value)
        else:
            element._assign(value)
        builder.end()

    return fill


def _struct_of_fill(struct, value):
    whole = entries_of(value) is not None
    return struct.cast(value) if whole else struct.filled_with_scalar(value)


HANDLERS[_ast.For] = for_
