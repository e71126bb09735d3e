"""Recorded kernels: the compiler's input, stored so that kernels can be compiled without their
program.

A recorded kernel is a serialised CompileRequest (proto/service.proto): the canonical unit for any
target, and the source map for messages. Its name is the SHA-256 of its bytes. Its file is
<home>/warm/units/<2 hex digits>/<62 hex digits>, compressed. Programs with equal kernels share it.
"""

import os
import zlib

from .. import _native
from . import notes


def keep(home, recorded):
    """Stores a recorded kernel unless it exists. Returns its name, or "-" if it cannot be
    stored."""
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
    """The bytes of a recorded kernel; None if its file is missing or damaged."""
    if not is_name(name):
        return None
    packed = notes.read(home, _note(name))
    if packed is None:
        return None
    try:
        recorded = zlib.decompressobj().decompress(packed, _native.MAX_RECORDED_KERNEL_BYTES)
    except zlib.error:
        return None
    return recorded if _native.sha256(recorded).hex() == name else None


def is_name(text):
    """Whether that is a SHA-256 as we write it."""
    return len(text) == 64 and notes.is_hex(text)


def _note(name):
    return f"warm/units/{name[:2]}/{name[2:]}"
