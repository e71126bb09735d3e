"""Reading files whose names others may have given to something else."""

import os
import stat

from .diagnostics import say


def opened(path, flags):
    """As `opener` of open(): does not wait for the other end of a FIFO, but refuses it. Raises
    OSError, which names the path."""
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise say.file_is_not_regular(path=path)
