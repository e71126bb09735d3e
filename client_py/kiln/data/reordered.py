"""Fields whose memory has the elements of a mesh in another order than that of their numbers."""

from ..active import python_scope
from ..diagnostics import say
from .field import ScalarField
from .matrix_field import MatrixField


class _Reordered:
    """Base class of what programs see of a reordered attribute: indices are the numbers of
    elements, while memory has them in the order `_order`."""

    # The field of each element's place in memory. (A field that needs none has None.)
    _order = None

    def _of(self, shared, order, places):
        self.__dict__.update(shared.__dict__)
        self._whole = shared  # the field in the order of memory
        self._shares = getattr(shared, "_shares", shared)
        self._order = order
        self._places_of = places
        self._views = {}
        return self

    def _view(self, shared):
        """A field that is stored in the same order, as programs see it."""
        if shared is None:
            return None
        if shared not in self._views:
            self._views[shared] = reordered(shared, self._order, self._places_of)
        return self._views[shared]

    def _companion(self, kind):
        return self._view(self._whole._companion(kind))

    def _component_field(self, number):
        return self._view(self._whole._component_field(number))

    def _param(self, ctx):
        self._bound_shape()
        return ctx.param_of(self._whole)

    def _materialize(self):
        self._whole._materialize()
        self._take(self._whole._storage)

    def _place_of(self, key):
        items = tuple(key) if isinstance(key, (tuple, list)) else (key,)
        if len(items) != 1 or not hasattr(items[0], "__index__"):
            self._index_error(key)
        number = items[0].__index__()
        if not 0 <= number < len(self._places_of):
            self._index_error(key)
        return int(self._places_of[number])

    @python_scope
    def __getitem__(self, key):
        return self._whole[self._place_of(key)]

    @python_scope
    def __setitem__(self, key, value):
        self._whole[self._place_of(key)] = value

    def _copy_to(self, array):
        self._bound_shape()
        stored = array.copy()
        self._whole._copy_to(stored)
        array[...] = stored[self._places_of]

    def _copy_from(self, array):
        self._bound_shape()
        stored = array.copy()
        stored[self._places_of] = array
        self._whole._copy_from(stored)

    def __copy__(self):
        return reordered(self._whole.__copy__(), self._order, self._places_of)

    def __dlpack__(self, **_options):
        raise say.mesh_attribute_in_other_order(title=self._title())

    @property
    def __cuda_array_interface__(self):
        raise say.mesh_attribute_only_copied(title=self._title())

    def _described(self):
        """What warm records know of it (warm/describe.py)."""
        return self._whole, self._order

    _is_numbered = True


class MeshReorderedScalarFieldProxy(_Reordered, ScalarField):
    """A reordered attribute of numbers."""


class MeshReorderedMatrixFieldProxy(_Reordered, MatrixField):
    """A reordered attribute of vectors or matrices."""


def reordered(shared, order, places):
    """What programs see of the field `shared`. order: the field, and places: the array, of each
    element's place in it."""
    is_matrix = isinstance(shared, MatrixField)
    kind = MeshReorderedMatrixFieldProxy if is_matrix else MeshReorderedScalarFieldProxy
    return kind.__new__(kind)._of(shared, order, places)
