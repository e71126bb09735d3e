"""Products and conjugate gradients on a CUDA device: vectors are ndarrays, and stay there.

Kernels do the work. They need no library except the driver, run in the order and in the streams of
the program's own kernels, and can be captured. A thread of the device takes a row.
"""

import weakref
from math import sqrt

from .. import runtime
from .. import types as ti_types
from ..arch import cuda
from ..data.ndarray import ScalarNdarray
from ..kernel import kernel

_Ints = ti_types.ndarray(dtype=ti_types.i32, ndim=1)
_Array = ti_types.ndarray(ndim=1)
_FLOATS = (ti_types.f32, ti_types.f64)


def works_on(vector):
    """Whether a product with `vector` is made on the device."""
    return (
        runtime.cfg.arch == cuda
        and isinstance(vector, ScalarNdarray)
        and len(vector.shape) == 1
        and vector.dtype in _FLOATS
    )


_copies = weakref.WeakKeyDictionary()  # native matrices -> DeviceRows


def rows_of(native, dtype):
    """The DeviceRows of a matrix of kiln._linalg, made at the first use."""
    rows = _copies.get(native)
    # Of another ti.init, the device may be another one.
    if rows is None or rows.generation != runtime.generation:
        rows = _copies[native] = DeviceRows(native, dtype)
    return rows


def forget_rows(native):
    """After a change of the matrix, which several objects may share: the next use copies it."""
    _copies.pop(native, None)


class DeviceRows:
    """A copy of a matrix on the current device, row by row (CSR).

    native: the matrix of kiln._linalg. dtype: the type of its elements.
    """

    def __init__(self, native, dtype):
        import numpy as np

        self.dtype, self.generation = dtype, runtime.generation
        count = native.num_elements
        starts = np.empty(native.num_rows + 1, np.int32)
        columns, values = np.empty(count, np.int32), np.empty(count, dtype.numpy_name)
        native.to_rows(starts, columns, values)
        self.starts, self.columns = _copy(starts, ti_types.i32), _copy(columns, ti_types.i32)
        self.values = _copy(values, dtype)
        rows = np.repeat(np.arange(native.num_rows), np.diff(starts))
        is_own = (rows == columns) & (values != 0)
        self._inverse_diagonal = np.ones(native.num_rows, values.dtype)
        self._inverse_diagonal[rows[is_own]] = 1 / values[is_own]

    def multiply(self, x, product):
        """product = A x, of ndarrays with as many numbers as A has columns and rows."""
        _KERNELS[self.dtype].multiply(self.starts, self.columns, self.values, x, product)

    def inverse_diagonal(self):
        """An ndarray of the inverses of A's diagonal; 1 where that is 0."""
        return _copy(self._inverse_diagonal, self.dtype)


def conjugate_gradients(rows, b, x, max_iterations, tolerance):
    """Solves A x = b as `ti.linalg.SparseCG` does, preconditioned by A's diagonal.

    rows: the DeviceRows of A. b: an ndarray. x: an ndarray of A's type with the initial guess;
    receives the solution. Returns (iterations, the estimated |A x - b| / |b|, whether that is at
    most `tolerance`).
    """
    of = _KERNELS[rows.dtype]
    residual, direction, image = (ScalarNdarray(rows.dtype, b.shape) for _ in range(3))
    inverse = rows.inverse_diagonal()
    rows.multiply(x, image)
    _subtract(residual, b, image)
    squared_b = of.dot(b, b)
    if squared_b == 0:
        x.fill(0)
        return 0, 0.0, True
    # Not below the least normal float: squares of small numbers vanish.
    threshold = max(tolerance**2 * squared_b, 1.2e-38)
    squared = of.dot(residual, residual)
    iterations = 0
    if squared >= threshold:
        weighted = of.weighted_dot(residual, inverse)
        _advance(direction, residual, inverse, 0.0)
        while iterations < max_iterations:
            rows.multiply(direction, image)
            factor = weighted / of.dot(direction, image)
            squared = of.step(x, residual, direction, image, factor)
            if squared < threshold:
                break
            before, weighted = weighted, of.weighted_dot(residual, inverse)
            _advance(direction, residual, inverse, weighted / before)
            iterations += 1
    error = sqrt(squared / squared_b)
    return iterations, error, error <= tolerance


# --- Kernels


class _Kernels:
    """Those whose results are sums of type `dtype`."""

    def __init__(self, dtype):
        @kernel
        def multiply(starts: _Ints, columns: _Ints, values: _Array, x: _Array, product: _Array):
            for i in product:
                total = dtype(0.0)
                for k in range(starts[i], starts[i + 1]):
                    total += values[k] * dtype(x[columns[k]])
                product[i] = total

        @kernel
        def dot(a: _Array, b: _Array) -> dtype:
            total = dtype(0.0)
            for i in a:
                total += dtype(a[i] * b[i])
            return total

        @kernel
        def weighted_dot(a: _Array, weights: _Array) -> dtype:
            total = dtype(0.0)
            for i in a:
                total += a[i] * weights[i] * a[i]
            return total

        # x += factor * direction and residual -= factor * image; returns the residual's square.
        @kernel
        def step(
            x: _Array, residual: _Array, direction: _Array, image: _Array, factor: dtype
        ) -> dtype:
            total = dtype(0.0)
            for i in x:
                x[i] += factor * direction[i]
                rest = residual[i] - factor * image[i]
                residual[i] = rest
                total += rest * rest
            return total

        self.multiply, self.dot, self.weighted_dot, self.step = multiply, dot, weighted_dot, step


@kernel
def _subtract(out: _Array, a: _Array, b: _Array):
    for i in out:
        out[i] = a[i] - b[i]


@kernel
def _advance(direction: _Array, residual: _Array, weights: _Array, factor: ti_types.f64):
    for i in direction:
        direction[i] = weights[i] * residual[i] + factor * direction[i]


_KERNELS = {dtype: _Kernels(dtype) for dtype in _FLOATS}


def _copy(array, dtype):
    # There are no ndarrays without elements.
    made = ScalarNdarray(dtype, (max(len(array), 1),))
    if len(array):
        made.from_numpy(array)
    return made
