"""Fields: a program's data, with one element per index, placed in trees of SNodes."""

from .. import _native, active, provided, runtime
from .. import types as ti_types
from ..active import python_scope
from ..diagnostics import say
from ..own_files import caller
from ..public import Public
from ..types import Layout  # noqa: F401  (pickles of earlier builds look for it here)
from . import snode, trees
from .elements import check_source, fill_values, numpy_type, out_of_bounds
from .interop import Exporter
from .recorded import COPY_FROM, FILL, FROM_NUMPY, note, note_change


class AnyArray:
    """What ndarrays are instances of. Their module is imported late: few programs make any."""

    __slots__ = ()


class AnyField(snode.Placeable):
    """Base class of fields of numbers, matrices and structs."""

    # The field of each element's place in memory, if that is not its index (data/reordered.py).
    _order = None

    def __iter__(self):
        # Python itself would go on until an index raises. Those of structs are not looked at.
        raise say.struct_for_only_available_taichi_scope()


class Field(_native.FieldBase, Exporter, AnyField, metaclass=Public):
    """A field: elements that kernels and Python read and write by index. Made by `ti.field`.

    Example::

        x = ti.field(ti.f32, shape=(2, 3))
        x[1, 2] = 5.0
        print(x.shape, x[1, 2])  # prints: (2, 3) 5.0
    """

    _is_companion = ""  # "grad", "dual" or "_marks" if it is that of another field
    _is_constant = False  # kernels only read it, and modules have its contents
    element_members = None
    dtype = None  # each object sets its own
    _component_types = None  # types of the components, if they differ because of quantised ones

    def __init__(self, dtype, element_shape, name=""):
        ti_types.check_has_components(element_shape)
        self.dtype = dtype
        self.element_shape = element_shape
        self._given_name = name
        count = 1
        for extent in element_shape:
            count *= extent
        self._num_components = count
        self._places = [None] * count
        self._components = {}  # fields of single components, by number
        # If several words contain the components: (field of a word's components, their numbers),
        # as MatrixField._describe makes them.
        self._parts = []
        self._generation = runtime.generation
        self._made_at = caller()
        self._companions = {}

    # --- places

    def _quant_type(self, component):
        """The quantised type of a component; None if it is not quantised."""
        dtype = self._type_of(component)
        return dtype if dtype.__class__ is not ti_types.DType else None

    def _type_of(self, component):
        types = self._component_types
        return self.dtype if types is None else types[component]

    @property
    def _memory(self):
        """A key that is equal for fields that share this field's memory."""
        place = self._places[0]
        if place is not None and place._parent._word_bits:
            return place._parent
        return getattr(self, "_shares", self)

    @property
    def snode(self):
        """The SNode of the first component."""
        place = self._places[0]
        if place is None:
            self._not_placed()
        return place

    _snode = snode

    def parent(self, n=1):
        """The SNode `n` levels above the field; None above the root.

        n: the number of levels.
        """
        return self.snode.parent(n)

    @property
    def shape(self):
        """The extents of the axes, as a tuple; () for a field with one element."""
        shape = self._own_shape()
        ctx = active.context()
        if ctx is not None and ctx.trace is not None:
            ctx.trace.size(self, shape)  # the kernel's code depends on the shape
        return shape

    @property
    def num_axes(self):
        """The number of indices that select an element."""
        return len(self._own_shape())

    def _own_shape(self):
        shape = self.__dict__.get("_shape")
        return tuple(self.snode._extents().values()) if shape is None else shape

    @property
    def _name(self):
        return self._given_name or self.snode._name

    @property
    def grad(self):
        """The field of gradients; None for fields without gradients."""
        return self._companion("grad")

    @property
    def dual(self):
        if self._is_companion == "grad":
            return self._companions.get("dual")  # placed for second derivatives
        return self._companion("dual")

    @property
    def _marks(self):
        """1 where a validated kernel has read since the tape began."""
        return self._companion("_marks")

    def _companion(self, kind):
        if not self.dtype.is_float or self._is_companion:
            return None
        return self._companions.get(kind) or self._new_companion(kind)

    def _new_companion(self, kind):
        made = type(self).__new__(type(self))
        Field.__init__(made, self.dtype, self.element_shape, f"{self._given_name}.{kind}")
        made._is_companion = kind
        self._companions[kind] = made
        return made

    def _is_quantised(self):
        """Whether words contain components of the field."""
        return any(place is not None and place._parent._word_bits for place in self._places)

    def _check_companion(self, companion):
        """Raises unless the gradient or dual has the indices of the field."""
        mine = (self.shape, self._places[0]._offset, bool(self._places[0]._first_sparse()))
        place = companion._places[0]
        theirs = (companion.shape, place._offset, bool(place._first_sparse()))
        if mine[2] != theirs[2]:
            raise say.companion_below_other_snodes(title=self._title(), name=companion._given_name)
        if (mine[0], mine[1] or None) != (theirs[0], theirs[1] or None):
            raise say.companion_of_other_shape(
                title=self._title(), shape=mine[0], got=theirs[0], name=companion._given_name
            )

    def _place_in(self, node, offset):
        for component in range(self._num_components):
            node._place_component(self, component, offset)

    def _placed(self, component, place):
        """Records the place of a component."""
        if self._is_companion:
            runtime.companion_placed()
        place._field = self
        place._component = component
        self._places[component] = place
        if component in self._components:
            self._components[component]._places[0] = place

    def _bind_places(self):
        """Binds the field to its memory if all trees with its places are allocated. Errors are
        raised at the first use of the field instead."""
        places = self._places
        for place in places:
            tree = None if place is None else place._builder._tree
            if tree is None or not tree.alive:
                return
        try:
            self._take(self._describe())
        except ValueError:
            return

    def _describe(self):
        places = [(place._builder._tree, place._index) for place in self._places]
        return _native.describe_field(places, self.dtype.scalar, list(self.element_shape))

    def _take(self, storage):
        self._shape = storage.shape
        self._bind(storage)

    def _is_gone(self):
        """Whether the field's memory ended, with a later `ti.init` or `ti.reset`, or `destroy`."""
        destroyed = self._storage is not None and not self._storage.alive
        return destroyed or self._generation != runtime.generation

    def _materialize(self):
        """Binds the field to its memory; raises if it cannot have any."""
        if self._is_gone():
            self._stale_error()
        if any(place is None for place in self._places):
            self._not_placed()
        trees.materialize()
        if self._storage is None and any(place._builder._tree is None for place in self._places):
            trees.await_trees()
        if self._storage is not None:
            return
        for place in self._places:
            builder = place._builder
            if not builder.finalized:
                raise say.placed_by_fieldsbuilder_that_has_not(title=self._title())
            if builder._tree is None:
                raise say.field_got_no_memory(title=self._title())
            if not builder._tree.alive:
                self._stale_error()
        self._check_shapes()
        try:
            self._take(self._describe())
        except ValueError as error:
            raise say.field_cannot_use_its_places(title=self._title(), reason=error) from None

    def _check_shapes(self):
        """Raises unless the places of all components have the same shape."""
        shapes = list(dict.fromkeys(tuple(p._extents().values()) for p in self._places))
        if len(shapes) > 1:
            raise say.components_of_other_shapes(shapes=shapes, title=self._title())

    def _param(self, ctx):
        """The kernel parameter for this field, which its first use adds. For a field of several
        parts, the parameter of the first part."""
        storage = self._storage
        if storage is None or not storage.alive:
            if storage is not None:
                self._stale_error()
            self._materialize()
        if self._parts:
            return ctx.param_of(self._parts[0][0])
        param = ctx.bind_storage(self, self._storage)
        if ctx.is_validated:
            ctx.check_overwrites(self, param)
        return param

    def _loops_densely(self):
        """Whether loops run over all elements although kernels access them through their tree."""
        storage = self._parts[0][0]._storage if self._parts else self._storage
        return bool(storage.trees) and self._places[0]._first_sparse() is None

    # --- errors

    def _title(self):
        name = f"field '{self._given_name}'" if self._given_name else "the field"
        return f"{name} created at {self._made_at[0]}:{self._made_at[1]}"

    def _accessed(self):
        """The field's name in failed checks of kernels, and its first index or None."""
        title = f"field '{self._given_name}'" if self._given_name else self._title()
        return title, self._places[0]._offset

    def _check_scope(self, name):
        active.check_python_scope(name)

    def _not_placed(self):
        if self._is_companion:
            raise say.gradient_is_not_placed(name=self._given_name)
        file, line = self._made_at
        raise say.these_field_s_are_not_placed(places=f'  File "{file}", line {line}')

    def _stale_error(self):
        raise say.gone_memory_ended_with_ti_reset(title=self._title())

    def _index_error(self, key):
        """Raises the error for a key that FieldBase refused."""
        shape = self.shape
        indices = () if key is None else tuple(key) if isinstance(key, (tuple, list)) else (key,)
        for index in indices:
            if not hasattr(index, "__index__"):
                raise say.detected_illegal_element_type_please_aware(kind=type(index))
        if len(indices) != len(shape):
            raise say.slicing_not_supported_on_ti_field(count=len(shape), key=key)
        offset = self._places[0]._offset or (0,) * len(shape)
        for axis, (index, extent, first) in enumerate(zip(indices, shape, offset)):
            if not first <= index < first + extent:
                error = say.field_index_out_of_bounds(
                    index=index,
                    axis=axis,
                    title=self._title(),
                    first=first,
                    end=first + extent,
                    shape=shape,
                )
                raise out_of_bounds(error)
        raise say.invalid_index_for(key=key, title=self._title())

    def _memory_error(self, reason):
        """Raises the error of a write that found no memory to activate its cell."""
        raise say.no_memory_for_element(title=self._title(), reason=reason)

    def _value_error(self, value):
        if isinstance(value, int):
            raise say.does_not_fit_element_type(value=value, dtype=self.dtype, title=self._title())
        raise say.type_cannot_element_type(
            value=value, kind=type(value).__name__, dtype=self.dtype, title=self._title()
        )

    # --- all elements

    @python_scope
    def to_torch(self, device=None):
        """A torch tensor with a copy of the elements, of the same shape as `to_numpy`.

        device: the device of the tensor, as "cpu".
        """
        import torch

        return torch.from_numpy(self.to_numpy()).to(device)

    @python_scope
    def from_torch(self, arr):
        """Sets all elements from a torch tensor.

        arr: a tensor of the same shape as `to_numpy`; raises ValueError for others.
        """
        self.from_numpy(arr.detach().cpu().contiguous().numpy())

    # Each kind of field has its own.

    def fill(self, val):
        """Sets all elements.

        val: a number; for a matrix field also a vector or matrix of the elements' shape.
        """
        raise NotImplementedError

    def to_numpy(self, dtype=None):
        """A NumPy array with a copy of the elements.

        dtype: the type of its elements; by default the field's.
        """
        raise NotImplementedError

    def from_numpy(self, arr):
        """Sets all elements from an array.

        arr: a NumPy array of the same shape as `to_numpy`; raises ValueError for others.
        """
        raise NotImplementedError

    @python_scope
    def to_paddle(self, place=None):
        """A paddle tensor with a copy of the elements, of the same shape as `to_numpy`.

        place: the tensor's place.
        """
        import paddle

        return paddle.to_tensor(self.to_numpy(), place=place)

    @python_scope
    def from_paddle(self, arr):
        """Sets all elements from a paddle tensor.

        arr: a tensor of the same shape as `to_numpy`; raises ValueError for others.
        """
        self.from_numpy(arr.numpy())

    @python_scope
    def copy_from(self, other):
        """Copies all elements of another field. All elements of this field become active.

        other: a field of the same shape. Raises TypeError if it is not a field, and ValueError for
        another shape.
        """
        if not isinstance(other, Field):
            raise say.cannot_copy_from_non_field_object()
        if self.shape != other.shape:
            raise say.field_and_source_shapes_differ(shape=self.shape, got=other.shape)
        note_change(self, "copy_from")
        if self._order is not other._order:
            import numpy as np

            elements = other._all(None).reshape(self.shape + self.element_shape)
            self._copy_from(np.ascontiguousarray(elements, self.dtype.numpy_name))
        elif not self._copy_field(other):
            import numpy as np

            read = np.empty(other.shape + other.element_shape, other.dtype.numpy_name)
            other._copy_read(read)
            self._write_all(read.astype(self.dtype.numpy_name, copy=False))
        note(COPY_FROM, self, other)

    def __copy__(self):
        """Returns the field itself: a copy of the object refers to the same elements."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._shares = getattr(self, "_shares", self)
        if self._storage is not None:
            made._bind(self._storage)
        return made

    def _all(self, dtype):
        import numpy as np

        # _bound_shape raises if the memory was freed.
        array = np.empty(self._bound_shape() + self.element_shape, self.dtype.numpy_name)
        self._copy_to(array)
        return array if dtype is None else array.astype(numpy_type(dtype), copy=False)

    def _bound_shape(self):
        if self._storage is None:
            self._materialize()
        return self.shape

    def _repr_html_(self):  # what notebooks show
        return provided.field_html(self)

    def __str__(self):
        if any(place is None for place in self._places):
            return "<Field: Definition of this field is incomplete>"
        try:
            return str(self.to_numpy())
        except ModuleNotFoundError as error:
            if error.name != "numpy":
                raise
            return (
                f"{self!r} of shape {self.shape}: its elements are shown where NumPy is installed"
            )


class ScalarField(Field):
    """A field of numbers; `ti.field` makes one.

    Example::

        x = ti.field(ti.i32, shape=3)
        x.fill(7)
        print(x.to_numpy())  # prints: [7 7 7]
    """

    def __init__(self, dtype, name=""):
        super().__init__(dtype, (), name)

    def fill(self, val):
        """Sets all elements.

        val: a number, converted to the field's type.
        """
        note_change(self, "fill")
        self._fill(fill_values(val, (), self.dtype))
        note(FILL, self, val)

    @python_scope
    def to_numpy(self, dtype=None):
        """A NumPy array with a copy of the elements, of the field's shape.

        dtype: the type of its elements, as np.float64; by default the field's.
        """
        return self._all(dtype)

    @python_scope
    def from_numpy(self, arr):
        """Sets all elements from an array.

        arr: a NumPy array of the field's shape, whose numbers are converted to the field's type.
        Raises ValueError for other shapes.
        """
        import numpy as np

        check_source(arr)
        shape = self._bound_shape()
        if tuple(arr.shape) != shape:
            raise say.field_and_numpy_array_shapes_differ(shape=shape, got=tuple(arr.shape))
        note_change(self, "from_numpy")
        self._copy_from(np.ascontiguousarray(arr, self.dtype.numpy_name))
        note(FROM_NUMPY, self, arr)

    def __repr__(self):
        return "<ti.field>"


def overlapping(fields):
    """Groups of fields that share memory. fields: pairs (number, field); a group is a list of
    numbers."""
    groups = {}
    for number, field in fields:
        groups.setdefault(id(getattr(field, "_memory", field)), []).append(number)
    return [numbers for numbers in groups.values() if len(numbers) > 1]


__all__ = ["Field", "ScalarField"]
