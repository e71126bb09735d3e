"""`kiln serve`: runs this home's daemon in the foreground, for service managers."""

import os

from .common import failure


def main(argv):
    folder = os.environ.get("KILN_BIN")
    if not folder:
        from .. import _native

        folder = os.path.dirname(_native.__file__)
    program = os.path.join(folder, "kilnd")
    # Of repeated flags, kilnd takes the last. A service must not exit when it is idle.
    try:
        os.execv(program, [program, "--foreground", f"--bin={folder}", "--idle-exit=0", *argv])
    except OSError as error:
        return failure(f"cannot run {program}: {error.strerror}")
