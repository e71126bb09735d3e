"""`kiln stop`: ends the daemon of this KILN_HOME, if one runs."""

from .common import session
from .options import parse, words


def main(argv):
    _, rest = parse(argv, {})
    words(rest, "stop")
    session().stop_daemon()
    return 0
