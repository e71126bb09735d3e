# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""Types of values: scalars, vectors, matrices, structs, and the annotations of kernel parameters.
This is also the module `ti.types`.

This room only describes types. To make values, fields and arrays, its types call later rooms
through kiln/provided.py.
"""

from typing import Any
class ArgPackType:
    """A type of argument packs. Calling it makes a pack, from values in order or by name.

    members: the type of each member by its name: scalars, vectors, matrices, structs, ndarrays,
    textures and other packs.
    """
    def __init__(self, **members: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def cast(self, pack: Any) -> Any:
        """The pack with its members converted to this type's."""
    members: Any
    def to_string(self) -> Any: ...
class CompoundType:
    """Base class of matrix and struct types."""

class MatrixType(CompoundType):
    """A type of matrices, made by `ti.types.matrix`.

    n, m: the numbers of rows and columns. dtype: the type of the elements, None for the default
    float. Calling the type makes a matrix from one number for all elements, from all elements, or
    from rows.

        mat = ti.types.matrix(2, 3, ti.i32)
        print(mat(7)[1, 2], mat.shape)  # prints: 7 (2, 3)
    """
    def __init__(self, n: Any, m: Any, dtype: Any) -> None: ...
    def __call__(self, *args: Any) -> Any: ...
    def cast(self, value: Any) -> Any:
        """The matrix `value` converted to this type."""
    def check_matched(self, other: Any) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    def field(self, **kwargs: Any) -> Any:
        """A field of such matrices.

        kwargs: as for `ti.field`.
        """
    def get_shape(self) -> Any: ...
    m: Any
    n: Any
    def ndarray(self, **kwargs: Any) -> Any:
        """An ndarray of such matrices.

        kwargs: `shape`, the extents of the ndarray.
        """
    ndim: Any
    @property
    def shape(self) -> Any: ...
    def to_string(self) -> Any: ...
class NdarrayType:
    """Annotation of parameters that take arrays by reference: ti.ndarray, NumPy arrays, tensors.

    dtype: the type of the elements, as ti.f32 or ti.math.vec3; by default the argument's type.
    ndim: the number of axes; by default any. needs_grad: whether the argument must have a gradient.
    boundary: "unsafe", or "clamp" to clamp indices to the array. element_dim, element_shape: an
    older way to specify the shape of elements. field_dim: the old name of `ndim`; raises
    ValueError.

        @ti.kernel
        def double(x: ti.types.ndarray(ti.f32, ndim=1)):
            for i in x:
                x[i] *= 2

        x = np.ones(3, np.float32)
        double(x)
        print(x)  # prints: [2. 2. 2.]
    """
    def __init__(self, dtype: Any = None, ndim: Any = None, element_dim: Any = None, element_shape: Any = None, field_dim: Any = None, needs_grad: Any = None, boundary: Any = "unsafe") -> None: ...
    boundary: Any
    dtype: Any
    @property
    def layout(self) -> Any:
        """Always ti.Layout.AOS."""
    ndim: Any
    needs_grad: Any
