"""Types of values: scalars, vectors, matrices, structs, and the annotations of kernel parameters.
This is also the module `ti.types`.

This room only describes types. To make values, fields and arrays, its types call later rooms
through kiln/provided.py.
"""

from .. import originals
from ..diagnostics import say
from . import quant
from .parameter import (
    BY_REFERENCE,
    ArgPackType,
    NdarrayType,
    RefType,
    RWTextureType,
    TextureType,
    argpack,
    ndarray,
    ref,
    rw_texture,
    sparse_matrix_builder,
    template,
    texture,
)
from .quant import QuantType
from .scalar import (
    ALL,
    BY_NAME,
    BY_NUMPY,
    BY_SCALAR,
    DEFAULT_UNSIGNED,
    DType,
    _by_name,
    all_types,
    cook_dtype,
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    integer_type_ids,
    integer_types,
    is_integral,
    is_real,
    is_signed,
    real_type_ids,
    real_types,
    type_ids,
    u1,
    u8,
    u16,
    u32,
    u64,
    uint1,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .struct_type import StructType, struct
from .tensor import (
    CompoundType,
    Layout,
    MatrixType,
    VectorType,
    check_extents,
    check_has_components,
    check_return_shape,
    cook_element,
    is_tensor,
    matrix,
    takes_elements,
    vector,
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
# Names of `ti` itself; programs reach the others as ti.types.NAME.
__all__ = [*_SCALARS, "template", "ref"]

# Modules of the reference's package `types`: views of Kiln's.
_VIEWS = frozenset(
    "annotations compound_types ndarray_type primitive_types texture_type utils".split()
)


def __getattr__(name):
    if name in _VIEWS:
        from ..compat import view

        return view(f"types.{name}")
    raise say.module_has_no_attribute(module=__name__, name=name)


def __dir__():
    shown = (
        "annotations argpack compound_types is_integral is_real is_signed is_tensor matrix ndarray "
        "ndarray_type primitive_types quant rw_texture sparse_matrix_builder struct texture "
        "texture_type utils vector"
    )
    return [*__all__, *shown.split()]


originals.keep(globals())
