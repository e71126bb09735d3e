# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""Exceptions that programs see, with Taichi's names and base classes.

The text of a compilation error begins with its positions (file, line, source, caret), the outermost
call first; see frontend/report.py.
"""

from typing import Any
from . import TaichiAssertionError as TaichiAssertionError
class TaichiBoundsError(RuntimeError):
    """An index out of bounds in Python code in debug mode; kernels fail the same check."""
from . import TaichiCompilationError as TaichiCompilationError
class TaichiIndexError(IndexError):
    """A wrong number of indices, or a static index out of range."""
from . import TaichiNameError as TaichiNameError
from . import TaichiRuntimeError as TaichiRuntimeError
from . import TaichiRuntimeTypeError as TaichiRuntimeTypeError
from . import TaichiSyntaxError as TaichiSyntaxError
from . import TaichiTypeError as TaichiTypeError
class TaichiUnsupportedError(RuntimeError):
    """A kernel that the front end accepts and the compiler refuses, as one without a derivative."""
