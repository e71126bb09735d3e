"""Numbers that carry derivatives: the text of a kernel, run by Python with them, is the model.

A `Dual` is a value with its derivative along one direction. `FakeTi` stands for the language's
module, so that a kernel's text runs as it is, iteration after iteration.

Near a kink or a branch, rounding decides what the derivative is: `Undecided` is raised.
"""

import math

CLOSE = 1e-7  # values so close that rounding may decide a comparison
LARGE = 1e6


class Undecided(Exception):
    pass


def value_of(x):
    return x.value if isinstance(x, Dual) else float(x)


def dual_of(x):
    return x.dual if isinstance(x, Dual) else 0.0


class Dual:
    def __init__(self, value, dual=0.0):
        if not abs(value) < LARGE or not abs(dual) < LARGE * 1e3:
            raise Undecided
        self.value, self.dual = value, dual

    def __add__(self, other):
        return Dual(self.value + value_of(other), self.dual + dual_of(other))

    def __sub__(self, other):
        return Dual(self.value - value_of(other), self.dual - dual_of(other))

    def __rsub__(self, other):
        return Dual(value_of(other) - self.value, dual_of(other) - self.dual)

    def __mul__(self, other):
        x, y = self.value, value_of(other)
        return Dual(x * y, self.dual * y + x * dual_of(other))

    def __truediv__(self, other):
        x, y = self.value, value_of(other)
        if abs(y) < 1e-3:
            raise Undecided
        return Dual(x / y, (self.dual - x / y * dual_of(other)) / y)

    def __rtruediv__(self, other):
        return Dual(value_of(other)) / self

    def __neg__(self):
        return Dual(-self.value, -self.dual)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other):
        return self._difference(other) < 0

    def __gt__(self, other):
        return self._difference(other) > 0

    def _difference(self, other):
        difference = self.value - value_of(other)
        if abs(difference) < CLOSE:
            raise Undecided
        return difference


def _function(of, slope):
    def f(x):
        x = x if isinstance(x, Dual) else Dual(float(x))
        return Dual(of(x.value), slope(x.value) * x.dual)

    return f


class Vector(list):
    def __init__(self, values):
        super().__init__(x if isinstance(x, Dual) else Dual(float(x)) for x in values)


class FakeTi:
    """What generated kernels use of the language."""

    f64, i32 = "f64", "i32"
    Vector = Vector
    sin = staticmethod(_function(math.sin, math.cos))
    cos = staticmethod(_function(math.cos, lambda x: -math.sin(x)))
    tanh = staticmethod(_function(math.tanh, lambda x: 1 - math.tanh(x) ** 2))

    @staticmethod
    def exp(x):
        if value_of(x) > 10:
            raise Undecided
        return _function(math.exp, math.exp)(x)

    @staticmethod
    def sqrt(x):
        if value_of(x) < 1e-3:
            raise Undecided
        return _function(math.sqrt, lambda v: 0.5 / math.sqrt(v))(x)

    @staticmethod
    def abs(x):
        return x if x > 0.0 else -x

    @staticmethod
    def min(x, y):
        return x if x < y else y

    @staticmethod
    def max(x, y):
        return x if x > y else y

    @staticmethod
    def select(condition, x, y):
        return x if condition else y

    @staticmethod
    def cast(x, _):
        scaled = value_of(x)
        if abs(scaled - round(scaled)) < CLOSE:
            raise Undecided
        return int(scaled)

    @staticmethod
    def stop_grad(x):
        return Dual(value_of(x))

    @staticmethod
    @staticmethod
    def static(x):
        return x
