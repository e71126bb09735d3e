"""What a program used in its last run: its manifest (warm/manifest.py), in <home>/warm/programs.

The next run asks for what the disk lacks in one request, before its first kernel; `kiln warm`
compiles it without the program. $KILN_MANIFEST names a file for a manifest to be carried elsewhere.
"""

import os
import sys

from .. import _native, runtime
from . import manifest

_MANY = 2000  # units that are asked for at once

_state = None  # of this process: see _State


class _State:
    def __init__(self, session):
        self.process = os.getpid()
        self.session = session
        self.file = program_file()
        self.path = None if self.file is None else path_of(session.home, self.file)
        self.known = None if self.path is None else _read(self.path)  # of the last run
        self.units = {}


def prefetch(session):
    """Gets what the program used when it last ran; once in the life of a process."""
    global _state
    if _state is None:
        _state = _State(session)
        if _state.known is not None:
            session.prefetch([bytes.fromhex(unit.key) for unit in _state.known.units[:_MANY]])
        import atexit

        atexit.register(_save)


def used(session, digest, record, kernel, recorded):
    """An instance was made; `record` is the path of its warm records or None, `recorded` the name
    of what it can be compiled from again."""
    prefetch(session)
    home = _state.session.home
    record = "-" if record is None else record[len(home) + 1 :]
    level = runtime.cfg.cpu_level or "-"
    _state.units[digest] = manifest.Unit(digest, recorded, level, record, kernel)


def program_file():
    """The file of the program that runs; None where there is none."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.abspath(file) if file else None


def path_of(home, file):
    """Where the manifest of a program lies: it is named by the program's absolute path."""
    name = _native.sha256(os.path.abspath(file).encode()).hex()
    return f"{home}/warm/programs/{name[:32]}"


def digest_of(file):
    """The SHA-256 of a program's text; "-" if it cannot be read."""
    try:
        with open(file, "rb") as opened:
            return _native.sha256(opened.read()).hex()
    except OSError:
        return "-"


def own_modules():
    """((SHA-256, file), …) of the modules that the program imported and that may change with it:
    not the interpreter's, not Kiln's, not what a package manager installed."""
    found = []
    for name, module in sorted(sys.modules.items()):
        # Not getattr: a module may answer that by importing something.
        file = getattr(module, "__dict__", {}).get("__file__")
        if name == "__main__" or not isinstance(file, str) or _is_installed(file):
            continue
        found.append((digest_of(file), os.path.abspath(file)))
    return tuple(dict.fromkeys(found))


_INSTALLED = tuple(
    f"{os.path.dirname(path)}/"
    for path in (os.__file__, os.path.dirname(os.path.abspath(__file__)), _native.__file__)
)


def _is_installed(file):
    return file.startswith(_INSTALLED) or "-packages/" in file or "\n" in file


def is_as_it_was(known, file):
    """Whether a manifest of a home is of the present text of the program in `file`, and of what
    that imported."""
    return known.program == digest_of(file) and all(
        digest_of(module) == digest for digest, module in known.modules
    )


def current():
    """The manifest of this process as far as it has run; None before its first kernel."""
    if _state is None or _state.process != os.getpid() or not _state.units:
        return None
    file = _state.file
    return manifest.Manifest(
        program="-" if file is None else digest_of(file),
        name="-" if file is None else file,
        compiler=_state.session.compiler.hex() or "-",
        units=tuple(_state.units.values()),
        modules=own_modules(),
    )


def _read(path):
    try:
        return manifest.read(path)
    except (OSError, manifest.BadManifest):
        return None


def _save():
    made = current()
    if made is None:
        return
    from .records import write

    carried = os.environ.get("KILN_MANIFEST")
    if carried:
        data = manifest.to_bytes(manifest.with_recorded(made, _state.session.home))
        try:
            with open(carried, "wb") as file:
                file.write(data)
        except OSError as error:
            print(f"kiln: KILN_MANIFEST={carried}: {error.strerror}", file=sys.stderr)
    if _state.path is None or made == _state.known:
        return
    try:
        write(_state.path, manifest.to_bytes(made))
    except OSError:
        pass  # a home that cannot be written to has none
