"""Types of values: scalars, vectors, matrices, structs, and the annotations of
kernel parameters. This is also the module `ti.types`.
"""

import math

from . import originals
from .diagnostics import say
from .frontend import active


class DType:
    """A scalar type. Calling it casts: a node in a kernel, a Python number outside."""

    __slots__ = ("bits", "is_float", "is_int", "is_signed", "name", "numpy_name", "scalar")

    def __init__(self, name, scalar, bits, numpy_name):
        self.name = name
        self.scalar = scalar  # the number of proto Scalar
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
        """The Python number that a variable of this type holds after `= value`."""
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
        """The whole number that a float becomes, before it wraps: as in kernels."""
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

    def to_string(self):
        return self.name

    def __repr__(self):
        return self.name

    # One object per type, also after copying and unpickling.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return (_by_name, (self.name,))


def _by_name(name):
    return BY_NAME[name]


u1 = DType("u1", 1, 1, "bool")
i8 = DType("i8", 2, 8, "int8")
i16 = DType("i16", 3, 16, "int16")
i32 = DType("i32", 4, 32, "int32")
i64 = DType("i64", 5, 64, "int64")
u8 = DType("u8", 6, 8, "uint8")
u16 = DType("u16", 7, 16, "uint16")
u32 = DType("u32", 8, 32, "uint32")
u64 = DType("u64", 9, 64, "uint64")
f16 = DType("f16", 10, 16, "float16")
f32 = DType("f32", 11, 32, "float32")
f64 = DType("f64", 12, 64, "float64")

uint1 = u1
int8, int16, int32, int64 = i8, i16, i32, i64
uint8, uint16, uint32, uint64 = u8, u16, u32, u64
float16, float32, float64 = f16, f32, f64

ALL = (u1, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64)
BY_SCALAR = {t.scalar: t for t in ALL}
BY_NAME = {t.name: t for t in ALL}
BY_NUMPY = {t.numpy_name: t for t in ALL}

# Like `int` and `float` of the moment of use: the unsigned type as wide as the default integer.
DEFAULT_UNSIGNED = object()

real_types = [f16, f32, f64, float]
integer_types = [i8, i16, i32, i64, u8, u16, u32, u64, int]
all_types = real_types + integer_types
real_type_ids, integer_type_ids, type_ids = (
    [id(dtype) for dtype in kinds] for kinds in (real_types, integer_types, all_types)
)


def is_real(dtype):
    """Whether a scalar type is one of floats.

    dtype: the type; ValueError if it is none.

        print(ti.types.is_real(ti.f32))  # prints: True
    """
    return cook_dtype(dtype).is_float


def is_integral(dtype):
    """Whether a scalar type is one of integers, u1 included.

    dtype: the type; ValueError if it is none.

        print(ti.types.is_integral(ti.u8))  # prints: True
    """
    dtype = cook_dtype(dtype)
    return dtype.is_int or dtype is u1


def is_signed(dtype):
    """Whether a scalar type has negative numbers.

    dtype: the type; ValueError if it is none.

        print(ti.types.is_signed(ti.u8))  # prints: False
    """
    return cook_dtype(dtype).is_signed


def is_tensor(dtype):
    """Whether a type is one of vectors or matrices.

    dtype: any type.

        print(ti.types.is_tensor(ti.math.vec3))  # prints: True
    """
    return isinstance(dtype, MatrixType)


def _config():
    ctx = active.context()
    if ctx is not None:
        return ctx.config
    from . import runtime

    return runtime.cfg


def cook_dtype(dtype):
    """The scalar type that an annotation names: ti.f32; `float` and `int` follow the settings."""
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
    """What to write instead of something that is no type."""
    name = wrong if isinstance(wrong, str) else getattr(wrong, "__name__", "")
    found = BY_NAME.get(name.rpartition(".")[2]) or BY_NUMPY.get(name.rstrip("_"))
    return say.did_you_mean_type(name=found.name) if found else say.types_are()


def check_extents(what, dtype, **extents):
    """Raises unless the numbers of components come before their type, as in (3, ti.f32)."""
    if not all(extent is None or hasattr(extent, "__index__") for extent in extents.values()):
        given = ", ".join(map(str, [*extents.values(), dtype]))
        numbers = " and ".join(extents)
        raise say.components_come_first(what=what, numbers=numbers, given=f"({given})")


def cook_element(dtype):
    """The same of a field's elements, which may be quantised."""
    return dtype if hasattr(dtype, "layout") and hasattr(dtype, "compute") else cook_dtype(dtype)


class CompoundType:
    """What types of matrices and structs are instances of."""


