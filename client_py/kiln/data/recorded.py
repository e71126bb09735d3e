"""What a program does to whole fields and ndarrays in Python while a tape records calls.

A tape treats these operations as kernels: it records them, and runs their gradients. (It does not
record writes of single elements.)
"""

from .. import _native
from ..active import check_not_captured
from ..diagnostics import say


def companion(value, kind):
    """The gradient or dual (`kind` is "grad" or "dual") of a field or ndarray; None without one."""
    found = getattr(value, kind, None)
    return None if found is None or None in getattr(found, "_places", ()) else found


class Operation:
    """An operation that overwrites its first argument. Callable with its arguments, as a kernel."""

    def __init__(self, method):
        self.__name__ = method

    def __call__(self, target, source):
        getattr(target, self.__name__)(source)

    def grad(self, target, source):
        """Takes and clears the gradient of the target."""
        gradient = companion(target, "grad")
        if gradient is None:
            return
        if self is COPY_FROM:
            of_source = companion(source, "grad")
            if of_source is not None:
                _add(of_source, gradient)
        gradient.fill(0.0)

    def dual(self, target, source):
        """Sets the dual of the target."""
        dual = companion(target, "dual")
        of_source = companion(source, "dual") if self is COPY_FROM else None
        if dual is not None and of_source is not None:
            dual.copy_from(of_source)
        elif dual is not None:
            dual.fill(0.0)


class Deactivation:
    """`deactivate_all` of an SNode, as a call: the elements of the fields below become zero."""

    __name__ = "deactivate_all"

    def __call__(self, snode):
        snode.deactivate_all()

    def grad(self, snode):
        self._clear(snode, "grad")

    def dual(self, snode):
        self._clear(snode, "dual")

    def _clear(self, snode, kind):
        for node in snode._walk():
            if node._kind.is_place and not node._field._is_companion:
                path = node._path()
                below = path[path.index(snode) :] if snode in path else path
                found = companion(node._field, kind)
                if found is not None and any(one._kind.is_sparse for one in below):
                    found.fill(0.0)


def _add(target, other):
    import numpy as np

    target.from_numpy(np.asarray(target.to_numpy() + other.to_numpy()))


FILL, FROM_NUMPY, COPY_FROM = map(Operation, ("fill", "from_numpy", "copy_from"))
DEACTIVATE = Deactivation()


def check_unwatched(name):
    """Raises if calls are watched: tapes do not nest, and a captured graph has none; `name` is what
    is about to watch them."""
    check_not_captured(name)
    if _native.watcher() is not None:
        raise say.tapes_do_not_nest()


def note_change(target, name):
    """Tells what watches calls that an operation, the method `name`, is about to change a field or
    ndarray."""
    check_not_captured(name)
    change = getattr(_native.watcher(), "change", None)
    if change is not None:
        change(target)


def note(operation, *args):
    """Tells what watches calls, if anything does, of an operation that took place."""
    watcher = _native.watcher()
    if watcher is not None:
        watcher.append((operation, args))


__all__ = [
    "COPY_FROM",
    "DEACTIVATE",
    "FILL",
    "FROM_NUMPY",
    "check_unwatched",
    "companion",
    "note",
    "note_change",
]
