"""The `kiln` command: run programs, look at the cache. `./kiln` builds and then comes here."""

import os
import sys

USAGE = """\
usage: kiln <command>

  run [-q] program.py [arguments]   run a program; `import taichi` gives Kiln in it
  python [arguments]                a Python in which `import kiln` works
  cache stats [--json]              what the cache holds and has saved
  cache clear [-y]                  empty it
  cache path                        where it is
  stop                              stop the daemon"""


def main(argv=None):
    """Runs a command line; returns the exit status."""
    argv = sys.argv[1:] if argv is None else list(argv)
    command = argv[0] if argv else "help"
    if command in ("help", "-h", "--help"):
        print(USAGE)
        return 0
    if command not in _COMMANDS:
        return _usage_error(f"no command '{command}'")
    return _COMMANDS[command](argv[1:])


def run(argv):
    """`kiln run`: the program as __main__, with progress on stderr and a summary at its end."""
    quiet = bool(argv) and argv[0] in ("-q", "--quiet")
    argv = argv[1:] if quiet else argv
    if not argv:
        return _usage_error("run which program?")
    path = argv[0]
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(f"kiln: {path}: {error.strerror}", file=sys.stderr)
        return 2

    from . import compat, events
    from .progress import Progress

    compat.install()
    frames = os.environ.get("KILN_GUI_FRAMES", "")
    total = int(frames) if frames.isdigit() else None
    progress = None if quiet else Progress(events, total=total)
    try:
        return _execute(path, source, argv)
    finally:
        _flush(sys.stdout)
        if progress:
            progress.summary()


def _execute(path, source, argv):
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


def python(argv):
    """`kiln python`: this interpreter, with kiln importable."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    os.execv(sys.executable, [sys.executable, *argv])


def cache(argv):
    """`kiln cache stats | clear | path`."""
    action, options = (argv[0], argv[1:]) if argv else ("", [])
    if action == "path" and not options:
        print(os.path.join(home(), "cache"))
        return 0
    if action == "stats" and set(options) <= {"--json"}:
        stats = _session().daemon_stats()
        if options:
            import json

            print(json.dumps(stats, sort_keys=True))
        else:
            _print_stats(stats)
        return 0
    if action == "clear" and set(options) <= {"-y", "--yes"}:
        if not options and not _agreed(f"Delete everything in {os.path.join(home(), 'cache')}?"):
            return 1
        cleared = _session().clear_cache()
        import shutil

        # What is known of kernels is of no use without them.
        shutil.rmtree(os.path.join(home(), "warm"), ignore_errors=True)
        print(f"cleared {cleared['entries']} entries, {_size(cleared['bytes'])}")
        return 0
    return _usage_error("cache stats [--json] | clear [-y] | path")


def stop(argv):
    """`kiln stop`: ends the daemon of this KILN_HOME, if one runs."""
    if argv:
        return _usage_error("stop takes no arguments")
    _session().stop_daemon()
    return 0


def home():
    """Where Kiln keeps everything: $KILN_HOME, else ~/.cache/kiln."""
    return os.path.abspath(
        os.environ.get("KILN_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "kiln")
    )


def _session():
    from . import _native

    return _native.Session(
        home(), os.environ.get("KILN_SERVER", ""), os.environ.get("KILN_BIN", ""), True
    )


def _print_stats(stats):
    by_tier = stats.get("hits_by_tier") or {}
    tiers = ", ".join(f"{tier} {count}" for tier, count in sorted(by_tier.items()))
    rows = [
        ("cache", os.path.join(home(), "cache")),
        ("entries", f"{stats['entries']}, {_size(stats['bytes'])}"),
        ("hits", f"{stats['hits']}" + (f" ({tiers})" if tiers else "")),
        ("misses", stats["misses"]),
        ("compiles", stats["compiles"]),
        ("seconds saved", f"{stats['seconds_saved']:.1f}"),
    ]
    rows += [
        (name.replace("_", " "), stats[name])
        for name in ("evictions", "corrupt", "worker_deaths", "errors")
        if stats.get(name)
    ]
    for name, value in rows:
        print(f"{name:14} {value}")


def _size(count):
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def _agreed(question):
    print(f"{question} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _usage_error(message):
    print(f"kiln: {message}\n{USAGE}", file=sys.stderr)
    return 2


def _flush(stream):
    try:
        stream.flush()
    except (OSError, ValueError):
        pass


_COMMANDS = {"run": run, "python": python, "cache": cache, "stop": stop}


if __name__ == "__main__":
    # One module, not two: what the program imports as kiln.cli is what runs it.
    from kiln import cli

    sys.exit(cli.main())
