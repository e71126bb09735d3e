# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""All threads of a launch."""

from typing import Any
def memfence() -> Any:
    """Orders a thread's accesses to memory for the threads of all blocks. On the CPU it does
    nothing.

    Example::

        ti.simt.grid.memfence()
    """
