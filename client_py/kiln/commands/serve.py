"""`kiln serve`: runs this home's daemon in the foreground, for service managers."""

import os

from .common import failure


def main(argv):
    from .. import _native

    folder = _native.program_folder()
    program = os.path.join(folder, "kilnd")
    # Of repeated flags, kilnd takes the last. A service must not exit when it is idle.
    try:
        os.execv(program, [program, "--foreground", f"--bin={folder}", "--idle-exit=0", *argv])
    except OSError as error:
        return failure(f"cannot run {program}: {error.strerror}")
