"""Scalar types, and the meaning of scalar annotations."""

import math

from .. import _native, active, originals
from ..diagnostics import say
from ..settings import cfg


class DType:
    """A scalar type. Calling it casts a value: to a node in a kernel, to a Python number
    outside."""

    __slots__ = ("bits", "is_float", "is_int", "is_signed", "name", "numpy_name", "scalar")

    def __init__(self, name, bits, numpy_name):
        self.name = name
        self.scalar = _native.SCALARS[name]
        self.bits = bits
        self.is_float = name[0] == "f"
        self.is_int = not self.is_float and bits > 1
        self.is_signed = name[0] in "fi"
        self.numpy_name = numpy_name

    def __call__(self, value):
        ctx = active.context()
        if ctx is not None:
            return ctx.literal(value, self)
        if hasattr(value, "cast"):
            raise say.primitive_type_cannot_decorate_expression_with()
        return self.convert(value)

    def convert(self, value):
        """The Python number that a variable of this type holds after `variable = value`."""
        if self.is_float:
            value = float(value)
            if self.bits == 64:
                return value
            import struct

            code = "e" if self.bits == 16 else "f"
            try:
                return struct.unpack(code, struct.pack(code, value))[0]
            except OverflowError:
                return float("inf") if value > 0 else float("-inf")
        if self.bits == 1:
            return bool(value)
        if not hasattr(value, "__index__"):
            value = self._whole(float(value))
        value = int(value) & ((1 << self.bits) - 1)
        if self.is_signed and value >> (self.bits - 1):
            value -= 1 << self.bits
        return value

    def _whole(self, value):
        """The integer that a float becomes, as in kernels, before it wraps to the type's width."""
        width = max(self.bits, 32)
        least = -(1 << (width - 1))
        most = 1 << width if self.bits == width and not self.is_signed else -least
        if math.isfinite(value) and least <= int(value) < most:
            return int(value)
        return least

    def min(self):
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    def max(self):
        return (1 << (self.bits - self.is_signed)) - 1

    @property
    def unsigned(self):
        """The unsigned type of the same width."""
        return BY_NAME[f"u{self.bits}"] if self.is_int else self

    def to_string(self):
        return self.name

    def __repr__(self):
        return self.name

    # There is one object per type, even after copying and unpickling.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return (_by_name, (self.name,))


def _by_name(name):
    return BY_NAME[name]


u1 = DType("u1", 1, "bool")
i8 = DType("i8", 8, "int8")
i16 = DType("i16", 16, "int16")
i32 = DType("i32", 32, "int32")
i64 = DType("i64", 64, "int64")
u8 = DType("u8", 8, "uint8")
u16 = DType("u16", 16, "uint16")
u32 = DType("u32", 32, "uint32")
u64 = DType("u64", 64, "uint64")
f16 = DType("f16", 16, "float16")
f32 = DType("f32", 32, "float32")
f64 = DType("f64", 64, "float64")

uint1 = u1
int8, int16, int32, int64 = i8, i16, i32, i64
uint8, uint16, uint32, uint64 = u8, u16, u32, u64
float16, float32, float64 = f16, f32, f64

ALL = (u1, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64)
BY_SCALAR = {t.scalar: t for t in ALL}
BY_NAME = {t.name: t for t in ALL}
BY_NUMPY = {t.numpy_name: t for t in ALL}

# An annotation that is evaluated at each use, like `int` and `float`: the unsigned type of the
# default integer's width.
DEFAULT_UNSIGNED = object()

real_types = [f16, f32, f64, float]
integer_types = [i8, i16, i32, i64, u1, u8, u16, u32, u64, int, bool]
all_types = real_types + integer_types
real_type_ids, integer_type_ids, type_ids = (
    [id(dtype) for dtype in kinds] for kinds in (real_types, integer_types, all_types)
)


def is_real(dtype):
    """Whether a scalar type is a float type.

    dtype: the type; raises ValueError for other objects.

        print(ti.types.is_real(ti.f32))  # prints: True
    """
    return cook_dtype(dtype).is_float


def is_integral(dtype):
    """Whether a scalar type is an integer type, including u1.

    dtype: the type; raises ValueError for other objects.

        print(ti.types.is_integral(ti.u8))  # prints: True
    """
    dtype = cook_dtype(dtype)
    return dtype.is_int or dtype is u1


def is_signed(dtype):
    """Whether a scalar type has negative numbers.

    dtype: the type; raises ValueError for other objects.

        print(ti.types.is_signed(ti.u8))  # prints: False
    """
    return cook_dtype(dtype).is_signed


def _config():
    ctx = active.context()
    return cfg if ctx is None else ctx.config


def cook_dtype(dtype):
    """The scalar type that an annotation names. `float` and `int` name the default types."""
    if dtype.__class__ is DType:
        return dtype
    if dtype is float:
        return _config().default_fp
    if dtype is int:
        return _config().default_ip
    if dtype is bool:
        return u1
    if dtype is DEFAULT_UNSIGNED:
        return _config().default_up
    raise say.invalid_data_type(dtype=dtype, advice=_dtype_advice(dtype))


def _dtype_advice(wrong):
    """Advice on what to write instead of an object that is not a type."""
    name = wrong if isinstance(wrong, str) else getattr(wrong, "__name__", "")
    found = BY_NAME.get(name.rpartition(".")[2]) or BY_NUMPY.get(name.rstrip("_"))
    return say.did_you_mean_type(name=found.name) if found else say.types_are()


cfg.set_default_types(f32, i32)


originals.keep(globals())
