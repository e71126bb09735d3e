"""Sparse matrices, and the builders that kernels fill.

A builder is an array of words, of 4 bytes for f32 and 8 for f64: the number of inserted triplets,
then the row, column and value bits of each. Kernels write it with ordinary atomics and stores
(frontend/triplets.py), so no key depends on its capacity.
"""

import os

from .. import _native, runtime
from .. import types as ti_types
from ..arch import cuda
from ..data.field import Field
from ..data.ndarray import Ndarray, ScalarNdarray
from ..errors import TaichiRuntimeError
from ..own_files import caller
from ._on_device import forget_rows, rows_of, works_on

_FORMATS = ("col_major", "row_major")
# The limit of Eigen's 32-bit indices.
_MAX_EXTENT = 2**31 - 1
_CAPACITY = (2**31 - 2) // 3


class SparseMatrix:
    """An n by m matrix of f32 or f64 that stores only the elements that were set.

    Args:
        n, m: the numbers of rows and columns; by default `m` is `n`.
        sm: a native matrix to wrap; the other arguments are then ignored.
        dtype: ti.f32 or ti.f64.
        storage_format: "col_major" or "row_major"; a hint that does not affect results.

    Example::

        A = ti.linalg.SparseMatrix(n=4, m=4, dtype=ti.f64)
        A[0, 0] = 2.0
        y = A @ np.ones(4)
    """

    def __init__(self, n=None, m=None, sm=None, dtype=ti_types.f32, storage_format="col_major"):
        if sm is None:
            dtype = float_dtype(dtype, "a sparse matrix")
            _check_format(storage_format)
            n, m = extents(n, m)
            sm = make_native(dtype, n, m, (), (), ())
        self.matrix = sm
        self.dtype = ti_types.f32 if type(sm).__name__.endswith("F32") else ti_types.f64
        self.n, self.m = sm.num_rows, sm.num_columns

    @property
    def shape(self):
        """The numbers of rows and columns."""
        return self.n, self.m

    # --- arithmetic

    def __add__(self, other):
        return SparseMatrix(sm=self.matrix.add(self._same_shape(other)))

    def __sub__(self, other):
        return SparseMatrix(sm=self.matrix.subtract(self._same_shape(other)))

    def __iadd__(self, other):
        self.matrix = self.matrix.add(self._same_shape(other))
        return self

    def __isub__(self, other):
        self.matrix = self.matrix.subtract(self._same_shape(other))
        return self

    def __mul__(self, other):
        """The product of all elements with a number, or of two matrices element by element."""
        if isinstance(other, SparseMatrix):
            return SparseMatrix(sm=self.matrix.multiply_elements(self._same_shape(other)))
        if not hasattr(other, "__float__") or getattr(other, "shape", ()) != ():
            return NotImplemented
        return SparseMatrix(sm=self.matrix.scale(float(other)))

    __rmul__ = __mul__

    def transpose(self):
        """The matrix with rows and columns exchanged."""
        return SparseMatrix(sm=self.matrix.transpose())

    def __matmul__(self, other):
        """The product with another sparse matrix, or with a vector of `m` numbers.

        The product with a field or NumPy array is a NumPy array. The product with an ndarray is a
        new ndarray, which a CUDA device computes if the program uses one.
        """
        if isinstance(other, SparseMatrix):
            assert self.m == other.n, self._mismatch(other)
            return SparseMatrix(sm=self.matrix.multiply(self._native_of(other)))
        if isinstance(other, Ndarray):
            if other.shape[0] != self.m:
                raise TaichiRuntimeError(self._vector_mismatch(other))
            made = ScalarNdarray(other.dtype, (self.n,))
            if works_on(other):
                rows_of(self.matrix, self.dtype).multiply(other, made)
            else:
                made.from_numpy(self._product(other))
            return made
        if not isinstance(other, Field) and type(other).__name__ != "ndarray":
            raise TaichiRuntimeError(
                f"Sparse matrix-matrix/vector multiplication does not support {type(other)} for "
                "now. Supported types are SparseMatrix, ti.field, and numpy ndarray."
            )
        assert len(other.shape) > 0 and other.shape[0] == self.m, self._vector_mismatch(other)
        return self._product(other)

    # --- elements

    def __getitem__(self, indices):
        return self.matrix.get(*self._element(indices))

    def __setitem__(self, indices, value):
        self.matrix.set(*self._element(indices), float(value))
        forget_rows(self.matrix)

    def __str__(self):
        return self.matrix.to_text()

    __repr__ = __str__

    # --- in and out

    def build_from_ndarray(self, ndarray):
        """Sets the elements from an ndarray of triplets (row, column, value).

        Args:
            ndarray: a scalar, vector or matrix ndarray with a multiple of three numbers. Values for
                the same element are added up.

        Raises:
            TaichiRuntimeError: the argument has another form, or an index is outside the matrix.

        Example::

            triplets = ti.Vector.ndarray(3, ti.f32, 2)
            triplets[0] = [0, 0, 5.0]
            triplets[1] = [1, 2, 7.0]
            A = ti.linalg.SparseMatrix(3, 3)
            A.build_from_ndarray(triplets)
            print(A[1, 2])  # prints: 7.0
        """
        import numpy as np

        if not isinstance(ndarray, Ndarray):
            raise TaichiRuntimeError(
                "Sparse matrix only supports building from "
                "[ti.ndarray, ti.Vector.ndarray, ti.Matrix.ndarray]"
            )
        numbers = ndarray.to_numpy().reshape(-1)
        if numbers.size % 3:
            raise TaichiRuntimeError(
                "The number of ndarray elements must have a length that is divisible by 3."
            )
        rows, columns, values = numbers.reshape(-1, 3).T
        rows, columns = rows.astype(np.int32), columns.astype(np.int32)
        self.matrix = make_native(self.dtype, self.n, self.m, rows, columns, values)

    def mmwrite(self, filename):
        """Writes the matrix to a file in the Matrix Market format.

        filename: the file's path.
        """
        with open(os.fspath(filename), "w", encoding="ascii") as out:
            out.write(self.matrix.to_matrix_market())

    # --- internals

    def _product(self, vector):
        """The product with a vector, as a NumPy array."""
        product = empty_vector(self.n, self.dtype)
        self.matrix.multiply_vector(as_vector(vector, self.dtype), product)
        return product

    def _same_shape(self, other):
        assert self.n == other.n and self.m == other.m, self._mismatch(other)
        return self._native_of(other)

    def _native_of(self, other):
        if other.dtype is not self.dtype:
            raise TypeError(f"sparse matrices of {self.dtype} and {other.dtype} do not go together")
        return other.matrix

    def _mismatch(self, other):
        return (
            f"Dimension mismatch between sparse matrices ({self.n}, {self.m}) and "
            f"({other.n}, {other.m})"
        )

    def _vector_mismatch(self, other):
        return (
            f"Dimension mismatch between sparse matrix ({self.n}, {self.m}) and vector "
            f"({tuple(other.shape)})"
        )

    def _element(self, indices):
        if not isinstance(indices, (tuple, list)) or len(indices) != 2:
            raise IndexError(f"a sparse matrix has two indices, got {indices!r}")
        for axis, (index, extent) in enumerate(zip(indices, self.shape)):
            if not 0 <= index < extent:
                raise IndexError(
                    f"index {index} is out of bounds for axis {axis} of a sparse matrix of shape "
                    f"{self.shape}"
                )
        return int(indices[0]), int(indices[1])


