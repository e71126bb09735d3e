# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.types.quant`: quantised numbers, several of which share a word.

Kernels compute in a type's `compute` type: loads widen to it, and stores narrow to the quantised
type. ti.BitpackedFields and quant_array SNodes hold fields of these types.
"""

from typing import Any
def fixed(bits: Any, signed: Any = True, max_value: Any = 1.0, compute: Any = None, scale: Any = None) -> Any:
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
def float(exp: Any, frac: Any, signed: Any = True, compute: Any = None) -> Any:
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
def int(bits: Any, signed: Any = True, compute: Any = None) -> Any:
    """A quantised integer type. Stores keep the low bits of a number.

    bits: 1 to 64. signed: whether the type has negative numbers. compute: the type in which kernels
    compute; by default the default integer, or the unsigned type of the same width. Raises
    TaichiRuntimeError for invalid types.

        x = ti.field(ti.types.quant.int(bits=4, signed=False))
        ti.root.quant_array(ti.i, 8, max_num_bits=32).place(x)
        x[0] = 17
        print(x[0])  # prints: 1
    """
