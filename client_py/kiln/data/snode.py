"""SNodes: the nodes of the trees in which fields are placed."""

from .. import _native, active, provided
from ..diagnostics import say
from ..public import Public
from . import axes as _axes
from .axes import as_integer, as_offset, as_tuple, axis_numbers
from .recorded import DEACTIVATE, note

Axis = _axes.Axis  # pickles of earlier builds look for it here
KINDS = _native.SNODES
_MAX_DEPTH = _native.MAX_TREE_DEPTH  # levels above a place
_MAX_EXTENT = _native.MAX_CELLS  # of an axis; also the most cells in a container of a sparse SNode


def check_word_bits(bits):
    """Raises unless words of this number of bits exist."""
    if bits not in _native.WORD_BITS:
        raise say.word_of_other_bits(bits=bits)


class Placeable:
    """Base class of the arguments of `SNode.place`: a field, or several that are placed
    together."""

    def _place_in(self, node, offset):
        """Places it in the cells of `node`. offset: the first index along each axis, or ()."""
        raise NotImplementedError


class AnySNode:
    """Base class of SNodes and `ti.root`."""


class SNode(AnySNode, metaclass=Public):
    """A node of a tree. Its cells contain other nodes or the elements of fields. `ti.root` is the
    first node; its methods add others.

        x = ti.field(ti.f32)
        block = ti.root.pointer(ti.ij, 4)
        block.dense(ti.ij, 8).place(x)
        x[20, 3] = 1.0
        print(x.shape, block.shape)  # prints: (32, 32) (4, 4)
    """

    def __init__(self, builder, kind, levels=(), parent=None, chunk_size=0):
        self._builder = builder
        self._kind = kind
        self._levels = tuple(levels)  # (axis, extent)
        self._parent = parent
        self._children = []
        self._chunk_size = chunk_size
        self._field = None  # place: (the field, the number of its component)
        self._component = 0
        self._offset = ()
        self._word_bits = 0  # of words of quantised numbers
        self._exponent = None  # place: the first place that uses the shared exponent
        self._index = -1  # in its tree, once materialised
        self._native = None  # the storage to which kernels are bound
        if parent is not None:
            parent._children.append(self)

    # --- building

    def dense(self, axes, dimensions):
        """Adds an array of cells, all of which have memory. Returns the new SNode.

        axes: the axes, as ti.ij. dimensions: the number of cells along each axis, or one number for
        all. Raises TaichiRuntimeError for invalid extents.
        """
        return self._add(KINDS["dense"], axes, dimensions)

    def pointer(self, axes, dimensions):
        """Adds an array of cells; the first write to a cell allocates its memory. Returns the new
        SNode.

        axes: the axes, as ti.ij. dimensions: the number of cells along each axis, or one number for
        all.
        """
        return self._add(KINDS["pointer"], axes, dimensions)

    def bitmasked(self, axes, dimensions):
        """Adds an array of cells, all of which have memory, and a bit per cell that says whether it
        is active. Returns the new SNode.

        axes: the axes, as ti.ij. dimensions: the number of cells along each axis, or one number for
        all.
        """
        return self._add(KINDS["bitmasked"], axes, dimensions)

    def dynamic(self, axis, dimension, chunk_size=None):
        """Adds a growing list of cells. Returns the new SNode.

        axis: an axis that no level above divides, as ti.k. dimension: the most cells. chunk_size:
        the number of cells that are allocated together; by default all.
        """
        dimension = as_integer(dimension, say.dimension_field_must_integer_got)
        if chunk_size is None:
            chunk_size = dimension
        elif not isinstance(chunk_size, int) or chunk_size <= 0:
            raise say.chunk_size_must_be_positive(value=chunk_size)
        for name, value in (("dimension", dimension), ("chunk size", chunk_size)):
            if value >= 2**31:
                raise say.maximum_dynamic_snode_cannot_exceed_maximum(name=name, value=value)
        numbers = axis_numbers(axis)
        if len(numbers) != 1:
            raise say.dynamic_snode_has_one_axis()
        if numbers[0] in self._path_axes():
            raise say.dynamic_snode_needs_axis_of_its_own()
        return self._add(KINDS["dynamic"], axis, dimension, chunk_size)

    def quant_array(self, axes, dimensions, max_num_bits):
        """Adds an array of cells in one word, for one field of quantised integers or fixed-point
        numbers. Returns the new SNode.

        axes: the axes, as ti.ij. dimensions: the number of cells along each axis, or one number for
        all. max_num_bits: the bits of the word: 8, 16, 32 or 64; raises TaichiRuntimeError for
        others.
        """
        check_word_bits(max_num_bits)
        made = self._add(KINDS["quant_array"], axes, dimensions)
        made._word_bits = max_num_bits
        return made

    def _add(self, kind, axes, dimensions, chunk_size=0):
        self._builder._check_open()
        if self._kind.is_place:
            raise say.nothing_can_added_below_place()
        if self._word_bits:
            raise say.only_fields_in_words(kind=self._kind.name)
        numbers = axis_numbers(axes)
        extents = list(as_tuple(dimensions))
        if len(extents) == 1:
            extents *= len(numbers)
        if len(extents) != len(numbers):
            raise say.axes_and_dimensions_different_number(axes=len(numbers), extents=len(extents))
        levels = []
        for position, (axis, extent) in enumerate(zip(numbers, extents)):
            extent = as_integer(extent, say.dimension_field_must_integer_got)
            if extent <= 0:
                raise say.every_dimension_taichi_field_should_positive(
                    extent=extent, position=position
                )
            if any(axis == other for other, _ in levels):
                raise say.axes_one_level_must_different()
            levels.append((axis, extent))
        # A level is linearised by axis number, not in the order in which the axes were given.
        levels.sort()
        self._check_room(kind, levels)
        return SNode(self._builder, kind, levels, self, chunk_size)

    def _check_room(self, kind, levels):
        """Raises if a new child would make the tree too deep or too large."""
        path = self._path()
        if len(path) > _MAX_DEPTH:
            raise say.snodes_nested_too_deep(limit=_MAX_DEPTH)
        extents = dict(levels)
        for node in path:
            for axis, extent in node._levels:
                if axis in extents:
                    extents[axis] *= extent
        for axis, extent in extents.items():
            if extent > _MAX_EXTENT:
                raise say.axis_too_long(axis=axis, extent=extent)
        if kind.is_sparse or self._first_sparse() is not None:
            for one in (*[node._levels for node in path], levels):
                cells = 1
                for _, extent in one:
                    cells *= extent
                if cells > _MAX_EXTENT:
                    raise say.container_of_too_many_cells(cells=cells)

    def place(self, *args, offset=None):
        """Places fields in the cells of this node. Returns the node.

        args: fields, lists of fields, ti.BitpackedFields. offset: the first index along each axis.
        Raises TaichiRuntimeError for a field that has a place already, and ValueError for an
        argument that is not a field.
        """
        self._builder._check_open()
        offset = as_offset(offset)
        for arg in args:
            if isinstance(arg, (list, tuple)):
                self.place(*arg, offset=offset)
            elif isinstance(arg, Placeable):
                arg._place_in(self, offset)
            else:
                raise say.value_cannot_be_placed(arg=arg)
        return self

    def _place_component(self, field, component, offset):
        if field._places[component] is not None:
            raise say.has_been_placed_already(title=field._title())
        axes = self._path_axes()
        if offset and len(offset) != len(axes):
            raise say.placed_with_offset_of_other_dimensionality(axes=len(axes), got=len(offset))
        self._check_quantised(field, component)
        node = SNode(self._builder, KINDS["place"], (), self)
        node._offset = offset
        field._placed(component, node)

    def _check_quantised(self, field, component):
        """Raises unless the component's type fits this node: quantised types need a word with room,
        and words accept only quantised types."""
        quant = field._quant_type(component)
        if quant is None and self._word_bits:
            raise say.not_quantised_in_word(title=field._title(), kind=self._kind.name)
        if quant is not None and not self._word_bits:
            raise say.quantised_outside_word(title=field._title(), dtype=quant)
        if self._kind is KINDS["quant_array"]:
            if quant.kind == "float":
                raise say.quant_array_of_floats(title=field._title())
            if self._children:
                raise say.quant_array_holds_one_field(title=field._title())
            cells = 1
            for _, extent in self._levels:
                cells *= extent
            if cells * quant.bits > self._word_bits:
                raise say.word_overflows(
                    what="quant_array", used=cells * quant.bits, bits=self._word_bits
                )

    def lazy_grad(self):
        """Places the gradient of every field below this node in the same cells as the field."""
        self._place_companions("grad")

    def lazy_dual(self):
        """Places the dual of every field below this node in the same cells as the field."""
        self._place_companions("dual")

    def _place_companions(self, name):
        for node in list(self._walk()):
            if not node._kind.is_place:
                continue
            if not node._field.dtype.is_float or node._field._is_companion:
                continue
            companion = getattr(node._field, name)
            if companion is not None and companion._places[node._component] is None:
                node._parent._place_component(companion, node._component, node._offset)

    def _place_duals_of_gradients(self):
        """Places the duals of the gradients of fields that have both a gradient and a dual: for
        second derivatives."""
        for node in list(self._walk()):
            companions = node._field._companions if node._kind.is_place else ()
            if "grad" not in companions or "dual" not in companions:
                continue
            grad, dual = companions["grad"], companions["dual"]
            if None in (grad._places[node._component], dual._places[node._component]):
                continue
            made = grad._companions.get("dual") or grad._new_companion("dual")
            node._parent._place_component(made, node._component, node._offset)

    def _place_marks(self):
        """Places the marks of every field with a gradient in the same cells as the field: tapes
        validate kernels in debug mode."""
        for node in list(self._walk()):
            field = node._field if node._kind.is_place else None
            grad = None if field is None else field._companions.get("grad")
            if grad is None or grad._places[node._component] is None:
                continue
            if not field._is_quantised() and field._marks._places[node._component] is None:
                node._parent._place_component(field._marks, node._component, node._offset)

    # --- inspecting

    @property
    def ptr(self):
        """What the reference calls its native SNode."""
        return provided.SNodePointer(self)

    def parent(self, n=1):
        """The node `n` levels above this one; None above the root.

        n: the number of levels.
        """
        node = self
        while node is not None and n > 0:
            node = node._parent
            n -= 1
        return self._builder._shown_root if node is not None and node._parent is None else node

    def _path(self):
        node = self
        path = []
        while node is not None:
            path.append(node)
            node = node._parent
        path.reverse()
        return path

    def _path_from_root(self):
        return [self._builder._shown_root if n._parent is None else n for n in self._path()]

    def _path_axes(self):
        """The physical axes that this node or a node above it divides, ascending."""
        return sorted({axis for node in self._path() for axis, _ in node._levels})

    def _axes_above(self):
        """The axes that nodes above this one divide, ascending."""
        return self._parent._path_axes()

    def _own_axis_position(self):
        """The position, among the indices, of the index that counts a dynamic SNode's cells."""
        return self._path_axes().index(self._levels[0][0])

    def _extents(self):
        """The number of cells along each axis, by ascending axis."""
        extents = dict.fromkeys(self._path_axes(), 1)
        for node in self._path():
            for axis, extent in node._levels:
                extents[axis] *= extent
        return extents

    @property
    def shape(self):
        """The extents of the index space of this node's cells, counted from the root, as a
        tuple."""
        shape = tuple(self._extents().values())
        ctx = active.context()
        if ctx is not None and ctx.trace is not None:
            ctx.trace.size(self, shape)
        return shape

    @property
    def _snode(self):
        return self

    @property
    def _name(self):
        if self._kind.is_place and self._field._given_name:
            return self._field._given_name
        return f"S{max(self._index, 0)}{self._kind.name}"

    @property
    def _kind_name(self):
        return self._kind.name

    def _cell_fields(self):
        """The fields that have places in the cells of this node, each once."""
        found = {id(c._field): c._field for c in self._children if c._kind.is_place}
        return tuple(found.values())

    @property
    def _num_dynamically_allocated(self):
        """The number of allocated cells of a pointer SNode, or chunks of a dynamic one: the most
        that were in use at one time, because deactivated cells stay allocated for reuse. 0 for
        other SNodes."""
        return self._living_tree().node_stats(self._index)["cells_peak"]

    def _living_tree(self):
        self._builder._materialize()
        tree = self._builder._tree
        if tree is None:
            raise say.snode_not_finalized(node=self)
        if not tree.alive:
            raise say.snode_is_gone(node=self)
        return tree

    @property
    def _dtype(self):
        return self._field.dtype if self._kind.is_place else None

    @property
    def _id(self):
        return self._index

    @property
    def _cell_size_bytes(self):
        return 0 if self._kind.is_place else self._info()["cell_bytes"]

    @property
    def _offset_bytes_in_parent_cell(self):
        return self._info()["offset"]

    @property
    def _snode_tree_id(self):
        return self._builder._number

    def _info(self):
        return self._living_tree().node_info(self._index)

    def _get_children(self):
        return list(self._children)

    def _physical_index_position(self):
        return dict(enumerate(self._path_axes()))

    def _walk(self):
        yield self
        for child in self._children:
            yield from child._walk()

    def _last_sparse(self):
        """The lowest sparse node from the root to this node, or None."""
        return next((node for node in reversed(self._path()) if node._kind.is_sparse), None)

    def _drop_levels_without_fields(self):
        """Removes levels without fields. The first use of any field finishes the tree of ti.root,
        so an error could not name the line at fault."""
        for child in list(self._children):
            child._drop_levels_without_fields()
            if not child._kind.is_place and not child._children:
                self._children.remove(child)

    def _first_sparse(self):
        """The highest sparse node from the root to this node, or None."""
        for node in self._path():
            if node._kind.is_sparse:
                return node
        return None

    def deactivate_all(self):
        """Makes all cells of this node, and of the nodes below it, inactive. Their memory is zeroed
        and reused."""
        if active.context() is not None:
            raise say.kernel_calls_kernel()
        active.check_not_captured("deactivate_all")
        tree = self._living_tree()
        if tree.has_sparse:
            tree.deactivate_all(self._index)
            note(DEACTIVATE, self)

    @property
    def _bound_storage(self):
        """The storage to which kernels that use this SNode are bound."""
        tree = self._living_tree()
        if self._native is None:
            self._native = tree.describe_node(self._index)
        return self._native

    def _param(self, ctx):
        return ctx.bind_storage(self, self._bound_storage)

    def _title(self):
        """The SNode's name in messages."""
        names = [node._field._given_name for node in self._walk() if node._kind.is_place]
        names = list(dict.fromkeys(name for name in names if name))
        holds = f" with {', '.join(names[:3])}" if names else ""
        return f"{self}{holds}"

    def _accessed(self):
        """The SNode's name in failed checks of kernels, and its first index, None for zero."""
        return f"SNode {self._title()}", None

    def __repr__(self):
        return f"<ti.SNode of type {self._kind.name}>"

    def __str__(self):
        return f"{self.parent()} => {self._kind.name} {list(self.shape)}"


__all__ = ["SNode"]
