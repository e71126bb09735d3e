# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""Threads of a Vulkan subgroup: votes, reductions, scans and shuffles."""

from typing import Any
def all_equal(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `all_equal` of a subgroup's threads."""
def all_true(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `all_true` of a subgroup's threads."""
def any_true(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `any_true` of a subgroup's threads."""
def barrier(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `barrier` of a subgroup's threads."""
def broadcast(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `broadcast` of a subgroup's threads."""
def broadcast_first(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `broadcast_first` of a subgroup's threads."""
def elect(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `elect` of a subgroup's threads."""
def exclusive_add(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `exclusive_add` of a subgroup's threads."""
def exclusive_and(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `exclusive_and` of a subgroup's threads."""
def exclusive_max(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `exclusive_max` of a subgroup's threads."""
def exclusive_min(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `exclusive_min` of a subgroup's threads."""
def exclusive_mul(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `exclusive_mul` of a subgroup's threads."""
def exclusive_or(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `exclusive_or` of a subgroup's threads."""
def exclusive_xor(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `exclusive_xor` of a subgroup's threads."""
def group_size(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `group_size` of a subgroup's threads."""
def inclusive_add(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `inclusive_add` of a subgroup's threads."""
def inclusive_and(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `inclusive_and` of a subgroup's threads."""
def inclusive_max(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `inclusive_max` of a subgroup's threads."""
def inclusive_min(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `inclusive_min` of a subgroup's threads."""
def inclusive_mul(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `inclusive_mul` of a subgroup's threads."""
def inclusive_or(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `inclusive_or` of a subgroup's threads."""
def inclusive_xor(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `inclusive_xor` of a subgroup's threads."""
def invocation_id(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `invocation_id` of a subgroup's threads."""
def memory_barrier(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `memory_barrier` of a subgroup's threads."""
def reduce_add(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `reduce_add` of a subgroup's threads."""
def reduce_and(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `reduce_and` of a subgroup's threads."""
def reduce_max(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `reduce_max` of a subgroup's threads."""
def reduce_min(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `reduce_min` of a subgroup's threads."""
def reduce_mul(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `reduce_mul` of a subgroup's threads."""
def reduce_or(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `reduce_or` of a subgroup's threads."""
def reduce_xor(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `reduce_xor` of a subgroup's threads."""
def shuffle(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `shuffle` of a subgroup's threads."""
def shuffle_down(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `shuffle_down` of a subgroup's threads."""
def shuffle_up(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `shuffle_up` of a subgroup's threads."""
def shuffle_xor(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `shuffle_xor` of a subgroup's threads."""
