"""Functions that commands share: the home, a session, formatting of sizes."""

import os
import sys


def home():
    """The directory for all of Kiln's files: $KILN_HOME, by default ~/.cache/kiln. Ends the command
    if its name is not UTF-8."""
    (given,) = _variables("KILN_HOME")
    return os.path.abspath(given or os.path.join(os.path.expanduser("~"), ".cache", "kiln"))


def session():
    """A session of this home, like a program's. Ends the command if the environment is invalid."""
    from .. import _native

    try:
        return _native.Session(home(), *_variables("KILN_SERVER", "KILN_BIN"), True)
    except ValueError as error:
        failure(error)
        raise SystemExit(2) from None


def _variables(*names):
    from .. import runtime

    try:
        return runtime.variables(*names)
    except ValueError as error:
        failure(error)
        raise SystemExit(2) from None


def failure(message):
    """Prints why the command failed; returns the exit status."""
    print(f"kiln: {message}", file=sys.stderr)
    return 1


def run(action, argv):
    """The exit status of an action; prints why it failed."""
    try:
        return action(argv)
    except BrokenPipeError:
        raise
    except (RuntimeError, ValueError, OSError) as error:
        return failure(error)


def print_json(value):
    """Prints one line of JSON with sorted keys."""
    import json

    print(json.dumps(value, sort_keys=True))


def size(count):
    """Formats a number of bytes: "1.5 MB"."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def confirm(question):
    """Asks the user; returns whether the answer is yes."""
    print(f"{question} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
