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
from . import notes

MAX_BYTES = 80 << 20  # of one, inflated: kMaxUnitBytes and its source map


def keep(home, recorded):
    """Keeps a recorded kernel, unless it is there; its name, or "-" where it cannot be kept."""
    if not recorded:
        return "-"
    name = _native.sha256(recorded).hex()
    note = _note(name)
    if not os.path.exists(f"{home}/{note}"):
        try:
            notes.write(home, note, zlib.compress(recorded))
        except OSError:
            return "-"
    return name


def read(home, name):
    """The bytes of a recorded kernel; None if it is not there or not whole."""
    if not is_name(name):
        return None
    packed = notes.read(home, _note(name))
    if packed is None:
        return None
    try:
        recorded = zlib.decompressobj().decompress(packed, MAX_BYTES)
    except zlib.error:
        return None
    return recorded if _native.sha256(recorded).hex() == name else None


def is_name(text):
    """Whether that is a SHA-256 as we write it."""
    return re.fullmatch("[0-9a-f]{64}", text) is not None


def _note(name):
    return f"warm/units/{name[:2]}/{name[2:]}"
