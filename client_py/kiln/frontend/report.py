"""Formats positions in the user's source for errors and warnings."""

from _ast import For, FunctionDef, If, While

from .. import _native, active, errors
from ..diagnostics import is_diagnostic, say
from ..errors import TaichiCompilationError, TaichiTypeError
from ..own_files import is_own
from .source import file_lines

_WIDTH = 100
# A deeper chain of inlined calls is reported as endless recursion.
CHAIN_LIMIT = 200
_MOST_CALLS = 16  # the most calls that an error shows


def cycle(chain):
    """The part of a chain of calls from the previous call of its last function on."""
    start = next((i for i in range(len(chain) - 2, -1, -1) if chain[i] == chain[-1]), 0)
    return " -> ".join(chain[start:])


def folded(text):
    """An error's text; of many calls, the middle ones are left out."""
    import re

    calls = re.split(r"^(?=File \")", text, flags=re.MULTILINE)
    if len(calls) <= _MOST_CALLS:
        return text
    half = _MOST_CALLS // 2
    left_out = len(calls) - 2 * half
    return "".join([*calls[:half], f"[{left_out} more calls]\n", *calls[-half:]])


def position(source, node):
    """File, line, function, source text and carets of a node."""
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


def at_parameter(source, index, error):
    """The error with the position of a parameter; unchanged without source text."""
    try:
        node = source.tree.args.args[index]
    except SyntaxError:  # not a statement of its own, such as a lambda
        return error
    return type(error)("\n" + position(source, node) + str(error))


def _column(line, utf8_offset):
    return len(line.encode()[:utf8_offset].decode(errors="ignore"))


def _underlined(line, begin, end):
    # Keep the indentation, unless the line is too long to read.
    if len(line) > _WIDTH:
        margin = len(line) - len(line.lstrip())
        line, begin, end = line[margin:], begin - margin, end - margin
    return f"{line.rstrip()}\n{' ' * begin}{'^' * max(end - begin, 1)}\n"


# Python's exceptions -> the classes that kernels raise for them.
_OF_THE_LANGUAGE = {IndexError: errors.TaichiIndexError, TypeError: TaichiTypeError}


def located(source, node, error):
    """The error to raise for `error`, which occurred at `node`."""
    where = position(source, node)
    if isinstance(error, (TaichiCompilationError, errors.TaichiRuntimeError)):
        return type(error)(where + str(error))
    if isinstance(error, _native.BuilderError):
        return TaichiTypeError(where + str(error))
    if is_diagnostic(error):
        kind = _OF_THE_LANGUAGE.get(type(error), TaichiCompilationError)
        return kind(where + _users_frames(error) + str(error))
    if isinstance(error, RecursionError):
        chain = cycle(active.context().function_chain)
        return TaichiCompilationError(where + str(say.functions_inlined_without_end(chain=chain)))
    text = f"{_users_frames(error)}{type(error).__name__}: {error}"
    return TaichiCompilationError(where + text)


def _users_frames(error):
    """The frames of the user's own Python code in the traceback of an error at compile time."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_own(code.co_filename):
            frames.append(f'  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}')
        trace = trace.tb_next
    return "\n".join(["Traceback (most recent call last):", *frames, ""]) if frames else ""


def show_warning(text, category, file, line):
    """Shows a Python warning about a line of the user's code, in yellow on a terminal."""
    import sys
    import warnings

    if sys.stderr is not None and sys.stderr.isatty():
        text = f"\x1b[38;5;226m{text}\x1b[0m"
    warnings.warn_explicit(text, category, file, line, module="kiln")


# By the names of proto DiagnosticKind; other kinds are compilation errors. For what its compiler
# refuses, the reference raises a RuntimeError.
_ERRORS = {
    "KIND_SYNTAX": errors.TaichiSyntaxError,
    "KIND_NAME": errors.TaichiNameError,
    "KIND_TYPE": errors.TaichiTypeError,
    "KIND_INDEX": errors.TaichiIndexError,
    "KIND_UNSUPPORTED": errors.TaichiUnsupportedError,
}


def raise_diagnostics(diagnostics, ctx):
    """Raises the compiler's first error, with its notes, in the front end's form."""
    error = min(diagnostics, key=lambda d: d.severity != "ERROR")
    # What is of no node is of the kernel as a whole.
    what = "" if error.spans else f"kernel '{ctx.kernel_name}': "
    text = f"\n{what}{_located(error)}"
    for note in diagnostics:
        if note.severity == "NOTE":
            text += "\n" + _located(note)
    raise _ERRORS.get(error.kind, TaichiCompilationError)(text)


def _located(diagnostic):
    """The message of a diagnostic below the lines to which it refers."""
    return lines_of(diagnostic.spans) + diagnostic.message


def lines_of(positions):
    """The text of positions as `printing.positions_of` gives them, with the lines underlined. The
    outermost call comes first, as in errors of the front end."""
    text = ""
    for file, line, column, end_line, end_column, function in reversed(positions):
        text += f'File "{file}", line {line}, in {function}:\n'
        shown = _source_line(file, line)
        if shown:
            end = end_column if end_line == line else len(shown.rstrip())
            text += _underlined(shown, column, end)
    return text


def _source_line(file, number):
    lines = file_lines(file) or []
    return lines[number - 1].rstrip("\r\n") if 0 < number <= len(lines) else ""
