"""Finds the source of functions that were typed into an interactive interpreter.

The interpreter keeps no text, but readline keeps the lines that the user typed. The text found
there is used only if it compiles to exactly the code of the function.
"""

import sys
from types import CodeType

# The file names of typed text: in the plain interpreter, and in `code.interact`.
NAMES = ("<stdin>", "<console>")
_MANY = 2000  # the number of lines to search


def typed_lines(code):
    """The lines of the statement that made `code`, the first being line 1; empty if not found."""
    readline = sys.modules.get("readline")
    if readline is None or code.co_filename not in NAMES:
        return []
    end = readline.get_current_history_length()
    lines = []
    for number in range(end, max(end - _MANY, 0), -1):
        lines.insert(0, (readline.get_history_item(number) or "") + "\n")
        first = code.co_firstlineno - 1
        if first < len(lines) and lines[first].lstrip().startswith(("@", "def ")):
            statement = _statement(lines, code)
            if statement:
                return statement
    return []


def _statement(lines, code):
    """The lines of the first statement in `lines`, if it made `code`."""
    if lines[0][:1].isspace():
        return []
    # Lines that were typed later belong to other statements.
    for end in range(code.co_firstlineno + 1, len(lines) + 1):
        if end < len(lines) and (lines[end][:1].isspace() or lines[end][:1] in (")", "]", "}")):
            continue
        try:
            whole = compile("".join(lines[:end]) + "\n", code.co_filename, "single")
        except (SyntaxError, ValueError):
            continue
        return lines[:end] if code in _codes(whole) else []
    return []


def _codes(code):
    found = [code]
    for one in found:
        found += [constant for constant in one.co_consts if isinstance(constant, CodeType)]
    return found
