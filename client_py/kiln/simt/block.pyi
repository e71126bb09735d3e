# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.simt.block`: memory shared by the threads of a block, and barriers."""

from typing import Any
def SharedArray(shape: Any, dtype: Any) -> Any:
    """Memory that the threads of a block share, initially zero. On the CPU, each iteration has its
    own. Only in kernels.

    shape: an integer, or a tuple of one or two integers. dtype: the scalar type of the elements.
    Raises TaichiCompilationError for other arguments.

        @ti.kernel
        def k() -> ti.i32:
            total = 0
            for i in range(4):
                pad = ti.simt.block.SharedArray(2, ti.i32)
                pad[1] = i
                total += pad[0] + pad[1]
            return total

        print(k())  # prints: 6
    """
from .. import global_thread_idx as global_thread_idx
def mem_sync(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `mem_sync` of a block's threads."""
def sync(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `sync` of a block's threads."""
def sync_all_nonzero(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `sync_all_nonzero` of a block's threads."""
def sync_any_nonzero(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `sync_any_nonzero` of a block's threads."""
def sync_count_nonzero(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `sync_count_nonzero` of a block's threads."""
def thread_idx(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `thread_idx` of a block's threads."""
