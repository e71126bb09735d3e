"""`kiln stop`: stops the daemon of this KILN_HOME if one is running."""

from .common import failure, session
from .options import parse, words


def main(argv):
    _, rest = parse(argv, {})
    words(rest, "stop")
    try:
        session().stop_daemon()
    except (RuntimeError, OSError) as error:
        return failure(f"the daemon does not end: {error}")
    return 0
