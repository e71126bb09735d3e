"""Files of a home in which processes note what they know of kernels: all that lies below
<home>/warm. They are believed, so they are read only where nobody but this user and root can have
written them (client_cpp/notes.h), and written so that a reader sees all of one or the one before.

A note's name is its path below the home: "warm/programs/0123…".
"""

import errno
import re

from .. import _native, runtime


def read(home, name):
    """The bytes of a note; None if there is none that can be believed."""
    return _native.read_note(home, name)


def write(home, name, data):
    """Replaces a note. OSError where that cannot be, as in a read-only session."""
    if runtime.session().read_only:
        raise PermissionError(errno.EROFS, "nothing is written to this home")
    _native.write_note(home, name, data)


def is_name(file):
    """Whether a file below <home>/warm has a name that we gave it: digits of a digest, and what is
    added while it is written."""
    return re.fullmatch(r"[0-9a-f]{32,64}(\.[0-9]+){0,2}(\.tmp)?", file) is not None
