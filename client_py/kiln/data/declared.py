"""Fields that were declared without a shape. They must be placed before the next kernel runs; any
kernel raises an error for a field that was not."""

from .. import _native
from ..diagnostics import say

_fields = {}  # id of a field -> (the field, kinds of its companions)


def add(field, kinds):
    """Adds a field without a shape. kinds: its companions, out of "grad" and "dual"."""
    _fields[id(field)] = field, kinds
    _native.check_fields(True)


def check(generation):
    """Raises for a field, or a gradient, that has no place. Ignores fields made before
    `generation`, the runtime's. Kernels call it if fields were declared since the last check."""
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
    forget()


def forget():
    """Keeps none of the fields any longer: they were checked, or exist no more."""
    _fields.clear()
    _native.check_fields(False)


def _lines(fields):
    """The lines of the program that made the fields, each once."""
    made = dict.fromkeys(field._made_at for field in fields)
    return "\n".join(f'  File "{file}", line {line}' for file, line in made)


__all__ = ["add", "check", "forget"]
