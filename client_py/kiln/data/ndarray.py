"""Ndarrays: arrays whose shape a kernel learns at its launch."""

from .. import _native, runtime
from .. import types as ti_types
from ..active import check_python_scope, python_scope
from ..diagnostics import say
from ..errors import TaichiRuntimeError
from ..own_files import caller
from ..public import Public
from .axes import as_tuple
from .elements import Elements, check_source, numpy_type, out_of_bounds
from .field import AnyArray
from .interop import Exporter, by_scalar, from_external
from .recorded import COPY_FROM, FROM_NUMPY, note, note_change


class Ndarray(Elements, _native.FieldBase, Exporter, AnyArray, metaclass=Public):
    """An array in C order. Compiled code does not depend on its shape. Made by `ti.ndarray`.

    Example::

        a = ti.ndarray(ti.f32, shape=(2, 3))
        a[1, 2] = 5.0
        print(a.shape, a[1, 2])  # prints: (2, 3) 5.0
    """

    layout = ti_types.Layout.AOS
    element_shape = None  # each object sets its own

    def __init__(self, dtype, element_shape, shape):
        runtime.require_init("create ndarray")
        ti_types.check_has_components(element_shape)
        self.dtype = dtype
        self.element_shape = element_shape
        self.shape = shape
        self.grad = None
        self._made_at = caller()
        try:
            self._bind(_native.make_ndarray(dtype.scalar, list(element_shape), list(shape)))
        except MemoryError as error:
            raise TaichiRuntimeError(str(error)) from None

    @property
    def element_type(self):
        if not self.element_shape:
            return self.dtype
        if len(self.element_shape) == 1:
            return ti_types.VectorType(self.element_shape[0], self.dtype)
        return ti_types.MatrixType(*self.element_shape, self.dtype)

    def get_type(self):
        """The annotation of parameters that accept this array."""
        return ti_types.NdarrayType(self.element_type, len(self.shape))

    def _set_grad(self, grad):
        self.grad = grad

    # --- errors

    def _title(self):
        return f"the ndarray created at {self._made_at[0]}:{self._made_at[1]}"

    def _check_scope(self, name):
        check_python_scope(name)

    def _materialize(self):
        raise say.has_no_memory(title=self._title())

    def _stale_error(self):
        raise say.gone_memory_was_given_back(title=self._title())

    def _index_error(self, key):
        indices = () if key is None else tuple(key) if isinstance(key, (tuple, list)) else (key,)
        if len(indices) != len(self.shape):
            raise say.d_ndarray_indexed_with_d_indices(
                ndim=len(self.shape), got=len(indices), indices=indices
            )
        for axis, (index, extent) in enumerate(zip(indices, self.shape)):
            if not hasattr(index, "__index__"):
                raise say.index_ndarray_must_integer_got(index=index)
            if not 0 <= index < extent:
                error = say.ndarray_index_out_of_bounds(
                    index=index, axis=axis, title=self._title(), extent=extent, shape=self.shape
                )
                raise out_of_bounds(error)
        raise say.invalid_index_for(key=key, title=self._title())

    def _read_only_error(self):
        raise say.ndarray_is_read_only(title=self._title())

    def _value_error(self, value):
        raise say.type_cannot_element_type(
            value=value, kind=type(value).__name__, dtype=self.dtype, title=self._title()
        )

    # --- elements

    @python_scope
    def to_numpy(self, dtype=None):
        """A NumPy array with a copy of the elements. Its shape is the ndarray's shape followed by
        that of an element.

        dtype: the type of the NumPy array's elements, as np.float64; by default the ndarray's.
        """
        import numpy as np

        array = np.empty(self.shape + self.element_shape, self.dtype.numpy_name)
        self._copy_to(array)
        return array if dtype is None else array.astype(numpy_type(dtype), copy=False)

    @python_scope
    def from_numpy(self, arr):
        """Sets all elements from an array.

        arr: a NumPy array of the same shape as `to_numpy`; raises ValueError for others.
        """
        import numpy as np

        check_source(arr)
        full = self.shape + self.element_shape
        if tuple(arr.shape) != full:
            raise say.mismatch_shape_expected_but_provided(full=full, got=tuple(arr.shape))
        note_change(self, "from_numpy")
        self._copy_from(np.ascontiguousarray(arr, self.dtype.numpy_name))
        note(FROM_NUMPY, self, arr)

    @python_scope
    def copy_from(self, other):
        """Copies all elements of another ndarray.

        other: an ndarray of the same shape and element shape; raises AssertionError for others.
        """
        if not isinstance(other, Ndarray):
            raise say.cannot_copy_from_non_ndarray_object()
        if self.shape != other.shape or self.element_shape != other.element_shape:
            raise say.shape_with_elements_does_not_match(
                shape=self.shape,
                element_shape=self.element_shape,
                got=other.shape,
                got_element=other.element_shape,
            )
        note_change(self, "copy_from")
        if not self._copy_field(other):
            self._copy_from(other.to_numpy(self.dtype))
        note(COPY_FROM, self, other)

    def _get_nelement(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def _get_element_size(self):
        count = max(self.dtype.bits // 8, 1)
        for extent in self.element_shape:
            count *= extent
        return count

    def __deepcopy__(self, memo=None):
        made = type(self).__new__(type(self))
        Ndarray.__init__(made, self.dtype, self.element_shape, self.shape)
        made.copy_from(self)
        return made

    def __copy__(self):
        """Returns the ndarray itself: a copy of the object refers to the same elements."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._bind(self._storage)
        return made

    def __iter__(self):
        raise say.struct_for_only_available_taichi_scope()


class ScalarNdarray(Ndarray):
    """An ndarray of numbers; `ti.ndarray` makes one.

    Example::

        a = ti.ndarray(ti.i32, shape=3)
        a.fill(7)
        print(a.to_numpy())  # prints: [7 7 7]
    """

    def __init__(self, dtype, arr_shape):
        super().__init__(ti_types.cook_dtype(dtype), (), _shape(arr_shape))

    def __repr__(self):
        return "<ti.ndarray>"


class VectorNdarray(Ndarray):
    """An ndarray of vectors; `ti.ndarray` of a vector type makes one.

    Example::

        a = ti.ndarray(ti.math.vec2, shape=3)
        print(a.to_numpy().shape)  # prints: (3, 2)
    """

    def __init__(self, n, dtype, shape):
        super().__init__(ti_types.cook_dtype(dtype), (n,), _shape(shape))

    @property
    def n(self):
        return self.element_shape[0]

    def __repr__(self):
        return f"<{self.n} {self.layout} ti.Vector.ndarray>"


class MatrixNdarray(Ndarray):
    """An ndarray of matrices; `ti.ndarray` of a matrix type makes one.

    Example::

        a = ti.ndarray(ti.math.mat2, shape=3)
        print(a.to_numpy().shape)  # prints: (3, 2, 2)
    """

    def __init__(self, n, m, dtype, shape):
        super().__init__(ti_types.cook_dtype(dtype), (n, m), _shape(shape))

    @property
    def n(self):
        return self.element_shape[0]

    @property
    def m(self):
        return self.element_shape[1]

    def __repr__(self):
        return f"<{self.n}x{self.m} {self.layout} ti.Matrix.ndarray>"


def wrap(storage):
    """An ndarray over the memory of a storage in C order."""
    element_shape = storage.element_shape
    kind = (ScalarNdarray, VectorNdarray, MatrixNdarray)[len(element_shape)]
    made = kind.__new__(kind)
    made.dtype = by_scalar(storage.scalar)
    made.element_shape = element_shape
    made.shape = storage.shape
    made.grad = None
    made._made_at = caller()
    made._bind(storage)
    return made


@python_scope
def ndarray(dtype, shape, needs_grad=False):
    """Makes an array of zeros. Compiled code does not depend on its shape.

    dtype: the type of the elements: a scalar, vector or matrix type. shape: an integer, or one for
    each axis. needs_grad: whether to make an array of gradients, too. Raises TaichiRuntimeError for
    invalid types and shapes, and before `ti.init`.

        a = ti.ndarray(ti.f32, shape=(2, 3))

        @ti.kernel
        def fill(a: ti.types.ndarray(), value: ti.f32):
            for i, j in a:
                a[i, j] = value + i

        fill(a, 1.0)
        print(a.to_numpy())
        # prints: [[1. 1. 1.]
        # prints:  [2. 2. 2.]]
    """
    runtime.require_init("create ndarray")
    if isinstance(dtype, ti_types.MatrixType):
        if dtype.ndim == 1:
            made = VectorNdarray(dtype.n, dtype.dtype, shape)
        else:
            made = MatrixNdarray(dtype.n, dtype.m, dtype.dtype, shape)
    else:
        try:
            made = ScalarNdarray(dtype, shape)
        except ValueError:
            raise say.not_supported_as_ndarray_element_type(dtype=dtype) from None
    if needs_grad:
        if not made.dtype.is_float:
            raise say.not_supported_for_ndarray_with_needs_grad(dtype=made.dtype)
        made._set_grad(ndarray(dtype, shape))
    return made


def from_dlpack(external, dtype=None):
    """An ndarray that shares the memory of an array or tensor, on the CPU or, where kernels run
    there, on a CUDA device.

    external: a contiguous object with `__dlpack__` (NumPy, torch, …) or `__cuda_array_interface__`
    and elements of a scalar type of the language. The ndarray keeps its memory alive.
    dtype: a vector or matrix type, whose axes are the last ones of `external`.
    Raises ValueError if `external` has another form.

        x = ti.from_dlpack(np.zeros((8, 3), np.float32), dtype=ti.math.vec3)
        print(x.shape)  # prints: (8,)
    """
    runtime.require_init("create ndarray")
    axes = dtype.ndim if isinstance(dtype, ti_types.MatrixType) else 0
    made = wrap(from_external(external, axes))
    if dtype is not None:
        wanted = dtype.dtype if axes else ti_types.cook_dtype(dtype)
        if (axes and made.element_shape != dtype.shape) or wanted not in (None, made.dtype):
            raise say.tensor_of_other_type(wanted=dtype, got=made.element_type)
    return made


def make_vector_ndarray(n, dtype, shape):
    return VectorNdarray(n, dtype, shape)


def make_matrix_ndarray(n, m, dtype, shape):
    return MatrixNdarray(n, m, dtype, shape)


def make_struct_ndarray(struct_type, shape):
    raise say.ndarrays_structs_are_not_supported_yet()


def _shape(shape):
    extents = as_tuple(shape)
    for extent in extents:
        if not hasattr(extent, "__index__") or not 0 < extent <= 2**31 - 1:
            raise say.not_valid_shape_for_ndarray(extents=extents)
    return tuple(int(extent) for extent in extents)


__all__ = ["MatrixNdarray", "Ndarray", "ScalarNdarray", "VectorNdarray", "ndarray"]
