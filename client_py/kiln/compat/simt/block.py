"""`ti.simt.block`: memory shared by the threads of a block, and barriers."""

from ... import _native, active, runtime
from ... import types as ti_types
from ...diagnostics import say
from ...frontend.expr import Ref
from ...frontend.shared_array import SharedTensors, extents_of
from .operations import simt


def sync():
    """Waits for all threads of the block, and orders their accesses to memory.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                ti.simt.block.sync()
    """
    simt("block", "sync")


def sync_all_nonzero(predicate):
    """`sync()`; 1 if `predicate`, an i32, is not 0 in all threads of the block, else 0.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                out[i] = ti.simt.block.sync_all_nonzero(i)
    """
    return simt("block", "sync_all_nonzero", predicate)


def sync_any_nonzero(predicate):
    """`sync()`; 1 if `predicate`, an i32, is not 0 in some thread of the block, else 0.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                out[i] = ti.simt.block.sync_any_nonzero(i)
    """
    return simt("block", "sync_any_nonzero", predicate)


def sync_count_nonzero(predicate):
    """`sync()`; the number of the block's threads whose `predicate`, an i32, is not 0.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                out[i] = ti.simt.block.sync_count_nonzero(i)
    """
    return simt("block", "sync_count_nonzero", predicate)


def mem_sync():
    """Orders accesses to memory among the threads of the block; it waits as `sync()` does.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                ti.simt.block.mem_sync()
    """
    simt("block", "mem_sync")


def thread_idx():
    """The number of the thread in its block, an i32. In a loop that starts at 0, iteration i runs
    as number i % block_dim. So does cell i of a dense block below a sparse SNode.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                out[i] = ti.simt.block.thread_idx()
    """
    return simt("block", "thread_idx")


def global_thread_idx():
    """The number of the thread in its launch, an i32.

    Raises TaichiCompilationError in kernels for the CPU.

        @ti.kernel
        def k(out: ti.types.ndarray()):
            ti.loop_config(block_dim=64)
            for i in range(64):
                out[i] = ti.simt.block.global_thread_idx()
    """
    return simt("block", "global_thread_idx")


def SharedArray(shape, dtype):
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
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not extents or not all(isinstance(extent, int) for extent in extents):
        raise say.shared_array_shape(shape=shape)
    ctx = active.context()
    if ctx is None:
        raise say.shared_array_outside_kernels()
    is_matrix = isinstance(dtype, ti_types.MatrixType)
    element = dtype.shape if is_matrix else ()
    flat = extents_of(extents, element)
    scalar = (dtype.dtype or runtime.cfg.default_fp) if is_matrix else ti_types.cook_dtype(dtype)
    of = ctx.type_id(scalar, flat or extents)
    if runtime.cfg.arch == runtime.cuda:
        if not ctx.depth:
            raise say.shared_array_outside_loops()
        array = Ref(ctx, ctx.builder.append(_native.NODES["shared_array"], of), Ref.BLOCK)
    else:
        array = Ref(ctx, ctx.builder.local(of), ctx.parallel)
    return array if flat is None else SharedTensors(ctx, array, extents, element)


__all__ = [
    "SharedArray",
    "global_thread_idx",
    "mem_sync",
    "sync",
    "sync_all_nonzero",
    "sync_any_nonzero",
    "sync_count_nonzero",
    "thread_idx",
]


def __dir__():
    return list(__all__)
