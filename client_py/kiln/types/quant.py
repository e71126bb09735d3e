"""`ti.types.quant`: quantised numbers, several of which share a word.

Kernels compute in a type's `compute` type: loads widen to it, and stores narrow to the quantised
type. ti.BitpackedFields and quant_array SNodes hold fields of these types.
"""

from .. import _native
from ..diagnostics import say
from . import scalar


class QuantType:
    """A quantised type, made by `int`, `fixed` and `float`. Equal types are one object.

    kind: "int", "fixed" or "float". bits: the number of digits, including the sign. exponent_bits:
    for floats, the bits of the exponent. scale: for fixed-point numbers, the value of the lowest
    digit. compute: the scalar type in which kernels compute.
    """

    def __init__(self, kind, bits, signed, compute, scale=0.0, exponent_bits=0):
        self.kind = kind
        self.bits = bits
        self.is_signed = signed
        self.compute = compute
        self.scale = scale
        self.exponent_bits = exponent_bits
        self.layout = (_native.QUANTS[kind], bits, signed, scale, exponent_bits)
        # Attributes that every field's type has; they describe the numbers that programs see.
        self.scalar = compute.scalar
        self.is_float = compute.is_float
        self.is_int = compute.is_int
        self.numpy_name = compute.numpy_name
        self.convert = compute.convert
        self.name = self.to_string()

    def to_string(self):
        digits = f"q{'i' if self.is_signed else 'u'}{self.bits}"
        if self.kind == "int":
            return digits
        if self.kind == "fixed":
            return f"qfx(d={digits} c={self.compute} s={self.scale:.6g})"
        return f"qfl(d={digits} e=qu{self.exponent_bits} c={self.compute})"

    def __repr__(self):
        return self.name

    def _described(self):
        return (*self.layout, self.compute)

    # Copies are the same object.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        parts = (self.kind, self.bits, self.is_signed, self.compute)
        return (_make, (*parts, self.scale, self.exponent_bits))


_made = {}


def _make(kind, bits, signed, compute, scale=0.0, exponent_bits=0):
    parts = (kind, bits, signed, compute, scale, exponent_bits)
    found = _made.get(parts)
    if found is None:
        found = _made[parts] = QuantType(*parts)
    return found


def int(bits, signed=True, compute=None):
    """A quantised integer type. Stores keep the low bits of a number.

    bits: 1 to 64. signed: whether the type has negative numbers. compute: the type in which kernels
    compute; by default the default integer, or the unsigned type of the same width. Raises
    TaichiRuntimeError for invalid types.

        x = ti.field(ti.types.quant.int(bits=4, signed=False))
        ti.root.quant_array(ti.i, 8, max_num_bits=32).place(x)
        x[0] = 17
        print(x[0])  # prints: 1
    """
    if compute is None:
        compute = scalar.DEFAULT_UNSIGNED if not signed else type(0)
    compute = scalar.cook_dtype(compute)
    if compute.is_float:
        raise say.quantised_integers_in_floats(compute=compute)
    return _make("int", _bits("bits", bits, _native.MAX_QUANT_BITS), bool(signed), compute)


def fixed(bits, signed=True, max_value=1.0, compute=None, scale=None):
    """A quantised fixed-point type: multiples of a step. Stores keep the low digits of a number.

    bits: the number of digits, 1 to 32. signed: whether the type has negative numbers. max_value:
    the exclusive upper bound of the numbers, which determines the step. scale: the step; by default
    max_value / 2**(bits - 1) if `signed`, otherwise max_value / 2**bits. compute: ti.f32 or ti.f64;
    by default the default float.

        x = ti.field(ti.types.quant.fixed(bits=8, max_value=2.0))
        ti.root.quant_array(ti.i, 4, max_num_bits=32).place(x)
        x[0] = 0.7
        print(x[0])  # prints: 0.703125
    """
    compute = scalar.cook_dtype(type(0.0) if compute is None else compute)
    if compute not in (scalar.f32, scalar.f64):
        raise say.fixed_point_computed_in(compute=compute)
    bits = _bits("bits", bits, _native.MAX_FIXED_BITS)
    for name, value in (("max_value", max_value), ("scale", scale)):
        if value is not None and not hasattr(value, "__float__"):
            raise say.fixed_point_option_is_no_number(name=name, value=value)
    if scale is None:
        scale = max_value / 2 ** (bits - 1 if signed else bits)
    scale = type(0.0)(scale)
    if not (scale and abs(scale) < type(0.0)("inf")):
        raise say.scale_is_no_number(scale=scale)
    return _make("fixed", bits, bool(signed), compute, scale)


def float(exp, frac, signed=True, compute=None):
    """A quantised float type. The leading 1 of the digits is not stored.

    exp: the bits of the exponent, 1 to 8. frac: the bits of the digits, including the sign, 2 to
    24. signed: whether the type has negative numbers. compute: ti.f32.

        x = ti.field(ti.types.quant.float(exp=6, frac=10))
        word = ti.BitpackedFields(max_num_bits=16)
        word.place(x)
        ti.root.dense(ti.i, 4).place(word)
        x[0] = 0.5
        print(x[0])  # prints: 0.5
    """
    compute = scalar.cook_dtype(type(0.0) if compute is None else compute)
    if compute is not scalar.f32:
        raise say.floats_of_few_bits_computed_in(compute=compute)
    sign = 1 if signed else 0
    exp = _bits("exp", exp, _native.MAX_EXPONENT_BITS)
    most = _native.MAX_FRACTION_BITS + sign
    frac = _bits("frac", frac, most)
    if frac == sign:
        raise say.bits_out_of_range(name="frac", least=1 + sign, most=most, bits=frac)
    return _make("float", frac, bool(signed), compute, 0.0, exp)


def _bits(name, bits, most):
    try:
        bits = bits.__index__()
    except AttributeError:
        raise say.number_of_bits_is_no_integer(name=name, bits=bits) from None
    if not 1 <= bits <= most:
        raise say.bits_out_of_range(name=name, least=1, most=most, bits=bits)
    return bits


__all__ = ["fixed", "float", "int"]


def __dir__():
    return list(__all__)
