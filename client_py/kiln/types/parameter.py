"""Annotations of parameters that are not types of values."""

from .. import originals
from ..diagnostics import say
from .layout import Layout
from .struct_type import StructType
from .tensor import MatrixType, VectorType


class template:
    """Annotation of parameters that are known at compile time: fields, constants, functions.

    Each new argument compiles the kernel again. Parameters of a `ti.func` with this annotation are
    passed by reference. tensor, dtype: accepted without effect. A call with a list or dict raises
    TypeError, because its content may change.

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
        return Layout.AOS

    def __repr__(self):
        return (
            f"NdarrayType(dtype={self.dtype}, ndim={self.ndim}, layout={self.layout}, "
            f"needs_grad={self.needs_grad})"
        )


def _legacy_element_type(dim, shape, dtype):
    """The element type that the old options `element_dim` and `element_shape` describe."""
    if hasattr(dtype, "shape") or isinstance(dtype, StructType):
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

    dtype: accepted without effect, because the builder has a type.

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
    """Annotation of parameters that a real function takes by reference."""

    def __init__(self, dtype):
        self.dtype = dtype


def ref(dtype):
    """Annotation of a real function's parameter that is passed by reference: assignments to it
    change the caller's variable.

    dtype: the scalar type of the variable.

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


originals.keep(globals())
