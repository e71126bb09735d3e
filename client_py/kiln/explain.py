"""Explains why a kernel was compiled: which parts of its key differ from those of the nearest
entry.

A part is (name, digest, text). Its name is "code", "options", "target", "compiler", "storage 0",
"tree 0"… (common/unit/key_parts.h). Parts are equal if their digests are; the text is only shown.
"""

import functools
import os

from . import _native

_SHOWN = 300
_LEFT_OUT = "..."


def nearest(parts, kernel, digest=None, home=None):
    """Finds the entry whose key differs least: (its key or None, [(part, ours, theirs)]).

    parts: the parts of the key to explain. kernel: the kernel's name. digest: a key in hexadecimal
    digits, or a set of keys, to exclude from the search. home: the home to search.

    Among entries that differ in equally many parts, one with the same kernel name is nearer, then
    the one used last. A part that only one of the two keys has is "" for the other.
    """
    without = {digest} if digest is None or isinstance(digest, str) else set(digest)
    ours = {name: (value, text) for name, value, text in parts}
    best = None
    for entry in entries(home):
        if entry["key"] in without or not entry["parts"]:
            continue
        theirs = {name: (value, text) for name, value, text in entry["parts"]}
        names = [*ours, *(name for name in theirs if name not in ours)]
        differing = [n for n in names if _value(ours, n) != _value(theirs, n)]
        # Prefer the same kernel: comparing with the code of another one explains nothing.
        rank = (entry["kernel"] != kernel, len(differing), -entry["used"])
        if best is None or rank < best[0]:
            rows = [(n, ours.get(n, ("", ""))[1], theirs.get(n, ("", ""))[1]) for n in differing]
            best = (rank, entry["key"], rows)
    if best is None or (best[0][0] and len(best[2]) > len(ours) // 2):
        return None, []
    return best[1], best[2]


def contrast(ours, theirs):
    """Two texts of a part, one line each; long ones are cut to the surroundings of the first
    difference."""
    if max(len(ours), len(theirs)) <= _SHOWN:
        return ours, theirs
    at = len(os.path.commonprefix([ours, theirs]))
    # Begin a third of the window before the difference, at the start of a word.
    start = ours.rfind(" ", 0, max(at - _SHOWN // 3, 0)) + 1 if ours != theirs else 0
    return _window(ours, start), _window(theirs, start)


def _window(text, start):
    before = _LEFT_OUT if start else ""
    after = _LEFT_OUT if len(text) > start + _SHOWN else ""
    return before + text[start : start + _SHOWN] + after


def entries(home=None):
    """All readable entries of the cache, as `kiln cache list` shows them. Each is the dictionary of
    `_native.entry_head` plus "path", "place", "bytes" and "used" (in Unix seconds)."""
    from .commands.common import home as find_home

    return _entries(home or find_home())


def forget():
    """Makes the next search read the cache again."""
    _entries.cache_clear()


@functools.lru_cache(maxsize=1)
def _entries(home):
    found = []
    for path, info in files(home):
        try:
            entry = _native.entry_head(path)
        except (RuntimeError, ValueError, OSError):
            continue  # damaged or removed; `kiln cache verify` reports damaged entries
        entry["path"] = path
        entry["place"] = os.path.basename(path)[:-3]
        entry["bytes"] = info.st_size
        entry["used"] = info.st_mtime
        found.append(entry)
    return found


def files(home):
    """(path, os.stat_result) of each entry's file, in the order of their places."""
    cache = os.path.join(home, "cache")
    try:
        shards = sorted(name for name in os.listdir(cache) if len(name) == 2)
    except OSError:
        return
    for shard in shards:
        try:
            with os.scandir(os.path.join(cache, shard)) as listing:
                found = sorted((f for f in listing if _is_entry(f.name)), key=lambda f: f.name)
        except OSError:
            continue
        for file in found:
            try:
                yield file.path, file.stat(follow_symlinks=False)
            except OSError:
                continue


def _is_entry(name):
    stem = name.removesuffix(".so")
    return len(stem) == 64 and stem != name and not stem.strip("0123456789abcdef")


def _value(parts, name):
    return parts[name][0] if name in parts else None