class MatrixType(CompoundType):
    """The type of matrices of one shape and type of elements; `ti.types.matrix` makes one.

    n, m: the numbers of rows and columns. dtype: the type of the elements, None for the default
    float. Calling the type makes a matrix: of one number for all elements, of all elements, of
    rows.

        mat = ti.types.matrix(2, 3, ti.i32)
        print(mat(7)[1, 2], mat.shape)  # prints: 7 (2, 3)
    """

    ndim = 2

    def __init__(self, n, m, dtype):
        self.n = n
        self.m = m
        # `float` and `int` are kept where they must follow the current defaults.
        self._dtype = dtype

    @property
    def dtype(self):
        return None if self._dtype is None else cook_element(self._dtype)

    @property
    def shape(self):
        return (self.n, self.m)

    def get_shape(self):
        return self.shape

    def __call__(self, *args):
        from . import matrix

        return matrix.instantiate(self, args)

    def cast(self, value):
        """The matrix `value` as one of this type."""
        return self(value)

    def field(self, **kwargs):
        """A field of such matrices.

        kwargs: as those of `ti.field`.
        """
        from .matrix import Matrix

        return Matrix.field(self.n, self.m, dtype=self.dtype, **kwargs)

    def ndarray(self, **kwargs):
        """An ndarray of such matrices.

        kwargs: `shape`, its extents.
        """
        from .matrix import Matrix

        return Matrix.ndarray(self.n, self.m, dtype=self.dtype, **kwargs)

    def to_string(self):
        return f"MatrixType[{self.n},{self.m}, {self.dtype}]"

    __repr__ = to_string

    def __eq__(self, other):
        return (
            isinstance(other, MatrixType)
            and self.shape == other.shape
            and self.dtype is other.dtype
        )

    def __hash__(self):
        return hash((self.shape, self.dtype))

    def check_matched(self, other):
        return self == other


class VectorType(MatrixType):
    """The type of vectors of one length and type of elements; `ti.types.vector` makes one.

    n: the number of elements. dtype: their type, None for the default float. Calling the type makes
    a vector: of one number for all elements, of all elements, of shorter vectors and numbers.

        vec = ti.types.vector(3, ti.f32)
        print(vec(1), vec(vec(1, 2, 3).zy, 0))  # prints: [1. 1. 1.] [3. 2. 0.]
    """

    ndim = 1

    def __init__(self, n, dtype):
        super().__init__(n, 1, dtype)

    @property
    def shape(self):
        return (self.n,)

    def field(self, **kwargs):
        from .matrix import Vector

        return Vector.field(self.n, dtype=self.dtype, **kwargs)

    def ndarray(self, **kwargs):
        from .matrix import Vector

        return Vector.ndarray(self.n, dtype=self.dtype, **kwargs)

    def to_string(self):
        return f"VectorType[{self.n}, {self.dtype}]"

    __repr__ = to_string


def vector(n=None, dtype=None):
    """The type of vectors: an annotation of parameters, and of fields; called, it makes a vector.

    n: the number of elements. dtype: their type, as ti.f32; by default the default float.
    ValueError where they are given in the other order.

        vec5 = ti.types.vector(5, ti.i32)
        print(vec5(1, 2, 3, 4, 5), vec5(0))  # prints: [1 2 3 4 5] [0 0 0 0 0]
    """
    check_extents("ti.types.vector", dtype, n=n)
    return VectorType(n, None if dtype is None else cook_element(dtype))


def matrix(n=None, m=None, dtype=None):
    """The type of matrices: an annotation of parameters, and of fields; called, it makes a matrix.

    n, m: the numbers of rows and columns. dtype: the type of the elements, as ti.f32; by default
    the default float. ValueError where they are given in another order.

        mat = ti.types.matrix(2, 2, ti.i32)
        print(mat(1, 2, 3, 4)[1, 0])  # prints: 3
    """
    check_extents("ti.types.matrix", dtype, n=n, m=m)
    return MatrixType(n, m, None if dtype is None else cook_element(dtype))


def struct(**members):
    """The type of structs: an annotation of parameters, and of fields; called, it makes a struct.

    members: the type of each member by its name: scalar, vector, matrix and struct types.
    ValueError for what is none. `ti.dataclass` makes such a type of a class.

        Ball = ti.types.struct(center=ti.math.vec2, radius=ti.f32)
        print(Ball(radius=2.0).radius)  # prints: 2.0
        balls = Ball.field(shape=8)
    """
    from .struct import StructType

    return StructType(**members)


def argpack(**members):
    """A type of argument packs: many arguments of a kernel under one name.

    members: the type of each member by its name: scalars, vectors, matrices, structs, ndarrays and
    other packs. TaichiSyntaxError without any.

        Params = ti.types.argpack(dt=ti.f32, steps=ti.i32)

        @ti.kernel
        def k(p: Params) -> ti.f32:
            return p.dt * p.steps

        print(k(Params(dt=0.5, steps=4)))  # prints: 2.0
    """
    from .argpack import ArgPackType

    return ArgPackType(**members)


class template:
    """Annotation of parameters that take part in compilation: fields, constants, functions.

    Each new argument compiles the kernel anew; parameters of `ti.func` are passed by reference.
    tensor, dtype: accepted, change nothing. TypeError for a list or dict, whose content may change.

        @ti.kernel
        def fill(x: ti.template(), value: ti.f32):
            for i in x:
                x[i] = value

        x = ti.field(ti.f32, shape=3)
        fill(x, 2.0)
        print(x)  # prints: [2. 2. 2.]
    """

    def __init__(self, tensor=None, dtype=None):
        self.tensor = tensor
        self.dtype = dtype


