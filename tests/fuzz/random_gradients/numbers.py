"""Numbers that remember how they were computed, for derivatives by the chain rule, backwards.

Near a kink or a branch, rounding decides what the derivative is: `Undecided` is raised. Outside of
its domain, a function returns NaN; what is computed from it has to be dropped.
"""

import math

CLOSE = 1e-7  # values so close that rounding may decide a comparison
LARGE = 1e6
_MOST = 30_000  # numbers in a run


class Undecided(Exception):
    pass


class Run:
    """One run of a kernel's text.

    decisions: of an earlier run, which this one repeats: comparisons, steps, constants. Between
    such runs, results change as smoothly as the functions do, whatever kinks are near."""

    def __init__(self, decisions=None):
        self.decisions = []
        self.made = []  # all numbers, in their order
        self._earlier = None if decisions is None else iter(decisions)
        Number.run = self

    def decide(self, decision):
        """The decision of an earlier run, or what decision() returns."""
        made = decision() if self._earlier is None else next(self._earlier)
        self.decisions.append(made)
        return made

    def gradient(self, weights, inputs):
        """The derivatives of the sum of weights {number: weight} by the inputs, a list."""
        for number, weight in weights:
            number.adjoint += weight
        for number in reversed(self.made):
            if number.adjoint:
                for operand, slope in number.operands:
                    operand.adjoint += number.adjoint * slope
        return [number.adjoint for number in inputs]


class Number:
    """operands: pairs of a number and the slope by it. is_exact: whether there was no rounding."""

    __slots__ = ("value", "operands", "is_exact", "adjoint")
    run = None

    def __init__(self, value, *operands, is_exact=False):
        made = self.run.made
        if abs(value) >= LARGE or len(made) > _MOST:  # NaN is neither
            raise Undecided
        self.value, self.operands, self.is_exact, self.adjoint = value, operands, is_exact, 0.0
        made.append(self)

    def __add__(self, other):
        other = number(other)
        for zero, rest in ((self, other), (other, self)):
            if zero.value == 0 and not zero.operands:
                return rest
        return Number(self.value + other.value, (self, 1.0), (other, 1.0))

    def __sub__(self, other):
        return Number(0.0, is_exact=True) if self is other else self + -number(other)

    def __mul__(self, other):
        other = number(other)
        is_exact = any(n.is_exact and n.value == 0 for n in (self, other))
        return Number(
            self.value * other.value, (self, other.value), (other, self.value), is_exact=is_exact
        )

    def __truediv__(self, other):
        other = number(other)
        if other.value == 0:
            return dead()
        if abs(other.value) < 1e-3:
            raise Undecided
        value = self.value / other.value
        is_exact = self.is_exact and value == 0
        return Number(
            value, (self, 1 / other.value), (other, -value / other.value), is_exact=is_exact
        )

    def __mod__(self, other):
        quotient = self / other
        return self - Number(step(math.floor, quotient.value), is_exact=True) * other

    def __pow__(self, other):
        if isinstance(other, int):
            return Number(self.value**other, (self, other * self.value ** (other - 1)))
        other = number(other)
        if self.value <= 0:  # as a shifted input may make it
            raise Undecided
        value = self.value**other.value
        slopes = value * other.value / self.value, value * math.log(self.value)
        return Number(value, (self, slopes[0]), (other, slopes[1]))

    def __neg__(self):
        return Number(-self.value, (self, -1.0), is_exact=self.is_exact)

    def __lt__(self, other):
        return is_less(self, number(other))

    def __gt__(self, other):
        return is_less(number(other), self)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return number(other) - self

    def __rtruediv__(self, other):
        return number(other) / self

    def __rmod__(self, other):
        return number(other) % self

    def __rpow__(self, other):
        return number(other) ** self


def number(x):
    return x if isinstance(x, Number) else Number(float(x), is_exact=True)


def is_less(x, y):
    def compared():
        are_exact = x is y or (x.is_exact and y.is_exact)
        if not are_exact and not abs(x.value - y.value) >= CLOSE:
            raise Undecided
        return x.value < y.value

    return Number.run.decide(compared)


def step(function, x):
    """A function that is constant between integers."""

    def stepped():
        if not abs(x) < LARGE or abs(x - round(x)) < CLOSE:
            raise Undecided
        return function(x)

    return Number.run.decide(stepped)


def dead():
    """What a function returns outside of its domain."""
    return Number(math.nan)
