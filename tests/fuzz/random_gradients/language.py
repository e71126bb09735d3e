"""Stands for the language's module in the model, so that a kernel's text runs as it is, iteration
after iteration."""

import itertools
import math
import types

from .numbers import Number, Undecided, dead, is_less, number, step
from .places import N


def differentiable(of, slope):
    """The function of a number. slope: its derivative."""

    def f(x):
        x = number(x)
        is_exact = x.is_exact and x.value == 0
        return Number(of(x.value), (x, slope(x.value)), is_exact=is_exact)

    return staticmethod(f)


def _of_positive(of, slope):
    """A function that has no value, or no derivative, for numbers that are not positive."""

    def f(x):
        x = number(x)
        if abs(x.value) < 1e-3:
            raise Undecided
        return Number(of(x.value), (x, slope(x.value))) if x.value > 0 else dead()

    return staticmethod(f)


def _pick(is_first, x, y):
    """x or y. Of equal ones, the derivatives may be those of either."""
    x, y = number(x), number(y)
    if x.value == y.value and x is not y and (x.operands or y.operands):
        raise Undecided
    return x if is_first(x, y) else y


class Vector(list):
    def __init__(self, values):
        super().__init__(map(number, values))


class Types:
    @staticmethod
    def ndarray(**_):
        return None

    @staticmethod
    def struct(**_):
        return types.SimpleNamespace


class Language:
    """What generated kernels use."""

    f64, i32 = "f64", "i32"  # of parameters
    Vector = Vector
    types = Types
    sin = differentiable(math.sin, math.cos)
    cos = differentiable(math.cos, lambda x: -math.sin(x))
    tan = differentiable(math.tan, lambda x: 1 + math.tan(x) ** 2)
    tanh = differentiable(math.tanh, lambda x: 1 - math.tanh(x) ** 2)
    asin = differentiable(math.asin, lambda x: 1 / math.sqrt(1 - x * x))
    acos = differentiable(math.acos, lambda x: -1 / math.sqrt(1 - x * x))
    exp = differentiable(math.exp, math.exp)
    sqrt = _of_positive(math.sqrt, lambda x: 0.5 / math.sqrt(x))
    rsqrt = _of_positive(lambda x: 1 / math.sqrt(x), lambda x: -0.5 / (x * math.sqrt(x)))
    log = _of_positive(math.log, lambda x: 1 / x)
    func = real_func = static = staticmethod(lambda x: x)
    loop_config = staticmethod(lambda **_: None)

    @staticmethod
    def atan2(y, x):
        y, x = number(y), number(x)
        square = x.value**2 + y.value**2
        if square < 1e-3 or (abs(y.value) < 1e-7 and x.value < 0):
            raise Undecided
        return Number(math.atan2(y.value, x.value), (y, x.value / square), (x, -y.value / square))

    @staticmethod
    def abs(x):
        x = number(x)
        if x.is_exact and x.value == 0:
            return number(0.0)
        return -x if x < 0.0 else x

    @staticmethod
    def min(x, y):
        return _pick(is_less, x, y)

    @staticmethod
    def max(x, y):
        return _pick(lambda x, y: is_less(y, x), x, y)

    @staticmethod
    def select(condition, x, y):
        return x if condition else y

    @staticmethod
    def floor(x):
        return Number(float(step(math.floor, number(x).value)), is_exact=True)

    @staticmethod
    def cast(x, _):
        return step(int, number(x).value)

    @staticmethod
    def stop_grad(x):
        return Number(Number.run.decide(lambda: number(x).value))

    @staticmethod
    def ndrange(*ends):
        spans = [range(*end) if isinstance(end, tuple) else range(end) for end in ends]
        return itertools.product(*spans)


class Cells:
    """A field or an array: {index: number}, and which cells of a sparse field are active.

    unit: how many cells become active together; 0: as in a dynamic list, those before one, too."""

    def __init__(self, values, active=None, unit=1):
        self.values = values
        self.unit = unit
        self.active = active

    def __getitem__(self, i):
        value = self.values[i]
        return value if self.active is None or i in self.active else number(0.0)

    def __setitem__(self, i, value):
        if i not in self.values:
            raise KeyError(i)
        if self.active is not None:
            begin = i - i % self.unit if self.unit else 0
            self.active.update(range(begin, begin + self.unit if self.unit else i + 1))
        self.values[i] = number(value)

    def __iter__(self):
        return iter(range(N) if self.active is None else sorted(self.active))


class Members:
    """A field of structs. members: Cells by name."""

    def __init__(self, members):
        self.members = members

    def __getitem__(self, i):
        return _Element(self.members, i)

    def __iter__(self):
        return iter(range(N))


class _Element:
    def __init__(self, members, i):
        self.__dict__["_at"] = members, i

    def __getattr__(self, name):
        members, i = self._at
        return members[name][i]

    def __setattr__(self, name, value):
        members, i = self._at
        members[name][i] = value
