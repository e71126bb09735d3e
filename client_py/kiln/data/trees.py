"""Trees of SNodes: how they are built, allocated, found and freed.

The native side checks a tree and computes its layout when it is materialised. `reset`, or the
tree's own `destroy`, frees it.
"""

import os
from _thread import RLock

from .. import _native, forks, runtime
from ..diagnostics import say
from ..errors import TaichiRuntimeError
from ..public import Public
from .snode import KINDS, AnySNode, SNode


class FieldsBuilder(metaclass=Public):
    """Builds a separate tree, which can be destroyed.

    Example::

        x = ti.field(ti.f32)
        builder = ti.FieldsBuilder()
        builder.dense(ti.i, 8).place(x)
        tree = builder.finalize()
        x[3] = 1.0
        tree.destroy()
    """

    def __init__(self):
        runtime.require_init("create a FieldsBuilder")
        self.root = SNode(self, KINDS["root"])
        self.finalized = False
        self._tree = None
        _open_builders.append(self)

    @property
    def empty(self):
        return not self.root._children

    def dense(self, indices, dimensions):
        """Adds an array of cells to the root of the tree; see SNode.dense.

        indices: the axes, as ti.ij. dimensions: the number of cells along each, or one for all.
        """
        return self.root.dense(indices, dimensions)

    def pointer(self, indices, dimensions):
        """Adds cells that the first write allocates; see SNode.pointer.

        indices: the axes, as ti.ij. dimensions: the number of cells along each, or one for all.
        """
        return self.root.pointer(indices, dimensions)

    def bitmasked(self, indices, dimensions):
        """Adds cells with a bit per cell that says whether it is active; see SNode.bitmasked.

        indices: the axes, as ti.ij. dimensions: the number of cells along each, or one for all.
        """
        return self.root.bitmasked(indices, dimensions)

    def dynamic(self, index, dimension, chunk_size=None):
        """Adds a growing list; see SNode.dynamic.

        index: the axis. dimension: the most cells. chunk_size: the number of cells allocated
        together.
        """
        return self.root.dynamic(index, dimension, chunk_size)

    def quant_array(self, indices, dimensions, max_num_bits):
        """Adds cells in one word; see SNode.quant_array.

        indices: the axes. dimensions: the number of cells along each. max_num_bits: the word's
        bits.
        """
        return self.root.quant_array(indices, dimensions, max_num_bits)

    def place(self, *args, offset=None):
        """Places fields with a single element.

        args: the fields. offset: as for SNode.place.
        """
        self.root.place(*args, offset=offset)

    def lazy_grad(self):
        """Places the gradient of every field of the tree in the same cells as the field."""
        self.root.lazy_grad()

    def lazy_dual(self):
        """Places the dual of every field of the tree in the same cells as the field."""
        self.root.lazy_dual()

    def deactivate_all(self):
        """Makes all cells of the tree inactive. Before `finalize` it only warns."""
        if self.finalized and self._tree is not None:
            self.root.deactivate_all()
        else:
            runtime._warn(say.deactivate_all_of_open_builder())

    def finalize(self, raise_warning=True):
        """Allocates the tree, so that its fields can be used. The result has a method `destroy()`.

        raise_warning: whether to warn if the tree has no nodes. Raises TaichiRuntimeError for a
        tree that is finalized already, or that has levels without fields.
        """
        self._check_open()
        if self.empty and raise_warning:
            import warnings

            warnings.warn(say.finalizing_empty_builder(), stacklevel=2)
        self._finalize()
        return SNodeTree(self)

    @classmethod
    def _finalized_roots(cls):
        return [builder.root for builder in _live_trees]

    def _materialize(self):
        """Allocates what the program does not finalize itself. SNodes call this."""
        materialize()

    @property
    def _shown_root(self):
        """What programs see as the root of this tree: `ti.root`, as of every other."""
        return root

    @property
    def _number(self):
        """The number of the tree among the allocated ones, or -1."""
        return _live_trees.index(self) if self in _live_trees else -1

    def _check_open(self):
        if self.finalized:
            raise say.fieldsbuilder_finalized()

    def _finalize(self):
        if not self.empty:
            self.root._place_duals_of_gradients()
            if runtime.cfg.debug:
                self.root._place_marks()
        nodes = [] if self.empty else list(self.root._walk())
        for node in nodes:
            if not node._kind.is_place and not node._children:
                raise say.snode_without_children(kind=node._kind_name, node=node)
        self.finalized = True
        if self in _open_builders:
            _open_builders.remove(self)
        if not nodes:
            return
        for index, node in enumerate(nodes):
            node._index = index
        try:
            tree = _native.Tree([_describe(node) for node in nodes])
        except ValueError as error:
            raise TaichiRuntimeError(str(error)) from None
        names = [node._title() if node._kind.is_sparse else "" for node in nodes]
        fields = {id(n._field): n._field for n in nodes if n._kind.is_place}
        try:
            tree.allocate(names if tree.has_sparse else [], runtime.tree_budget())
        except MemoryError as error:
            titles = [field._title() for field in fields.values()]
            more = f" and {len(titles) - 3} more" if len(titles) > 3 else ""
            needed = ", ".join(titles[:3]) + more
            raise say.no_memory_for_fields(reason=error, fields=needed) from None
        self._tree = tree
        _live_trees.append(self)
        for field in fields.values():
            field._bind_places()

    def _destroy(self):
        if self._tree is not None:
            self._tree.destroy()
        if self in _live_trees:
            _live_trees.remove(self)


