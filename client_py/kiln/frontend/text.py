"""The text of source files."""

import os
import sys

_files = {}  # path -> (size and time, lines)


def file_lines(path, module_globals=None):
    """The current lines of a file, with their line ends; [] or None if there is no text.

    module_globals: the globals of the file's module, for linecache.
    """
    try:
        stat = os.stat(path)
        stamp = stat.st_size, stat.st_mtime_ns
    except OSError:
        stamp = None
    # Programs made on the fly (notebooks, exec) register their text in linecache without a time.
    # An entry with a time is the text of a file as an earlier traceback read it, and may be stale.
    cached = "linecache" in sys.modules and sys.modules["linecache"].cache.get(path)
    if cached and len(cached) > 2 and (stamp is None or cached[1] is None):
        return list(cached[2])
    known, lines = _files.get(path, (None, None))
    if lines is None or known != stamp:  # the file may have been edited since
        try:
            with open(path, "rb") as file:
                raw = file.read()
            text = raw.decode("utf-8-sig" if raw[:3] == b"\xef\xbb\xbf" else "utf-8")
            # Split as Python does: str.splitlines would split at more characters.
            lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            lines = [line + "\n" for line in lines]
        except (OSError, UnicodeDecodeError):
            import linecache

            linecache.checkcache(path)
            lines = linecache.getlines(path, module_globals)
        if lines:
            _files[path] = stamp, lines
    return lines