class NdarrayType:
    """Annotation of parameters that take arrays by reference: ti.ndarray, NumPy arrays, tensors.

    dtype: the type of the elements, as ti.f32 or ti.math.vec3; by default that of the argument.
    ndim: the number of axes; any without it. needs_grad: whether the argument must have a gradient.
    boundary: "unsafe", or "clamp" for indices that are clamped to the array. element_dim,
    element_shape: an older way to state the shape of elements. field_dim: the old name of `ndim`, a
    ValueError.

        @ti.kernel
        def double(x: ti.types.ndarray(ti.f32, ndim=1)):
            for i in x:
                x[i] *= 2

        x = np.ones(3, np.float32)
        double(x)
        print(x)  # prints: [2. 2. 2.]
    """

    def __init__(
        self,
        dtype=None,
        ndim=None,
        element_dim=None,
        element_shape=None,
        field_dim=None,
        needs_grad=None,
        boundary="unsafe",
    ):
        if boundary not in ("unsafe", "clamp"):
            raise say.boundary_must_one_unsafe_clamp_got(boundary=boundary)
        if field_dim is not None:
            raise say.field_dim_is_ndim()
        if element_dim is not None or element_shape is not None:
            dtype = _legacy_element_type(element_dim, element_shape, dtype)
        self.dtype = dtype
        self.ndim = ndim
        self.needs_grad = needs_grad
        self.boundary = boundary

    @property
    def layout(self):
        """Always ti.Layout.AOS."""
        from .field import Layout

        return Layout.AOS

    def __repr__(self):
        return (
            f"NdarrayType(dtype={self.dtype}, ndim={self.ndim}, layout={self.layout}, "
            f"needs_grad={self.needs_grad})"
        )


def _legacy_element_type(dim, shape, dtype):
    """The element type that `element_dim` and `element_shape` once said."""
    if hasattr(dtype, "shape") or hasattr(dtype, "_member_types"):
        raise say.matrix_type_and_element_shape(dtype=dtype)
    if dim == 0 or shape == ():
        return dtype
    if shape is None:
        shape = (None,) * dim
    if not 0 <= len(shape) <= 2 or (dim is not None and not 0 <= dim <= 2):
        raise say.elements_are_scalars_vectors_or_matrices()
    if dim is not None and dim != len(shape):
        raise say.element_shape_and_dim_differ(got=len(shape), dim=dim)
    return VectorType(shape[0], dtype) if len(shape) == 1 else MatrixType(*shape, dtype)


ndarray = NdarrayType


class sparse_matrix_builder:
    """Annotation of parameters that take a ti.linalg.SparseMatrixBuilder.

    dtype: accepted, changes nothing: the builder says its type.

        @ti.kernel
        def fill(A: ti.types.sparse_matrix_builder()):
            for i in range(3):
                A[i, i] += 2.0

        builder = ti.linalg.SparseMatrixBuilder(3, 3, max_num_triplets=10)
        fill(builder)
        print(builder.build()[1, 1])  # prints: 2.0
    """

    def __init__(self, dtype=None):
        self.dtype = dtype


class RefType:
    """Annotation of real functions' parameters: by reference."""

    def __init__(self, dtype):
        self.dtype = dtype


def ref(dtype):
    """Annotation of a real function's parameter that is passed by reference: what the function
    assigns to it, the caller's variable is.

    dtype: its scalar type.

        @ti.real_func
        def increase(x: ti.ref(ti.i32)):
            x += 1

        @ti.kernel
        def k() -> ti.i32:
            n = 1
            increase(n)
            return n

        print(k())  # prints: 2
    """
    return RefType(dtype)


def check_return_shape(expected, got):
    """Raises unless a value of shape `got` can be returned as `expected`."""
    if len(expected.shape) != len(got):
        raise say.return_matrix_ndim_mismatch_expecting_got(
            expected=len(expected.shape), got=len(got)
        )
    if expected.shape != tuple(got):
        raise say.return_matrix_shape_mismatch_expecting_got(
            expected=expected.shape, got=tuple(got)
        )


_SCALARS = [
    *(t.name for t in ALL),
    "float16",
    "float32",
    "float64",
    "int16",
    "int32",
    "int64",
    "int8",
    "uint1",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]
# What `ti` itself shows; the rest is reached as ti.types.NAME.
__all__ = [*_SCALARS, "template", "ref"]

# Modules of the reference's package `types`: views of Kiln's.
_VIEWS = frozenset(
    "annotations compound_types ndarray_type primitive_types texture_type utils".split()
)


def __getattr__(name):
    if name in _VIEWS:
        from .compat import view

        return view(f"types.{name}")
    if name == "quant":
        from . import quant

        return quant
    if name in ("rw_texture", "texture"):
        from . import absent

        return getattr(absent, name)
    raise say.module_has_no_attribute(module=__name__, name=name)


def __dir__():
    shown = (
        "annotations argpack compound_types is_integral is_real is_signed is_tensor matrix ndarray "
        "ndarray_type primitive_types quant rw_texture sparse_matrix_builder struct texture "
        "texture_type utils vector"
    )
    return [*__all__, *shown.split()]


originals.keep(globals())
