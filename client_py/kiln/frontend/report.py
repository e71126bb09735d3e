"""Places in the user's source, as errors show them."""

from _ast import For, FunctionDef, If, While

from .. import _native, active, errors
from ..diagnostics import is_said, say
from ..errors import TaichiCompilationError, TaichiTypeError
from ..own_files import is_own
from .text import file_lines

_WIDTH = 100
# As many functions deep a call of one more is taken for recursion without end.
CHAIN_LIMIT = 200
_MOST_CALLS = 16  # that an error shows


def cycle(chain):
    """The names of a chain of calls, from the last time that its end was met."""
    start = next((i for i in range(len(chain) - 2, -1, -1) if chain[i] == chain[-1]), 0)
    return " -> ".join(chain[start:])


def folded(text):
    """An error's text, of whose calls the middle ones are left out where there are many."""
    import re

    calls = re.split(r"^(?=File \")", text, flags=re.MULTILINE)
    if len(calls) <= _MOST_CALLS:
        return text
    half = _MOST_CALLS // 2
    left_out = len(calls) - 2 * half
    return "".join([*calls[:half], f"[{left_out} more calls]\n", *calls[-half:]])


def position(source, node):
    """File, line, function, source text and carets, for one node of a function."""
    text = f'File "{source.file}", line {node.lineno}, in {source.name}:\n'
    last = node.end_lineno
    if node.__class__ in (For, While, FunctionDef, If):
        last = max(node.body[0].lineno - 1, node.lineno)
    for number in range(node.lineno, last + 1):
        line = source.line(number)
        begin = len(line) - len(line.lstrip())
        end = len(line.rstrip())
        if number == node.lineno:
            begin = _column(line, node.col_offset)
        if number == node.end_lineno:
            end = _column(line, node.end_col_offset)
        text += _underlined(line, begin, end)
    return text


def _column(line, utf8_offset):
    return len(line.encode()[:utf8_offset].decode(errors="ignore"))


def _underlined(line, begin, end):
    # Indentation is kept; what is too long to read loses its common margin.
    if len(line) > _WIDTH:
        margin = len(line) - len(line.lstrip())
        line, begin, end = line[margin:], begin - margin, end - margin
    return f"{line.rstrip()}\n{' ' * begin}{'^' * max(end - begin, 1)}\n"


# What errors of Python's classes are in a kernel.
_OF_THE_LANGUAGE = {IndexError: errors.TaichiIndexError, TypeError: TaichiTypeError}


def located(source, node, error):
    """The error to raise for one that came up at `node`."""
    where = position(source, node)
    if isinstance(error, (TaichiCompilationError, errors.TaichiRuntimeError)):
        return type(error)(where + str(error))
    if isinstance(error, _native.BuilderError):
        return TaichiTypeError(where + str(error))
    if is_said(error):
        kind = _OF_THE_LANGUAGE.get(type(error), TaichiCompilationError)
        return kind(where + _users_frames(error) + str(error))
    if isinstance(error, RecursionError):
        chain = cycle(active.context().function_chain)
        return TaichiCompilationError(where + str(say.functions_inlined_without_end(chain=chain)))
    text = f"{_users_frames(error)}{type(error).__name__}: {error}"
    return TaichiCompilationError(where + text)


def _users_frames(error):
    """The frames of the user's Python code that ran at compile time; empty if there are none."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_own(code.co_filename):
            frames.append(f'  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}')
        trace = trace.tb_next
    return "\n".join(["Traceback (most recent call last):", *frames, ""]) if frames else ""


def show_warning(text, category, file, line):
    """Shows a Python warning about a line of the user's; in yellow where a terminal shows it."""
    import sys
    import warnings

    if sys.stderr is not None and sys.stderr.isatty():
        text = f"\x1b[38;5;226m{text}\x1b[0m"
    warnings.warn_explicit(text, category, file, line, module="kiln")


# Numbers of proto DiagnosticKind.
_SYNTAX, _NAME, _TYPE, _INDEX = 1, 2, 3, 4


def raise_diagnostics(diagnostics, ctx):
    """Raises the compiler's first error in the front end's form."""
    diagnostic = min(diagnostics, key=lambda d: getattr(d, "severity", 0))
    text = ""
    # Outermost call first, as for errors of the front end.
    for file, line, column, end_line, end_column, function in reversed(diagnostic.spans):
        text += f'File "{file}", line {line}, in {function}:\n'
        shown = _source_line(file, line)
        if shown:
            end = end_column if end_line == line else len(shown.rstrip())
            text += _underlined(shown, column, end)
    kinds = {
        "syntax": errors.TaichiSyntaxError,
        "name": errors.TaichiNameError,
        "index": errors.TaichiIndexError,
        "type": errors.TaichiTypeError,
    }
    kind = kinds.get(_kind_name(diagnostic.kind), TaichiCompilationError)
    raise kind("\n" + text + diagnostic.message)


def _kind_name(kind):
    names = {_SYNTAX: "syntax", _NAME: "name", _INDEX: "index", _TYPE: "type"}
    return kind if isinstance(kind, str) else names.get(kind)


def _source_line(file, number):
    lines = file_lines(file) or []
    return lines[number - 1].rstrip("\r\n") if 0 < number <= len(lines) else ""
