"""Threads of a warp, the 32 threads of a block that run together: votes, shuffles and matches.

`mask` is a u32 with a bit for each thread of the warp that takes part. All of them have to call the
operation, or the program has no meaning. On the CPU each operation is an error that names it.
"""

from .operations import simt


def all_nonzero(mask, predicate):
    """1 if `predicate`, an i32, is not 0 in every thread of the mask, else 0."""
    return simt("warp", "all_nonzero", mask, predicate)


def any_nonzero(mask, predicate):
    """1 if `predicate`, an i32, is not 0 in some thread of the mask, else 0."""
    return simt("warp", "any_nonzero", mask, predicate)


def unique(mask, predicate):
    """1 if `predicate`, an i32, is 0 in all threads of the mask or in none, else 0."""
    return simt("warp", "unique", mask, predicate)


def ballot(predicate):
    """An i32 with the bits of the warp's threads whose `predicate`, an i32, is not 0."""
    return simt("warp", "ballot", predicate)


def shfl_sync_i32(mask, val, offset):
    """The i32 `val` of the warp's thread number `offset`, an i32."""
    return simt("warp", "shfl_sync_i32", mask, val, offset)


def shfl_sync_f32(mask, val, offset):
    """The f32 `val` of the warp's thread number `offset`, an i32."""
    return simt("warp", "shfl_sync_f32", mask, val, offset)


def shfl_up_i32(mask, val, offset):
    """The i32 `val` of the thread `offset` numbers below; its own if there is none."""
    return simt("warp", "shfl_up_i32", mask, val, offset)


def shfl_up_f32(mask, val, offset):
    """The f32 `val` of the thread `offset` numbers below; its own if there is none."""
    return simt("warp", "shfl_up_f32", mask, val, offset)


def shfl_down_i32(mask, val, offset):
    """The i32 `val` of the thread `offset` numbers above; its own if there is none."""
    return simt("warp", "shfl_down_i32", mask, val, offset)


def shfl_down_f32(mask, val, offset):
    """The f32 `val` of the thread `offset` numbers above; its own if there is none."""
    return simt("warp", "shfl_down_f32", mask, val, offset)


def shfl_xor_i32(mask, val, offset):
    """The i32 `val` of the thread whose number is this one's, xor `offset`."""
    return simt("warp", "shfl_xor_i32", mask, val, offset)


def match_any(mask, value):
    """A u32 with the bits of the mask's threads whose i32 `value` is this thread's."""
    return simt("warp", "match_any", mask, value)


def match_all(mask, val):
    """The mask if all its threads have the same i32 `val`, else 0; a u32."""
    return simt("warp", "match_all", mask, val)


def active_mask():
    """A u32 with the bits of the warp's threads that run this together now."""
    return simt("warp", "active_mask")


def sync(mask):
    """Waits for the threads of the mask, and orders their accesses to memory."""
    simt("warp", "sync", mask)


__all__ = [
    "active_mask",
    "all_nonzero",
    "any_nonzero",
    "ballot",
    "match_all",
    "match_any",
    "shfl_down_f32",
    "shfl_down_i32",
    "shfl_sync_f32",
    "shfl_sync_i32",
    "shfl_up_f32",
    "shfl_up_i32",
    "shfl_xor_i32",
    "sync",
    "unique",
]


def __dir__():
    return list(__all__)
