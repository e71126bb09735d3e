"""Handlers for assignments: plain, annotated, augmented, `:=`."""

import _ast

from .. import types as ti_types
from ..data.field import AnyField
from ..diagnostics import say
from .call import is_static_call
from .context import ArrayArgument
from .expr import MAX_UNROLLED, OPS, Convertible, Expr, Ref, is_large, kind_of
from .expression import OPERATORS, bind_target, index_of, python_attribute
from .names import base_name
from .pack import PackArgument
from .shared_array import SharedTensors
from .struct_value import StructRef, member
from .subscript import element_function, slice_axis, slice_elements, subscript
from .tensor import component, swizzle
from .transformer import HANDLERS, RefDict, RefList, RefTuple
from .triplets import TripletsArgument

# What has elements that kernels write, besides fields.
_HAVE_ELEMENTS = (Expr, StructRef, ArrayArgument, RefList, RefTuple, RefDict, SharedTensors)
_ATOMIC = {
    _ast.Add: OPS["atomic_add"],
    _ast.Sub: OPS["atomic_sub"],
    _ast.BitAnd: OPS["atomic_and"],
    _ast.BitOr: OPS["atomic_or"],
    _ast.BitXor: OPS["atomic_xor"],
}


def assign(t, node):
    # ti.static(...) names a value of compile time: no variable is made, and the name can be bound
    # once.
    if is_static_call(t, node.value):
        value = t.visit(node.value)
        for target in node.targets:
            bind_static(t, target, value)
        return
    value = t.visit(node.value)
    for target in node.targets:
        store(t, target, value, node)


def bind_static(t, target, value):
    if target.__class__ is _ast.Name:
        if target.id in t.names:
            raise say.recreating_variable()
        t.create(target.id, value)
        return
    bind_target(t, target, value)


def store(t, target, value, node):
    """Emits `target = value` for one target of a statement."""
    kind = target.__class__
    if kind is _ast.Name:
        _store_name(t, target, value, node)
    elif kind is _ast.Tuple or kind is _ast.List:
        items = _unpacked(t, value)
        if len(items) != len(target.elts):
            t.fail(target, say.number_targets_not_equal_value_length())
        for element, item in zip(target.elts, items):
            store(t, element, item, node)
    elif kind is _ast.Subscript:
        _store_subscript(t, target, value, node)
    elif kind is _ast.Attribute:
        _store_attribute(t, target, value, node)
    else:
        t.fail(target, say.unsupported_assignment_target(kind=kind.__name__))


def _unpacked(t, value):
    if value.__class__ is Expr:
        info = value.type
        if len(info.shape) > 1:
            raise say.matrices_with_more_than_one_columns()
        if info.shape:
            return [t.ctx.extract(value, i) for i in range(info.shape[0])]
        if info.members:
            return [member(value, i) for i in range(len(info.members))]
    elif isinstance(value, (list, tuple)):
        return value
    elif isinstance(value, Convertible):
        return list(value)
    raise say.cannot_unpack_type(kind=kind_of(value))


def _store_name(t, target, value, node):
    name = target.id
    if name in t.immutable:
        t.fail(target, say.argument_is_immutable(name=name))
    variable = t.names.get(name)
    # The first store declares the variable, and its type is that of this value.
    if variable is None:
        if value.__class__ is ArrayArgument or isinstance(value, AnyField):
            raise say.invalid_constant_scalar_data_type(kind=type(value))
        t.at(node)
        if name in t.names:  # declared by `a = None`: this store determines its type
            t.names[name] = t.variable(value, name in t.mutable)
        else:
            t.declare(name, value)
        return
    t.at(node)
    _assign(t, variable, value, target)


def _assign(t, variable, value, target):
    """Writes to an existing variable; to containers, element by element."""
    kind = variable.__class__
    if kind is Ref:
        t.builder.store(variable.node, t.ctx.node(value))
    elif kind is StructRef:
        variable._assign(value)
    elif kind is RefList or kind is RefTuple:
        items = _unpacked(t, value)
        if len(items) != len(variable):
            raise say.number_targets_not_equal_value_length()
        for element, item in zip(variable, items):
            _assign(t, element, item, target)
    elif kind is RefDict:
        for key, element in variable.items():
            _assign(t, element, value[key], target)
    else:
        _refuse(t, target)


def _store_subscript(t, target, value, node):
    base = t.address(target.value)
    index = index_of(t, target.slice)
    t.at(node)
    items = index if isinstance(index, tuple) else (index,)
    if any(i.__class__ is slice for i in items) and base.__class__ is Ref:
        _store_slice(t, base, items, value)
        return
    # Python's own containers are read at compile time; writing to them would change the program.
    if base.__class__ in (list, dict) or (
        not isinstance(base, _HAVE_ELEMENTS)
        and not isinstance(base, AnyField)
        and element_function(base) is None
    ):
        _refuse(t, target)
    _assign(t, subscript(t.ctx, base, index), value, target)


