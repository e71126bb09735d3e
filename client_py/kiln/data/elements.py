"""Elements of fields and ndarrays: the numbers in them, and what programs give for these."""

from .. import provided, runtime
from .. import types as ti_types
from ..diagnostics import say
from ..errors import TaichiBoundsError
from .recorded import FILL, note, note_change


class Elements:
    """Base class of fields and ndarrays whose elements are matrices."""

    def _get_element(self, indices):
        provided.load("MatrixView")  # importing its module registers the class of views
        return self[indices]

    def _set_element(self, indices, value):
        for component, number in enumerate(flatten(value, self.element_shape)):
            self._write(indices, component, number)

    def fill(self, val):
        """Sets all elements.

        val: a number for all components, or a vector or matrix of the elements' shape.
        """
        note_change(self, "fill")
        self._fill(fill_values(val, self.element_shape, self.dtype))
        note(FILL, self, val)


def out_of_bounds(error):
    """The given IndexError; in debug mode, one that is also a TaichiAssertionError."""
    return TaichiBoundsError(*error.args) if runtime.cfg.debug else error


def check_source(arr):
    """Raises unless `arr` is a NumPy array of numbers of the language."""
    import numpy as np

    if not isinstance(arr, np.ndarray):
        raise say.expected_but_provided(needed=np.ndarray, kind=type(arr))
    if arr.dtype.kind not in "biuf" or arr.dtype.itemsize > 8:
        raise say.elements_of_unsupported_dtype(dtype=arr.dtype)


def fill_values(value, shape, dtype):
    """The numbers of the element given to `fill`, cast as kernels cast them."""
    try:
        values = flatten(value, shape) if shape else (value,)
    except ValueError as error:
        raise say.filled_with_other_shape(what=error) from None
    if dtype.is_float:
        return values
    return [dtype.convert(float(v)) if _is_fraction(v) else v for v in values]


def _is_fraction(value):
    return isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") == "f"


def zeros(shape):
    """The nested lists of a vector or matrix of zeros."""
    return [0] * shape[0] if len(shape) == 1 else [[0] * shape[1]] * shape[0]


def flatten(value, shape):
    """The numbers of a sequence, Matrix or array of `shape`, row-major; a scalar is repeated."""
    count = shape[0] * (shape[1] if len(shape) == 2 else 1)
    if hasattr(value, "to_list"):
        value = value.to_list()
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, (list, tuple, range)):
        return [value] * count
    rows = [row.to_list() if hasattr(row, "to_list") else row for row in value]
    rows = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
    if len(rows) == shape[0]:
        if len(shape) == 2 and all(_is_row(row, shape[1]) for row in rows):
            return [number for row in rows for number in row]
        if len(shape) == 1 and all(_is_row(row, 1) for row in rows):
            return [row[0] for row in rows]
        if not any(isinstance(row, (list, tuple)) for row in rows) and shape[1:] in ((), (1,)):
            return rows
    raise say.value_not_of_shape(value=value, shape=shape)


def _is_row(value, length):
    return isinstance(value, (list, tuple)) and len(value) == length


def numpy_type(dtype):
    return dtype.numpy_name if isinstance(dtype, ti_types.DType) else dtype
