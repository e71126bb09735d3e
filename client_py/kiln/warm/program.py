"""Manifests: which instances a program used in its last run.

    kiln-manifest 1
    compiler <64 hex digits>
    unit <digest, 64 hex digits> <file of its warm record below the home, or -> <kernel>

The next run asks for what the disk lacks in one request, before its first kernel.
"""

import os
import sys

from .. import _native

_HEADER = "kiln-manifest 1"
_MANY = 2000  # units

_state = None  # of this process: see _State


class _State:
    def __init__(self, session):
        self.process = os.getpid()
        self.session = session
        self.path = _path(session.home)
        self.listed = _read(self.path)
        self.units = {}


def prefetch(session):
    """Gets what the program used when it last ran; once in the life of a process."""
    global _state
    if _state is None:
        _state = _State(session)
        if _state.listed:
            session.prefetch([bytes.fromhex(unit[0]) for unit in _state.listed])
        import atexit

        atexit.register(_save)


def used(session, digest, record, kernel):
    """An instance was made; `record` is the path of its warm records or None."""
    prefetch(session)
    home = _state.session.home
    record = "-" if record is None else record[len(home) + 1 :]
    _state.units[digest] = (digest, record, kernel)


def _path(home):
    """The manifest of the program that runs; None where there is no program file."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    if not file:
        return None
    name = _native.sha256(os.path.abspath(file).encode()).hex()
    return f"{home}/warm/programs/{name[:32]}"


def _read(path):
    if path is None:
        return []
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    if not lines or lines[0] != _HEADER:
        return []
    units = []
    for line in lines[1:_MANY]:
        words = line.split(" ", 3)
        if words[0] == "unit" and len(words) == 4 and _is_digest(words[1]):
            units.append(tuple(words[1:]))
    return units


def _is_digest(text):
    return len(text) == 64 and not text.strip("0123456789abcdef")


def _save():
    state = _state
    units = list(state.units.values())
    if state.path is None or state.process != os.getpid() or not units:
        return
    if units == state.listed[: len(units)] and len(units) == len(state.listed):
        return
    compiler = state.session.compiler.hex()
    lines = [_HEADER, f"compiler {compiler}", *["unit " + " ".join(unit) for unit in units]]
    from .records import write

    try:
        write(state.path, ("\n".join(lines) + "\n").encode())
    except OSError:
        pass  # a home that cannot be written to has none
