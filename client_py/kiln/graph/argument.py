"""Arguments of graphs: names for what a run passes to the kernels."""

import warnings

from .. import types as ti_types
from ..data.elements import flatten, zeros
from ..data.field import AnyArray
from ..data.ndarray import ndarray
from ..data.texture import Texture
from ..diagnostics import say
from ..values.matrix import Matrix


class ArgKind:
    """The kind of a graph's argument: SCALAR, NDARRAY, MATRIX, TEXTURE or RWTEXTURE.

    Example::

        print(ti.graph.ArgKind.SCALAR)  # prints: ArgKind.SCALAR
    """

    __slots__ = ("name", "value")

    def __init__(self, name, value):
        self.name = name
        self.value = value

    def __repr__(self):
        return f"ArgKind.{self.name}"


for _value, _name in enumerate(("SCALAR", "NDARRAY", "MATRIX", "TEXTURE", "RWTEXTURE")):
    setattr(ArgKind, _name, ArgKind(_name, _value))

# Kind -> the properties that an argument of it has. Others are errors.
_PROPERTIES = {
    ArgKind.SCALAR: ("tag", "name", "dtype"),
    ArgKind.NDARRAY: ("tag", "name", "dtype", "ndim"),
    ArgKind.MATRIX: ("tag", "name", "dtype"),
    ArgKind.TEXTURE: ("tag", "name", "ndim"),
    ArgKind.RWTEXTURE: ("tag", "name", "ndim", "fmt"),
}


def Arg(tag=None, name=None, dtype=None, ndim=None, field_dim=None, element_shape=None, fmt=None):
    """An argument of a graph, to be given to `dispatch` in place of a value.

    tag: its kind (ArgKind). name: the key of its value in `Graph.run`. dtype: the type of a scalar,
    of a matrix or of an ndarray's elements. ndim: the number of an ndarray's or texture's axes.
    field_dim: an older name of ndim. element_shape: not supported any more; the dtype has it. fmt:
    the format of a texture that kernels write.

    Raises TaichiRuntimeError for properties that arguments of the kind do not have, or lack.

        x = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
        dt = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "dt", ti.f32)
        print(x.name, dt)  # prints: x dt : f32
    """
    given = {"tag": tag, "name": name, "dtype": dtype, "ndim": ndim, "fmt": fmt}
    given = {key: value for key, value in given.items() if value is not None}
    if field_dim is not None:
        if ndim is not None:
            raise say.graph_argument_of_two_dims()
        warnings.warn(say.graph_argument_field_dim(), DeprecationWarning, stacklevel=2)
        given["ndim"] = field_dim
    if element_shape is not None:
        raise say.graph_argument_element_shape()
    _check(given)
    return _KINDS[given.pop("tag")](**given)


def _check(given):
    kind = given.get("tag")
    if not isinstance(kind, ArgKind):
        raise say.graph_argument_without_kind(kind=type(kind))
    allowed = _PROPERTIES[kind]
    for name in given:
        if name not in allowed:
            raise say.graph_argument_property(name=name, allowed=list(allowed))
    for name in allowed:
        if name not in given:
            raise say.graph_argument_lacks(kind=kind, name=name)
    if not isinstance(given["name"], str):
        raise say.graph_argument_name(kind=type(given["name"]))


class Argument:
    """What `Arg` returns; a subclass for each kind. Equal if all properties are equal."""

    field_dim = 0
    element_shape = ()

    def __init__(self, name, dtype):
        self.name = name
        self._dtype = dtype

    def dtype(self):
        """The type of the numbers."""
        return self._dtype

    @property
    def _element(self):
        """The type of what a parameter must take."""
        return self._dtype

    def __eq__(self, other):
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))

    def __str__(self):
        return f"{self.name} : {self._element}"

    def __repr__(self):
        return f"<graph argument {self}>"


class ScalarArgument(Argument):
    def __init__(self, name, dtype):
        if isinstance(dtype, ti_types.MatrixType):
            raise say.graph_scalar_of_matrix_type(kind=type(dtype))
        super().__init__(name, ti_types.cook_dtype(dtype))

    def stand_in(self, parameter):
        """A value with which a kernel can be compiled for this argument of `parameter`; None if
        only a run tells what that is."""
        return 0

    def checked(self, value):
        """The value of a run, as kernels take it."""
        needed = (int, float) if self._dtype.is_float else int
        if not isinstance(value, needed) and not hasattr(value, "__index__"):
            if not self._dtype.is_float or not _is_number(value):
                raise say.graph_value_of_wrong_type(argument=self, kind=type(value).__name__)
        return value


