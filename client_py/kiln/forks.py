"""Work of one thread that another thread's fork waits for.

A child has the forking thread only. What another thread was in the middle of stays half done there
for ever: a module that it was importing hangs whoever imports it. So such work is wrapped:

    with forks.held_off:
        from .frontend.build import build_kernel

Threads inside do not exclude each other. A thread that forks is not held off by its own work. A
fork waits _PATIENCE seconds at most: the thread inside may be waiting for the one that forks.
"""

import os
from _thread import get_ident
from time import monotonic, sleep

_PATIENCE = 5.0
_LOOK_SECONDS = 0.0005

_inside = {}  # thread -> how often it has entered
_forking = {}  # threads that are about to fork


class _HeldOff:
    def __enter__(self):
        me = get_ident()
        depth = _inside.get(me, 0)
        # First in, then a look: either this thread sees the fork or the fork sees this thread.
        _inside[me] = depth + 1
        if depth == 0 and _forking and me not in _forking:
            del _inside[me]
            _wait_until(lambda: not _forking)
            _inside[me] = 1

    def __exit__(self, *_):
        me = get_ident()
        depth = _inside.get(me, 0)
        if depth > 1:
            _inside[me] = depth - 1
        else:
            _inside.pop(me, None)


held_off = _HeldOff()


def _before():
    me = get_ident()
    _forking[me] = True
    if _inside:
        _wait_until(lambda: not any(thread != me for thread in list(_inside)))


def _after_in_parent():
    _forking.pop(get_ident(), None)


def _after_in_child():
    me = get_ident()
    _forking.clear()
    depth = _inside.get(me)
    _inside.clear()
    if depth is not None:
        _inside[me] = depth


def _wait_until(true):
    end = monotonic() + _PATIENCE
    while not true() and monotonic() < end:
        sleep(_LOOK_SECONDS)


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)
