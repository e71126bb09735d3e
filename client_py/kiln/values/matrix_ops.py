"""Functions of vectors and matrices. The same code serves kernel values and Python's matrices: it
accesses both element by element.
"""

from .. import active, ops, originals, provided
from ..diagnostics import say
from ..frontend.expr import MAX_UNROLLED, OPS, Convertible, Expr, Ref
from ..frontend.expr import is_large as _is_large

_AND, _OR = OPS["logical_and"], OPS["logical_or"]
_ADD, _MIN, _MAX = OPS["add"], OPS["min"], OPS["max"]


def is_tensor(x):
    if isinstance(x, Expr):
        return bool(x.type.shape)
    return isinstance(x, Convertible) and hasattr(x, "to_list")


def is_large(x):
    """Whether `x` is a kernel value too large to scalarise, which is computed in loops."""
    return isinstance(x, Expr) and _is_large(x)


def shape_of(x):
    if isinstance(x, Expr):
        return x.type.shape
    if hasattr(x, "get_shape"):
        return x.get_shape()
    return (len(x), len(x[0])) if x and isinstance(x[0], (list, tuple)) else (len(x),)


def element(x, *index):
    if isinstance(x, Expr):
        return x.ctx.extract(x.ctx.value(x), *index)
    if hasattr(x, "get_shape"):
        return x[index if len(index) > 1 else index[0]]
    for i in index:
        x = x[i]
    return x


def elements(x):
    """All elements, row by row."""
    shape = shape_of(x)
    if isinstance(x, Expr):
        x = x.ctx.value(x)
        if x.parts is not None:
            return x.parts
    if len(shape) == 1:
        return [element(x, i) for i in range(shape[0])]
    return [element(x, i, j) for i in range(shape[0]) for j in range(shape[1])]


def build(flat, shape, dtype=None):
    """A vector or matrix of these elements: a kernel value if any element is one."""
    for value in flat:
        if isinstance(value, Expr):
            return value.ctx.tensor_of(list(flat), tuple(shape), dtype)
    if len(shape) == 1:
        return provided.Vector(list(flat), dtype)
    columns = shape[1]
    return provided.Matrix(
        [list(flat[i * columns : (i + 1) * columns]) for i in range(shape[0])], dtype
    )


def _need_tensor(x):
    if not is_tensor(x):
        raise say.not_tensor_type(what=_name(x))


def _need_vector(x, side=None, op=None):
    if not is_tensor(x) or len(shape_of(x)) != 1:
        if side is None:
            raise say.expected_a_vector(what=_name(x))
        raise say.operand_is_no_vector(side=side, op=op)


def _name(x):
    return x.type.name if isinstance(x, Expr) else type(x)


def _need_square(x, limit=None):
    _need_tensor(x)
    shape = shape_of(x)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise say.expected_square_matrix_got_shape(shape=tuple(shape))
    if limit is not None and shape[0] >= limit:
        raise say.only_dimension_supported_got_shape(limit=limit, shape=tuple(shape))


def _same_shape(x, y):
    if not isinstance(x, Expr) and not isinstance(y, Expr):
        return  # NumPy checks its own arrays
    if tuple(shape_of(x)) != tuple(shape_of(y)):
        raise say.required_shapes_same_got_shapes(shapes=[shape_of(x), shape_of(y)])


def _fold(x, function, op):
    _need_tensor(x)
    if is_large(x):
        return x.ctx.reduce(op, x)
    values = iter(elements(x))
    result = next(values)
    for value in values:
        result = function(result, value)
    return result


def sum(x):
    """The sum of all elements.

    x: a vector or matrix.
    """
    return _fold(x, lambda a, b: a + b, _ADD)


def max(x):
    """The largest element.

    x: a vector or matrix.
    """
    return _fold(x, ops.max, _MAX)


def min(x):
    """The smallest element.

    x: a vector or matrix.
    """
    return _fold(x, ops.min, _MIN)


