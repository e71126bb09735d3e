"""Arrays of `ti.simt.block.SharedArray` whose elements are vectors or matrices, or which have more
than two axes: more extents than a tensor of the kernel's types."""

import math

from ..diagnostics import say
from .expr import Expr, Ref
from .subscript import index_nodes, static_index


class SharedTensors:
    """The array's name in a kernel. `flat` is the Ref of its scalars: by element and component, or
    by element alone."""

    __slots__ = ("_ctx", "_element", "_flat", "shape")

    def __init__(self, ctx, flat, shape, element):
        self._ctx = ctx
        self._flat = flat
        self._element = element
        self.shape = shape

    def __getitem__(self, index):
        """The Ref of an element."""
        ctx, builder, flat = self._ctx, self._ctx.builder, self._flat
        items = index if isinstance(index, tuple) else (index,)
        nodes = []
        index_nodes(ctx, index, nodes)
        if len(nodes) != len(self.shape):
            raise say.expected_indices_got(count=len(self.shape), got=len(nodes))
        if len(items) == len(nodes):
            for item, extent in zip(items, self.shape):
                static_index(ctx, item, extent)
        place = Expr(ctx, nodes[0])
        for node, extent in zip(nodes[1:], self.shape[1:]):
            place = place * extent + Expr(ctx, node)
        if not self._element:
            return Ref(ctx, builder.element(flat.node, [place.node]), flat.level)
        parts = [
            builder.element(flat.node, [place.node, ctx.const_i32(number)])
            for number in range(math.prod(self._element))
        ]
        return Ref(ctx, builder.join(parts, self._element), flat.level)


def extents_of(shape, element):
    """The extents of `flat` for an array of `shape`, whose elements have the shape `element`; None
    if a tensor of the kernel's types is the array."""
    if not element and len(shape) <= 2:
        return None
    return (math.prod(shape), math.prod(element)) if element else (math.prod(shape),)
