# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""Threads of a warp, the 32 threads of a block that run together: votes, shuffles and matches.

`mask` is a u32 with a bit for each thread of the warp that takes part. All of them have to call the
operation, or the program has no meaning. On the CPU each operation is an error that names it.
"""

from typing import Any
def active_mask() -> Any:
    """A u32 with the bits of the warp's threads that run this together now."""
def all_nonzero(mask: Any, predicate: Any) -> Any:
    """1 if `predicate`, an i32, is not 0 in every thread of the mask, else 0."""
def any_nonzero(mask: Any, predicate: Any) -> Any:
    """1 if `predicate`, an i32, is not 0 in some thread of the mask, else 0."""
def ballot(predicate: Any) -> Any:
    """An i32 with the bits of the warp's threads whose `predicate`, an i32, is not 0."""
def match_all(mask: Any, val: Any) -> Any:
    """The mask if all its threads have the same i32 `val`, else 0; a u32."""
def match_any(mask: Any, value: Any) -> Any:
    """A u32 with the bits of the mask's threads whose i32 `value` is this thread's."""
def shfl_down_f32(mask: Any, val: Any, offset: Any) -> Any:
    """The f32 `val` of the thread `offset` numbers above; its own if there is none."""
def shfl_down_i32(mask: Any, val: Any, offset: Any) -> Any:
    """The i32 `val` of the thread `offset` numbers above; its own if there is none."""
def shfl_sync_f32(mask: Any, val: Any, offset: Any) -> Any:
    """The f32 `val` of the warp's thread number `offset`, an i32."""
def shfl_sync_i32(mask: Any, val: Any, offset: Any) -> Any:
    """The i32 `val` of the warp's thread number `offset`, an i32."""
def shfl_up_f32(mask: Any, val: Any, offset: Any) -> Any:
    """The f32 `val` of the thread `offset` numbers below; its own if there is none."""
def shfl_up_i32(mask: Any, val: Any, offset: Any) -> Any:
    """The i32 `val` of the thread `offset` numbers below; its own if there is none."""
def shfl_xor_i32(mask: Any, val: Any, offset: Any) -> Any:
    """The i32 `val` of the thread whose number is this one's, xor `offset`."""
def sync(mask: Any) -> Any:
    """Waits for the threads of the mask, and orders their accesses to memory."""
def unique(mask: Any, predicate: Any) -> Any:
    """1 if `predicate`, an i32, is 0 in all threads of the mask or in none, else 0."""
