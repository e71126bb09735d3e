"""Products and conjugate gradients on a CUDA device: vectors are ndarrays, and stay there.

The work is done by kernels, which need no library but the driver, run in the order and in the
streams of the program's own, and can be captured. A thread of the device takes a row.
"""

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


class DeviceRows:
    """A copy of a matrix on the current device, row by row (CSR).

    native: the matrix of kiln._linalg. dtype: the type of its elements.
    """

    def __init__(self, native, dtype):
        import numpy as np

        self.native, self.dtype = native, dtype
        # Of another ti.init, the device may be another one.
        self._generation = runtime.generation
        count = native.num_elements
        starts = np.empty(native.num_rows + 1, np.int32)
        columns, values = np.empty(count, np.int32), np.empty(count, dtype.numpy_name)
        native.to_rows(starts, columns, values)
        self.starts, self.columns = _copy(starts, ti_types.i32), _copy(columns, ti_types.i32)
        self.values = _copy(values, dtype)
        self._diagonal = starts, columns, values

    def is_of(self, native):
        """Whether this is still a copy of the matrix on the current device."""
        return self.native is native and self._generation == runtime.generation

    def multiply(self, x, product):
        """product = A x, of ndarrays with as many numbers as A has columns and rows."""
        multiply = _multiply_f32 if self.dtype is ti_types.f32 else _multiply_f64
        multiply(self.starts, self.columns, self.values, x, product)

    def inverse_diagonal(self):
        """An ndarray of the inverses of A's diagonal; 1 where that is 0."""
        import numpy as np

        starts, columns, values = self._diagonal
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        is_own = (rows == columns) & (values != 0)
        inverse = np.ones(len(starts) - 1, values.dtype)
        inverse[rows[is_own]] = 1 / values[is_own]
        return _copy(inverse, self.dtype)


def conjugate_gradients(rows, b, x, max_iterations, tolerance):
    """Solves A x = b as `ti.linalg.SparseCG` does, preconditioned by A's diagonal.

    rows: the DeviceRows of A. b: an ndarray. x: an ndarray of A's type with the initial guess;
    receives the solution. Returns (iterations, the estimated |A x - b| / |b|, whether that is at
    most `tolerance`).
    """
    of_f32 = rows.dtype is ti_types.f32
    dot, weighted_dot, step = (
        (_dot_f32, _weighted_dot_f32, _step_f32)
        if of_f32
        else (_dot_f64, _weighted_dot_f64, _step_f64)
    )
    residual, direction, image = (ScalarNdarray(rows.dtype, b.shape) for _ in range(3))
    inverse = rows.inverse_diagonal()
    rows.multiply(x, image)
    _subtract(residual, b, image)
    squared_b = dot(b, b)
    if squared_b == 0:
        x.fill(0)
        return 0, 0.0, True
    # Not below the least normal float: squares of small numbers vanish.
    threshold = max(tolerance**2 * squared_b, 1.2e-38)
    squared = dot(residual, residual)
    iterations = 0
    if squared >= threshold:
        weighted = weighted_dot(residual, inverse)
        _advance(direction, residual, inverse, 0.0)
        while iterations < max_iterations:
            rows.multiply(direction, image)
            squared = step(x, residual, direction, image, weighted / dot(direction, image))
            if squared < threshold:
                break
            before, weighted = weighted, weighted_dot(residual, inverse)
            _advance(direction, residual, inverse, weighted / before)
            iterations += 1
    error = sqrt(squared / squared_b)
    return iterations, error, error <= tolerance


# --- Kernels. Those whose results are sums exist for each type: a sum has one.


@kernel
def _multiply_f32(starts: _Ints, columns: _Ints, values: _Array, x: _Array, product: _Array):
    for i in product:
        total = ti_types.f32(0.0)
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * ti_types.f32(x[columns[k]])
        product[i] = total


@kernel
def _multiply_f64(starts: _Ints, columns: _Ints, values: _Array, x: _Array, product: _Array):
    for i in product:
        total = ti_types.f64(0.0)
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * ti_types.f64(x[columns[k]])
        product[i] = total


@kernel
def _dot_f32(a: _Array, b: _Array) -> ti_types.f32:
    total = ti_types.f32(0.0)
    for i in a:
        total += ti_types.f32(a[i] * b[i])
    return total


@kernel
def _dot_f64(a: _Array, b: _Array) -> ti_types.f64:
    total = ti_types.f64(0.0)
    for i in a:
        total += ti_types.f64(a[i] * b[i])
    return total


@kernel
def _weighted_dot_f32(a: _Array, weights: _Array) -> ti_types.f32:
    total = ti_types.f32(0.0)
    for i in a:
        total += a[i] * weights[i] * a[i]
    return total


@kernel
def _weighted_dot_f64(a: _Array, weights: _Array) -> ti_types.f64:
    total = ti_types.f64(0.0)
    for i in a:
        total += a[i] * weights[i] * a[i]
    return total


# x += factor * direction and residual -= factor * image; returns the residual's square.
@kernel
def _step_f32(
    x: _Array, residual: _Array, direction: _Array, image: _Array, factor: ti_types.f32
) -> ti_types.f32:
    total = ti_types.f32(0.0)
    for i in x:
        x[i] += factor * direction[i]
        rest = residual[i] - factor * image[i]
        residual[i] = rest
        total += rest * rest
    return total


@kernel
def _step_f64(
    x: _Array, residual: _Array, direction: _Array, image: _Array, factor: ti_types.f64
) -> ti_types.f64:
    total = ti_types.f64(0.0)
    for i in x:
        x[i] += factor * direction[i]
        rest = residual[i] - factor * image[i]
        residual[i] = rest
        total += rest * rest
    return total


@kernel
def _subtract(out: _Array, a: _Array, b: _Array):
    for i in out:
        out[i] = a[i] - b[i]


@kernel
def _advance(direction: _Array, residual: _Array, weights: _Array, factor: ti_types.f64):
    for i in direction:
        direction[i] = weights[i] * residual[i] + factor * direction[i]


def _copy(array, dtype):
    # There are no ndarrays without elements.
    made = ScalarNdarray(dtype, (max(len(array), 1),))
    if len(array):
        made.from_numpy(array)
    return made
