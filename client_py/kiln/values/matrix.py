"""Vectors and matrices. In Python they contain a NumPy array; in a kernel the same names make
tensor values. The first one that a program makes imports NumPy.
"""

from collections.abc import Iterator

from .. import _native, active, ops, originals, provided
from .. import types as _types
from ..diagnostics import say
from ..frontend.expr import Convertible, Expr, TaichiOperations, add_operators, is_large
from ..frontend.tensor import GROUPS
from . import matrix_ops
from .matrix_ops import elements, is_tensor

_numpy = None
# What the calls of vector and matrix types take as several elements.
_LISTS = (list, tuple, range, Iterator)


def _np():
    global _numpy
    if _numpy is None:
        import numpy

        _numpy = numpy
    return _numpy


def kernel_matrix(ctx, arr, dt=None):
    """Implements ti.Vector(…) and ti.Matrix(…) in a kernel."""
    dtype = None if dt is None else _types.cook_dtype(dt)
    if isinstance(arr, Expr):
        if not arr.type.shape:
            raise say.vector_or_matrix_made_list()
        return ctx.value(arr) if dtype is None else ctx.cast(arr, dtype)
    if hasattr(arr, "to_list"):
        arr = arr.to_list()
    elif hasattr(arr, "tolist"):
        arr = arr.tolist()
    return ctx.tensor(list(arr), dtype)


def instantiate(matrix_type, args, shortens=False):
    """Implements calls of vector and matrix types, as vec3(…) and mat2(…).

    shortens: whether one longer vector may be given in Python scope, as vec2(v.xyz), of which the
    first elements are taken.
    """
    if not args:
        raise say.type_needs_an_argument(kind=type(matrix_type).__name__)
    ctx = active.context()
    flat = []
    if ctx is not None and len(args) == 1:
        whole = _converted(ctx, ctx.value(args[0]), matrix_type)
        if whole is not None:
            return whole
    for arg in args:
        if ctx is not None:
            arg = ctx.value(arg)
        if is_tensor(arg):
            flat.extend(elements(arg))
        elif isinstance(arg, _LISTS) or hasattr(arg, "tolist"):
            _flatten(arg, flat)
        else:
            flat.append(arg)
    shape = matrix_type.shape
    count = shape[0] * (shape[1] if len(shape) == 2 else 1)
    if len(flat) == 1:
        flat = flat * count
    if shortens and ctx is None and len(args) == 1 and _is_longer_vector(args[0], shape):
        flat = flat[:count]
    if len(flat) != count:
        what = "vector" if len(shape) == 1 else "matrix"
        raise say.incompatible_arguments_for_custom_type(
            what=what, shape=", ".join(map(str, shape)), count=len(flat)
        )
    dtype = matrix_type.dtype
    if ctx is not None:
        return ctx.tensor_of(flat, shape, dtype)
    if len(shape) == 1:
        return Vector(flat, dtype)
    return Matrix([flat[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])], dtype)


def _is_longer_vector(value, shape):
    """Whether it is a vector of more elements than a vector of that shape has."""
    return isinstance(value, Matrix) and value.ndim == len(shape) == 1 and value.n > shape[0]


def _converted(ctx, value, matrix_type):
    """A large tensor of a kernel converted to the type and, if necessary, reshaped; None for other
    values."""
    shape = matrix_type.shape
    if value.__class__ is not Expr or not is_large(value):
        return None
    if tuple(value.type.shape) != tuple(shape):
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        have = value.type.shape
        if count != have[0] * (have[1] if len(have) == 2 else 1):
            return None
        value = ctx.pick(value, shape, 0, (shape[1], 1) if len(shape) == 2 else (1,))
    return ctx.cast(value, matrix_type.dtype or ctx.config.default_fp)


def _flatten(value, flat):
    if is_tensor(value):
        flat.extend(elements(value))
    elif hasattr(value, "tolist"):
        flat.extend(_np().asarray(value).ravel())
    elif isinstance(value, _LISTS):
        for v in value:
            _flatten(v, flat)
    else:
        flat.append(value)


class _MatrixClass(type):
    """Lists the swizzles that __getattr__ answers."""

    def __dir__(cls):
        from itertools import product

        words = (product(g, repeat=n) for g in GROUPS for n in (2, 3, 4))
        own = [name for name in super().__dir__() if name not in ("entries", "m", "n", "ndim")]
        return [*own, *["".join(w) for ws in words for w in ws]]


