"""`ti.simt.block`: memory shared by the threads of a block, and barriers."""

from ... import active
from ... import types as ti_types
from ...diagnostics import say
from ...frontend.expr import Ref
from .absent import operation

sync = operation("block", "sync")
sync_all_nonzero = operation("block", "sync_all_nonzero")
sync_any_nonzero = operation("block", "sync_any_nonzero")
sync_count_nonzero = operation("block", "sync_count_nonzero")
mem_sync = operation("block", "mem_sync")
thread_idx = operation("block", "thread_idx")
global_thread_idx = operation("block", "global_thread_idx")


def SharedArray(shape, dtype):
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
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not 1 <= len(extents) <= 2 or not all(isinstance(extent, int) for extent in extents):
        raise say.shared_array_shape(shape=shape)
    ctx = active.context()
    if ctx is None:
        raise say.shared_array_outside_kernels()
    if isinstance(dtype, ti_types.MatrixType):
        raise say.shared_array_of_matrices(dtype=dtype.to_string())
    element = ti_types.cook_dtype(dtype)
    return Ref(ctx, ctx.builder.local(ctx.type_id(element, extents)), ctx.parallel)


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
