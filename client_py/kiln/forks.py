"""Holds off forks while other threads do work that a fork must not interrupt.

A forked child has only the thread that forked. The unfinished work of other threads never finishes
in the child, which may then wait forever. Examples are a module that another thread was importing,
and a static variable of a library that another thread was initialising. What a process does for the
first time is full of both. Making an instance, from the record to the compiler's reply, is wrapped:

    with forks.held_off:
        provided.make_instance(self, args)

Threads inside such blocks do not exclude each other, and a thread's own block does not delay its
own fork. A fork waits for _PATIENCE seconds at most, because the other thread may be waiting for
the one that forks.
"""

import os
from _thread import get_ident
from time import monotonic, sleep

_PATIENCE = 5.0
_LOOK_SECONDS = 0.0005

_inside = {}  # thread -> depth of its nested blocks
_forking = {}  # threads that are about to fork


class _HeldOff:
    def __enter__(self):
        me = get_ident()
        depth = _inside.get(me, 0)
        # Enter first, look afterwards: then either this thread sees the fork or the fork sees it.
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