class StructType(CompoundType):
    """A type of structs, made by `ti.types.struct` and `ti.dataclass`.

    members: the type of each member by its name. Calling the type makes a struct from values in
    order, values by name, or another struct; members without a value are 0.
    """
    def __init__(self, **members: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Makes a struct from the members' values, in order or by name; other members are zero. A
        single argument that is a struct or dictionary with these members is copied.
        """
    def cast(self, struct: Any) -> Any:
        """A struct of this type with the values of a struct that has the same members."""
    def field(self, shape: Any = None, **kwargs: Any) -> Any:
        """A field of such structs.

        shape: the extents; without it the field must be placed below ti.root. kwargs: as for
        `ti.field`.
        """
    def filled_with_scalar(self, value: Any) -> Any:
        """A struct whose members are all `value`, including those of nested structs."""
    members: Any
    methods: Any
    def ndarray(self, shape: Any) -> Any: ...
    def to_string(self) -> Any: ...
class VectorType(MatrixType):
    """A type of vectors, made by `ti.types.vector`.

    n: the number of elements. dtype: their type, None for the default float. Calling the type makes
    a vector from one number for all elements, from all elements, or from shorter vectors and
    numbers. In Python scope it also takes the first elements of a longer vector.

        vec = ti.types.vector(3, ti.f32)
        print(vec(1), vec(vec(1, 2, 3).zy, 0))  # prints: [1. 1. 1.] [3. 2. 0.]
    """
    def __init__(self, n: Any, dtype: Any) -> None: ...
    def field(self, **kwargs: Any) -> Any: ...
    m: Any
    n: Any
    def ndarray(self, **kwargs: Any) -> Any: ...
    ndim: Any
    @property
    def shape(self) -> Any: ...
    def to_string(self) -> Any: ...
annotations: Any
def argpack(**members: Any) -> Any:
    """A type of argument packs: several arguments of a kernel under one name.

    members: the type of each member by its name: scalars, vectors, matrices, structs, ndarrays,
    textures and other packs. Raises TaichiSyntaxError without members.

        Params = ti.types.argpack(dt=ti.f32, steps=ti.i32)

        @ti.kernel
        def k(p: Params) -> ti.f32:
            return p.dt * p.steps

        print(k(Params(dt=0.5, steps=4)))  # prints: 2.0
    """
compound_types: Any
from .. import f16 as f16
from .. import f32 as f32
from .. import f64 as f64
from .. import f16 as float16
from .. import f32 as float32
from .. import f64 as float64
from .. import i16 as i16
from .. import i32 as i32
from .. import i64 as i64
from .. import i8 as i8
from .. import i16 as int16
from .. import i32 as int32
from .. import i64 as int64
from .. import i8 as int8
def is_integral(dtype: Any) -> Any:
    """Whether a scalar type is an integer type, including u1.

    dtype: the type; raises ValueError for other objects.

        print(ti.types.is_integral(ti.u8))  # prints: True
    """
def is_real(dtype: Any) -> Any:
    """Whether a scalar type is a float type.

    dtype: the type; raises ValueError for other objects.

        print(ti.types.is_real(ti.f32))  # prints: True
    """
def is_signed(dtype: Any) -> Any:
    """Whether a scalar type has negative numbers.

    dtype: the type; raises ValueError for other objects.

        print(ti.types.is_signed(ti.u8))  # prints: False
    """
def is_tensor(dtype: Any) -> Any:
    """Whether a type is a vector or matrix type.

    dtype: any type.

        print(ti.types.is_tensor(ti.math.vec3))  # prints: True
    """
def matrix(n: Any = None, m: Any = None, dtype: Any = None) -> Any:
    """A type of matrices, for annotations and fields. Calling the type makes a matrix.

    n, m: the numbers of rows and columns. dtype: the type of the elements, as ti.f32; by default
    the default float. Raises ValueError if the arguments are in the wrong order.

        mat = ti.types.matrix(2, 2, ti.i32)
        print(mat(1, 2, 3, 4)[1, 0])  # prints: 3
    """
ndarray = NdarrayType
ndarray_type: Any
primitive_types: Any
from . import quant as quant
from .. import ref as ref
class rw_texture:
    """Annotation of parameters that take a texture (ti.Texture) to read and write, by texels.

    num_dimensions: the number of the texture's axes, 1 to 3. lod: accepted without effect, since
    textures have one level of detail. fmt: the texture's format, as ti.Format.rgba8; raises
    TaichiCompilationError without.

        @ti.kernel
        def fill(tex: ti.types.rw_texture(num_dimensions=1, fmt=ti.Format.r32f)):
            for i in tex:
                tex.store(i, ti.Vector([0.5 * i, 0.0, 0.0, 0.0]))

        tex = ti.Texture(ti.Format.r32f, (3,))
        fill(tex)
        print(tex.to_numpy()[:, 0])  # prints: [0.  0.5 1. ]
    """
    def __init__(self, num_dimensions: Any, lod: Any = 0, fmt: Any = None) -> None: ...
    fmt: Any
    lod: Any
    num_dimensions: Any
from .. import sparse_matrix_builder as sparse_matrix_builder
def struct(**members: Any) -> Any:
    """A type of structs, for annotations and fields. Calling the type makes a struct.

    members: the type of each member by its name: scalar, vector, matrix and struct types. Raises
    ValueError for other objects. `ti.dataclass` makes such a type from a class.

        Ball = ti.types.struct(center=ti.math.vec2, radius=ti.f32)
        print(Ball(radius=2.0).radius)  # prints: 2.0
        balls = Ball.field(shape=8)
    """
from .. import template as template
class texture:
    """Annotation of parameters that take a texture (ti.Texture) to read.

    num_dimensions: the number of the texture's axes, 1 to 3.

        @ti.kernel
        def middle(tex: ti.types.texture(num_dimensions=2)) -> ti.math.vec4:
            return tex.sample_lod(ti.Vector([0.5, 0.5]), 0.0)

        print(middle(ti.Texture(ti.Format.rg16f, (4, 4))))  # prints: [0. 0. 0. 1.]
    """
    def __init__(self, num_dimensions: Any) -> None: ...
    num_dimensions: Any
texture_type: Any
from .. import u1 as u1
from .. import u16 as u16
from .. import u32 as u32
from .. import u64 as u64
from .. import u8 as u8
from .. import u1 as uint1
from .. import u16 as uint16
from .. import u32 as uint32
from .. import u64 as uint64
from .. import u8 as uint8
utils: Any
def vector(n: Any = None, dtype: Any = None) -> Any:
    """A type of vectors, for annotations and fields. Calling the type makes a vector.

    n: the number of elements. dtype: their type, as ti.f32; by default the default float. Raises
    ValueError if the arguments are in the wrong order.

        vec5 = ti.types.vector(5, ti.i32)
        print(vec5(1, 2, 3, 4, 5), vec5(0))  # prints: [1 2 3 4 5] [0 0 0 0 0]
    """
