"""The text that `kiln run` compiled the program from. Its file may be edited or deleted while the
program runs, and a pipe cannot be read twice."""

from .diagnostics import say

path = ""
raw = b""
text = ""


def keep(program, source):
    """Keeps the bytes `source` of the file `program`. Raises SyntaxError, as Python does for a
    file, if they are not of the encoding that they declare."""
    global path, raw, text
    try:
        decoded = source.decode("utf-8-sig")
    except UnicodeDecodeError:
        decoded = _decoded(program, source)
    path, raw, text = program, source, decoded


def _decoded(program, source):
    import io
    import tokenize

    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    try:
        return source.decode(encoding)
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        raise say.program_of_other_encoding(file=program, line=line, encoding=encoding) from None
