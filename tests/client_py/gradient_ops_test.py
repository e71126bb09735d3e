"""Derivatives of every operation, in reverse and in forward mode, against formulas."""

import math

import numpy as np
import pytest

X = (0.3, 0.7, 0.9)
# Name: (f(ti, x), df/dx).
UNARY = {
    "neg": (lambda ti, x: -x, lambda x: -1),
    "abs": (lambda ti, x: abs(x), lambda x: math.copysign(1, x)),
    "abs of a negative": (lambda ti, x: abs(x - 1), lambda x: -1),
    "sin": (lambda ti, x: ti.sin(x), math.cos),
    "cos": (lambda ti, x: ti.cos(x), lambda x: -math.sin(x)),
    "tan": (lambda ti, x: ti.tan(x), lambda x: 1 / math.cos(x) ** 2),
    "asin": (lambda ti, x: ti.asin(x), lambda x: 1 / math.sqrt(1 - x * x)),
    "acos": (lambda ti, x: ti.acos(x), lambda x: -1 / math.sqrt(1 - x * x)),
    "tanh": (lambda ti, x: ti.tanh(x), lambda x: 1 - math.tanh(x) ** 2),
    "sqrt": (lambda ti, x: ti.sqrt(x), lambda x: 0.5 / math.sqrt(x)),
    "rsqrt": (lambda ti, x: ti.rsqrt(x), lambda x: -0.5 * x**-1.5),
    "exp": (lambda ti, x: ti.exp(x), math.exp),
    "log": (lambda ti, x: ti.log(x), lambda x: 1 / x),
    "floor": (lambda ti, x: ti.floor(x) + x, lambda x: 1),
    "ceil": (lambda ti, x: ti.ceil(x) + x, lambda x: 1),
    "round": (lambda ti, x: ti.round(x) + x, lambda x: 1),
    "square": (lambda ti, x: x**2, lambda x: 2 * x),
    "power 0": (lambda ti, x: x**0 + x, lambda x: 1),
    "power -3": (lambda ti, x: x**-3, lambda x: -3 * x**-4),
    "power 1.5": (lambda ti, x: x**1.5, lambda x: 1.5 * x**0.5),
    "exponent": (lambda ti, x: 2.5**x, lambda x: 2.5**x * math.log(2.5)),
    "reciprocal": (lambda ti, x: 1 / x, lambda x: -1 / x**2),
    "select": (lambda ti, x: ti.select(x > 0.5, x * 3, x * 5), lambda x: 3 if x > 0.5 else 5),
    "remainder": (lambda ti, x: (x * 7) % 0.8, lambda x: 7),
    "raw_mod": (lambda ti, x: ti.raw_mod(x * 7, 0.8), lambda x: 7),
    "cast": (lambda ti, x: ti.cast(x, ti.f32) * ti.cast(x, ti.f64), lambda x: 2 * x),
    "half": (lambda ti, x: ti.cast(x, ti.f16) * 2, lambda x: 2),
    "integer": (lambda ti, x: ti.cast(x * 7, ti.i32) * x, lambda x: int(x * 7)),
    "clamp": (lambda ti, x: ti.math.clamp(x, 0.5, 0.8), lambda x: 0.5 < x < 0.8),
    "mix": (lambda ti, x: ti.math.mix(x, x * x, 0.25), lambda x: 0.75 + 0.5 * x),
    "fract": (lambda ti, x: ti.math.fract(x * 3), lambda x: 3),
    "sign": (lambda ti, x: ti.math.sign(x) * x, lambda x: 1),
    "stop_grad": (lambda ti, x: ti.stop_grad(x) * x, lambda x: x),
}
# Name: (f(ti, x, y), df/dx, df/dy).
BINARY = {
    "add": (lambda ti, x, y: x + y, lambda x, y: 1, lambda x, y: 1),
    "sub": (lambda ti, x, y: x - y, lambda x, y: 1, lambda x, y: -1),
    "mul": (lambda ti, x, y: x * y, lambda x, y: y, lambda x, y: x),
    "div": (lambda ti, x, y: x / y, lambda x, y: 1 / y, lambda x, y: -x / y**2),
    "floordiv": (lambda ti, x, y: x // y + x, lambda x, y: 1, lambda x, y: 0),
    "mod": (lambda ti, x, y: x % y, lambda x, y: 1, lambda x, y: -math.floor(x / y)),
    "min": (lambda ti, x, y: ti.min(x, y), lambda x, y: x < y, lambda x, y: y < x),
    "max": (lambda ti, x, y: ti.max(x, y), lambda x, y: x > y, lambda x, y: y > x),
    "max of three": (
        lambda ti, x, y: ti.max(x, y, 0.35),
        lambda x, y: x > max(y, 0.35),
        lambda x, y: y > max(x, 0.35),
    ),
    "atan2": (
        lambda ti, x, y: ti.atan2(x, y),
        lambda x, y: y / (x * x + y * y),
        lambda x, y: -x / (x * x + y * y),
    ),
    "pow": (
        lambda ti, x, y: x**y,
        lambda x, y: y * x ** (y - 1),
        lambda x, y: x**y * math.log(x),
    ),
}
PRECISION = {"f64": 1e-9, "f32": 2e-5}
ROUGH = {"half": 1e-2, "cast": 1e-5, "raw_mod": 1e-5, "remainder": 1e-5}


@pytest.fixture(params=PRECISION)
def precision(request):
    return request.param


def fields(ti, precision):
    ti.init(ti.cpu, default_fp=getattr(ti, precision))
    made = [ti.field(getattr(ti, precision), 3, needs_grad=True, needs_dual=True) for _ in range(4)]
    made[0].from_numpy(np.array(X))
    made[1].from_numpy(np.array((0.5, 0.2, 0.4)))
    return made


@pytest.mark.parametrize("name", UNARY)
def test_unary(ti, name, precision):
    x, y, z, _ = fields(ti, precision)
    f, derivative = UNARY[name]

    @ti.kernel
    def k():
        for i in x:
            z[i] = f(ti, x[i])

    expected = [float(derivative(v)) for v in x.to_numpy()]
    check(ti, k, {x: expected}, z, max(PRECISION[precision], ROUGH.get(name, 0)))


@pytest.mark.parametrize("name", BINARY)
def test_binary(ti, name, precision):
    x, y, z, _ = fields(ti, precision)
    f, by_x, by_y = BINARY[name]

    @ti.kernel
    def k():
        for i in x:
            z[i] = f(ti, x[i], y[i])

    pairs = list(zip(x.to_numpy(), y.to_numpy()))
    expected = {
        x: [float(by_x(*pair)) for pair in pairs],
        y: [float(by_y(*pair)) for pair in pairs],
    }
    check(ti, k, expected, z, PRECISION[precision])


def check(ti, kernel, expected, z, tolerance):
    """Compares the derivatives of z[i] by the fields with what is expected."""
    z.grad.fill(1)
    kernel.grad()
    for field, numbers in expected.items():
        assert field.grad.to_numpy() == pytest.approx(numbers, rel=tolerance, abs=tolerance)
        with ti.ad.FwdMode(loss=z, param=field, seed=[1, 2, 3]):
            kernel()
        along = np.array(numbers) * (1, 2, 3)
        assert z.dual.to_numpy() == pytest.approx(along, rel=tolerance, abs=tolerance)


# Where a derivative is infinite, and what it is multiplied by is zero: the product is zero.
ZEROS = {
    "sqrt": lambda ti, x: ti.select(x > 0, ti.sqrt(x), 0.0),
    "rsqrt": lambda ti, x: ti.select(x > 0, ti.rsqrt(x), 0.0),
    "log": lambda ti, x: ti.select(x > 0, ti.log(x), 0.0),
    "power": lambda ti, x: ti.select(x > 0, x**0.5, 0.0),
    "reciprocal": lambda ti, x: ti.select(x > 0, 1 / x, 0.0),
    "asin": lambda ti, x: ti.select(x > 0, ti.asin(x + 1), 0.0),
    "acos": lambda ti, x: ti.select(x > 0, ti.acos(x + 1), 0.0),
    "atan2": lambda ti, x: ti.select(x > 0, ti.atan2(x, x), 0.0),
    "exponent": lambda ti, x: x**2.0,
}


@pytest.mark.parametrize("name", ZEROS)
def test_zeros(ti, name, precision):
    x, _, z, _ = fields(ti, precision)
    f = ZEROS[name]
    x.fill(0)

    @ti.kernel
    def k():
        for i in x:
            z[i] = f(ti, x[i])

    check(ti, k, {x: [0.0] * 3}, z, 0.0)


# What has no value for negative a, and is dropped then. The derivatives by a and b are 0 and 1.
DROPPED = {
    "product": lambda ti, a, b: ti.select(a > 0, b * ti.sqrt(a), b),
    "square": lambda ti, a, b: ti.select(a > 0, ti.log(a) * ti.log(a) * b, b),
    "sine": lambda ti, a, b: ti.select(a > 0, ti.sin(b * ti.log(a)), b),
    "cosine": lambda ti, a, b: ti.select(a > 0, ti.cos(b + ti.log(a)), b),
    "tanh": lambda ti, a, b: ti.select(a > 0, ti.tanh(b * a**0.5), b),
    "quotient": lambda ti, a, b: ti.select(a > 0, b * (1 / ti.max(a, 0)), b),
    "maximum": lambda ti, a, b: ti.max(b * ti.sqrt(a), b),
}


@pytest.mark.parametrize("name", DROPPED)
def test_dropped_products(ti, name, precision):
    x, y, z, _ = fields(ti, precision)
    f = DROPPED[name]
    x.fill(-1)

    @ti.kernel
    def k():
        for i in x:
            z[i] = f(ti, x[i], y[i])

    check(ti, k, {x: [0.0] * 3, y: [1.0] * 3}, z, 0.0)


def test_products_that_branches_drop(ti, precision):
    x, y, z, _ = fields(ti, precision)
    x.fill(-1)

    @ti.kernel
    def used_in_a_branch():
        for i in x:
            z[i] = y[i]
            product = y[i] * ti.sqrt(x[i])
            if x[i] > 0:
                z[i] += product

    @ti.kernel
    def replaced_in_a_branch():
        for i in x:
            product = y[i] * ti.sqrt(x[i])
            if x[i] < 0:
                product = y[i]
            z[i] = product

    @ti.kernel
    def left_by_break():
        for i in x:
            total = y[i]
            for j in range(3):
                product = y[i] * ti.sqrt(x[i])
                if x[i] < 0:
                    break
                total += product
            z[i] = total

    @ti.kernel
    def sum_of_a_loop():
        for i in x:
            product = y[i] * ti.sqrt(x[i])
            total = 0.0
            for j in range(3):
                total += product * y[i]
            z[i] = ti.select(x[i] > 0, total, y[i])

    for k in (used_in_a_branch, replaced_in_a_branch, left_by_break, sum_of_a_loop):
        x.grad.fill(0)
        y.grad.fill(0)
        check(ti, k, {x: [0.0] * 3, y: [1.0] * 3}, z, 0.0)


def test_an_infinite_derivative_of_what_counts_nothing(ti, precision):
    x, _, z, _ = fields(ti, precision)
    x.fill(0)

    @ti.kernel
    def k():
        for i in x:
            z[i] = ti.sqrt(x[i]) * 0

    z.grad.fill(1)
    k.grad()
    assert x.grad.to_numpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_values_next_to_the_winner_get_nothing(ti, dtype):
    """Values that are only read are compared exactly: the greatest comes last, by one digit."""
    precision = getattr(ti, dtype)
    ti.init(ti.cpu, default_fp=precision)
    x = ti.field(precision, 64, needs_grad=True, needs_dual=True)
    top = ti.field(precision, (), needs_grad=True, needs_dual=True)

    @ti.kernel
    def k():
        for i in x:
            ti.atomic_max(top[None], x[i])

    numpy_type = getattr(np, "float32" if dtype == "f32" else "float64")
    numbers = np.full(64, 1, numpy_type)
    numbers[40] = np.nextafter(numpy_type(1), numpy_type(2))
    x.from_numpy(numbers)
    with ti.ad.Tape(top):
        k()
    assert np.flatnonzero(x.grad.to_numpy()).tolist() == [40]
    top[None] = 0
    with ti.ad.FwdMode(loss=top, param=x, seed=[float(i) for i in range(64)]):
        k()
    assert top.dual[None] == 40


def test_the_winner_of_a_minimum_is_found_near_poles(ti):
    """The values are computed twice, and rounding errors of the two grow near a pole."""
    ti.init(ti.cpu, default_fp=ti.f64)
    w = ti.field(ti.f64, 6, needs_dual=True)
    top = ti.field(ti.f64, (), needs_dual=True)

    @ti.kernel
    def k(p: ti.f64):
        for i in w:
            t = p
            for _ in range(3):
                t = ti.tanh(t + w[i])
                t -= ti.tanh(1 + ti.exp(-ti.abs(t)) / (t - 0.3))
            ti.atomic_min(top[None], -0.301 * t)

    numbers = np.array([-0.08714865, 0.40279479, 1.06424466, 0.07871774, 0.93184825, 1.10044581])
    along = np.array([-0.09382508, 0.4795798, 0.87968485, 0.80781561, -0.27636727, 1.20524316])

    def least(p, shift):
        w.from_numpy(numbers + shift * along)
        top[None] = 1e9
        k(p)
        return top[None]

    for p in np.linspace(-2, 2, 81):
        step = 1e-7
        slope = (least(p, step) - least(p, -step)) / (2 * step)
        w.from_numpy(numbers)
        top[None] = 1e9
        with ti.ad.FwdMode(loss=top, param=w, seed=list(along)):
            k(p)
        assert top.dual[None] == pytest.approx(slope, rel=1e-3, abs=1e-3), p
