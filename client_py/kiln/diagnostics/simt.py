"""Errors of operations that GPUs have and CPUs do not."""

from ..errors import TaichiCompilationError, TaichiTypeError

ROWS = {
    "shared_array_outside_loops": (
        TaichiCompilationError,
        "ti.simt.block.SharedArray belongs to a block of threads: on CUDA it can only be made in a "
        "loop",
    ),
    "simt_operand_of_other_type": (
        TaichiTypeError,
        "ti.simt.{operation}: argument {position} must be of type {wanted}, not {got}",
    ),
    "simt_operation_outside_kernels": (
        TaichiCompilationError,
        "ti.simt.{room}.{name} can only be called in a kernel",
    ),
    "shared_array_outside_kernels": (
        TaichiCompilationError,
        "ti.simt.block.SharedArray can only be made in a kernel",
    ),
    "shared_array_shape": (
        TaichiCompilationError,
        "ti.simt.block.shared_array shape must be an integer or a tuple of integers, but got "
        "{shape}",
    ),
    "simt_operation_needs_a_gpu": (
        TaichiCompilationError,
        "ti.{room}.{name} is not supported for arch {arch}",
    ),
}
