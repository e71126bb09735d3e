"""Restores what gradients change in memory, once all gradients of a tape have run."""

_changed = []  # Contents, oldest first


def restore_later(contents):
    """Has `contents` restored when the gradients of the tape have run."""
    _changed.append(contents)


def restore_now():
    """Restores everything. Nothing may watch calls."""
    while _changed:
        _changed.pop().restore()


class Restored:
    """A `with` block in which gradients run that restore what they change in another way."""

    def __enter__(self):
        self._count = len(_changed)

    def __exit__(self, kind, error, traceback):
        if kind is None:
            del _changed[self._count :]
