"""Reports cache misses of a program that must have none: `kiln run --require-hit`, or
KILN_REQUIRE_HIT=1 with any Python.

After a miss the program still runs to its end, so that the report names all kernels that missed.
The exit status is then 3, unless the program itself failed.
"""

import os
import sys
import time

from . import events
from .events import is_hit

STATUS = 3  # exit status of a program or command whose only fault is a miss

_watch = None  # of this process


class Watch:
    """Records each instance of a kernel that this process makes from now on."""

    def __init__(self):
        self.process = os.getpid()
        self.start = time.monotonic()
        self.made = []  # the arguments of each callback: see events.on_kernel
        events.on_kernel(lambda *told: self.made.append(told))

    @property
    def missed(self):
        """[(kernel, instance)] of the instances that had to be compiled."""
        return [(name, instance) for name, tier, *_, instance in self.made if not is_hit(tier)]

    def seconds(self):
        return time.monotonic() - self.start


def is_required():
    """Whether the environment demands a report of misses."""
    return os.environ.get("KILN_REQUIRE_HIT", "") not in ("", "0")


def watch():
    """Returns this process's Watch, and starts it at the first call. The caller must report its
    misses."""
    global _watch
    if _watch is None:
        _watch = Watch()
    return _watch


def enforce_hits():
    """If the environment demands it and `watch` was not called: watches this process, and ends it
    with STATUS if it missed."""
    if _watch is not None or not is_required():
        return
    import atexit

    watch()
    atexit.register(_end)


def explain(missed):
    """{id of the instance: lines that compare its key with that of the nearest entry}"""
    from . import runtime
    from .explain import contrast, nearest

    # By now the cache contains the kernels that missed in this run: exclude them.
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


def report(missed, why):
    """Prints the kernels that missed; `why` is the result of `explain`."""
    for name, instance in missed:
        lines = why[id(instance)]
        print(f"kiln: kernel '{name}' missed: {lines[0]}", file=sys.stderr)
        for line in lines[1:]:
            print(f"  {line}", file=sys.stderr)


def _end():
    missed = _watch.missed
    if not missed or _watch.process != os.getpid():
        return
    report(missed, explain(missed))
    # A program that ended with an exception keeps its own status.
    if getattr(sys, "last_value", None) is None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(STATUS)
