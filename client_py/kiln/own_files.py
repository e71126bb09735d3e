"""Distinguishes Kiln's own files, and so its frames and functions, from the program's."""

import sys

FOLDER = __file__.rsplit("/", 1)[0] + "/"


def is_own(path):
    """Whether `path` is a file of this package."""
    return path.startswith(FOLDER)


def shown(path):
    """A file's name as a text that UTF-8 can encode. Not every name of a file is one: Python keeps
    bytes of other encodings as surrogates."""
    return path if path.isascii() else path.encode("utf-8", "backslashreplace").decode()


def caller():
    """The file and line of the innermost caller outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return shown(frame.f_code.co_filename), frame.f_lineno
