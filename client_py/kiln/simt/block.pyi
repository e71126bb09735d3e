# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.simt.block`: memory shared by the threads of a block, and barriers."""

from typing import Any
def SharedArray(shape: Any, dtype: Any) -> Any:
    """Memory that the threads of a block share. On CUDA it holds anything at first, and has to be
    in a loop; all of a loop together have at most 48 KiB. On the CPU, each iteration has its own,
    initially zero. Only in kernels.

    shape: an integer, or a tuple of integers. dtype: the type of the elements, a scalar, vector or
    matrix. Raises TaichiCompilationError for other shapes.

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
def mem_sync() -> Any:
    """Orders accesses to memory among the threads of the block; it waits as `sync()` does.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                ti.simt.block.mem_sync()
    """
def sync() -> Any:
    """Waits for all threads of the block, and orders their accesses to memory.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                ti.simt.block.sync()
    """
def sync_all_nonzero(predicate: Any) -> Any:
    """`sync()`; 1 if `predicate`, an i32, is not 0 in all threads of the block, else 0.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                out[i] = ti.simt.block.sync_all_nonzero(i)
    """
def sync_any_nonzero(predicate: Any) -> Any:
    """`sync()`; 1 if `predicate`, an i32, is not 0 in some thread of the block, else 0.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                out[i] = ti.simt.block.sync_any_nonzero(i)
    """
def sync_count_nonzero(predicate: Any) -> Any:
    """`sync()`; the number of the block's threads whose `predicate`, an i32, is not 0.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                out[i] = ti.simt.block.sync_count_nonzero(i)
    """
def thread_idx() -> Any:
    """The number of the thread in its block, an i32. In a loop that starts at 0, iteration i runs
    as number i % block_dim. So does cell i of a dense block below a sparse SNode.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                out[i] = ti.simt.block.thread_idx()
    """
