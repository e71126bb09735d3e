"""`ti.types.quant`: numbers of few bits. Not supported yet: the names exist, use is an error."""

from .absent import absent_function

int = absent_function("types.quant.int")
fixed = absent_function("types.quant.fixed")
float = absent_function("types.quant.float")

__all__ = ["fixed", "float", "int"]


def __dir__():
    return list(__all__)
