"""What kernels were compiled from, kept so that they can be compiled again without their program.

A recorded kernel is a serialised CompileRequest (proto/service.proto): the canonical unit for any
target, and the source map that messages need. It is called by the SHA-256 of its bytes, and lies
deflated in <home>/warm/units/<2 hex digits>/<62 hex digits>; equal ones are kept once, whatever
program they are of.
"""

import os
import re
import zlib

from .. import _native

MAX_BYTES = 80 << 20  # of one, inflated: kMaxUnitBytes and its source map


def keep(home, recorded):
    """Keeps a recorded kernel, unless it is there; its name, or "-" where it cannot be kept."""
    if not recorded:
        return "-"
    name = _native.sha256(recorded).hex()
    path = _path(home, name)
    if not os.path.exists(path):
        from .records import write

        try:
            write(path, zlib.compress(recorded))
        except OSError:
            return "-"
    return name


def read(home, name):
    """The bytes of a recorded kernel; None if it is not there or not whole."""
    if not is_name(name):
        return None
    try:
        with open(_path(home, name), "rb") as file:
            recorded = zlib.decompressobj().decompress(file.read(), MAX_BYTES)
    except (OSError, zlib.error):
        return None
    return recorded if _native.sha256(recorded).hex() == name else None


def is_name(text):
    """Whether that is a SHA-256 as we write it."""
    return re.fullmatch("[0-9a-f]{64}", text) is not None


def _path(home, name):
    return f"{home}/warm/units/{name[:2]}/{name[2:]}"