def _store_slice(t, base, items, value):
    def store_one(address, item):
        t.builder.store(address, item.node)

    # Hundreds of single stores would make the kernel long and slow to compile.
    if is_large(base) and _each_in_loops(t, base, items, value, store_one):
        return
    elements = slice_elements(t.ctx, base, items, base.type.shape)
    _store_elements(t, elements, value)


def _each_in_loops(t, base, items, value, body):
    """Emits loops that run body(address, item) for each element of a slice of a large tensor and
    the matching item of `value`. Returns False if the caller must handle single elements."""
    ctx, builder = t.ctx, t.builder
    slices = [i for i in items if i.__class__ is slice]
    if len(items) != len(base.type.shape):
        return False
    # A slice becomes the list of its indices; a plain index stays what it is.
    axes = [slice_axis(i, n) if i in slices else i for i, n in zip(items, base.type.shape)]
    extents = [len(a) for a in axes if a.__class__ is list]
    count = extents[0] * extents[-1] if len(extents) == 2 else extents[0]
    value = ctx.expr(value)
    shape = value.type.shape
    # Also for values of another shape, whose error the caller's path reports.
    if count <= MAX_UNROLLED or (
        shape and tuple(shape) != tuple(extents) and (len(shape) > 1 or shape[0] != count)
    ):
        return False

    def loop(rest, at, position):
        if not rest:
            item = value
            if shape:
                index = [p.node for p in position]
                # A flat value for a slice of two axes is read row by row.
                if len(index) == 2 and len(shape) == 1:
                    index = [(position[0] * extents[1] + position[1]).node]
                item = Expr(ctx, builder.extract(value.node, index))
            body(builder.element(base.node, at), item)
            return
        axis = rest[0]
        if axis.__class__ is not list:
            loop(rest[1:], [*at, ctx.node(axis)], position)
            return
        # The indices of a slice are equally spaced.
        step = axis[1] - axis[0] if len(axis) > 1 else 1
        ctx.repeat(
            len(axis), lambda i: loop(rest[1:], [*at, (i * step + axis[0]).node], [*position, i])
        )

    loop(axes, [], [])
    return True


def _component(ctx, value, i):
    """Component `i` of a tensor, row by row, or a scalar itself."""
    shape = value.type.shape
    if not shape:
        return value
    return ctx.extract(value, i) if len(shape) == 1 else ctx.extract(value, *divmod(i, shape[1]))


def _store_elements(t, elements, value):
    """Stores a tensor, or one scalar for all, to a list of components."""
    ctx = t.ctx
    value = ctx.expr(value)
    for i, element in enumerate(elements):
        item = _component(ctx, value, i)
        t.builder.store(element.node, item.node)


def _store_attribute(t, target, value, node):
    base = t.address(target.value)
    t.at(node)
    if base.__class__ is Ref:
        info = base.type
        # `v.xy = …`: the only attribute that is several components.
        indices = swizzle(target.attr, info.shape) if len(info.shape) == 1 else None
        if indices is not None and len(indices) > 1:
            value = t.ctx.expr(value)
            shape = value.type.shape
            if shape and shape != (len(indices),):
                raise say.swizzle_of_another_length(
                    count=" x ".join(map(str, shape)), want=len(indices), name=target.attr
                )
            _store_elements(t, [component(base, i) for i in indices], value)
            return
        element = t.address(target)
        if element.__class__ is Ref:
            t.builder.store(element.node, t.ctx.node(value))
            return
    # An attribute of a Python object may hold variables of the kernel: members of @ti.data_oriented
    # classes and structs.
    elif not isinstance(base, Expr):
        element = python_attribute(t, base, target.attr)
        if element.__class__ in (Ref, StructRef, RefList, RefTuple, RefDict):
            _assign(t, element, value, target)
            return
    _refuse(t, target)


def _refuse(t, target):
    """Fails because the target is neither a variable nor a part of one."""
    name = base_name(target)
    if name in t.immutable and t.names.get(name).__class__ in (Expr, PackArgument):
        t.fail(target, say.argument_is_immutable(name=name))
    t.fail(target, say.variable_cannot_assigned_maybe_not_taichi(target=_text(target)))


def _text(node):
    """The source text of a target. Only errors use it, because importing `ast` is slow."""
    from ast import unparse

    return unparse(node).strip()


def ann_assign(t, node):
    if node.value is None:
        raise say.annotated_variable_needs_value()
    if is_static_call(t, node.value):
        raise say.static_assign_cannot_used_on_annotated()
    value = t.visit(node.value)
    annotation = t.visit(node.annotation)
    target = node.target
    is_name = target.__class__ is _ast.Name
    if is_name and target.id in t.immutable:
        t.fail(target, say.argument_is_immutable(name=target.id))
    t.at(node)
    ctx = t.ctx
    # An annotation converts the value once, where the variable is declared.
    if is_name and target.id not in t.names:
        t.declare(target.id, _converted(ctx, value, annotation))
        return
    variable = t.address(target)
    if variable.__class__ is not Ref or variable.type.id != ctx.type_id(annotation):
        raise say.static_assign_cannot_have_type_overloading()
    t.builder.store(variable.node, ctx.node(value))


