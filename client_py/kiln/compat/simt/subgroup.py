"""Threads of a Vulkan subgroup: votes, reductions, scans and shuffles."""

from .operations import absent

_NAMES = (
    "all_equal all_true any_true barrier broadcast broadcast_first elect exclusive_add "
    "exclusive_and exclusive_max exclusive_min exclusive_mul exclusive_or exclusive_xor group_size "
    "inclusive_add inclusive_and inclusive_max inclusive_min inclusive_mul inclusive_or "
    "inclusive_xor invocation_id memory_barrier reduce_add reduce_and reduce_max reduce_min "
    "reduce_mul reduce_or reduce_xor shuffle shuffle_down shuffle_up shuffle_xor"
).split()
globals().update({name: absent("subgroup", name) for name in _NAMES})

__all__ = list(_NAMES)


def __dir__():
    return list(__all__)
