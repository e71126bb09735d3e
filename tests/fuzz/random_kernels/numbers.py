"""Typed numbers of the language, computed one at a time.

A `Number` is a scalar type, its value and a bound on how far another correct implementation may be
from it: 0 for everything that the language defines to the bit. Whoever needs a decision from a
number whose bound leaves it open (a comparison, a conversion to an integer) gets `Undecided`.
"""

import ctypes
import itertools
import math
import struct

import numpy

INTS = {f"{sign}{bits}": bits for sign in "iu" for bits in (8, 16, 32, 64)}
FLOATS = {"f16": 11, "f32": 24, "f64": 53}  # bits of precision
TYPES = [*INTS, *FLOATS, "u1"]
_TINY = {"f16": 2.0**-14, "f32": 2.0**-126, "f64": 2.0**-1022}
_LARGEST = {"f16": 65504.0, "f32": 3.4028234663852886e38, "f64": math.inf}


class Undecided(Exception):
    """The program's result is not defined by the language, or is within an error bound."""


class Number:
    """type: a name of TYPES; value: an int (0 or 1 for u1) or a float; error: see above."""

    __slots__ = ("type", "value", "error")

    def __init__(self, type, value, error=0.0):
        self.type = type
        self.value = value
        self.error = error

    def __repr__(self):
        return f"{self.type} {self.value}" + (f" ±{self.error}" if self.error else "")


