"""What a program does to whole fields and ndarrays in Python while a tape records calls.

A tape treats these operations as kernels: it records them, and runs their gradients. (It does not
record writes of single elements.)
"""

from .. import _native


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
                of_source.from_numpy(of_source.to_numpy() + gradient.to_numpy())
        gradient.fill(0.0)

    def dual(self, target, source):
        """Sets the dual of the target."""
        dual = companion(target, "dual")
        of_source = companion(source, "dual") if self is COPY_FROM else None
        if dual is not None and of_source is not None:
            dual.copy_from(of_source)
        elif dual is not None:
            dual.fill(0.0)


FILL, FROM_NUMPY, COPY_FROM = map(Operation, ("fill", "from_numpy", "copy_from"))


def note(operation, target, source):
    """Tells what watches calls, if anything does, of an operation that took place."""
    watcher = _native.watcher()
    if watcher is not None:
        watcher.append((operation, (target, source)))


__all__ = ["COPY_FROM", "FILL", "FROM_NUMPY", "companion", "note"]
