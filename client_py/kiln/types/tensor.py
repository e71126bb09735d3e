"""Types of vectors and matrices, and how their components are arranged."""

from .. import originals, provided
from ..diagnostics import say
from .quant import QuantType
from .scalar import cook_dtype


class Layout:
    """The arrangement of the components of elements in memory. AOS stores the components of an
    element together; SOA stores each component in a separate array.

        v = ti.Vector.field(3, ti.f32, shape=8, layout=ti.Layout.SOA)
        print(ti.Layout.SOA)  # prints: Layout.SOA
    """

    __slots__ = ("name", "value")

    def __init__(self, name, value):
        self.name = name
        self.value = value

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return f"<Layout.{self.name}: {self.value}>"

    def __str__(self):
        return f"Layout.{self.name}"


Layout.AOS = Layout("AOS", 1)
Layout.SOA = Layout("SOA", 2)
Layout.NULL = Layout("NULL", 3)


def check_extents(what, dtype, **extents):
    """Raises if the type was given before the numbers of components; (3, ti.f32) is right."""
    if not all(extent is None or hasattr(extent, "__index__") for extent in extents.values()):
        given = ", ".join(map(str, [*extents.values(), dtype]))
        numbers = " and ".join(extents)
        raise say.components_come_first(what=what, numbers=numbers, given=f"({given})")


def check_has_components(shape):
    """Raises unless there can be data of elements of this shape."""
    if not all(extent > 0 for extent in shape):
        raise say.element_without_components(shape=shape)


def cook_element(dtype):
    """Like `cook_dtype`, for the type of a field's elements, which may also be quantised."""
    return dtype if isinstance(dtype, QuantType) else cook_dtype(dtype)


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

    ndim = 2

    def __init__(self, n, m, dtype):
        self.n = n
        self.m = m
        # `float` and `int` are stored unresolved: they follow the current defaults.
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
        return provided.instantiate(self, args, shortens=True)

    def cast(self, value):
        """The matrix `value` converted to this type."""
        return provided.instantiate(self, (value,))

    def field(self, **kwargs):
        """A field of such matrices.

        kwargs: as for `ti.field`.
        """
        return provided.Matrix.field(self.n, self.m, dtype=self.dtype, **kwargs)

    def ndarray(self, **kwargs):
        """An ndarray of such matrices.

        kwargs: `shape`, the extents of the ndarray.
        """
        return provided.Matrix.ndarray(self.n, self.m, dtype=self.dtype, **kwargs)

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


def takes_elements(wanted, got):
    """Whether an array of elements `got` may be passed where those of a matrix type are wanted."""
    return (
        isinstance(got, MatrixType)
        and wanted.ndim == got.ndim
        and all(w is None or w == g for w, g in zip(wanted.shape, got.shape))
        and (wanted.dtype is None or wanted.dtype is got.dtype)
    )


class VectorType(MatrixType):
    """A type of vectors, made by `ti.types.vector`.

    n: the number of elements. dtype: their type, None for the default float. Calling the type makes
    a vector from one number for all elements, from all elements, or from shorter vectors and
    numbers. In Python scope it also takes the first elements of a longer vector.

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
        return provided.Vector.field(self.n, dtype=self.dtype, **kwargs)

    def ndarray(self, **kwargs):
        return provided.Vector.ndarray(self.n, dtype=self.dtype, **kwargs)

    def to_string(self):
        return f"VectorType[{self.n}, {self.dtype}]"

    __repr__ = to_string


def vector(n=None, dtype=None):
    """A type of vectors, for annotations and fields. Calling the type makes a vector.

    n: the number of elements. dtype: their type, as ti.f32; by default the default float. Raises
    ValueError if the arguments are in the wrong order.

        vec5 = ti.types.vector(5, ti.i32)
        print(vec5(1, 2, 3, 4, 5), vec5(0))  # prints: [1 2 3 4 5] [0 0 0 0 0]
    """
    check_extents("ti.types.vector", dtype, n=n)
    return VectorType(n, None if dtype is None else cook_element(dtype))


def matrix(n=None, m=None, dtype=None):
    """A type of matrices, for annotations and fields. Calling the type makes a matrix.

    n, m: the numbers of rows and columns. dtype: the type of the elements, as ti.f32; by default
    the default float. Raises ValueError if the arguments are in the wrong order.

        mat = ti.types.matrix(2, 2, ti.i32)
        print(mat(1, 2, 3, 4)[1, 0])  # prints: 3
    """
    check_extents("ti.types.matrix", dtype, n=n, m=m)
    return MatrixType(n, m, None if dtype is None else cook_element(dtype))


def is_tensor(dtype):
    """Whether a type is a vector or matrix type.

    dtype: any type.

        print(ti.types.is_tensor(ti.math.vec3))  # prints: True
    """
    return isinstance(dtype, MatrixType)


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


originals.keep(globals())