class Matrix(Convertible, TaichiOperations, metaclass=_MatrixClass):
    """A matrix of numbers: a value in kernels, a wrapper of a NumPy array in Python.

    arr: rows of numbers, or a NumPy array; in kernels the rows may contain values of the kernel.
    dt: the type of the elements; by default the common type of all elements. Operators work element
    by element; `@` multiplies matrices. The reference's other arguments (args, kwargs) are accepted
    without effect.

        m = ti.Matrix([[1, 2], [3, 4]])
        print(m @ ti.Vector([1, 1]))  # prints: [3 7]
        print(m[1, 0], m.n, m.m)  # prints: 3 2 2
    """

    _is_taichi_class = True
    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __new__(cls, *args, **kwargs):
        # Python code that runs while a kernel is compiled makes kernel values.
        ctx = active.context()
        if ctx is not None and args and _has_expr(args[0]):
            return kernel_matrix(ctx, *args, **kwargs)
        return object.__new__(cls)

    def __init__(self, arr, dt=None, **kwargs):
        if isinstance(arr, Matrix):
            arr = arr.to_numpy()
        elif isinstance(arr, (list, tuple)):
            arr = [a.to_numpy() if isinstance(a, Matrix) else a for a in arr]
        elif not hasattr(arr, "dtype"):
            raise say.matrix_vector_can_only_initialized_with()
        np = _np()
        dtype = None if dt is None else getattr(np, _types.cook_dtype(dt).numpy_name)
        self._entries = np.array(arr, dtype=dtype)
        if self._entries.ndim not in (1, 2):
            raise say.matrix_has_one_or_two_dimensions()

    # --- shape and elements

    @property
    def entries(self):
        return self._entries

    @property
    def ndim(self):
        return self._entries.ndim

    @property
    def n(self):
        return self._entries.shape[0]

    @property
    def m(self):
        return self._entries.shape[1] if self._entries.ndim == 2 else 1

    def get_shape(self):
        """The numbers of rows and columns; for a vector only its length."""
        return self._entries.shape

    def to_numpy(self):
        """The NumPy array of the elements, not a copy."""
        return self._entries

    def to_list(self):
        """The elements as a list; for a matrix, a list of rows."""
        return self._entries.tolist()

    def _to_kernel(self, ctx):
        """The matrix as a constant of a kernel."""
        return ctx.tensor(self.to_list())

    def __array__(self, dtype=None, copy=None):
        return self._entries if dtype is None else self._entries.astype(dtype)

    def __dir__(self):
        return [*dir(type(self)), "ndim", "m", "n", "entries"]

    def _no_component(self, name):
        """Raises the error that a kernel raises for the same swizzle."""
        count = self.get_shape()[0]
        group = next(g for g in GROUPS if name[0] in g)
        raise say.vec_only_has_attributes_got(n=count, valid=tuple(group[:count]), got=tuple(name))

    def __getattr__(self, name):
        indices = _swizzle(name)
        if indices is None:
            raise say.object_has_no_attribute(kind=type(self).__name__, name=name)
        if max(indices) >= self.get_shape()[0]:
            self._no_component(name)
        return _wrap(self._entries[indices])

    def __setattr__(self, name, value):
        indices = _swizzle(name)
        if indices is None:
            object.__setattr__(self, name, value)
            return
        if max(indices) >= self.get_shape()[0]:
            self._no_component(name)
        values = value.to_list() if isinstance(value, Matrix) else list(value)
        if len(values) != len(indices):
            raise say.value_len_does_not_match_swizzle(name=name)
        for i, v in zip(indices, values):
            self[i] = v

    def __len__(self):
        return self._entries.shape[0]

    def __iter__(self):
        if self._entries.ndim == 1:
            return iter([self[i] for i in range(len(self))])
        return iter([[self[i, j] for j in range(self.m)] for i in range(self.n)])

    def __getitem__(self, indices):
        if isinstance(indices, Expr) or (
            isinstance(indices, tuple) and any(isinstance(i, Expr) for i in indices)
        ):
            return self._to_kernel(active.context())[indices]
        return self._entries[_subscript(indices)]

    def __setitem__(self, indices, item):
        if isinstance(item, Matrix):
            item = item.to_numpy()
        self._entries[_subscript(indices)] = item

    def __str__(self):
        return str(self._entries)

    __repr__ = __str__

    # --- arithmetic

    def _elementwise(self, function, *others):
        """Applies function(element, …) to all elements; scalars are broadcast."""
        others = [o._entries if isinstance(o, Matrix) else o for o in others]
        return _wrap(ops.elementwise(function, self._entries, *others))

    @staticmethod
    def _ufunc(name, *operands):
        """Applies NumPy's function `name` to all elements; scalars are broadcast."""
        arrays = [o._entries if isinstance(o, Matrix) else o for o in operands]
        return _wrap(getattr(_np(), name)(*arrays))

    def _operand(self, other):
        """The operand for NumPy, or None if this class does not support `other`."""
        if isinstance(other, Matrix):
            return other._entries
        if isinstance(other, (list, tuple)):
            return _np().array(other)
        return None if isinstance(other, Expr) else other

    def __neg__(self):
        return _wrap(-self._entries)

    def __pos__(self):
        return self

    def __abs__(self):
        return _wrap(abs(self._entries))

    def __invert__(self):
        return _wrap(~self._entries)

    def __matmul__(self, other):
        if isinstance(other, Expr):
            return NotImplemented
        if isinstance(other, (list, tuple)):
            other = Matrix(other)
        if not isinstance(other, Matrix):
            raise say.right_hand_side_not_matrix(kind=type(other))
        a, b = self._entries, other._entries
        if a.shape[-1] != b.shape[0]:
            raise say.dimension_mismatch_between_and_for_matrix(a=a.shape, b=b.shape)
        result = a @ b
        return _wrap(result) if getattr(result, "ndim", 0) else result

    def cast(self, dtype):
        """The matrix with its elements converted to another type.

        dtype: a scalar type, as ti.i32.
        """
        return _wrap(self._entries.astype(_types.cook_dtype(dtype).numpy_name))

    def fill(self, value):
        """Sets all elements to `value`."""
        self._entries.fill(value)

    def _assign(self, value):
        self._entries[...] = value._entries if isinstance(value, Matrix) else value

    # --- construction

    @staticmethod
    def zero(dt, n, m=None):
        """A matrix, or without `m` a vector, of zeros.

        dt: the type of the elements. n: the number of rows. m: the number of columns.
        """
        return _filled(0, dt, n, m)

    @staticmethod
    def one(dt, n, m=None):
        """A matrix, or without `m` a vector, of ones.

        dt: the type of the elements. n: the number of rows. m: the number of columns.
        """
        return _filled(1, dt, n, m)

    @staticmethod
    def unit(n, i, dt=None):
        """The vector of `n` elements with element `i` equal to 1 and the others 0.

        dt: the type of the elements; by default the default integer. Raises ValueError if `i` is
        out of range.
        """
        if not 0 <= i < n:
            raise say.unit_index_out_range(n=n, i=i)
        return _new([1 if j == i else 0 for j in range(n)], (n,), int if dt is None else dt)

    @staticmethod
    def identity(dt, n):
        """The n x n matrix with ones on its diagonal.

        dt: the type of the elements. n: the number of rows.
        """
        if active.context() is not None:
            return matrix_ops.diag(n, 1, _types.cook_dtype(dt))
        flat = [1 if i == j else 0 for i in range(n) for j in range(n)]
        return _new(flat, (n, n), dt)

    @classmethod
    def field(cls, n, m, dtype, *args, **kwargs):
        """A field of `n` x `m` matrices.

        dtype: the type of the elements. args, kwargs: as for `ti.field`, including `layout`:
        ti.Layout.AOS stores the components of an element together, ti.Layout.SOA stores each
        component in a separate array. Raises ValueError if the type comes before the numbers.
        """
        _types.check_extents("ti.Matrix.field", dtype, n=n, m=m)
        provided.check_matrix_options("ti.Matrix.field", kwargs)
        return provided.make_matrix_field(n, m, dtype, *args, **kwargs)

    @classmethod
    def ndarray(cls, n, m, dtype, shape):
        """An ndarray of `n` x `m` matrices, zeroed.

        dtype: the type of the elements. shape: the extents of the ndarray.
        """
        _types.check_extents("ti.Matrix.ndarray", dtype, n=n, m=m)
        return provided.make_matrix_ndarray(n, m, dtype, shape)