class Arithmetic:
    """The operations. loose: floats may be contracted, reassociated or flushed, as Taichi does, so
    each operation adds to the bound; and what Kiln defines beyond Taichi is `Undecided`."""

    def __init__(self, default_ip="i32", default_fp="f32", loose=False):
        self.default_ip = default_ip
        self.default_fp = default_fp
        self.loose = loose

    # ---- making numbers

    def lift(self, x):
        """The typed number for a Python number that is combined with a typed one."""
        if isinstance(x, Number):
            return x
        if isinstance(x, bool):
            return Number("u1", int(x))
        if isinstance(x, int):
            if not -(2**31) <= x < 2**31:
                raise Undecided("a literal out of range")
            return Number(self.default_ip, x)
        if isinstance(x, float):
            return Number(self.default_fp, rounded(self.default_fp, x))
        raise Undecided(f"a number was expected, not {type(x).__name__}")

    def cast(self, x, to):
        """Converts a value: floats to integers toward zero; to bool, whether it is not 0."""
        x = self.lift(x)
        if x.type == to:
            return x
        if to == "u1":
            return Number("u1", int(self._decided(x, lambda v: v != 0)))
        if to in INTS:
            if x.type in FLOATS:
                return Number(to, self._float_to_int(x, to))
            return Number(to, wrapped(to, x.value))
        value = rounded(to, x.value)
        error = 0.0
        if value != x.value and x.type in INTS and (to == "f16" or self.loose):
            error = ulp(to, value)  # a conversion through another type may round twice
        if x.error or self.loose:
            error += x.error + (ulp(to, value) if value != x.value else 0.0)
        if self.loose and x.type in FLOATS and not math.isfinite(value):
            raise Undecided("a float out of range")
        return Number(to, value, error)

    def _float_to_int(self, x, to):
        finite = math.isfinite(x.value)
        if not finite and self.loose:
            raise Undecided("an integer from a float that is not finite")
        value = self._decided(x, math.trunc) if finite else None
        bits = max(INTS[to], 32)
        if to in ("u32", "u64") and finite and bounds(to)[0] <= value <= bounds(to)[1]:
            return value
        # Convert through the signed type, whose lowest number means "out of range".
        low, high = bounds(f"i{bits}")
        if finite and low <= value <= high:
            if self.loose and not bounds(to)[0] <= value <= bounds(to)[1]:
                raise Undecided("an integer from a float out of its range")
            return wrapped(to, value)
        if self.loose:
            raise Undecided("an integer from a float out of its range")
        return wrapped(to, low)

    def bit_cast(self, x, to):
        x = self.lift(x)
        if width(x.type) != width(to) or "u1" in (x.type, to):
            raise Undecided("bit_cast of another width")
        if x.error:
            raise Undecided("the bits of an inexact number")
        if x.type in FLOATS and x.value != x.value:
            raise Undecided("the bits of NaN")
        value = struct.unpack(_FORMAT[to], struct.pack(_FORMAT[x.type], x.value))[0]
        if value != value:
            raise Undecided("NaN from bits")
        if self.loose and to in FLOATS and abs(value) < _TINY[to]:
            raise Undecided("a denormal")
        return Number(to, value)

    # ---- types

    def promoted(self, a, b):
        """The type of an arithmetic operation on types `a` and `b`."""
        if a == b and a != "u1":
            return a
        if a in FLOATS or b in FLOATS:
            floats = [t for t in (a, b) if t in FLOATS]
            return max(floats, key=lambda t: FLOATS[t])
        if a == b == "u1":
            return "u1"
        if "u1" in (a, b):
            return a if b == "u1" else b
        if INTS[a] != INTS[b]:
            return a if INTS[a] > INTS[b] else b
        return a if a[0] == "u" else b

    def _arithmetic(self, a, b):
        a, b = self.lift(a), self.lift(b)
        to = self.promoted(a.type, b.type)
        if to == "u1":  # as in Python
            if self.loose:
                raise Undecided("arithmetic on bools")
            to = self.default_ip
        return self.cast(a, to), self.cast(b, to), to

    def quotient(self, a, b):
        """a / b. Integers count as the default float, but are not rounded to it."""
        rounded = self.real(a), self.real(b)
        to = self.promoted(*(x.type for x in rounded))
        exact = self.cast(a, to), self.cast(b, to)
        if self.loose and any(self.cast(x, to).value != y.value for x, y in zip(rounded, exact)):
            raise Undecided("an integer that the reference rounds")
        return self._float(to, _divide, *exact)

    def real(self, x):
        """The number as the argument of a mathematical function."""
        x = self.lift(x)
        return x if x.type in FLOATS else self.cast(x, self.default_fp)

    # ---- operations

    def binary(self, op, a, b):
        """op: Python's spelling, or min, max."""
        if not isinstance(a, Number) and not isinstance(b, Number):
            return self._python(op, a, b)
        if op in ("<<", ">>"):
            return self.shift(op, a, b)
        if op in _COMPARES:
            return self.compare(op, a, b)
        if op == "**":
            return self.power(a, b)
        if op == "/":
            return self.quotient(self.lift(a), self.lift(b))
        if op in ("&", "|", "^"):
            return self.bits(op, a, b)
        a, b, to = self._arithmetic(a, b)
        if to in FLOATS:
            return self._float_binary(op, to, a, b)
        if op in ("//", "%"):
            if b.value == 0:
                if self.loose:
                    raise Undecided("division by zero")
                return Number(to, 0)
            if self.loose and b.value == -1 and a.value == bounds(to)[0]:
                raise Undecided("overflow of a division")
        return Number(to, wrapped(to, _INTEGER[op](a.value, b.value)))

    def _python(self, op, a, b):
        """An operation on two constants, which Python computes."""
        try:
            return _PYTHON[op](a, b)
        except (ArithmeticError, ValueError, TypeError) as error:
            raise Undecided(str(error)) from None

    def _float_binary(self, op, to, a, b):
        if op in ("min", "max"):
            if a.value != a.value or b.value != b.value:
                if self.loose:
                    raise Undecided(f"{op} of NaN")
                return b if a.value != a.value else a
            if a.value == b.value == 0 and math.copysign(1, a.value) != math.copysign(1, b.value):
                raise Undecided(f"{op} of zeros")
            return self._float(to, min if op == "min" else max, a, b)
        if op == "//":
            quotient = self._float(to, _divide, a, b)
            return self._step(quotient, math.floor)
        if op == "%":
            return self._modulo(to, a, b)
        return self._float(to, _FLOAT[op], a, b)

    def _modulo(self, to, a, b):
        x, y = a.value, b.value
        if not (math.isfinite(x) and math.isfinite(y)) or y == 0 or abs(x / y) > 2.0**16:
            raise Undecided("modulo of such floats")
        result = math.fmod(x, y)
        if result and (result < 0) != (y < 0):
            result += y
        error = a.error + b.error * (abs(x / y) + 1) + 8 * (ulp(to, x) + ulp(to, y))
        if abs(result) <= error or abs(y) - abs(result) <= error:
            raise Undecided("modulo near its step")
        return Number(to, rounded(to, result), error)

    def _step(self, x, function):
        """Applies a step function to a float."""
        if not math.isfinite(x.value):
            if self.loose:
                raise Undecided("a float out of range")
            return x
        value = float(self._decided(x, function))
        if value == 0:
            value = math.copysign(0.0, x.value)
        return Number(x.type, value)

    def _float(self, to, function, *arguments):
        """A correctly rounded operation."""
        value = rounded(to, function(*(x.value for x in arguments)))
        if self.loose:
            if not math.isfinite(value):
                raise Undecided("a float out of range")
            largest = max(abs(x.value) for x in arguments)
            error = 4 * ulp(to, value) + _TINY[to]
            if function in (_FLOAT["+"], _FLOAT["-"]):
                error += 2 * ulp(to, largest)
        else:
            error = 0.0
        spread = self._spread(function, value, arguments)
        if spread:
            error += spread + ulp(to, value)
        return Number(to, value, error)

    def _spread(self, function, value, arguments):
        """How much the result changes while the arguments change within their bounds."""
        if not any(x.error for x in arguments):
            return 0.0
        corners = itertools.product(
            *((x.value - x.error, x.value + x.error) if x.error else (x.value,) for x in arguments)
        )
        try:
            moved = [abs(function(*corner) - value) for corner in corners]
        except (ArithmeticError, ValueError):
            raise Undecided("a function near its edge") from None
        if not all(map(math.isfinite, moved)):
            raise Undecided("a function near its edge")
        return 1.5 * max(moved)

    def function(self, name, *arguments):
        """A mathematical function, with an error bound of a few units in the last place."""
        if not any(isinstance(x, Number) for x in arguments):
            try:
                return FUNCTIONS[name](*arguments)
            except (ArithmeticError, ValueError, TypeError):
                raise Undecided(f"{name} of such numbers") from None
        arguments = [self.real(x) for x in arguments]
        to = arguments[0].type
        for x in arguments[1:]:
            to = self.promoted(to, x.type)
        arguments = [self.cast(x, to) for x in arguments]
        if not all(math.isfinite(x.value) and abs(x.value) < 1e4 for x in arguments):
            raise Undecided(f"{name} of a large number")
        function = FUNCTIONS[name]
        try:
            exact = function(*(x.value for x in arguments))
        except (ArithmeticError, ValueError):
            raise Undecided(f"{name} out of its domain") from None
        value = rounded(to, exact)
        if not math.isfinite(value):
            raise Undecided(f"{name} out of range")
        if name == "sqrt" and not self.loose:
            error = 0.0
        else:
            # As wide as f32's libraries are apart for f16 and f32; arguments near a zero of the
            # function count by their own size.
            error = 16 * ulp(to, value) + 8 * ulp(to, 1.0) * (name in _PERIODIC) + _TINY[to]
        spread = self._spread(function, exact, arguments)
        return Number(to, value, error + spread)

    def rounding(self, name, x):
        """floor, ceil, round of a float."""
        if isinstance(x, float):
            return float({**_ROUNDING, "round": round}[name](x))
        x = self.lift(x)
        if x.type not in FLOATS:
            raise Undecided(f"{name} of an integer")
        return self._step(x, _ROUNDING[name])

    def bits(self, op, a, b):
        a, b = self.lift(a), self.lift(b)
        if a.type in FLOATS or b.type in FLOATS:
            raise Undecided(f"{op} of floats")
        to = self.promoted(a.type, b.type)
        a, b = self.cast(a, to), self.cast(b, to)
        return Number(to, wrapped(to, _PYTHON[op](a.value, b.value)))

    def shift(self, op, a, b):
        """A shift. The result has the left operand's type; the count is taken modulo its width, or
        modulo 32 for narrower types, which are shifted in 32 bits."""
        a, b = self.lift(a), self.lift(b)
        if a.type not in INTS or b.type not in INTS:
            raise Undecided(f"{op} of such types")
        count = b.value & (max(INTS[a.type], 32) - 1)
        if self.loose and count != b.value:
            raise Undecided("a shift past the width")
        if op == ">>":
            return Number(a.type, a.value >> count)
        if op == ">>>":
            unsigned = a.value & (2 ** INTS[a.type] - 1)
            return Number(a.type, wrapped(a.type, unsigned >> count))
        return Number(a.type, wrapped(a.type, a.value << count))

    def power(self, a, b):
        a, b = self.lift(a), self.lift(b)
        if b.type in INTS:
            if b.value < 0 or (b.value > 64 and a.type not in INTS):
                raise Undecided("a power with such an exponent")
            if a.type in INTS:  # the exponent's type does not matter
                power = pow(a.value, b.value, 2 ** INTS[a.type])
                return Number(a.type, wrapped(a.type, power))
            b = self.cast(b, a.type)
        a, b, to = self._arithmetic(a, b)
        if to not in FLOATS:
            raise Undecided("a power of bools")
        if a.value <= 0 and b.value != math.floor(b.value) or a.value == 0 and b.value <= 0:
            raise Undecided("a power of a negative number")
        return self._power(to, a, b)

    def _power(self, to, a, b):
        try:
            value = rounded(to, math.pow(a.value, b.value))
        except (ArithmeticError, ValueError):
            raise Undecided("a power out of range") from None
        if not math.isfinite(value) or abs(value) < _TINY[to] * 2**16:
            raise Undecided("a power out of range")
        # The bound of the logarithm is multiplied by the exponent.
        error = 16 * ulp(to, value) * (1 + abs(b.value))
        return Number(to, value, error + self._spread(math.pow, value, (a, b)))

    def compare(self, op, a, b):
        if not isinstance(a, Number) and not isinstance(b, Number):
            return _COMPARES[op](a, b)
        a, b = self.lift(a), self.lift(b)
        to = self.promoted(a.type, b.type)
        a, b = self.cast(a, to), self.cast(b, to)
        if a.error or b.error:
            if not abs(a.value - b.value) > a.error + b.error:
                raise Undecided("a comparison of inexact numbers")
        if self.loose and (a.value != a.value or b.value != b.value):
            raise Undecided("a comparison of NaN")
        return Number("u1", int(_COMPARES[op](a.value, b.value)))

    def unary(self, op, a):
        if not isinstance(a, Number):
            return {"-": lambda: -a, "~": lambda: ~a, "not": lambda: not a, "+": lambda: +a}[op]()
        if op == "not":
            return Number("u1", int(not self.truth(a)))
        if a.type == "u1":
            raise Undecided(f"{op} of a bool")
        if op == "+":
            return a
        if op == "~":
            if a.type in FLOATS:
                raise Undecided("~ of a float")
            return Number(a.type, wrapped(a.type, ~a.value))
        if a.type in FLOATS:
            return Number(a.type, -a.value, a.error)
        return Number(a.type, wrapped(a.type, -a.value))

    def absolute(self, a):
        if not isinstance(a, Number):
            return abs(a)
        if a.type == "u1":
            raise Undecided("abs of a bool")
        if a.type in FLOATS:
            return Number(a.type, abs(a.value), a.error)
        return Number(a.type, wrapped(a.type, abs(a.value)))

    def raw(self, op, a, b):
        """raw_div and raw_mod: C's rules."""
        if not isinstance(a, Number) and not isinstance(b, Number):
            raise Undecided(f"{op} of two literals")
        a, b, to = self._arithmetic(a, b)
        if to in FLOATS or b.value == 0 or (b.value == -1 and a.value == bounds(to)[0]):
            raise Undecided(f"{op} of such numbers")
        quotient = abs(a.value) // abs(b.value)
        quotient = quotient if (a.value < 0) == (b.value < 0) else -quotient
        return Number(to, quotient if op == "raw_div" else a.value - quotient * b.value)

    def truth(self, x):
        """The number as the condition of an `if`."""
        if not isinstance(x, Number):
            return bool(x)
        if x.type in FLOATS:
            raise Undecided("a float as a condition")
        return x.value != 0

    def _decided(self, x, function):
        """function(value); Undecided unless it is the same everywhere within the number's bound."""
        value = function(x.value)
        if x.error and not value == function(x.value - x.error) == function(x.value + x.error):
            raise Undecided("a step inside the bound of a number")
        return value


