"""Threads of a warp: votes and shuffles."""

from .absent import operation

_NAMES = (
    "active_mask all_nonzero any_nonzero ballot match_all match_any shfl_down_f32 shfl_down_i32 "
    "shfl_sync_f32 shfl_sync_i32 shfl_up_f32 shfl_up_i32 shfl_xor_i32 sync unique"
).split()
globals().update({name: operation("warp", name) for name in _NAMES})

__all__ = list(_NAMES)


def __dir__():
    return list(__all__)
