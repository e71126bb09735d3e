"""Records which kernels a program used: its manifest (warm/manifest.py), in <home>/warm/programs.

Before its first kernel, the next run of the program requests all entries that the disk lacks in one
message. `kiln warm` compiles a manifest's kernels without the program. $KILN_MANIFEST names a file
for a portable manifest.
"""

import os
import sys

from .. import _native, program_text, runtime, whole_file
from .._native import BadManifest, Manifest, ManifestUnit
from . import notes

_MANY = 2000  # units in one request

_state = None  # this process's _State


class _State:
    def __init__(self, session):
        self.process = os.getpid()
        self.session = session
        self.file = program_file()
        keeps = self.file is not None and session.own_home
        self.note = note_of(self.file) if keeps else None
        # The manifest of the last run.
        self.known = None if self.note is None else read(session.home, self.note)
        self.units = {}


def prefetch(session):
    """Fetches the entries that the program's last run used. Does nothing after the first call."""
    global _state
    if _state is None:
        _state = _State(session)
        if _state.known is not None:
            session.prefetch([bytes.fromhex(unit.key) for unit in _state.known.units[:_MANY]])
        import atexit

        atexit.register(_save)


def add(session, digest, record, kernel, recorded):
    """Adds an instance to the manifest. record: the (home, note) of its warm records, or None.
    recorded: the name of its recorded kernel."""
    prefetch(session)
    record = "-" if record is None else record[1]
    target = runtime.target() or "-"
    _state.units.pop(digest, None)  # it becomes the latest
    _state.units[digest] = ManifestUnit(digest, recorded, target, record, kernel)


def program_file():
    """The file of the running program; None if it has none."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.abspath(file) if file else None


def note_of(file):
    """The note with a program's manifest, named after the program's absolute path."""
    name = _native.sha256(os.fsencode(os.path.abspath(file))).hex()
    return f"warm/programs/{name[:32]}"


def digest_of(file):
    """The SHA-256 of a program's text; "-" if it cannot be read."""
    try:
        with open(file, "rb") as opened:
            return _native.sha256(opened.read()).hex()
    except OSError:
        return "-"


def _digest_of_program(file):
    if file is None:
        return "-"
    # What ran, not what an editor has made of the file meanwhile.
    if program_text.path:
        return _native.sha256(program_text.raw).hex()
    return digest_of(file)


def own_modules():
    """((SHA-256, file), …) of the imported modules that belong to the program, not to the
    interpreter, Kiln or an installed package."""
    found = []
    for name, module in sorted(sys.modules.items()):
        # Not getattr: the module's __getattr__ may import something.
        file = getattr(module, "__dict__", {}).get("__file__")
        if name == "__main__" or not isinstance(file, str) or _is_installed(file):
            continue
        found.append((digest_of(file), os.fsencode(os.path.abspath(file))))
    return tuple(dict.fromkeys(found))


_INSTALLED = tuple(
    f"{os.path.dirname(path)}/"
    for path in (os.__file__, os.path.dirname(os.path.abspath(__file__)), _native.__file__)
)


def _is_installed(file):
    return file.startswith(_INSTALLED) or "-packages/" in file or "\n" in file


def is_as_it_was(known, file):
    """Whether neither the program in `file` nor its modules changed since the manifest was made."""
    return known.program == digest_of(file) and all(
        digest_of(module) == digest for digest, module in known.modules
    )


def current(latest_first=False):
    """The manifest of this process so far; None before its first kernel.

    latest_first: whether the kernels are in the reverse of the order in which they were made.
    """
    if _state is None or _state.process != os.getpid() or not _state.units:
        return None
    file = _state.file
    return Manifest(
        program=_digest_of_program(file),
        name="-" if file is None else os.fsencode(file),
        compiler=_state.session.compiler.hex() or "-",
        units=list(_state.units.values())[:: -1 if latest_first else 1],
        modules=own_modules(),
    )


def read(home, note):
    """The manifest in a note; None if the note is missing or damaged."""
    data = notes.read(home, note)
    try:
        return None if data is None else Manifest.from_bytes(data)
    except BadManifest:
        return None


def _save():
    made = current()
    if made is None:
        return
    carried = os.environ.get("KILN_MANIFEST")
    if carried:
        from .manifest import with_recorded

        data = with_recorded(made, _state.session.home).to_bytes()
        try:
            whole_file.write(carried, data)
        except OSError as error:
            print(f"kiln: KILN_MANIFEST={carried}: {error.strerror}", file=sys.stderr)
    if _state.note is None or made == _state.known:
        return
    try:
        notes.write(_state.session.home, _state.note, made.to_bytes())
    except OSError:
        pass  # the home is not writable, so it gets no manifest