def any(x):
    """Whether any element is not 0.

    x: a vector or matrix.
    """
    _need_tensor(x)
    if isinstance(x, Expr):
        return _fold(x != 0, lambda a, b: a.ctx.binary(_OR, a, b), _OR)
    return bool(x.to_numpy().any())


def all(x):
    """Whether all elements are not 0.

    x: a vector or matrix.
    """
    _need_tensor(x)
    if isinstance(x, Expr):
        return _fold(x != 0, lambda a, b: a.ctx.binary(_AND, a, b), _AND)
    return bool(x.to_numpy().all())


def dot(x, y):
    """The dot product of two vectors: the sum of the products of their elements.

    x, y: vectors of equal length. Others raise TaichiCompilationError in kernels, ValueError in
    Python.

        print(ti.math.dot(ti.Vector([1, 2]), ti.Vector([3, 4])))  # prints: 11
    """
    x, y = _vector(x), _vector(y)
    _need_vector(x, "lhs", "dot")
    _need_vector(y, "rhs", "dot")
    _same_shape(x, y)
    return sum(x * y)


def _vector(x):
    if isinstance(x, (list, tuple)):
        return build(x, (len(x),))
    return x


def norm_sqr(x):
    """The sum of the squares of all elements.

    x: a vector or matrix.
    """
    _need_tensor(x)
    return sum(x * x)


def norm(x, eps=0.0):
    """The square root of the sum of the squares of all elements; for a vector, its length.

    x: a vector or matrix. eps: added to the sum, so that the root has a derivative at 0.
    """
    return ops.sqrt(_squared(x, eps)) if isinstance(x, Expr) else _root(_squared(x, eps))


def norm_inv(x, eps=0.0):
    """One over `norm`.

    x: a vector or matrix. eps: added to the sum of the squares, so that it is not 0.
    """
    if isinstance(x, Expr):
        return ops.rsqrt(_squared(x, eps))
    root = _root(_squared(x, eps))
    return type(root)(1) / root


def _squared(x, eps):
    _need_tensor(x)
    squared = norm_sqr(x)
    if not _is_not_zero(eps):
        return squared
    # Keep the type of a NumPy scalar: before version 2, NumPy widens it to the Python number's
    # type.
    is_float = getattr(getattr(squared, "dtype", None), "kind", "") == "f"
    return squared + (type(squared)(eps) if is_float else eps)


def _root(squared):
    import numpy as np

    return np.sqrt(squared)


def _is_not_zero(eps):
    return isinstance(eps, Expr) or eps != 0


def normalized(x, eps=0.0):
    """The vector divided by its length.

    x: a vector. eps: added to the length, so that a vector of zeros stays zero.
    """
    _need_vector(x)
    length = norm(x)
    return (1.0 / (length + eps if _is_not_zero(eps) else length)) * x


def cross(x, y):
    """The cross product: a vector for vectors of three elements, a number for vectors of two.

    x, y: vectors of equal length, 2 or 3; raises TaichiCompilationError for others.

        print(ti.math.cross(ti.Vector([1, 0, 0]), ti.Vector([0, 1, 0])))  # prints: [0 0 1]
    """
    x, y = _vector(x), _vector(y)
    _need_vector(x, "lhs", "cross")
    _need_vector(y, "rhs", "cross")
    _same_shape(x, y)
    n = shape_of(x)[0]
    if n == 2:
        return element(x, 0) * element(y, 1) - element(x, 1) * element(y, 0)
    if n != 3:
        raise say.cross_product_only_supported_between_pairs(n=n)
    a, b = elements(x), elements(y)
    return build(
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ],
        (3,),
    )