class SparseMatrixBuilder(_native.FieldBase):
    """Collects (row, column, value) triplets that kernels insert, and builds matrices from them.

    Args:
        num_rows, num_cols: the shape of the matrix; by default it is square.
        max_num_triplets: the capacity.
        dtype: ti.f32 or ti.f64.
        storage_format: "col_major" or "row_major"; a hint that does not affect results.

    Example::

        K = ti.linalg.SparseMatrixBuilder(4, 4, max_num_triplets=100)

        @ti.kernel
        def fill(A: ti.types.sparse_matrix_builder()):
            for i in range(4):
                A[i, i] += 2.0

        fill(K)
        A = K.build()
    """

    def __init__(
        self,
        num_rows=None,
        num_cols=None,
        max_num_triplets=0,
        dtype=ti_types.f32,
        storage_format="col_major",
    ):
        runtime.require_init("create a sparse matrix builder")
        self.dtype = float_dtype(dtype, "a sparse matrix builder")
        _check_format(storage_format)
        self.num_rows, self.num_cols = extents(num_rows, num_cols)
        is_number = hasattr(max_num_triplets, "__float__")
        if not is_number or not 0 <= max_num_triplets <= _CAPACITY:
            raise TaichiRuntimeError(
                f"max_num_triplets is 0 to {_CAPACITY}, not {max_num_triplets!r}"
            )
        self._capacity = int(max_num_triplets)
        self._made_at = caller()
        self._bind(_native.make_ndarray(self._word.scalar, [], [1 + 3 * self._capacity]))

    def print_triplets(self):
        """Prints the triplets that were inserted since the last `build`."""
        rows, columns, values = self._triplets()
        print(
            f"n={self.num_rows}, m={self.num_cols}, num_triplets={len(rows)} (max={self._capacity})"
        )
        for row, column, value in zip(rows.tolist(), columns.tolist(), values.tolist()):
            print(f"[{row}, {column}] = {value:g}")

    def build(self, dtype=ti_types.f32, _format="CSR"):
        """The matrix whose elements are the sums of their triplets; empties the builder.

        Args:
            dtype: the type of the matrix's elements, ti.f32 or ti.f64.

        Raises:
            TaichiRuntimeError: more triplets were inserted than fit, or one is outside the matrix.
        """
        triplets = self._triplets()
        try:
            native = make_native(self.dtype, self.num_rows, self.num_cols, *triplets)
        finally:
            self._write((0,), 0, 0)
        return SparseMatrix(sm=native)

    # --- internals

    @property
    def _word(self):
        return ti_types.i32 if self.dtype is ti_types.f32 else ti_types.i64

    def _triplets(self):
        """Arrays of the inserted rows, columns and values."""
        import ctypes

        import numpy as np

        inserted = self._read((0,), 0)
        if inserted > self._capacity:
            self._write((0,), 0, 0)
            raise TaichiRuntimeError(
                f"{inserted} triplets were inserted into {self._title()}, which has room for "
                f"{self._capacity}: make it with a larger max_num_triplets"
            )
        if runtime.cfg.arch == cuda:
            return self._triplets_of_device(inserted)
        word = ctypes.c_int32 if self.dtype is ti_types.f32 else ctypes.c_int64
        address = self._storage.bases[0] + ctypes.sizeof(word)
        words = np.ctypeslib.as_array((word * (3 * inserted)).from_address(address))
        rows, columns, bits = words.reshape(-1, 3).T.copy()
        return rows, columns, bits.view(self.dtype.numpy_name)

    def _triplets_of_device(self, inserted):
        import numpy as np

        words = np.empty(1 + 3 * self._capacity, self._word.numpy_name)
        self._copy_to(words)
        rows, columns, bits = words[1 : 1 + 3 * inserted].reshape(-1, 3).T.copy()
        # A device inserts in any order: sorted, sums of floats have the same bits each time.
        order = np.lexsort((bits, columns, rows))
        return rows[order], columns[order], bits[order].view(self.dtype.numpy_name)

    def _get_addr(self):
        return self._get_ndarray_addr()

    def _get_ndarray_addr(self):
        """The address of the words."""
        return self._storage.bases[0]

    def _title(self):
        return f"the sparse matrix builder created at {self._made_at[0]}:{self._made_at[1]}"

    def _materialize(self):
        raise TaichiRuntimeError(f"{self._title()} has no memory")

    def _stale_error(self):
        raise TaichiRuntimeError(f"{self._title()} is gone: its memory was given back")


