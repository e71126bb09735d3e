"""Ctrl-C while a kernel runs: when the handler of native/interrupt.h is put before Python's.

Programs that handle SIGINT themselves keep their handler, and their kernels run to the end.
"""

import builtins
from _signal import SIGINT, default_int_handler, getsignal

from . import _native

_shells = []  # IPython's, told of once


def end_kernels():
    """Has Ctrl-C end the kernel that runs; again is cheap."""
    if getsignal(SIGINT) is default_int_handler:
        _native.end_kernels_on_interrupt()


def end_kernels_in_cells():
    """The same in notebooks, which set Python's handler anew for each cell."""
    end_kernels()
    shell = getattr(builtins, "get_ipython", lambda: None)()
    if shell is not None and shell not in _shells:
        _shells.append(shell)
        shell.events.register("pre_run_cell", lambda *_: end_kernels())