_NO_QUANT = (0, 0, False, 0.0, 0)


def _describe(node):
    """The description of a node for _native.Tree."""
    parent = -1 if node._parent is None else node._parent._index
    scalar = node._field.dtype.scalar if node._kind.is_place else 0
    quant = node._field._quant_type(node._component) if node._kind.is_place else None
    physical = node._path_axes() if node._kind.is_place else []
    return (
        node._kind.number,
        list(node._levels),
        parent,
        scalar,
        node._chunk_size,
        physical,
        list(node._offset),
        node._word_bits,
        _NO_QUANT if quant is None else quant.layout,
        0 if node._exponent is None else 1 + node._exponent._index,
    )


class SNodeTree:
    """A finalised tree."""

    def __init__(self, builder):
        self._builder = builder
        self._generation = runtime.generation
        self.destroyed = False

    def destroy(self):
        """Frees the tree's memory. The fields placed in it can no longer be used."""
        if self.destroyed:
            raise say.snode_tree_has_been_destroyed()
        self._builder._destroy()
        self.destroyed = True

    @property
    def id(self):
        if self.destroyed:
            raise say.snode_tree_has_been_destroyed()
        return self._builder._number


class _Root(AnySNode):
    """`ti.root`: the default tree for placing fields. After a materialisation it is a new tree."""

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        return getattr(_current_root(), name)

    def parent(self, n=1):
        return None

    @property
    def shape(self):
        return ()

    @property
    def _id(self):
        return _current_root().root._id

    def _get_children(self):
        children = []
        for builder in [*_live_trees, _current_root()]:
            children += builder.root._children
        return children

    def deactivate_all(self):
        runtime._warn(say.deactivate_all_of_root())
        deactivate_all_snodes()

    def __repr__(self):
        return "ti.root"


root = _Root()
_root_builder = None
_open_builders = []
_live_trees = []


def _current_root():
    global _root_builder
    if _root_builder is None or _root_builder.finalized:
        _root_builder = FieldsBuilder()
        # _open_builders contains only the builders that the program must finalize.
        _open_builders.remove(_root_builder)
    return _root_builder


def materialize():
    """Allocates the fields that have been placed below `ti.root` so far."""
    builder = _root_builder
    if builder is not None and not builder.finalized and not builder.empty:
        with forks.held_off, _lock:
            builder.root._drop_levels_without_fields()
            if not builder.finalized and not builder.empty:
                builder._finalize()


def await_trees():
    """Waits for a tree that another thread is making. Its fields have no memory before."""
    with forks.held_off, _lock:
        pass


def reset_trees():
    global _root_builder
    for builder in list(_live_trees):
        builder._destroy()
    _open_builders.clear()
    _root_builder = None


runtime.at_reset(reset_trees)


def tree_sizes():
    """(names of the fields, bytes) of each tree."""
    for builder in _live_trees:
        places = [node for node in builder.root._walk() if node._kind.is_place]
        names = dict.fromkeys(node._field._name or "unnamed" for node in places)
        yield list(names), builder._tree.bytes


def _make_lock():
    """Replaces the lock in a forked child: a thread that held it does not exist there."""
    global _lock
    _lock = RLock()


_make_lock()
os.register_at_fork(after_in_child=_make_lock)


def deactivate_all_snodes():
    """Makes all cells of all trees inactive; their memory is zeroed and reused.

    Example::

        x = ti.field(ti.f32)
        ti.root.pointer(ti.i, 8).place(x)
        x[3] = 1.0
        ti.deactivate_all_snodes()
        print(x[3])  # prints: 0.0
    """
    materialize()
    for builder in list(_live_trees):
        builder.root.deactivate_all()


__all__ = ["FieldsBuilder", "deactivate_all_snodes", "root"]
