"""Names that were experimental once."""

import warnings

from ..func import real_func as _real_func


def real_func(fn):
    """The old name of `ti.real_func`, with a DeprecationWarning.

    fn: the function.

        @ti.experimental.real_func
        def next_one(a: ti.i32) -> ti.i32:
            return a + 1
    """
    warnings.warn(
        "ti.experimental.real_func is deprecated because it is no longer experimental. "
        "Use ti.real_func instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    return _real_func(fn)


__all__ = ["real_func"]
