"""The kernels that random programs launch, each with what it computes in NumPy.

A row of TABLE has the parameters of a kernel, what it needs of them, and its model. Integers wrap.
Floats are whole numbers of at most LIMIT, so that no order of additions shows.
"""

import numpy

LIMIT = 1000


def make(ti, *kinds):
    """The kernels by name. kinds: of parameters, `ti.template()` for fields or
    `ti.types.ndarray()`."""
    First, Second = kinds

    @ti.func
    def kept(value: ti.template(), like: ti.template()):
        """`value` as elements of `like` keep it."""
        result = value
        if ti.static(like.dtype in (ti.f32, ti.f64)):
            result = ti.math.clamp(value, -LIMIT, LIMIT)
        return result

    @ti.kernel
    def affine(x: First, a: ti.i32, b: ti.i32):
        for at in ti.grouped(x):
            x[at] = kept(x[at] * a + b, x)

    @ti.kernel
    def copy(y: First, x: Second):
        for at in ti.grouped(x):
            y[at] = kept(ti.cast(x[at], y.dtype), y)

    @ti.kernel
    def add(y: First, x: Second):
        for at in ti.grouped(y):
            y[at] = kept(y[at] + x[at], y)

    @ti.kernel
    def shift(y: First, x: Second, k: ti.i32):
        for at in ti.grouped(y):
            there = at
            there[0] = (at[0] + k) % x.shape[0]
            y[at] = x[there]

    @ti.kernel
    def stencil(y: First, x: Second):
        for at in ti.grouped(y):
            low, high = at, at
            low[0] = ti.max(at[0] - 1, 0)
            high[0] = ti.min(at[0] + 1, x.shape[0] - 1)
            y[at] = kept(x[low] + x[high], y)

    @ti.kernel
    def where(y: First, x: Second, v: ti.i32):
        for at in ti.grouped(y):
            if x[at] > v:
                y[at] = x[at]

    @ti.kernel
    def tally(y: First, x: Second):
        for at in ti.grouped(x):
            y[ti.cast(x[at] % y.shape[0], ti.i32)] += 1

    @ti.kernel
    def phases(y: First, x: Second, k: ti.i32):
        for i in x:
            x[i] = kept(x[i] + k, x)
        for i in y:
            y[i] = x[(i + k) % x.shape[0]]
        y[0] = x[x.shape[0] - 1]
        for i in x:
            x[i] = kept(x[i] + y[0], x)

    @ti.kernel
    def prefix(x: First):
        for _ in range(1):
            for i in range(1, x.shape[0]):
                x[i] = kept(x[i] + x[i - 1], x)

    @ti.kernel
    def total(x: First) -> ti.i64:
        sum = ti.i64(0)
        for at in ti.grouped(x):
            sum += ti.cast(x[at], ti.i64)
        return sum

    @ti.kernel
    def largest(x: First) -> ti.i64:
        found = ti.i64(-(2**62))
        for at in ti.grouped(x):
            ti.atomic_max(found, ti.cast(x[at], ti.i64))
        return found

    @ti.kernel
    def ends(x: First) -> ti.types.vector(2, ti.i64):
        return ti.Vector([ti.cast(x[0], ti.i64), ti.cast(x[x.shape[0] - 1], ti.i64)])

    found = (affine, copy, add, shift, stencil, where, tally, phases, prefix, total, largest, ends)
    kernels = {kernel.__name__: kernel for kernel in found}
    assert kernels.keys() == TABLE.keys()
    return kernels


def kept(values, like):
    """`values` as the array `like` keeps them."""
    values = numpy.asarray(values)
    if like.dtype.kind == "f":
        values = numpy.clip(values.astype(numpy.float64), -LIMIT, LIMIT)
    elif values.dtype.kind == "f":
        values = values.astype(numpy.int64)
    return values.astype(like.dtype)


def wide(x):
    """`x` in numbers that hold what two elements add up to, or that wrap as they do."""
    return x.astype(numpy.float64 if x.dtype.kind == "f" else numpy.int64)


def _affine(x, a, b):
    x[...] = kept(wide(x) * a + b, x)


def _copy(y, x):
    y[...] = kept(x, y)


def _add(y, x):
    y[...] = kept(wide(y) + wide(x), y)


def _shift(y, x, k):
    y[...] = numpy.roll(x, -k, axis=0)


def _stencil(y, x):
    index = numpy.arange(len(x))
    low, high = x[numpy.maximum(index - 1, 0)], x[numpy.minimum(index + 1, len(x) - 1)]
    y[...] = kept(wide(low) + wide(high), y)


def _where(y, x, v):
    y[x > v] = x[x > v]


def _tally(y, x):
    bins = numpy.bincount((x % len(y)).astype(numpy.int64).ravel(), minlength=len(y))
    y[...] = kept(wide(y) + bins, y)


def _phases(y, x, k):
    _add(x, numpy.array(k))
    _shift(y, x, k)
    y[0] = x[-1]
    _add(x, y[0])


def _prefix(x):
    for i in range(1, len(x)):
        x[i : i + 1] = kept(wide(x[i : i + 1]) + wide(x[i - 1 : i]), x)


def _total(x):
    return int(wide(x).sum().astype(numpy.int64))


def _largest(x):
    return int(x.astype(numpy.int64).max())


def _ends(x):
    return [int(x[0].astype(numpy.int64)), int(x[-1].astype(numpy.int64))]


# Name -> (model, parameters, what they have to be). "x" and "y" are objects, the others numbers.
# `vectors`: elements may be vectors; `line`: one axis; `axes`: one or more; `same`: both have one
# shape and type, `alike`: one shape; `whole`: integers.
TABLE = {
    "affine": (_affine, "xab", {"vectors"}),
    "copy": (_copy, "yx", {"vectors", "alike"}),
    "add": (_add, "yx", {"vectors", "same"}),
    "shift": (_shift, "yxk", {"vectors", "same", "axes"}),
    "stencil": (_stencil, "yx", {"vectors", "same", "axes"}),
    "where": (_where, "yxv", {"same"}),
    "tally": (_tally, "yx", {"whole", "line"}),
    "phases": (_phases, "yxk", {"same", "line"}),
    "prefix": (_prefix, "x", {"line"}),
    "total": (_total, "x", set()),
    "largest": (_largest, "x", set()),
    "ends": (_ends, "x", {"line"}),
}
RETURNING = {"total", "largest", "ends"}
