"""The texts of all errors and warnings, in one table.

A row has an id, the exception to raise, and a template with named fields. For the text of a warning
or a part of another row, `str` is in place of the exception:

    "argument_is_immutable": (TaichiSyntaxError, 'Kernel argument "{name}" is immutable …'),

and is used by its id:

    raise say.argument_is_immutable(name=name)

To add one: a row in the module of its area (AREAS below), and a language case that shows it.
tests/diagnostics_test.py fails for a text outside the table and for a use that does not fit its
row. It also fails for a row that nothing uses or that no case shows. Texts of the native parts are
in common/language/diagnostics.h, under the same rules.
"""

import sys

from ..forks import held_off

AREAS = (
    "calls",
    "checks",
    "expressions",
    "fields",
    "gradients",
    "graphs",
    "meshes",
    "modules",
    "program",
    "simt",
    "statements",
    "tensors",
    "textures",
    "triplets",
)

_rows = {}


def rows():
    """{id: (class, template)} of all areas; read when the first error needs it."""
    if not _rows:
        with held_off:
            # As importlib.import_module, without the milliseconds of importing importlib.
            for area in AREAS:
                name = f"{__name__}.{area}"
                __import__(name)
                _rows.update(sys.modules[name].ROWS)
    return _rows


class _Say:
    """`say.ID(field=…)` makes the exception, or the text, of the row with that id. `say.ID` alone
    is for calls that may turn out to be mistakes: it reads no rows."""

    def __getattr__(self, id):
        return lambda **fields: _made(id, fields)


def _made(id, fields):
    kind, template = rows()[id]
    made = kind(template.format(**fields))
    if kind is not str:
        made.from_kiln = True
    return made


def is_diagnostic(error):
    """Whether the error comes from the table, and is therefore a mistake of the program."""
    return hasattr(error, "from_kiln")


say = _Say()


def near(name, candidates):
    """A hint with the candidate most similar to a misspelt name; empty if none is similar."""
    from difflib import get_close_matches

    found = get_close_matches(str(name), [c for c in candidates if c != name], 1, 0.7)
    return f" Did you mean '{found[0]}'?" if found else ""
