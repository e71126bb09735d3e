"""`kiln stop`: ends the daemon of this KILN_HOME, if one runs."""

from .common import session, usage_error


def main(argv):
    if argv:
        return usage_error("stop takes no arguments", "stop")
    session().stop_daemon()
    return 0
