# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""Names that were experimental once."""

from typing import Any
def real_func(fn: Any) -> Any:
    """The old name of `ti.real_func`, with a DeprecationWarning.

    fn: the function.

        @ti.experimental.real_func
        def next_one(a: ti.i32) -> ti.i32:
            return a + 1
    """
