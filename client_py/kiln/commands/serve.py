"""`kiln serve`: this home's daemon in the foreground, as service managers want it."""

import os

from .common import failure


def main(argv):
    folder = os.environ.get("KILN_BIN")
    if not folder:
        from .. import _native

        folder = os.path.dirname(_native.__file__)
    program = os.path.join(folder, "kilnd")
    # kilnd's own flags; the last of a kind wins. Nobody serves to end when idle.
    try:
        os.execv(program, [program, "--foreground", f"--bin={folder}", "--idle-exit=0", *argv])
    except OSError as error:
        return failure(f"cannot run {program}: {error.strerror}")
