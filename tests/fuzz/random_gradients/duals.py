"""Numbers that carry derivatives: the text of a kernel, run by Python with them, is the model.

A `Dual` is a value with its derivative along one direction. `FakeTi` stands for the language's
module, so that a kernel's text runs as it is, iteration after iteration.

Near a kink or a branch, rounding decides what the derivative is: `Undecided` is raised.
"""

import math
import types

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


class Cells:
    """A field or an array in the model: elements, and which of them are active.

    unit: how many cells become active together; 0: as in a dynamic list, those before one, too."""

    def __init__(self, values, active=None, unit=1):
        self.values = values
        self.unit = unit
        self.active = set(range(len(values)) if active is None else active)

    def __getitem__(self, i):
        return self.values[i] if i in self.active else Dual(0.0)

    def __setitem__(self, i, value):
        begin = i - i % self.unit if self.unit else 0
        self.active.update(range(begin, begin + self.unit if self.unit else i + 1))
        self.values[i] = value

    def __iter__(self):
        return iter(sorted(self.active))


class Members:
    """A field of structs in the model. members: Cells by name."""

    def __init__(self, members):
        self.members = members

    def __getitem__(self, i):
        return _Element(self.members, i)

    def __iter__(self):
        return iter(next(iter(self.members.values())))


class _Element:
    def __init__(self, members, i):
        self.__dict__["_at"] = members, i

    def __getattr__(self, name):
        members, i = self._at
        return members[name][i]

    def __setattr__(self, name, value):
        members, i = self._at
        members[name][i] = value


class Types:
    @staticmethod
    def ndarray():
        return None

    @staticmethod
    def struct(**members):
        return types.SimpleNamespace


class FakeTi:
    """What generated kernels use of the language."""

    f64, i32 = "f64", "i32"
    Vector = Vector
    types = Types
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
    def real_func(f):
        return f

    func = real_func

    @staticmethod
    def loop_config(**_):
        pass