# --- Shared with the solvers --------------------------------------------------------------------


def float_dtype(dtype, what):
    """The type f32 or f64 that `dtype` names; raises for other types."""
    dtype = ti_types.cook_dtype(dtype)
    if dtype not in (ti_types.f32, ti_types.f64):
        raise TaichiRuntimeError(f"{what} has elements of type f32 or f64, not {dtype}")
    return dtype


def native_class(kind, dtype):
    """The native class "Matrix" or "Solver" for elements of type `dtype`."""
    from .. import _linalg

    return getattr(_linalg, kind + ("F32" if dtype is ti_types.f32 else "F64"))


def extents(rows, columns):
    """The checked numbers of rows and columns; by default there are as many columns as rows."""
    columns = rows if not columns else columns
    for extent in (rows, columns):
        if not hasattr(extent, "__index__") or not 0 <= extent <= _MAX_EXTENT:
            raise TaichiRuntimeError(f"({rows}, {columns}) is not a valid shape of a sparse matrix")
    return int(rows), int(columns)


def make_native(dtype, num_rows, num_columns, rows, columns, values):
    """A native matrix of triplets; raises TaichiRuntimeError if one is outside the matrix."""
    import numpy as np

    rows, columns = np.asarray(rows), np.asarray(columns)
    outside = (rows < 0) | (rows >= num_rows) | (columns < 0) | (columns >= num_columns)
    if outside.any():
        first = int(outside.argmax())
        raise TaichiRuntimeError(
            f"triplet {first} names element [{rows[first]}, {columns[first]}], outside a sparse "
            f"matrix of shape ({num_rows}, {num_columns})"
        )
    triplets = [np.ascontiguousarray(indices, np.int32) for indices in (rows, columns)]
    triplets.append(np.ascontiguousarray(values, dtype.numpy_name))
    return native_class("Matrix", dtype)(num_rows, num_columns, *triplets)


def as_vector(value, dtype):
    """The numbers of a field, ndarray or NumPy array as a one-dimensional array of `dtype`."""
    import numpy as np

    array = value.to_numpy() if hasattr(value, "to_numpy") else value
    if array.ndim != 1:
        raise TypeError(f"a vector of numbers is needed, not an array of shape {array.shape}")
    return np.ascontiguousarray(array, dtype.numpy_name)


def empty_vector(size, dtype):
    """An uninitialised NumPy array for `size` numbers that native code writes."""
    import numpy as np

    return np.empty(size, dtype.numpy_name)


def _check_format(storage_format):
    if storage_format not in _FORMATS:
        raise IndexError(f"storage_format is one of {', '.join(_FORMATS)}, not {storage_format!r}")


__all__ = ["SparseMatrix", "SparseMatrixBuilder"]
