"""Notes: the files below <home>/warm, in which processes store what they know of kernels.

Kiln trusts notes. It therefore reads them only if no user but this one and root can have written
them (client_cpp/notes.h). A write replaces a note atomically.

A note's name is its path below the home: "warm/programs/0123…".
"""

import errno

from .. import _native, runtime


def read(home, name):
    """The bytes of a note; None if it does not exist or cannot be trusted."""
    return _native.read_note(home, name)


def write(home, name, data):
    """Replaces a note. Raises OSError if that is impossible, as in a read-only session."""
    if runtime.session().read_only:
        raise PermissionError(errno.EROFS, "nothing is written to this home")
    _native.write_note(home, name, data)


def is_name(file):
    """Whether `file` is the name of a note: hexadecimal digits, and the suffix of a temporary file
    while it is being written."""
    digits, *numbers = file.removesuffix(".tmp").split(".")
    is_numbered = len(numbers) <= 2 and all(n.isascii() and n.isdigit() for n in numbers)
    return is_numbered and 32 <= len(digits) <= 64 and is_hex(digits)


def is_hex(text):
    """Whether `text` consists of hexadecimal digits in lower case."""
    return not text.strip("0123456789abcdef")
