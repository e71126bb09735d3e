"""`kiln run`: the program as __main__, with progress on stderr and a summary at its end."""

import os
import sys

from .common import usage_error


def main(argv):
    quiet = bool(argv) and argv[0] in ("-q", "--quiet")
    argv = argv[1:] if quiet else argv
    if not argv:
        return usage_error("run which program?")
    path = argv[0]
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(f"kiln: {path}: {error.strerror}", file=sys.stderr)
        return 2

    from .. import compat, events
    from ..progress import Progress

    compat.install()
    frames = os.environ.get("KILN_GUI_FRAMES", "")
    total = int(frames) if frames.isdigit() else None
    progress = None if quiet else Progress(events, total=total)
    try:
        return execute(path, source, argv)
    finally:
        _flush(sys.stdout)
        if progress:
            progress.summary()


def execute(path, source, argv):
    """Runs a program's source as `python program.py` would; returns the exit status."""
    import types

    program = types.ModuleType("__main__")
    program.__file__ = path
    program.__builtins__ = __builtins__
    program.__spec__ = None
    sys.modules["__main__"] = program
    sys.argv = list(argv)
    # `python -m` put the current folder first; `python program.py` has the program's there.
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    try:
        exec(compile(source, path, "exec"), program.__dict__)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BaseException:
        _flush(sys.stdout)
        kind, value, trace = sys.exc_info()
        # The frame of this function is no part of the program.
        sys.excepthook(kind, value.with_traceback(trace and trace.tb_next), value.__traceback__)
        return 1
    return 0


def _flush(stream):
    try:
        stream.flush()
    except (OSError, ValueError):
        pass
