"""What commands share: the home, a session, how sizes are written."""

import os
import sys


def home():
    """Where Kiln keeps everything: $KILN_HOME, else ~/.cache/kiln."""
    return os.path.abspath(
        os.environ.get("KILN_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "kiln")
    )


def session():
    """A session of this home, as programs have one; ends the command where the environment is
    wrong."""
    from .. import _native

    try:
        return _native.Session(
            home(), os.environ.get("KILN_SERVER", ""), os.environ.get("KILN_BIN", ""), True
        )
    except ValueError as error:
        failure(error)
        raise SystemExit(2) from None


def failure(message):
    """Says why what was asked for failed; the exit status."""
    print(f"kiln: {message}", file=sys.stderr)
    return 1


def print_json(value):
    """One line of JSON, its keys in order."""
    import json

    print(json.dumps(value, sort_keys=True))


def size(count):
    """A number of bytes in words: "1.5 MB"."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def is_agreed(question):
    """Whether the user answers yes."""
    print(f"{question} [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
