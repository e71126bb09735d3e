"""Exceptions that programs see; names and bases as in Taichi.

A compilation error's text starts with the place (file, line, source, caret),
outermost call first; see frontend/report.py.
"""


class TaichiCompilationError(Exception):
    """Base of everything found wrong while a kernel is being compiled."""


class TaichiSyntaxError(TaichiCompilationError, SyntaxError):
    """The kernel uses Python that the language does not have."""

    # SyntaxError keeps its own __str__ (with file and line); ours is the text.
    def __str__(self):
        return str(self.args[0]) if self.args else ""


class TaichiNameError(TaichiCompilationError, NameError):
    """A name that is defined nowhere."""


class TaichiIndexError(TaichiCompilationError, IndexError):
    """Wrong number of indices, or a static index out of range."""


class TaichiTypeError(TaichiCompilationError, TypeError):
    """Operands of types that do not go together."""


class TaichiRuntimeError(RuntimeError):
    """The program cannot go on."""


class TaichiAssertionError(TaichiRuntimeError, AssertionError):
    """An assert failed while the kernel ran."""


class TaichiBoundsError(TaichiAssertionError, IndexError):
    """An index out of bounds in Python, in debug mode: a failed check, as in kernels."""


class TaichiRuntimeTypeError(TaichiRuntimeError, TypeError):
    """An argument or result that cannot be converted."""

    @staticmethod
    def get(pos, needed, provided):
        """The error for an argument.

        pos: its position. needed: the type of the parameter. provided: the type of the argument.
        """
        return TaichiRuntimeTypeError(
            f"Argument {pos} (type={provided}) cannot be converted into required type {needed}"
        )

    @staticmethod
    def get_ret(needed, provided):
        """The error for a result.

        needed: the type that is annotated. provided: the type of what is returned.
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
