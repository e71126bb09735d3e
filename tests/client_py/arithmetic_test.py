"""Compares operators at the limits of every type with Python's integers, at every level of
optimisation."""

import numpy as np
import pytest

INTEGERS = "i8 i16 i32 i64 u8 u16 u32 u64".split()
LEVELS = [(0, True), (3, True), (3, False)]


@pytest.fixture(params=LEVELS, ids=lambda p: f"O{p[0]}-{'fast' if p[1] else 'exact'}")
def ti(request):
    import kiln

    kiln.init(kiln.cpu, opt_level=request.param[0], fast_math=request.param[1])
    yield kiln
    kiln.reset()


def truncated(x, y):
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


def expected(bits, signed):
    """name -> function of Python integers, before wrapping to the type."""
    whole = 1 << bits
    counts = max(bits, 32)  # integers of 8 and 16 bits are shifted in 32
    return {
        "shl": lambda x, y: x << y % counts,
        "shr": lambda x, y: x >> y % counts,
        "bit_shr": lambda x, y: x % whole >> y % counts,
        "floordiv": lambda x, y: x // y if y else 0,
        "mod": lambda x, y: x % y if y else 0,
        "raw_div": lambda x, y: truncated(x, y) if y else 0,
        "raw_mod": lambda x, y: x - y * truncated(x, y) if y else 0,
        "min": min,
        "max": max,
        "mul": lambda x, y: x * y,
        "abs": lambda x, y: abs(x),
        "neg": lambda x, y: -x,
        "popcnt": lambda x, y: bin(x % whole).count("1"),
        "clz": lambda x, y: bits - (x % whole).bit_length(),
    }


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(ti, name):
    dtype = getattr(ti, name)
    bits, signed = dtype.bits, name[0] == "i"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    values = [low, low + 1, 0, 1, 2, 3, 7, high // 3, high - 1, high]
    values += [-1, -2, -7] if signed else []
    pairs = [(x, y) for x in values for y in values]
    kind = dtype.numpy_name
    a, b = ti.field(dtype, len(pairs)), ti.field(dtype, len(pairs))
    a.from_numpy(np.array([p[0] for p in pairs], dtype=kind))
    b.from_numpy(np.array([p[1] for p in pairs], dtype=kind))
    rules = expected(bits, signed)
    out = {rule: ti.field(dtype, len(pairs)) for rule in rules}

    @ti.kernel
    def k():
        for i in a:
            x, y = a[i], b[i]
            out["shl"][i] = x << y
            out["shr"][i] = x >> y
            out["bit_shr"][i] = ti.bit_shr(x, y)
            out["floordiv"][i] = x // y
            out["mod"][i] = x % y
            out["raw_div"][i] = ti.raw_div(x, y)
            out["raw_mod"][i] = ti.raw_mod(x, y)
            out["min"][i] = min(x, y)
            out["max"][i] = max(x, y)
            out["mul"][i] = x * y
            out["abs"][i] = abs(x)
            out["neg"][i] = -x
            out["popcnt"][i] = ti.cast(ti.math.popcnt(x), dtype)
            out["clz"][i] = ti.cast(ti.math.clz(x), dtype)

    k()
    for rule, function in rules.items():
        for (x, y), got in zip(pairs, out[rule].to_numpy()):
            wanted = function(x, y) % (1 << bits)
            assert int(got) % (1 << bits) == wanted, f"{rule}({x}, {y})"


@pytest.mark.parametrize("name", [*INTEGERS, "f16", "f32", "f64"])
def test_atomics_of_every_type(ti, name):
    dtype = getattr(ti, name)
    x = ti.field(dtype, 5)
    x[2] = 99

    @ti.kernel
    def k():
        for i in range(100000):
            x[0] += ti.cast(i % 1000 == 0, dtype)
            ti.atomic_max(x[1], ti.cast(i % 100, dtype))
            ti.atomic_min(x[2], ti.cast(i % 100, dtype))
            ti.atomic_sub(x[3], ti.cast(i % 2000 == 0, dtype))

    k()
    minus_fifty = -50 if name[0] in "fi" else (1 << dtype.bits) - 50
    assert x.to_numpy().tolist() == [100, 99, 0, minus_fifty, 0]


def test_atomics_of_bools(ti):
    x = ti.field(ti.u1, 3)
    x[1] = 1

    @ti.kernel
    def k():
        for i in range(10000):
            ti.atomic_or(x[0], i == 777)
            ti.atomic_and(x[1], i != 777)
            ti.atomic_xor(x[2], i < 3)

    k()
    assert x.to_numpy().tolist() == [True, False, True]


def test_without_fast_math_ieee_holds():
    import kiln as ti

    ti.init(ti.cpu, fast_math=False)
    x = ti.field(ti.f32, 4)
    tiny = np.array([1e-40, 2e-40, -1e-45, 1e-38], dtype=np.float32)
    x.from_numpy(tiny)

    @ti.kernel
    def halves():
        for i in x:
            x[i] = x[i] * 0.5 + x[i]

    @ti.kernel
    def smaller(a: ti.f64, b: ti.f64) -> ti.f64:
        return min(a, b)

    @ti.kernel
    def larger(a: ti.f16, b: ti.f16) -> ti.f16:
        return max(a, b)

    halves()
    assert (x.to_numpy() == tiny * np.float32(0.5) + tiny).all()
    nan = float("nan")
    assert smaller(nan, 2.0) == smaller(2.0, nan) == 2.0
    assert larger(nan, 2.0) == larger(2.0, nan) == 2.0
    ti.reset()
