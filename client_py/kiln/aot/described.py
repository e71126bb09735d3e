"""Kernels, fields and graphs as modules describe them."""

from .. import types as ti_types
from ..arguments import (
    ArrayGradient,
    ArrayParameter,
    PackParameter,
    ScalarParameter,
    StructParameter,
    TemplateParameter,
    TensorParameter,
    TextureParameter,
    cook_return,
    return_spec,
)
from ..autodiff import REVERSE, SECOND
from ..data.elements import zeros
from ..data.field import AnyArray
from ..data.ndarray import ndarray
from ..data.texture import Texture, texels_of
from ..diagnostics import say
from ..instance import Making

# A scalar's number for a struct, whose numbers have scalars of their own.
_STRUCT = 0


class DescribedKernel:
    """What a module needs of a kernel for arguments of certain kinds.

    unit: for the compiler. params, results, sources: as _native.ModuleWriter.add_kernel takes them.
    bound: the fields and SNodes that the kernel uses. context: the front end's, for errors.
    """

    def __init__(self, kernel, args, are_leaves=False):
        leaves = args if are_leaves else kernel._of_leaves(tuple(args))
        making = Making(kernel, leaves, records=False)
        making.build()
        self.context = making._ctx
        self.bound = [one for one in making.bound if not isinstance(one, ArrayGradient)]
        self.params, self.sources = [], []
        numbers = {}  # position of a leaf -> the number of its parameter
        for source, of in zip(making.sources(), _named(making)):
            kind = source[0]
            if kind == "field":
                self.sources.append(getattr(source[1], "_storage", source[1]))
                continue
            name = of.name
            if kind == "gradient":
                name, type_, rank = f"{name}.grad", *self.params[numbers[source[1]]][2:]
            else:
                numbers[source[1]] = len(self.params)
                type_, rank = _type_of(of, source, making.matchers[source[1]])
            self.sources.append(len(self.params))
            self.params.append((name, kind in ("array", "gradient"), type_, rank))
        self.results = []
        if kernel.autodiff not in (REVERSE, SECOND):
            self.results = [_result_type(cook_return(r)) for r in kernel._returns]
        self.unit = making.finish()


def _named(making):
    """The leaf of each of the making's sources; None for fields."""
    for kind, *source in making.sources():
        yield None if kind == "field" else making._kernel._leaves[source[0]]


def _type_of(leaf, source, matcher):
    """(type, rank) of a parameter."""
    kind = source[0]
    if kind == "array":
        _, scalar, rank, element_shape = matcher[:4]
        texels = texels_of(matcher[-1]) if leaf.kind is TextureParameter else 0
        return type_of(scalar, element_shape, texels), rank
    scalar = source[2]
    if kind == "scalar":
        return type_of(scalar), 0
    if isinstance(scalar, int):
        return type_of(scalar, leaf.annotation.shape), 0
    return _struct_of(scalar), 0


def type_of(scalar, shape=(), texels=0):
    """A type as _native.ModuleWriter takes it. texels: of elements in place of texels
    (kiln_param.texels)."""
    return scalar, [], list(shape), texels


def _struct_of(scalars):
    return _STRUCT, list(scalars), [], 0


def _result_type(of):
    scalar, count, _ = return_spec(of)
    if count == 0:
        return type_of(scalar)
    if isinstance(of, ti_types.MatrixType):
        return type_of(scalar, of.shape)
    return _struct_of(scalar)


def stand_ins(kernel, given, name):
    """For each parameter of a kernel an argument for which it can be compiled.

    given: {parameter: its value or type}, for those whose annotations do not say it. name: of the
    export, in messages.
    """
    names = [parameter.name for parameter in kernel.parameters]
    for key in given:
        if key not in names:
            raise say.export_of_unknown_parameter(name=name, parameter=key, known=names)
    found = []
    for parameter in kernel.parameters:
        if parameter.name in given:
            found.append(_from_given(parameter, given[parameter.name], name))
        else:
            found.append(_from_annotation(parameter, name))
    return found


def _from_given(parameter, value, name):
    if parameter.kind is ArrayParameter and not isinstance(value, AnyArray):
        return _array_of(value, parameter, name)
    if isinstance(value, ti_types.DType):  # Taichi's form: a type stands for its zero
        return 0.0 if value.is_float else 0
    return value


def _array_of(annotation, parameter, name):
    dtype, ndim = getattr(annotation, "dtype", None), getattr(annotation, "ndim", None)
    is_vague = isinstance(dtype, ti_types.MatrixType) and (
        dtype.dtype is None or None in dtype.shape
    )
    if dtype is None or ndim is None or is_vague:
        raise say.export_of_array_without_type(name=name, parameter=parameter.name)
    of = dtype.dtype if isinstance(dtype, ti_types.MatrixType) else ti_types.cook_dtype(dtype)
    # A derivative is one by all arrays of floats, unless an annotation says otherwise.
    asked = [annotation.needs_grad, parameter.annotation.needs_grad]
    needs_grad = True in asked or (parameter.autodiff and of.is_float and False not in asked)
    return ndarray(dtype, (1,) * ndim, needs_grad=bool(needs_grad))


def _from_annotation(parameter, name):
    kind, annotation = parameter.kind, parameter.annotation
    if kind is ScalarParameter:
        return 0
    if kind is TensorParameter:
        return zeros(annotation.shape)
    if kind is StructParameter:
        return annotation()  # all members are zero
    if kind is ArrayParameter:
        return _array_of(annotation, parameter, name)
    if kind is TextureParameter:
        if not isinstance(annotation, ti_types.RWTextureType):
            raise say.export_of_texture_without_format(name=name, parameter=parameter.name)
        return Texture(annotation.fmt, (1,) * annotation.num_dimensions)
    if kind is PackParameter:
        members = parameter.members
        return annotation(**{key: _from_annotation(one, name) for key, one in members.items()})
    if issubclass(kind, TemplateParameter):
        raise say.export_of_template_without_value(name=name, parameter=parameter.name)
    raise say.export_of_unsupported_parameter(
        name=name, parameter=parameter.name, needed=parameter.needed
    )
