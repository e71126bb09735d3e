"""Sparse matrix builders in kernels: `builder[i, j] += value` inserts a triplet.

The builder is an array of words (linalg/sparse_matrix.py). An insertion atomically increments the
count in word 0 and writes three words if there is room. Without room only the count grows, so
that `build` can report the capacity that was needed.
"""

import _ast

from .. import types as ti_types
from ..diagnostics import say
from .expr import OPS, Ref


class TripletsArgument:
    """A builder parameter inside the kernel."""

    __slots__ = ("ctx", "dtype", "param", "word")

    def __init__(self, ctx, param, dtype, word):
        self.ctx = ctx
        self.param = param
        self.dtype = dtype
        self.word = word

    def entry(self, index):
        """The target of `+=` and `-=`."""
        if not isinstance(index, tuple) or len(index) != 2:
            given = len(index) if isinstance(index, tuple) else 1
            raise say.triplet_index_count(count=given)
        return TripletEntry(self, *index)

    def __getitem__(self, index):
        raise say.triplet_read()


class TripletEntry:
    """`builder[i, j]`, which supports only `+=` and `-=`."""

    __slots__ = ("builder", "column", "row")

    def __init__(self, builder, row, column):
        self.builder = builder
        self.row = row
        self.column = column

    def augment(self, t, node):
        """Emits `+= value` or `-= value` for the statement `node`."""
        kind = node.op.__class__
        if kind is not _ast.Add and kind is not _ast.Sub:
            raise say.triplet_operator()
        ctx, own = t.ctx, self.builder
        value = ctx.cast(t.visit(node.value), own.dtype)
        if value.type.shape:
            raise say.triplet_value_type(type=value.type.name)
        if kind is _ast.Sub:
            value = ctx.unary(OPS["neg"], value)
        t.at(node)
        _insert(ctx, own, self.row, self.column, value)


def _insert(ctx, own, row, column, value):
    builder = ctx.builder
    word = ctx.type_id(own.word)

    def constant(number):
        return builder.const_int(number, own.word.scalar)

    def place(number, step):
        first = builder.binary(OPS["mul"], number, constant(3))
        return builder.global_(own.param, [builder.binary(OPS["add"], first, constant(step))])

    count = builder.global_(own.param, [constant(0)])
    number = builder.atomic(OPS["atomic_add"], count, constant(1))
    # Compare as unsigned: a count that overflowed is also out of room.
    unsigned = ctx.type_id(ti_types.u32 if own.word is ti_types.i32 else ti_types.u64)
    words = builder.cast(builder.shape(own.param, 0), unsigned)
    three = builder.cast(constant(3), unsigned)
    capacity = builder.binary(OPS["floordiv"], words, three)
    builder.begin_if(builder.binary(OPS["cmp_lt"], builder.cast(number, unsigned), capacity))
    bits = builder.bit_cast(value.node, word)
    for step, item in enumerate((_index(ctx, row, word), _index(ctx, column, word), bits)):
        builder.store(place(number, 1 + step), item)
    builder.end()


def _index(ctx, index, word):
    value = ctx.expr(ctx.value(index) if isinstance(index, Ref) else index)
    if value.type.shape or value.type.dtype is None or not value.type.dtype.is_int:
        raise say.triplet_index_type(type=value.type.name)
    return ctx.builder.cast(value.node, word)


def triplets_argument(ctx, storage, dtype):
    """Adds the builder parameter with this descriptor."""
    word = ti_types.i32 if dtype is ti_types.f32 else ti_types.i64
    param = ctx.builder.add_storage_param(storage)
    ctx.bindings.append((param, ("array", None)))
    return TripletsArgument(ctx, param, dtype, word)