class MatrixArgument(Argument):
    def __init__(self, name, dtype):
        if not isinstance(dtype, ti_types.MatrixType):
            raise say.graph_matrix_of_scalar_type(dtype=dtype)
        self._type = dtype
        super().__init__(name, dtype.dtype)
        self.element_shape = dtype.shape

    @property
    def _element(self):
        return self._type

    def stand_in(self, parameter):
        return zeros(self._type.shape)

    def checked(self, value):
        if not isinstance(value, Matrix):
            raise say.graph_value_of_wrong_type(argument=self, kind=type(value).__name__)
        try:
            flatten(value, self._type.shape)
        except ValueError as error:
            raise say.graph_matrix_of_other_shape(argument=self, error=error) from None
        return value


class NdarrayArgument(Argument):
    def __init__(self, name, dtype, ndim):
        is_matrix = isinstance(dtype, ti_types.MatrixType)
        super().__init__(name, dtype.dtype if is_matrix else ti_types.cook_dtype(dtype))
        self._type = dtype if is_matrix else self._dtype
        self.element_shape = dtype.shape if is_matrix else ()
        self.field_dim = ndim

    @property
    def _element(self):
        return self._type

    def __str__(self):
        return f"{super().__str__()}, ndim={self.field_dim}"

    def stand_in(self, parameter):
        needs_grad = bool(parameter.annotation.needs_grad)
        return ndarray(self._type, (1,) * self.field_dim, needs_grad=needs_grad)

    def checked(self, value):
        if not isinstance(value, AnyArray):
            raise say.graph_value_of_wrong_type(argument=self, kind=type(value).__name__)
        if len(value.shape) != self.field_dim:
            raise say.graph_ndarray_of_other_ndim(
                name=self.name, needed=self.field_dim, got=len(value.shape)
            )
        if value.dtype is not self._dtype:
            raise say.graph_ndarray_of_other_dtype(
                name=self.name, needed=self._dtype, got=value.dtype
            )
        if tuple(value.element_shape) != tuple(self.element_shape):
            raise say.graph_ndarray_of_other_elements(
                name=self.name, needed=tuple(self.element_shape), got=tuple(value.element_shape)
            )
        return value


class TextureArgument(Argument):
    """A texture that kernels read. Its format is known at a run, which compiles kernels for it."""

    def __init__(self, name, ndim):
        super().__init__(name, None)
        self.field_dim = ndim

    def __str__(self):
        return f"{self.name} : texture, ndim={self.field_dim}"

    def stand_in(self, parameter):
        return None

    def checked(self, value):
        if not isinstance(value, Texture):
            raise say.graph_value_of_wrong_type(argument=self, kind=type(value).__name__)
        if value.num_dims != self.field_dim:
            raise say.graph_texture_of_other_ndim(
                name=self.name, needed=self.field_dim, got=value.num_dims
            )
        return value


class RWTextureArgument(TextureArgument):
    """A texture that kernels read and write, of a format that is known before."""

    def __init__(self, name, ndim, fmt):
        super().__init__(name, ndim)
        self.fmt = fmt

    def __str__(self):
        return f"{self.name} : rw_texture of {self.fmt}, ndim={self.field_dim}"

    def stand_in(self, parameter):
        return Texture(self.fmt, (1,) * self.field_dim)

    def checked(self, value):
        if super().checked(value).fmt is not self.fmt:
            raise say.graph_texture_of_other_format(name=self.name, needed=self.fmt, got=value.fmt)
        return value


_KINDS = {
    ArgKind.SCALAR: ScalarArgument,
    ArgKind.NDARRAY: NdarrayArgument,
    ArgKind.MATRIX: MatrixArgument,
    ArgKind.TEXTURE: TextureArgument,
    ArgKind.RWTEXTURE: RWTextureArgument,
}


def _is_number(value):
    return hasattr(value, "__float__") and getattr(value, "shape", ()) == ()
