"""Attributes of kernel values: swizzles, struct members, matrix methods."""

from ..diagnostics import near, say
from ..values.matrix_ops import METHODS
from .expr import Expr, Ref
from .methods import Method, method_of
from .struct_value import member

GROUPS = ("xyzw", "rgba", "stpq")


_swizzles = {}  # (name, extent) -> indices, or None


def swizzle(name, shape):
    """The indices that a swizzle selects; None if `name` is not a swizzle."""
    n = shape[0]
    # The dict itself marks an absent entry, as None is a result worth keeping: most names are no
    # swizzles.
    found = _swizzles.get((name, n), _swizzles)
    if found is _swizzles:
        found = _swizzles[name, n] = _read_swizzle(name, n)
    return found


def _read_swizzle(name, n):
    # Four letters are the most that Taichi takes, and all must be of one group: `.xg` is no
    # swizzle.
    group = next((g for g in GROUPS if name[0] in g), None)
    if group is None or len(name) > 4 or any(c not in group for c in name):
        return None
    indices = [group.index(c) for c in name]
    if max(indices) >= n:
        valid = tuple(group[:n])
        raise say.vec_only_has_attributes_got(n=n, valid=valid, got=tuple(name))
    return indices


def attribute(base, name):
    """base.name: a value, a Ref (one component of a Ref) or a Method."""
    found = find_attribute(base, name)
    if found is not None:
        return found
    info = base.type
    candidates = [*METHODS, "shape"] if info.shape else [own for own, _ in info.members]
    hint = near(name, candidates)
    raise say.value_type_has_no_attribute(type=info.name, name=name, hint=hint)


def find_attribute(base, name):
    """Like `attribute`, but None if there is no such attribute."""
    ctx = base.ctx
    info = base.type
    if info.members:
        found = _member(base, info, name)
        if found is not None:
            return found
        if name == "keys":
            return [own for own, _ in info.members]
    elif len(info.shape) == 1:
        indices = swizzle(name, info.shape)
        if indices is not None:
            if base.__class__ is Ref:
                if len(indices) == 1:
                    return component(base, indices[0])
                # Only the selected elements are loaded, not the whole vector.
                parts = [ctx.value(component(base, i)) for i in indices]
                return ctx.tensor_of(parts, (len(indices),))
            if len(indices) == 1:
                return ctx.extract(base, indices[0])
            return ctx.tensor_of([ctx.extract(base, i) for i in indices], (len(indices),))
    elif len(info.shape) == 2 and len(name) == 1 and any(name in group for group in GROUPS):
        raise say.expected_indices_got(count=2, got=1)
    # After members and swizzles: a struct may have a member that is called like a matrix method.
    function = METHODS.get(name)
    if function is not None:
        # `fill` writes to the matrix; all other methods compute from its value.
        return Method(function, base if name == "fill" else ctx.value(base))
    if name == "shape" and info.shape:
        return info.shape
    if name in ("n", "m") and info.shape:
        # A vector is a matrix of one column.
        return (info.shape + (1,))[name == "m"]
    return None


def swizzle_address(base, name):
    """Like `attribute`, for an argument that a function may write to: a swizzle of several
    components of a Ref is a Ref, too."""
    shape = base.type.shape
    indices = swizzle(name, shape) if len(shape) == 1 else None
    # A write to `v.xx` would have two values for one component.
    if indices is None or len(indices) == 1 or len(set(indices)) < len(indices):
        return attribute(base, name)
    return joined([component(base, i) for i in indices], (len(indices),), base)


def joined(elements, shape, base):
    """The Ref of a tensor whose elements are parts of `base`."""
    ctx = base.ctx
    return Ref(ctx, ctx.builder.join([e.node for e in elements], shape), base.level)


def component(base, index):
    """The Ref of element `index` of a vector in memory."""
    ctx = base.ctx
    return Ref(ctx, ctx.builder.element(base.node, [ctx.const_i32(index)]), base.level)


def _member(base, info, name):
    for position, (own, _) in enumerate(info.members):
        if own == name:
            return member(base, position)
    return method_of(base, name)


def _expr_attribute(value, name):
    # Python itself asks for such names (copy, pickle, numpy): an error of the program's syntax
    # would reach a caller that expects only AttributeError.
    if name[:2] == "__":
        raise AttributeError(name)
    found = find_attribute(value, name)
    if found is None:
        raise AttributeError(name)
    return found


Expr.__getattr__ = _expr_attribute
