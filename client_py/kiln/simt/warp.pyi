# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""Threads of a warp: votes and shuffles."""

from typing import Any
def active_mask(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `active_mask` of a warp's threads."""
def all_nonzero(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `all_nonzero` of a warp's threads."""
def any_nonzero(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `any_nonzero` of a warp's threads."""
def ballot(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `ballot` of a warp's threads."""
def match_all(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `match_all` of a warp's threads."""
def match_any(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `match_any` of a warp's threads."""
def shfl_down_f32(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `shfl_down_f32` of a warp's threads."""
def shfl_down_i32(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `shfl_down_i32` of a warp's threads."""
def shfl_sync_f32(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `shfl_sync_f32` of a warp's threads."""
def shfl_sync_i32(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `shfl_sync_i32` of a warp's threads."""
def shfl_up_f32(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `shfl_up_f32` of a warp's threads."""
def shfl_up_i32(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `shfl_up_i32` of a warp's threads."""
def shfl_xor_i32(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `shfl_xor_i32` of a warp's threads."""
def sync(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `sync` of a warp's threads."""
def unique(*_args: Any, **_options: Any) -> Any:
    """Not on the CPU: `unique` of a warp's threads."""
