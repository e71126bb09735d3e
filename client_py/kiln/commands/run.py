"""`kiln run`: runs a program as __main__ and reports long compilations and a summary on stderr."""

import os
import sys

from .common import failure, session
from .options import BadOption, check_folder, default_target, parse, target

_OPTIONS = {
    "--cpu": "",
    "--manifest": "",
    "--module": "",
    "--quiet": False,
    "--read-only": False,
    "--report": [],
    "--require-hit": False,
    "--verbose": False,
}
# Bytes of the record that ends a zip file, with its comment.
_LONGEST_END = 22 + 0xFFFF
_SHORT = {"-m": "--module", "-q": "--quiet", "-v": "--verbose"}


def main(argv):
    _reserve_streams()
    options, argv = parse(argv, _OPTIONS, _SHORT, stop=True, last=("--module",))
    target(options["cpu"]) if options["cpu"] else default_target()
    if options["report"]:
        from .reports import check_paths

        check_paths(options["report"])
    if options["manifest"]:
        check_folder("--manifest", options["manifest"])
    if options["module"]:
        program = _Module(options["module"])
    elif argv:
        try:
            program = _program(argv.pop(0))
        except OSError as error:
            print(f"kiln: {error.filename}: {error.strerror}", file=sys.stderr)
            return 2
    else:
        raise BadOption("run which program?")
    _set_environment(options)
    # Before the program is loaded: an error in the settings is not to look like one of the program.
    session()  # a wrong variable ends the command here, with status 2

    from .. import compat, events
    from ..progress import Progress

    # `import taichi` in the program then gives Kiln.
    compat.install()
    compat.install_for_children()
    frames = os.environ.get("KILN_GUI_FRAMES", "")
    total = int(frames) if frames.isdecimal() else None
    progress = None
    if not options["quiet"] and sys.stderr is not None:
        progress = Progress(events, total=total, verbose=options["verbose"])
    watch = _Watch(program.name, options)
    process = os.getpid()
    status = 1
    try:
        status = execute(program, argv)
    finally:
        _flush(sys.stdout)
        if os.getpid() == process:  # skip in children that the program forked
            if progress:
                progress.summary()
            status = watch.end(status)
    return status


def _reserve_streams():
    """Opens /dev/null in place of standard streams that are closed. A file or socket opened later
    would take their place, and get what libraries write to them."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)


def _set_environment(options):
    """Sets the variables for options that also apply to processes that the program starts."""
    if options["cpu"]:
        os.environ["KILN_CPU"] = options["cpu"]
    if options["read_only"]:
        os.environ["KILN_CACHE"] = "read-only"
    if options["manifest"]:
        os.environ["KILN_MANIFEST"] = os.path.abspath(options["manifest"])


class _Watch:
    """Records the outcome of the program's kernels if the options request a report or hits."""

    def __init__(self, path, options):
        from .. import misses

        self.path = path
        # The program may change the current folder before the reports are written.
        self.files = [os.path.abspath(file) for file in options["report"]]
        self.refuses = options["require_hit"] or misses.is_required()
        self.watch = misses.watch() if self.refuses or self.files else None

    def end(self, status):
        """Prints the misses and writes the reports. Returns the command's exit status."""
        if self.watch is None:
            return status
        from .. import misses

        missed = self.watch.missed if self.refuses else []
        why = misses.explain(missed)
        misses.report(missed, why)
        # A failure of the program itself is the more useful status.
        status = status or (misses.STATUS if missed else 0)
        if self.files:
            try:
                self._report(status, why).write(self.files)
            except OSError as error:
                # The file could not be written: that must not hide why the program failed.
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


def _program(path):
    """The program at a path. Raises OSError if it cannot be read."""
    if os.path.isdir(path):
        return _Container(path)
    script = Script(path)
    return _Container(path) if script.is_archive() else script


class Script:
    """A file, run as by `python FILE`. Raises OSError if it cannot be read."""

    def __init__(self, path):
        self.name = path
        with open(path, "rb") as file:
            self._source = file.read()

    def is_archive(self):
        """Whether it is a zip file, perhaps with a line for the shell before it."""
        if b"PK\5\6" not in self._source[-_LONGEST_END:]:
            return False
        from zipfile import is_zipfile

        return is_zipfile(self.name)

    def load(self, main):
        """Sets the variables of the module `main` as Python does; returns the code."""
        from .. import program_text

        sys.argv[0] = self.name
        # As Python: the program may change the current folder.
        main.__file__ = os.path.abspath(self.name)
        # `python -m` put the current folder first; `python program.py` puts the program's there.
        if not getattr(sys.flags, "safe_path", False):
            sys.path[0] = os.path.dirname(os.path.abspath(self.name))
        program_text.keep(self.name, self._source)
        return compile(self._source, self.name, "exec")


class _Container:
    """A folder or zip file, of which Python runs the module `__main__`."""

    def __init__(self, path):
        self.name = path

    def load(self, main):
        """Like Script.load. Raises SystemExit if the module does not exist."""
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec("__main__", [self.name])
        if spec is None:
            print(f"kiln: there is no module __main__ in {self.name}", file=sys.stderr)
            raise SystemExit(2)
        sys.path[0] = self.name
        main.__spec__, main.__loader__, main.__package__ = spec, spec.loader, ""
        main.__file__, main.__cached__ = spec.origin, spec.cached
        return spec.loader.get_code("__main__")


class _Module:
    """A module or package, run as by `python -m NAME`."""

    def __init__(self, name):
        self.name = name

    def load(self, main):
        """Like Script.load. Raises SystemExit if the module does not exist."""
        from importlib.util import find_spec

        name = self.name
        spec = self._find(find_spec, name)
        # A package: Python runs its module `__main__`.
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = self._find(find_spec, name)
        if spec is None or not hasattr(spec.loader, "get_code"):
            print(f"kiln: there is no module {name} to run", file=sys.stderr)
            raise SystemExit(2)
        # Without these, relative imports of the module would fail.
        main.__spec__, main.__loader__, main.__package__ = spec, spec.loader, spec.parent
        main.__file__ = sys.argv[0] = spec.origin
        main.__cached__ = spec.cached
        return spec.loader.get_code(name)

    @staticmethod
    def _find(find_spec, name):
        try:
            return find_spec(name)
        except ModuleNotFoundError as error:
            if name.startswith(f"{error.name}."):  # its package does not exist
                return None
            raise


def execute(program, argv):
    """Runs a program as Python would; returns the exit status."""
    import types

    # A new module: the program must not see the variables of this command, and pickle looks classes
    # up in `__main__`.
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    sys.argv = [program.name, *argv]
    try:
        exec(program.load(main), main.__dict__)
    except SystemExit as end:
        # As Python does: sys.exit() is success, a text is printed and means 1.
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # 128 + SIGINT, as a shell reports a program that was interrupted.
        return 130
    except BaseException:
        # What the program printed comes before the traceback, also where both go to one file.
        _flush(sys.stdout)
        kind, value, trace = sys.exc_info()
        # Hide the frames of this file.
        while trace and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(kind, value.with_traceback(trace), value.__traceback__)
        return 1
    return 0


def _flush(stream):
    if stream is None:  # the shell closed it before Python started, with >&-
        return
    try:
        stream.flush()
    # A closed pipe or stream: the status of the program says more than this would.
    except (OSError, ValueError):
        pass