def _subscript(indices):
    """The subscript for NumPy: `m[[0, 1]]` is the element `m[0, 1]`, no pair of rows."""
    return tuple(indices) if indices.__class__ is list else indices


def _swizzle(name):
    """The indices of a swizzle of two to four letters, else None."""
    if not 2 <= len(name) <= 4:
        return None
    group = next((g for g in GROUPS if name[0] in g), None)
    if group is None or any(c not in group for c in name):
        return None
    return [group.index(c) for c in name]


def _has_expr(arr):
    if isinstance(arr, Expr):
        return True
    return isinstance(arr, (list, tuple)) and any(_has_expr(a) for a in arr)


def _new(flat, shape, dtype):
    """A vector or matrix in the current scope: a kernel value or a Matrix."""
    dtype = None if dtype is None else _types.cook_dtype(dtype)
    ctx = active.context()
    if ctx is not None:
        return ctx.tensor_of(flat, shape, dtype)
    if len(shape) == 1:
        return Vector(flat, dtype)
    m = shape[1]
    return Matrix([flat[i * m : (i + 1) * m] for i in range(shape[0])], dtype)


def _filled(value, dtype, n, m):
    shape = (n,) if m is None else (n, m)
    return _new([value] * (n * (m or 1)), shape, dtype)


def _wrap(array):
    """A Matrix or Vector around a NumPy array, without a copy."""
    result = object.__new__(Vector if array.ndim == 1 else Matrix)
    result._entries = array
    return result


