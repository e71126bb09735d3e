"""Errors of operations that GPUs have and CPUs do not."""

from ..errors import TaichiCompilationError

ROWS = {
    "shared_array_of_matrices": (
        TaichiCompilationError,
        "the elements of a shared array are scalars on the CPU, not {dtype}",
    ),
    "shared_array_outside_kernels": (
        TaichiCompilationError,
        "ti.simt.block.SharedArray can only be made in a kernel",
    ),
    "shared_array_shape": (
        TaichiCompilationError,
        "ti.simt.block.shared_array shape must be an integer or a tuple of one or two integers, "
        "but got {shape}",
    ),
    "simt_operation_needs_a_gpu": (
        TaichiCompilationError,
        "ti.{room}.{name} is not supported for arch {arch}",
    ),
}
