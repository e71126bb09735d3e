"""Makes Ctrl-C end a running kernel, by the handler of native/interrupt.h in front of Python's.

Programs that handle SIGINT themselves keep their handler, and their kernels run to the end.
"""

import builtins
from _signal import SIGINT, default_int_handler, getsignal

from . import _native

_shells = []  # the IPython shells that call end_kernels before each cell


def end_kernels():
    """Installs the handler if SIGINT has Python's own. A repeated call is cheap."""
    if getsignal(SIGINT) is default_int_handler:
        _native.end_kernels_on_interrupt()


def end_kernels_in_cells():
    """Installs the handler, in notebooks before each cell, because they reset SIGINT's handler."""
    end_kernels()
    shell = getattr(builtins, "get_ipython", lambda: None)()
    if shell is not None and shell not in _shells:
        _shells.append(shell)
        shell.events.register("pre_run_cell", lambda *_: end_kernels())