def _converted(ctx, value, annotation):
    struct = annotation if isinstance(annotation, ti_types.StructType) else None
    if struct is not None or isinstance(annotation, ti_types.MatrixType):
        node = ctx.builder.cast(ctx.node(value), ctx.type_id(annotation))
        return Expr(ctx, node, None, struct)
    return ctx.cast(value, ti_types.cook_dtype(annotation))


def aug_assign(t, node):
    target = node.target
    kind = node.op.__class__
    if target.__class__ is _ast.Name:
        name = target.id
        if name in t.immutable:
            t.fail(target, say.argument_is_immutable(name=name))
        variable = t.names.get(name)
        if variable is None and name not in t.names:
            variable = t.lookup(name)
    elif target.__class__ is _ast.Attribute:
        base = t.address(target.value)
        info = base.type if base.__class__ is Ref else None
        if info is not None and len(info.shape) == 1:
            indices = swizzle(target.attr, info.shape)
            if indices is not None and len(indices) > 1:
                _augment_elements(t, node, [component(base, i) for i in indices])
                return
        variable = t.address(target)
    else:
        base = t.address(target.value)
        index = index_of(t, target.slice)
        items = index if isinstance(index, tuple) else (index,)
        t.at(target)
        if base.__class__ is Ref and any(i.__class__ is slice for i in items):
            _augment_slice(t, node, base, items)
            return
        # `K[i, j] += v` of a sparse matrix builder appends a triplet.
        if base.__class__ is TripletsArgument:
            base.entry(index).augment(t, node)
            return
        variable = subscript(t.ctx, base, index)
    if variable.__class__ is not Ref:
        _refuse(t, target)
    _augment(t, node, variable, kind)


def _augment(t, node, variable, kind):
    builder = t.builder
    address = variable.node
    atomic = _ATOMIC.get(kind)
    # No atomic op exists, as for `*=`: a plain read and write, in parallel loops a race as in
    # Taichi.
    if atomic is None:
        old = builder.load(address)
        value = t.ctx.node(t.visit(node.value))
        t.at(node)
        builder.store(address, builder.binary(OPERATORS[kind], old, value))
        return
    # Convert the operand to the variable's type first, as an atomic operation does.
    shared = variable.shared
    # Before the operand is evaluated, which may change the variable: Python's order.
    old = 0 if shared else builder.load(address)
    value = t.ctx.node(t.visit(node.value))
    t.at(node)
    value = builder.cast(value, builder.type_of(address))
    if shared:
        builder.atomic(atomic, address, value)
    else:
        builder.store(address, builder.binary(OPERATORS[kind], old, value))


def _augment_slice(t, node, base, items):
    kind = node.op.__class__
    atomic = _ATOMIC.get(kind)
    builder = t.builder

    def augment_one(address, item):
        if atomic is not None and base.shared:
            builder.atomic(atomic, address, builder.cast(item.node, builder.type_of(address)))
        else:
            old = builder.load(address)
            builder.store(address, builder.binary(OPERATORS[kind], old, item.node))

    if is_large(base):
        value = t.visit(node.value)
        t.at(node)
        if _each_in_loops(t, base, items, value, augment_one):
            return
        _augment_elements(t, node, slice_elements(t.ctx, base, items, base.type.shape), value)
        return
    _augment_elements(t, node, slice_elements(t.ctx, base, items, base.type.shape))


def _augment_elements(t, node, elements, value=None):
    """Emits `v.xy += value`, or the same for a slice, component by component."""
    ctx, builder = t.ctx, t.builder
    value = ctx.expr(t.visit(node.value) if value is None else value)
    kind = node.op.__class__
    t.at(node)
    for i, element in enumerate(elements):
        item = _component(ctx, value, i)
        atomic = _ATOMIC.get(kind)
        if atomic is not None and element.shared:
            builder.atomic(atomic, element.node, item.node)
        else:
            old = builder.load(element.node)
            builder.store(element.node, builder.binary(OPERATORS[kind], old, item.node))


def named_expr(t, node):
    value = t.visit(node.value)
    if is_static_call(t, node.value):
        t.create(node.target.id, value)
        return value
    _store_name(t, node.target, value, node)
    # The value of `:=` is the variable's, converted to its type.
    return t.visit(_ast.Name(node.target.id, _ast.Load(), **_place(node)))


def _place(node):
    return {
        "lineno": node.lineno,
        "col_offset": node.col_offset,
        "end_lineno": node.end_lineno,
        "end_col_offset": node.end_col_offset,
    }


HANDLERS.update(
    {
        _ast.AnnAssign: ann_assign,
        _ast.Assign: assign,
        _ast.AugAssign: aug_assign,
        _ast.NamedExpr: named_expr,
    }
)