def outer_product(x, y):
    """The matrix of the products x[i] * y[j].

    x, y: vectors. The result has a row for each element of `x` and a column for each of `y`.
    """
    x, y = _vector(x), _vector(y)
    _need_vector(x, "lhs", "outer_product")
    _need_vector(y, "rhs", "outer_product")
    n, m = shape_of(x)[0], shape_of(y)[0]
    if n * m > MAX_UNROLLED:
        ctx = next((v.ctx for v in (x, y) if isinstance(v, Expr)), None)
        if ctx is not None:
            return ctx.pick(x, (n, m), 0, (1, 0)) * ctx.pick(y, (n, m), 0, (0, 1))
    a, b = elements(x), elements(y)
    return build([p * q for p in a for q in b], (len(a), len(b)))


def transpose(x):
    """The matrix with rows and columns exchanged.

    x: a matrix. Raises TaichiCompilationError for a vector; the product of a column and a row is
    `a.outer_product(b)`.
    """
    _need_tensor(x)
    shape = shape_of(x)
    if len(shape) == 1:
        raise say.transpose_cannot_apply_vector_if_you()
    n, m = shape
    if is_large(x):
        return x.ctx.pick(x, (m, n), 0, (1, m))
    values = elements(x)
    return build([values[i * m + j] for j in range(m) for i in range(n)], (m, n))


def trace(x):
    """The sum of the diagonal elements.

    x: a square matrix.
    """
    _need_square(x)
    if is_large(x):
        n = shape_of(x)[0]
        return sum(x.ctx.pick(x, (n,), 0, (n + 1,)))
    result = element(x, 0, 0)
    for i in range(1, shape_of(x)[0]):
        result = result + element(x, i, i)
    return result


def determinant(x):
    """The determinant of a square matrix.

    x: a matrix of at most 4 x 4; raises TaichiCompilationError for others.

        print(ti.math.determinant(ti.Matrix([[1, 2], [3, 4]])))  # prints: -2
    """
    _need_square(x, 5)
    n = shape_of(x)[0]
    m = elements(x)
    if n == 1:
        return m[0]
    if n == 2:
        return m[0] * m[3] - m[1] * m[2]
    if n == 3:
        return (
            m[0] * (m[4] * m[8] - m[7] * m[5])
            - m[3] * (m[1] * m[8] - m[7] * m[2])
            + m[6] * (m[1] * m[5] - m[4] * m[2])
        )
    result = None
    for i in range(4):
        term = m[4 * i] * _minor(m, i, 0)
        if result is None:
            result = term
        else:
            result = result - term if i % 2 else result + term
    return result


def _minor(m, row, column):
    """The determinant of a 4x4 matrix without one row and one column."""
    r = [i for i in range(4) if i != row]
    c = [j for j in range(4) if j != column]

    def at(i, j):
        return m[4 * r[i] + c[j]]

    return (
        at(0, 0) * (at(1, 1) * at(2, 2) - at(2, 1) * at(1, 2))
        - at(1, 0) * (at(0, 1) * at(2, 2) - at(2, 1) * at(0, 2))
        + at(2, 0) * (at(0, 1) * at(1, 2) - at(1, 1) * at(0, 2))
    )


def inverse(x):
    """The inverse of a square matrix; infinities and NaNs for a singular matrix.

    x: a matrix of at most 4 x 4; raises TaichiCompilationError for others.

        print(ti.math.inverse(ti.Matrix([[2.0, 0.0], [0.0, 4.0]]))[1, 1])  # prints: 0.25
    """
    _need_square(x, 5)
    n = shape_of(x)[0]
    m = elements(x)
    if n == 1:
        return build([1.0 / m[0]], (1, 1))
    factor = 1.0 / determinant(x)
    if n == 2:
        cofactors = [m[3], -m[1], -m[2], m[0]]
    elif n == 3:

        def at(i, j):
            return m[3 * (i % 3) + j % 3]

        cofactors = [
            at(i + 1, j + 1) * at(i + 2, j + 2) - at(i + 2, j + 1) * at(i + 1, j + 2)
            for j in range(3)
            for i in range(3)
        ]
    else:
        cofactors = []
        for j in range(4):
            for i in range(4):
                minor = _minor(m, i, j)
                cofactors.append(-minor if (i + j) % 2 else minor)
    return factor * build(cofactors, (n, n))


