"""`kiln run`: the program as __main__, with progress on stderr and a summary at its end."""

import os
import sys

from .common import failure, session
from .options import BadOption, cpu_level, cpu_level_of_all, parse

_OPTIONS = {
    "--cpu": "",
    "--manifest": "",
    "--quiet": False,
    "--read-only": False,
    "--report": [],
    "--require-hit": False,
}


def main(argv):
    options, argv = parse(argv, _OPTIONS, {"-q": "--quiet"}, stop=True)
    cpu_level(options["cpu"]) if options["cpu"] else cpu_level_of_all()
    if options["report"]:
        from .reports import check_paths

        check_paths(options["report"])
    if not argv:
        raise BadOption("run which program?")
    path = argv[0]
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(f"kiln: {path}: {error.strerror}", file=sys.stderr)
        return 2
    _set_environment(options)
    session()  # so that a variable that is wrong ends this here, with status 2

    from .. import compat, events
    from ..progress import Progress

    compat.install()
    frames = os.environ.get("KILN_GUI_FRAMES", "")
    total = int(frames) if frames.isdigit() else None
    progress = None if options["quiet"] else Progress(events, total=total)
    watch = _Watch(path, options)
    status = 1
    try:
        status = execute(path, source, argv)
    finally:
        _flush(sys.stdout)
        if progress:
            progress.summary()
        status = watch.end(status)
    return status


def _set_environment(options):
    """Options that processes which the program starts have as well."""
    if options["cpu"]:
        os.environ["KILN_CPU"] = options["cpu"]
    if options["read_only"]:
        os.environ["KILN_CACHE"] = "read-only"
    if options["manifest"]:
        os.environ["KILN_MANIFEST"] = os.path.abspath(options["manifest"])


class _Watch:
    """Notes what becomes of the program's kernels, where a report or hits are wanted."""

    def __init__(self, path, options):
        from .. import misses

        self.path = path
        self.files = [os.path.abspath(file) for file in options["report"]]
        self.refuses = options["require_hit"] or misses.are_refused()
        self.watch = misses.watch() if self.refuses or self.files else None

    def end(self, status):
        """Says what missed and writes the reports; the exit status of all."""
        if self.watch is None:
            return status
        from .. import misses

        missed = self.watch.missed if self.refuses else []
        why = misses.explain(missed)
        misses.tell(missed, why)
        status = status or (misses.STATUS if missed else 0)
        if self.files:
            try:
                self._report(status, why).write(self.files)
            except OSError as error:
                return failure(f"{error.filename}: {error.strerror}") if status == 0 else status
        return status

    def _report(self, status, why):
        from .reports import Outcome, Report

        outcomes = []
        for name, tier, wait, compiling, instance in self.watch.made:
            outcome = Outcome(name, instance.digest, "", tier, wait, compiling)
            if id(instance) in why:
                outcome.error, outcome.why = "it was not in the cache", tuple(why[id(instance)])
            outcomes.append(outcome)
        return Report("run", self.path, outcomes, self.watch.seconds(), status)


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
