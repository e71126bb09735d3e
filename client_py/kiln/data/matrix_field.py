"""Fields of vectors and matrices, and the fields of their components."""

from .. import _native
from ..active import python_scope
from ..diagnostics import say
from .elements import Elements, check_source
from .field import Field, ScalarField
from .recorded import FROM_NUMPY, note, note_change


class MatrixField(Elements, Field):
    """A field of vectors or matrices; `ti.field` and `ti.Vector.field` make one.

    Example::

        v = ti.Vector.field(2, ti.f32, shape=3)
        v[0] = [1, 2]
        print(v[0].y, v.to_numpy().shape)  # prints: 2.0 (3, 2)
    """

    def __init__(self, n, m, dtype, ndim=2, name=""):
        super().__init__(dtype, (n,) if ndim == 1 else (n, m), name)

    @property
    def n(self):
        return self.element_shape[0]

    @property
    def m(self):
        return self.element_shape[1] if len(self.element_shape) == 2 else 1

    @property
    def ndim(self):
        return len(self.element_shape)

    def get_scalar_field(self, *indices):
        """The field of one component, which shares this field's memory and can be placed
        separately.

        indices: the row of the component; for a matrix also its column.
        """
        row, column = indices[0], indices[1] if len(indices) > 1 else 0
        return self._component_field(row * self.m + column)

    def _component_field(self, number):
        found = self._components.get(number)
        if found is None:
            indices = (number,) if self.ndim == 1 else divmod(number, self.m)
            name = f"{self._given_name}[{', '.join(map(str, indices))}]"
            found = self._components[number] = ComponentField(self, number, name)
        return found

    # --- components in several words

    def _describe(self):
        groups = self._groups()
        if len(groups) == 1:
            return super()._describe()
        if not self._parts:
            self._parts[:] = [(self._part(numbers), numbers) for numbers in groups]
        return self._join()

    def _groups(self):
        """Lists of component numbers: one list per word, and one for components without a word."""
        groups = {}
        for number, place in enumerate(self._places):
            holder = place._parent if place._parent._word_bits else None
            groups.setdefault(id(holder), []).append(number)
        return list(groups.values())

    def _part(self, numbers):
        """A field of some components, by their numbers, which shares this field's memory."""
        if len(numbers) == 1:
            return self._component_field(numbers[0])
        made = MatrixField(len(numbers), 1, self.dtype, 1, self._given_name)
        made._component_types = [self._type_of(number) for number in numbers]
        made._places = [self._places[number] for number in numbers]
        made._shares = getattr(self, "_shares", self)
        made._made_at = self._made_at
        return made

    def _join(self):
        storages = []
        for part, numbers in self._parts:
            if part._storage is None:
                part._take(part._describe())
            storages.append((part._storage, numbers))
        return _native.join_fields(storages, list(self.element_shape))

    # --- all elements

    @python_scope
    def to_numpy(self, keep_dims=False, dtype=None):
        """A NumPy array with a copy of the elements. Its shape is the field's shape followed by
        that of an element.

        keep_dims: whether to keep the axis of a single column. dtype: the type of the array's
        elements, as np.float64; by default the field's.
        """
        array = self._all(dtype)
        if keep_dims:
            return array.reshape((*self.shape, self.n, self.m))
        if self.m == 1:
            return array.reshape((*self.shape, self.n))
        return array

    @python_scope
    def from_numpy(self, arr):
        """Sets all elements from an array.

        arr: a NumPy array of the field's shape followed by that of an element; raises ValueError
        for others.
        """
        import numpy as np

        check_source(arr)
        shape = self._bound_shape()
        fits = [(self.n, self.m)]
        if self.n == 1 or self.m == 1:  # accept a row, a column, or no axis of extent 1
            fits += [(self.m, self.n), (self.n * self.m,)]
        if tuple(arr.shape) not in [(*shape, *element) for element in fits]:
            raise say.matrix_field_and_numpy_array_shapes_differ(
                shape=shape, element_shape=self.element_shape, got=tuple(arr.shape)
            )
        note_change(self, "from_numpy")
        self._copy_from(np.ascontiguousarray(arr, self.dtype.numpy_name))
        note(FROM_NUMPY, self, arr)

    def __repr__(self):
        return f"<{self.n}x{self.m} ti.Matrix.field>"


class ComponentField(ScalarField):
    """One component of a matrix field."""

    def __init__(self, whole, number, name):
        super().__init__(whole._type_of(number), name)
        self._shares = whole
        self._number = number
        self._places = [whole._places[number]]
        self._made_at = whole._made_at
        self._is_companion = whole._is_companion
        self._bind_places()

    def _companion(self, kind):
        whole = self._shares._companion(kind)
        return None if whole is None else whole._component_field(self._number)

    def _placed(self, component, place):
        self._shares._placed(self._number, place)
        self._places[0] = place

    def __repr__(self):
        return "<ti.field>"


__all__ = ["MatrixField"]