def matmul(x, y):
    if isinstance(x, Expr) or isinstance(y, Expr):
        return x @ y
    return x.__matmul__(y)


def cast(x, dtype):
    return ops.cast(x, dtype)


def fill(x, value):
    """Sets every element of a variable or field element to `value`."""
    if isinstance(x, Expr):
        if not isinstance(x, Ref):
            raise say.fill_of_a_value(type=x.type.name)
        ctx = x.ctx
        value = ctx.expr(ctx.value(value))
        x.ctx.builder.store(x.node, ctx.builder.cast(value.node, x.type.id))
        return None
    return x.fill(value)


def to_list(x):
    values = elements(x)
    shape = shape_of(x)
    if len(shape) == 1:
        return list(values)
    return [list(values[i * shape[1] : (i + 1) * shape[1]]) for i in range(shape[0])]


def get_shape(x):
    return tuple(shape_of(x))


# --- construction


def diag(dim, val, dtype=None):
    """The `dim` x `dim` matrix with `val` on its diagonal and zeros elsewhere.

    dtype: the type of the elements; by default the type of `val`.
    """
    ctx = active.context()
    if ctx is not None and dim * dim > MAX_UNROLLED:
        # Element (i, j) is element dim - 1 + i - j of a vector whose middle element is `val`.
        band = ctx.tensor_of([0] * (dim - 1) + [val] + [0] * (dim - 1), (2 * dim - 1,), dtype)
        return ctx.pick(band, (dim, dim), dim - 1, (1, -1))
    flat = [val if i == j else 0 for i in range(dim) for j in range(dim)]
    if ctx is not None:  # a kernel value although its elements are constants, for its `dtype`
        return ctx.tensor_of(flat, (dim, dim), dtype)
    return build(flat, (dim, dim), dtype)


def rows(vectors):
    """The matrix with these vectors as its rows.

    vectors: a list of vectors, or lists, of one length.
    """
    lists = [to_list(v) if is_tensor(v) else list(v) for v in vectors]
    for row in lists[1:]:
        if len(row) != len(lists[0]):
            raise say.required_shapes_same_got_shapes(shapes=[(len(r),) for r in lists])
    return build([v for row in lists for v in row], (len(lists), len(lists[0])))


def cols(vectors):
    """The matrix with these vectors as its columns.

    vectors: a list of vectors, or lists, of one length.
    """
    return transpose(rows(vectors))


METHODS = {
    f.__name__: f
    for f in (
        all,
        any,
        cast,
        cross,
        determinant,
        dot,
        fill,
        get_shape,
        inverse,
        max,
        min,
        norm,
        norm_inv,
        norm_sqr,
        normalized,
        outer_product,
        sum,
        to_list,
        trace,
        transpose,
    )
}


def _matmul(ctx, left, right):
    """`left @ right`: the dot product for two vectors; a vector on the left is a row."""
    left, right = ctx.expr(ctx.value(left)), ctx.expr(ctx.value(right))
    a, b = left.type.shape, right.type.shape
    if not a or not b:
        side, operand = ("left", left) if not a else ("right", right)
        raise say.hand_side_not_matrix(side=side, type=operand.type.name)
    if len(a) == 1 and len(b) == 1:
        return dot(left, right)
    if len(a) == 1:
        left, right, a, b = transpose(right), left, (b[1], b[0]), a
    if a[1] != b[0]:
        raise say.dimension_mismatch_between_and_for_matrix(a=a, b=b)
    return Expr(ctx, ctx.builder.binary(OPS["matmul"], left.node, right.node))


Expr.__matmul__ = lambda self, other: _matmul(self.ctx, self, other)
Expr.__rmatmul__ = lambda self, other: _matmul(self.ctx, other, self)

originals.keep(globals())