class Vector(Matrix):
    """A vector of numbers: a value in kernels, a wrapper of a NumPy array in Python.

    arr: a list of numbers or a one-dimensional NumPy array. dt: the type of the elements; by
    default their common type. Programs access elements as `v[0]`, `v.x`, or by swizzles such as
    `v.xy`, in three spellings: xyzw, rgba and stpq. The reference's other arguments (kwargs) are
    accepted without effect.

        v = ti.Vector([1.0, 2.0, 3.0])
        print(v.zx, v.norm_sqr())  # prints: [3. 1.] 14.0
    """

    def __init__(self, arr, dt=None, **kwargs):
        super().__init__(arr, dt)
        if self._entries.ndim != 1:
            raise say.vector_has_one_dimension()

    @classmethod
    def field(cls, n, dtype, *args, **kwargs):
        """A field of vectors of `n` elements.

        dtype: the type of the elements. args, kwargs: as for `ti.field`, including `layout`:
        ti.Layout.AOS stores the components of an element together, ti.Layout.SOA stores each
        component in a separate array. Raises ValueError if the type comes before the number.
        """
        _types.check_extents("ti.Vector.field", dtype, n=n)
        provided.check_matrix_options("ti.Vector.field", kwargs)
        return provided.make_vector_field(n, dtype, *args, **kwargs)

    @classmethod
    def ndarray(cls, n, dtype, shape):
        """An ndarray of vectors of `n` elements, zeroed.

        dtype: the type of the elements. shape: the extents of the ndarray.
        """
        _types.check_extents("ti.Vector.ndarray", dtype, n=n)
        return provided.make_vector_ndarray(n, dtype, shape)


class MatrixView(_native.ElementView, Matrix):
    """An element of a matrix field, whose reads and writes access the field. ElementView handles
    plain integer subscripts; this class handles everything else."""

    def __init__(self, *args):
        raise say.view_made_by_subscripting_field()

    def __copy__(self):
        return self

    def __reduce__(self):
        # Deep copies and pickles have the numbers of now.
        return Matrix, (self.to_list(),)

    @property
    def _entries(self):
        values = self._field._read_all(self._indices)
        array = _np().array(values)  # 64-bit, like single elements, which are Python numbers
        return array.reshape(self._field.element_shape)

    def _get_items(self, index):
        return Matrix.__getitem__(self, index)

    def _set_items(self, index, item):
        array = self._entries
        array[_subscript(index)] = item._entries if isinstance(item, Matrix) else item
        self._assign(array)

    def get_shape(self):
        return self._field.element_shape

    def to_list(self):
        return self._entries.tolist()

    def fill(self, value):
        """Sets all components of the element to `value`."""
        self._assign([value] * self._entries.size)

    def _assign(self, value):
        flat = _np().asarray(value._entries if isinstance(value, Matrix) else value).ravel()
        for component, item in enumerate(flat.tolist()):
            self._field._write(self._indices, component, item)


class VectorView(MatrixView, Vector):
    """An element of a vector field."""

    def __reduce__(self):
        return Vector, (self.to_list(),)


_native.set_view_types(VectorView, MatrixView)


def _add_operators():
    def forward(function):
        def method(self, other):
            value = self._operand(other)
            return NotImplemented if value is None else _wrap(function(self._entries, value))

        return method

    def reflected(function):
        def method(self, other):
            value = self._operand(other)
            return NotImplemented if value is None else _wrap(function(value, self._entries))

        return method

    add_operators(Matrix, forward, reflected)


def _add_components():
    """Adds x, r, s and so on as properties. Longer swizzles go through __getattr__: a thousand
    properties would add ten milliseconds to every start."""
    for group in GROUPS:
        for i, letter in enumerate(group):
            setattr(Matrix, letter, _component_property(i, letter))


def _component_property(index, letter):
    def read(self):
        return self[index] if index < self.get_shape()[0] else self._no_component(letter)

    def write(self, value):
        if index >= self.get_shape()[0]:
            self._no_component(letter)
        self[index] = value

    return property(read, write, doc=f"Element {index}.")


def _add_methods():
    for name in (
        "all any cross determinant dot inverse max min norm norm_inv norm_sqr normalized "
        "outer_product sum trace transpose"
    ).split():
        setattr(Matrix, name, getattr(matrix_ops, name))
    for name in ("cols", "rows", "diag"):
        setattr(Matrix, name, staticmethod(getattr(matrix_ops, name)))


_add_operators()
_add_components()
_add_methods()

__all__ = ["Matrix", "Vector"]

originals.keep(globals())
