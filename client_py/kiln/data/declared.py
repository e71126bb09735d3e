"""Fields that were declared without a shape. They have to be placed before the next kernel runs:
a field that was forgotten is an error there, whichever kernel it is."""

from .. import _native
from ..diagnostics import say

_fields = {}  # id of a field -> (the field, kinds of companions asked for)


def add(field, kinds):
    """Called for a field without a shape; kinds: of "grad" and "dual" those that it needs."""
    _fields[id(field)] = field, kinds
    _native.check_fields(True)


def check(generation):
    """Raises where such a field, or its gradient, has no place; those made before `generation`, the
    runtime's, are gone. Kernels call it when a field was declared since the last time."""
    fields = [row for row in _fields.values() if row[0]._generation == generation]
    missing = [field for field, _ in fields if None in field._places]
    if missing:
        raise say.these_field_s_are_not_placed(places=_lines(missing))
    for kind in ("grad", "dual"):
        missing = [f for f, kinds in fields if kind in kinds and None in getattr(f, kind)._places]
        if missing:
            raise say.companions_are_not_placed(kind=kind, places=_lines(missing))
    for field, _ in fields:
        field._check_shapes()
    _fields.clear()
    _native.check_fields(False)


def _lines(fields):
    """Where the fields were made, each line once."""
    made = dict.fromkeys(field._made_at for field in fields)
    return "\n".join(f'  File "{file}", line {line}' for file, line in made)


__all__ = ["add", "check"]
