"""Annotations of parameters that are not types of values."""

from .. import originals, provided
from ..diagnostics import near, say
from .scalar import cook_dtype
from .struct_type import StructType
from .tensor import CompoundType, Layout, MatrixType, VectorType


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


class TextureType:
    """Annotation of parameters that take a texture (ti.Texture) to read.

    num_dimensions: the number of the texture's axes, 1 to 3.

        @ti.kernel
        def middle(tex: ti.types.texture(num_dimensions=2)) -> ti.math.vec4:
            return tex.sample_lod(ti.Vector([0.5, 0.5]), 0.0)

        print(middle(ti.Texture(ti.Format.rg16f, (4, 4))))  # prints: [0. 0. 0. 1.]
    """

    def __init__(self, num_dimensions):
        self.num_dimensions = num_dimensions

    def __repr__(self):
        return f"texture(num_dimensions={self.num_dimensions})"


class RWTextureType:
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

    def __init__(self, num_dimensions, lod=0, fmt=None):
        if fmt is None:
            raise say.rw_texture_without_format()
        self.num_dimensions = num_dimensions
        self.lod = lod
        self.fmt = fmt

    def __repr__(self):
        return f"rw_texture(num_dimensions={self.num_dimensions}, fmt={self.fmt})"


texture = TextureType
rw_texture = RWTextureType


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


# Annotations of what is passed by reference, and not converted.
BY_REFERENCE = (NdarrayType, TextureType, RWTextureType)


class ArgPackType:
    """A type of argument packs. Calling it makes a pack, from values in order or by name.

    members: the type of each member by its name: scalars, vectors, matrices, structs, ndarrays,
    textures and other packs.
    """

    def __init__(self, **members):
        if not members:
            raise say.argpack_without_members()
        self.members = {}
        for name, of in members.items():
            if of is NdarrayType:
                of = NdarrayType()
            if not isinstance(of, (ArgPackType, CompoundType, *BY_REFERENCE)):
                of = cook_dtype(of)
            self.members[name] = of
        self._class = None  # the class of its packs, made with the first pack

    def __call__(self, *args, **kwargs):
        names = list(self.members)
        if len(args) > len(names):
            raise say.argpack_too_many_values(count=len(names), got=len(args))
        values = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in self.members:
                raise say.argpack_has_no_member(name=name, hint=near(name, names))
            if name in values:
                raise say.func_multiple_values_for_argument(name=name)
            values[name] = value
        for name, of in self.members.items():
            if name not in values:
                raise say.argpack_member_missing(name=name, of=_shown(of))
        return provided.make_argpack(self, values)

    def cast(self, pack):
        """The pack with its members converted to this type's."""
        return self(**dict(pack.items))

    def __instancecheck__(self, instance):
        if not isinstance(instance, provided.ArgPack):
            return False
        theirs = instance._type.members
        return list(theirs) == list(self.members) and all(
            isinstance(instance[name], of) if isinstance(of, ArgPackType) else theirs[name] == of
            for name, of in self.members.items()
        )

    def __str__(self):
        items = ", ".join(f"{name}={_shown(of)}" for name, of in self.members.items())
        return f"<ti.ArgPackType {items}>"

    __repr__ = to_string = __str__


def _shown(of):
    to_string = getattr(of, "to_string", None)
    return to_string() if to_string is not None else str(of)


def argpack(**members):
    """A type of argument packs: several arguments of a kernel under one name.

    members: the type of each member by its name: scalars, vectors, matrices, structs, ndarrays,
    textures and other packs. Raises TaichiSyntaxError without members.

        Params = ti.types.argpack(dt=ti.f32, steps=ti.i32)

        @ti.kernel
        def k(p: Params) -> ti.f32:
            return p.dt * p.steps

        print(k(Params(dt=0.5, steps=4)))  # prints: 2.0
    """
    return ArgPackType(**members)


originals.keep(globals())