# ---- values


def wrapped(type, value):
    """An integer modulo the width of its type."""
    if type == "u1":
        return value & 1
    bits = INTS[type]
    value &= 2**bits - 1
    return value - 2**bits if type[0] == "i" and value >> (bits - 1) else value


def rounded(type, value):
    """The nearest number of a float type; infinite beyond its range."""
    if type == "f64":
        try:
            return float(value)
        except OverflowError:
            return math.copysign(math.inf, value)
    if type == "f32":
        if isinstance(value, int):  # round directly, not through f64
            return float(numpy.float32(value))
        return ctypes.c_float(value).value
    with numpy.errstate(over="ignore"):
        return float(numpy.float16(value))


def ulp(type, value):
    """The unit in the last place of a number of this size."""
    if not math.isfinite(value):
        raise Undecided("a float out of range")
    _, exponent = math.frexp(max(abs(value), _TINY[type]))
    return math.ldexp(1.0, exponent - FLOATS[type])


def bounds(type):
    """Least and greatest of an integer type."""
    bits = INTS[type]
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if type[0] == "i" else (0, 2**bits - 1)


def width(type):
    return int(type[1:])


def _divide(a, b):
    if b != 0:
        return a / b
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _beside_nan(function, a, b):
    if a != a:
        return b
    return a if b != b else function(a, b)


def _round(x):
    # x + 0.5 may round up by itself: 0.49999999999999994.
    whole = math.trunc(x)
    return whole + (1 if x > 0 else -1) if abs(x - whole) >= 0.5 else whole


_FORMAT = dict(zip([*INTS, *FLOATS], [f"<{letter}" for letter in "bhiqBHIQefd"]))
_COMPARES = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_FLOAT = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}
_INTEGER = {
    **_FLOAT,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": lambda a, b: _beside_nan(min, a, b),
    "max": lambda a, b: _beside_nan(max, a, b),
}
_PYTHON = {
    **_INTEGER,
    **_COMPARES,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
_ROUNDING = {"floor": math.floor, "ceil": math.ceil, "round": _round}
_PERIODIC = ("sin", "cos", "tan", "log", "atan2", "acos", "asin")
FUNCTIONS = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "tanh": math.tanh,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "atan2": math.atan2,
}
