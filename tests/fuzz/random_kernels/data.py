"""The initial values of fields and ndarrays, which are the same in all processes."""

import math
import zlib

_INTS = (0, 1, 2, 3, 5, 7, 11, 40, 100, 127)
_FLOATS = (0.0, 0.5, 1.0, -1.0, 1.25, -2.5, 3.0, 0.1, 7.75, -0.375, 100.0, 1e-3)


def numbers(name):
    """Returns a function from scalar type to the next value."""
    state = zlib.crc32(name.encode())

    def following(type):
        nonlocal state
        state = (state * 1103515245 + 12345) % 2**31
        choice = state >> 8
        if type == "u1":
            return choice % 2
        if type[0] == "f":
            value = _FLOATS[choice % len(_FLOATS)]
            return _rounded(type, value)
        value = _INTS[choice % len(_INTS)]
        bits = int(type[1:])
        if choice % 37 == 0:  # occasionally an extreme value
            value = 2 ** (bits - (type[0] == "i")) - 1
        return -value if type[0] == "i" and choice // 64 % 3 == 0 else value

    return following


def _rounded(type, value):
    import numpy

    return float({"f16": numpy.float16, "f32": numpy.float32, "f64": float}[type](value))


def cells(name, type, shape, make):
    """The values of a field's cells. make(type, numbers) makes a value of the type; see
    `numbers`."""
    following = numbers(name)
    return [make(type, following) for _ in range(math.prod(shape))]
