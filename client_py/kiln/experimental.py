"""Names that were experimental once."""

import warnings

from .func import real_func as _real_func


def real_func(fn):
    """Deprecated name of `ti.real_func`."""
    warnings.warn(
        "ti.experimental.real_func is deprecated because it is no longer experimental. "
        "Use ti.real_func instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    return _real_func(fn)


__all__ = ["real_func"]
