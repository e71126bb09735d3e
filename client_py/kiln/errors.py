"""Exceptions that programs see, with Taichi's names and base classes.

The text of a compilation error begins with its positions (file, line, source, caret), the outermost
call first; see frontend/report.py.
"""


class TaichiCompilationError(Exception):
    """Base class of all errors that compiling a kernel raises."""


class TaichiSyntaxError(TaichiCompilationError, SyntaxError):
    """The kernel uses Python that the language does not have."""

    # SyntaxError's __str__ would append file and line, which our text contains already.
    def __str__(self):
        return str(self.args[0]) if self.args else ""


class TaichiNameError(TaichiCompilationError, NameError):
    """A name that is not defined."""


class TaichiIndexError(TaichiCompilationError, IndexError):
    """A wrong number of indices, or a static index out of range."""


class TaichiTypeError(TaichiCompilationError, TypeError):
    """Operands of incompatible types."""


class TaichiUnsupportedError(TaichiCompilationError, RuntimeError):
    """A kernel that the front end accepts and the compiler refuses, as one without a derivative."""


class TaichiRuntimeError(RuntimeError):
    """An operation failed while the program ran."""


class TaichiAssertionError(TaichiRuntimeError, AssertionError):
    """An assert failed while the kernel ran."""


class TaichiBoundsError(TaichiAssertionError, IndexError):
    """An index out of bounds in Python code in debug mode; kernels fail the same check."""


class TaichiRuntimeTypeError(TaichiRuntimeError, TypeError):
    """An argument or result that cannot be converted."""

    @staticmethod
    def get(pos, needed, provided):
        """The error for an argument of the wrong type.

        pos: its position. needed: the type of the parameter. provided: the type of the argument.
        """
        return TaichiRuntimeTypeError(
            f"Argument {pos} (type={provided}) cannot be converted into required type {needed}"
        )

    @staticmethod
    def get_ret(needed, provided):
        """The error for a result of the wrong type.

        needed: the annotated type. provided: the type of the returned value.
        """
        return TaichiRuntimeTypeError(
            f"Return (type={provided}) cannot be converted into required type {needed}"
        )


__all__ = [
    "TaichiAssertionError",
    "TaichiCompilationError",
    "TaichiNameError",
    "TaichiRuntimeError",
    "TaichiRuntimeTypeError",
    "TaichiSyntaxError",
    "TaichiTypeError",
]
