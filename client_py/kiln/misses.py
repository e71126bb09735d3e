"""Programs that must find all of their kernels compiled: `kiln run --require-hit`, or
KILN_REQUIRE_HIT=1 with any Python.

A program that missed runs to its end, so that all kernels that missed can be named; then its exit
status is 3, unless it failed by itself.
"""

import os
import sys
import time

from . import events
from .events import is_hit

STATUS = 3  # of a program that is fine but for its misses

_watch = None  # of this process


class Watch:
    """Notes what becomes of each instance of a kernel in this process, from now on."""

    def __init__(self):
        self.process = os.getpid()
        self.start = time.monotonic()
        self.made = []  # what listeners are told: see events.on_kernel
        events.on_kernel(lambda *told: self.made.append(told))

    @property
    def missed(self):
        """[(kernel, instance)] of those that had to be compiled."""
        return [(name, instance) for name, tier, *_, instance in self.made if not is_hit(tier)]

    def seconds(self):
        return time.monotonic() - self.start


def are_refused():
    """Whether the environment asks for it."""
    return os.environ.get("KILN_REQUIRE_HIT", "") not in ("", "0")


def watch():
    """The watch of this process, started now if there is none; who asks says what it found."""
    global _watch
    if _watch is None:
        _watch = Watch()
    return _watch


def enforce_hits():
    """Of a process that nobody watches, if the environment asks for it: watches it, and ends it
    with STATUS if it missed."""
    if _watch is not None or not are_refused():
        return
    import atexit

    watch()
    atexit.register(_end)


def explain(missed):
    """{id of the instance: lines that say what about its key differs from the nearest entry's}"""
    from . import runtime
    from .explain import contrast, nearest

    # What missed in this run is in the cache by now.
    keys = {instance.digest for _, instance in missed}
    why = {}
    for kernel, instance in missed:
        parts = [(name, f"{digest:016x}", text) for name, digest, text in instance.key_parts]
        entry, rows = nearest(parts, kernel, keys, runtime.session().home)
        if entry is None:
            why[id(instance)] = ["nothing like it is in the cache"]
            continue
        names = ", ".join(part for part, _, _ in rows)
        lines = [f"{names} not as in the nearest entry, {entry[:16]}"]
        for part, ours, theirs in rows:
            same = ours == theirs
            ours, theirs = contrast(ours, theirs)
            other = "the same in outline" if same else theirs or "none"
            lines += [f"{part}: {ours or 'none'}", f"{'there':>{len(part)}}: {other}"]
        why[id(instance)] = lines
    return why


def tell(missed, why):
    """Names the kernels that missed; `why` is what `explain` says of them."""
    for name, instance in missed:
        lines = why[id(instance)]
        print(f"kiln: kernel '{name}' missed: {lines[0]}", file=sys.stderr)
        for line in lines[1:]:
            print(f"  {line}", file=sys.stderr)


def _end():
    missed = _watch.missed
    if not missed or _watch.process != os.getpid():
        return
    tell(missed, explain(missed))
    # A program that an exception ended has its own status already.
    if getattr(sys, "last_value", None) is None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(STATUS)
