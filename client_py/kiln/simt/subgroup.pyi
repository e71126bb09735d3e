# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""Threads of a Vulkan subgroup: votes, reductions, scans and shuffles."""

from typing import Any
def all_equal(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `all_equal` of a subgroup's threads."""
def all_true(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `all_true` of a subgroup's threads."""
def any_true(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `any_true` of a subgroup's threads."""
def barrier(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `barrier` of a subgroup's threads."""
def broadcast(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `broadcast` of a subgroup's threads."""
def broadcast_first(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `broadcast_first` of a subgroup's threads."""
def elect(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `elect` of a subgroup's threads."""
def exclusive_add(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `exclusive_add` of a subgroup's threads."""
def exclusive_and(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `exclusive_and` of a subgroup's threads."""
def exclusive_max(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `exclusive_max` of a subgroup's threads."""
def exclusive_min(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `exclusive_min` of a subgroup's threads."""
def exclusive_mul(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `exclusive_mul` of a subgroup's threads."""
def exclusive_or(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `exclusive_or` of a subgroup's threads."""
def exclusive_xor(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `exclusive_xor` of a subgroup's threads."""
def group_size(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `group_size` of a subgroup's threads."""
def inclusive_add(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `inclusive_add` of a subgroup's threads."""
def inclusive_and(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `inclusive_and` of a subgroup's threads."""
def inclusive_max(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `inclusive_max` of a subgroup's threads."""
def inclusive_min(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `inclusive_min` of a subgroup's threads."""
def inclusive_mul(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `inclusive_mul` of a subgroup's threads."""
def inclusive_or(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `inclusive_or` of a subgroup's threads."""
def inclusive_xor(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `inclusive_xor` of a subgroup's threads."""
def invocation_id(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `invocation_id` of a subgroup's threads."""
def memory_barrier(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `memory_barrier` of a subgroup's threads."""
def reduce_add(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `reduce_add` of a subgroup's threads."""
def reduce_and(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `reduce_and` of a subgroup's threads."""
def reduce_max(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `reduce_max` of a subgroup's threads."""
def reduce_min(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `reduce_min` of a subgroup's threads."""
def reduce_mul(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `reduce_mul` of a subgroup's threads."""
def reduce_or(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `reduce_or` of a subgroup's threads."""
def reduce_xor(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `reduce_xor` of a subgroup's threads."""
def shuffle(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `shuffle` of a subgroup's threads."""
def shuffle_down(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `shuffle_down` of a subgroup's threads."""
def shuffle_up(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `shuffle_up` of a subgroup's threads."""
def shuffle_xor(*_args: Any, **_options: Any) -> Any:
    """Neither on the CPU nor on CUDA: `shuffle_xor` of a subgroup's threads."""
