"""Files that are replaced whole: a full disk leaves the previous one, and a program that has it
mapped keeps it. Where that is not possible, they are written in place."""

import errno
import os
import stat

# Of folders that take no new file, and of files that are mounted by themselves.
_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS)


def write(path, data):
    """Replaces the file at `path` by the bytes `data`. Raises OSError, which names the path, and a
    limit on the size of files if that is at fault."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            _write(path, data)  # a pipe or a device cannot be replaced
        else:
            _replace(os.path.realpath(path), data)
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno) + _limit(error), path) from None


def _replace(path, data):
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        _write(aside, data)
        if os.path.exists(path):
            os.chmod(aside, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(aside, path)
    except OSError as error:
        if os.path.exists(aside):
            os.unlink(aside)
        if error.errno not in _IN_PLACE or not os.path.exists(path):
            raise
        _write(path, data)


def _write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def _limit(error):
    if error.errno != errno.EFBIG:
        return ""
    import resource

    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return f" (this process may write files of at most {most} bytes, see ulimit -f)"
