"""Parameters of kernels: which arguments each kind of annotation accepts, and what is compiled in.

`specialise(value)` returns what an instance made for `value` depends on: a matcher that recognises
such arguments in later calls, how a launch packs them, and what the front end receives.
"""

from . import _native, provided, runtime
from . import types as ti_types
from .data.elements import flatten
from .data.field import AnyArray, AnyField, Field
from .data.interop import DeviceArray
from .data.snode import AnySNode
from .diagnostics import say
from .frontend.source import EMPTY
from .func import in_class


class Parameter:
    """One parameter; each kind of annotation has a subclass. Its `specialise(value)` returns the
    _Spec of an instance made for `value`."""

    in_pack = False  # whether it is a member of an argument pack
    autodiff = 0  # how the kernel is differentiated

    def __init__(self, name, annotation):
        self.name = name
        self.annotation = annotation

    kind = property(type)

    def snapshot(self, value):
        """The argument of a recorded call: a copy if calls copy it and programs can change it."""
        return value

    def bind(self, bound):
        """The front end's value of this parameter; `bound` iterates over the values of the
        leaves."""
        return next(bound)

    @property
    def needed(self):
        to_string = getattr(self.annotation, "to_string", None)
        if to_string is not None:
            return to_string()
        return getattr(self.annotation, "__name__", None) or str(self.annotation)

    def __str__(self):
        return f"{self.name} : {self.needed}"


class _Spec:
    __slots__ = ("bind", "matcher", "source")

    def __init__(self, matcher, source, bind):
        self.matcher = matcher
        self.source = source
        self.bind = bind

    def require_gradient(self):
        """Makes the instance serve only arrays with a gradient, which it uses."""
        self.matcher = (*self.matcher[:_GRADIENT], WITH, *self.matcher[_GRADIENT + 1 :])


class ScalarParameter(Parameter):
    def specialise(self, value):
        dtype = ti_types.cook_dtype(self.annotation)
        return _Spec(("any",), ("scalar", dtype.scalar), lambda ctx: ctx.value_argument(dtype))


class TensorParameter(Parameter):
    def snapshot(self, value):
        shape = self.annotation.shape
        numbers = flatten(value, shape)
        if len(shape) == 1:
            return numbers
        n, m = shape
        return [numbers[row * m : (row + 1) * m] for row in range(n)]

    def specialise(self, value):
        of = self.annotation
        shape = of.shape
        dtype = of.dtype or runtime.cfg.default_fp
        count = _count(of)

        def flat(argument):
            if not hasattr(argument, "__len__") and not hasattr(argument, "to_list"):
                raise say.argument_of_wrong_type(
                    name=self.name, kind=type(argument), needed=self.needed
                )
            try:
                numbers = flatten(argument, shape)
            except ValueError as error:
                raise say.argument_not_convertible(name=self.name, error=error) from None
            return numbers

        return _Spec(
            ("any",), ("tensor", dtype.scalar, count, flat), lambda ctx: ctx.value_argument(of)
        )


class StructParameter(Parameter):
    def snapshot(self, value):
        numbers = []
        _flatten_struct(self.annotation, value, numbers)
        return _make_struct(self.annotation, numbers)

    def specialise(self, value):
        of = self.annotation
        scalars = _struct_scalars(of)

        def flat(argument):
            numbers = []
            try:
                _flatten_struct(of, argument, numbers)
            except (KeyError, TypeError, ValueError) as error:
                raise say.struct_argument_of_wrong_type(
                    name=self.name, kind=type(argument), needed=self.needed, error=error
                ) from None
            return numbers

        return _Spec(
            ("any",), ("tensor", scalars, len(scalars), flat), lambda ctx: ctx.value_argument(of)
        )


def _count(of):
    shape = of.shape
    return shape[0] * (shape[1] if len(shape) == 2 else 1)


def _struct_scalars(of):
    """The scalar type of each number in a struct, in the order of its members."""
    found = []
    for _, member in of._member_types():
        if isinstance(member, ti_types.StructType):
            found += _struct_scalars(member)
        elif isinstance(member, ti_types.MatrixType):
            found += [(member.dtype or runtime.cfg.default_fp).scalar] * _count(member)
        else:
            found.append(ti_types.cook_dtype(member).scalar)
    return found


def _flatten_struct(of, value, numbers):
    entries = value if isinstance(value, dict) else getattr(value, "_entries", None)
    if not hasattr(entries, "keys"):
        raise say.no_struct()
    for name, member in of._member_types():
        item = entries[name]
        if isinstance(member, ti_types.StructType):
            _flatten_struct(member, item, numbers)
        elif isinstance(member, ti_types.MatrixType):
            numbers += flatten(item, member.shape)
        else:
            numbers.append(item)


def _make_struct(of, numbers):
    """Builds the Python struct from a flat list, from which it removes the numbers."""
    values = {}
    for name, member in of._member_types():
        if isinstance(member, ti_types.StructType):
            values[name] = _make_struct(member, numbers)
        elif isinstance(member, ti_types.MatrixType):
            values[name] = member(*[numbers.pop(0) for _ in range(_count(member))])
        else:
            values[name] = numbers.pop(0)
    return of(**values)


class TemplateParameter(Parameter):
    needed = "template"

    def specialise(self, value):
        if isinstance(value, AnyArray):
            raise say.ndarray_shouldn_t_passed_via_ti()
        return _Spec(_template_matcher(self.name, value), None, lambda ctx: value)


class SelfParameter(TemplateParameter):
    """The `self` of a kernel that is a method."""

    def specialise(self, value):
        if not hasattr(value, "_data_oriented"):
            raise say.class_is_not_data_oriented(kind=type(value).__name__)
        return super().specialise(value)


# Whether an instance serves arrays with a gradient; see Matcher of native/bound_instance.h.
EITHER, WITH, WITHOUT = range(3)
_GRADIENT = 5  # where the matcher of an array has one of these


def has_grad(array):
    return getattr(array, "grad", None) is not None


class ArrayGradient:
    """The gradient of an array argument, as what an instance is bound to."""

    _made = {}  # position -> the object

    def __init__(self, position):
        self.position = position

    @classmethod
    def of(cls, position):
        """The object for the argument at `position`: always the same."""
        return cls._made.setdefault(position, cls(position))


class ArrayParameter(Parameter):
    def specialise(self, value):
        wanted = self.annotation
        element = wanted.dtype
        if isinstance(value, AnyArray):
            dtype, element_shape, ndim = value.dtype, value.element_shape, len(value.shape)
            self._check_ndarray(value, element)
        else:
            dtype, element_shape, ndim = self._check_external(value, element)
        # Without an element type in the annotation, a NumPy array is an array of scalars.
        numpy_element_axes = element.ndim if isinstance(element, ti_types.MatrixType) else 0
        boundary = 1 if wanted.boundary == "clamp" else 0
        descriptor = _native.ndarray_descriptor(dtype.scalar, list(element_shape), ndim, boundary)
        has_gradient = wanted.needs_grad is not False and has_grad(value)
        if self.autodiff and wanted.needs_grad is not False:
            gradient = WITH if has_gradient else WITHOUT
        else:
            gradient = EITHER
        return _Spec(
            ("array", dtype.scalar, ndim, list(element_shape), numpy_element_axes, gradient),
            ("array",),
            lambda ctx: ctx.array_argument(
                descriptor, dtype, element_shape, ndim, wanted.boundary, self.name, has_gradient
            ),
        )

    def _check_ndarray(self, value, element):
        wanted, got = self.annotation, value.element_type
        if isinstance(element, ti_types.MatrixType):
            if not ti_types.takes_elements(element, got):
                raise say.invalid_value_for_argument_required_element(
                    name=self.name, element=element.to_string(), got=got.to_string()
                )
        elif element is not None and ti_types.cook_dtype(element) is not got:
            raise say.expect_element_type_for_argument_but(
                element=element, name=self.name, got=got.to_string()
            )
        if wanted.ndim is not None and wanted.ndim != len(value.shape):
            raise say.ndarray_argument_ndim(
                name=self.name, ndim=wanted.ndim, count=len(value.shape), shape=value.shape
            )
        if wanted.needs_grad and value.grad is None:
            raise say.ndarray_argument_needs_grad(name=self.name)

    def _check_external(self, value, element):
        """(dtype, element_shape, ndim) of a NumPy array or a similar object."""
        wanted = self.annotation
        shape = getattr(value, "shape", None)
        is_ours = isinstance(value, _native.FieldBase) and not isinstance(value, DeviceArray)
        if shape is None or not hasattr(value, "dtype") or is_ours:
            advice = annotation_advice(value) if isinstance(value, Field) else ""
            raise say.field_for_array_argument(name=self.name, value=shown([value]), advice=advice)
        shape = tuple(shape)
        dtype = ti_types.BY_NUMPY.get(str(value.dtype))
        # Types that kernels lack: complex numbers, strings, structs.
        if dtype is None:
            raise say.array_argument_of_unsupported_dtype(name=self.name, dtype=value.dtype)
        element_shape = ()
        if isinstance(element, ti_types.MatrixType):
            element_shape = self._element_shape(element, shape)
            if element.dtype is not None and element.dtype is not dtype:
                self._wrong_dtype(element.dtype, dtype)
        elif element is not None:
            required = ti_types.cook_dtype(element)
            if required is not dtype:
                self._wrong_dtype(required, dtype)
        ndim = len(shape) - len(element_shape)
        if wanted.ndim is not None and ndim != wanted.ndim:
            raise say.array_argument_ndim(name=self.name, ndim=wanted.ndim, count=len(shape))
        if isinstance(value, DeviceArray):
            return dtype, element_shape, ndim
        if not is_numpy(value):
            raise say.array_argument_of_wrong_type(name=self.name, kind=type(value))
        flags = value.flags
        # Arrays in Fortran order run on a copy (needs_copy); other strides would need one on each
        # side.
        if not flags.c_contiguous and not flags.f_contiguous:
            raise say.non_contiguous_numpy_arrays_are_not()
        return dtype, element_shape, ndim

    def _element_shape(self, element, shape):
        wanted = self.annotation
        if wanted.ndim is not None and len(shape) != element.ndim + wanted.ndim:
            raise say.invalid_value_for_argument_required_array(
                name=self.name, ndim=wanted.ndim, element_dim=element.ndim, count=len(shape)
            )
        if len(shape) < element.ndim:
            raise say.invalid_value_for_argument_required_element_dim(
                name=self.name, element_dim=element.ndim, count=len(shape)
            )
        element_shape = shape[-element.ndim :]
        if None not in element.shape and element_shape != element.shape:
            raise say.invalid_value_for_argument_required_element_shape(
                name=self.name, shape=element.shape, element_shape=element_shape
            )
        return element_shape

    def _wrong_dtype(self, required, got):
        raise say.array_argument_dtype(name=self.name, required=required, got=got)


class TripletsParameter(Parameter):
    """A sparse matrix builder, passed as its array of words."""

    needed = "sparse_matrix_builder"

    def specialise(self, value):
        from .frontend.triplets import triplets_argument

        if type(value) is not provided.SparseMatrixBuilder:
            raise say.argument_of_wrong_type(
                name=self.name, kind=type(value), needed="ti.linalg.SparseMatrixBuilder"
            )
        scalar, dtype = value._word.scalar, value.dtype
        descriptor = _native.ndarray_descriptor(scalar, [], 1)
        return _Spec(
            ("array", scalar, 1, [], 0, EITHER, provided.SparseMatrixBuilder),
            ("array",),
            lambda ctx: triplets_argument(ctx, descriptor, dtype),
        )


class TextureParameter(Parameter):
    """A texture, passed as its array of texels."""

    @property
    def needed(self):
        return repr(self.annotation)

    def specialise(self, value):
        from .frontend.texture import SampledTexture, StoredTexture, check_form

        wanted = self.annotation
        if not isinstance(value, provided.Texture):
            raise say.argument_is_no_texture(name=self.name, kind=type(value))
        check_form(self.name, wanted, value.num_dims, value.fmt)
        dtype, element, ndim = value.dtype, [value.channels], value.num_dims
        descriptor = _native.ndarray_descriptor(dtype.scalar, element, ndim)
        made = StoredTexture if isinstance(wanted, ti_types.RWTextureType) else SampledTexture
        return _Spec(
            ("array", dtype.scalar, ndim, element, 0, EITHER, type(value)),
            ("array",),
            lambda ctx: made(
                ctx.array_argument(descriptor, dtype, element, ndim), value.fmt, value.largest
            ),
        )


def annotation_advice(value):
    """Advice on how to annotate a parameter for a field or array; empty for other values."""
    if isinstance(value, AnyField):
        return say.annotate_as_template()
    is_array = isinstance(value, AnyArray) or is_numpy(value)
    return say.annotate_as_ndarray() if is_array and value.shape else ""


def shown(arguments):
    """Arguments as error messages list them; those with long texts are shown by their types."""
    texts = []
    for value in arguments:
        is_plain = value is None or isinstance(value, (bool, int, float, str, list, tuple))
        text = repr(value) if is_plain else ""
        texts.append(text if 0 < len(text) <= 40 else f"a {type(value).__name__}")
    return ", ".join(texts)


def needs_copy(parameter, value):
    """Whether the kernel must run on a copy of `value`: a NumPy array in Fortran order, misaligned,
    or of another type than the elements of the parameter's vectors. Copies never replace arrays
    with other strides; the launch refuses those."""
    if isinstance(value, AnyArray) or not is_numpy(value):
        return False
    flags = value.flags
    if flags.c_contiguous:
        return not flags.aligned or needed_dtype(parameter, value) is not None
    return flags.f_contiguous


def needed_dtype(parameter, value):
    """The NumPy type to which an array of vectors or matrices is converted; None if unchanged."""
    element = parameter.annotation.dtype
    dtype = element.dtype if isinstance(element, ti_types.MatrixType) else None
    given = str(value.dtype)
    if dtype is None or dtype.numpy_name == given or given not in ti_types.BY_NUMPY:
        return None
    return dtype.numpy_name


def is_numpy(value):
    return any(t.__name__ == "ndarray" and t.__module__ == "numpy" for t in type(value).__mro__)


def _template_matcher(name, value):
    # The instance keeps the object alive: otherwise another one could get its address.
    if isinstance(value, (Field, AnySNode, _native.KernelBase)):
        return ("is", value)
    # Their content is compiled in, and a later change would go unnoticed.
    if isinstance(value, (list, dict, set)):
        raise say.cannot_template_argument_content_may_change(kind=type(value).__name__, name=name)
    # Compared by identity: classes without `__eq__`, and those whose `==` works by element.
    kind = type(value)
    if kind.__eq__ is object.__eq__ or getattr(value, "_is_taichi_class", False):
        return _identity(value)
    if hasattr(value, "_data_oriented"):
        return _identity(value)
    try:
        hash(value)
    except TypeError:
        raise say.unhashable_type_cannot_template_argument(
            kind=type(value).__name__, name=name
        ) from None
    return ("eq", value)


def _identity(value):
    """Matches the object itself, through a weak reference: the instance does not keep it alive."""
    import weakref

    try:
        return ("weak", weakref.ref(value))
    except TypeError:
        return ("is", value)


class PackParameter(Parameter):
    """An argument pack, which has a parameter for each member."""

    def __init__(self, name, annotation):
        super().__init__(name, annotation)
        self.members = {}
        for member, of in annotation.members.items():
            made = _of_annotation(f"{name}.{member}", of)
            made.in_pack = True
            self.members[member] = made

    def snapshot(self, value):
        entries = {
            name: self.members[name].snapshot(entry) for name, entry in value._entries.items()
        }
        return provided.ArgPack._make(value._type, entries)

    @property
    def autodiff(self):
        return self._autodiff

    @autodiff.setter
    def autodiff(self, mode):
        self._autodiff = mode
        for member in self.members.values():
            member.autodiff = mode

    def leaves(self):
        return _flat_leaves(self.members.values())

    def flatten(self, value, flat):
        """Appends the values of the pack's members to `flat`."""
        if not isinstance(value, provided.ArgPack):
            raise say.argument_is_no_pack(name=self.name, kind=type(value))
        entries = value._entries
        for name, member in self.members.items():
            if name not in entries:
                raise say.argument_is_other_pack(name=self.name, member=name, kind=value._type)
            if member.kind is PackParameter:
                member.flatten(entries[name], flat)
            else:
                flat.append(entries[name])

    def bind(self, bound):
        from .frontend.pack import PackArgument

        return PackArgument({name: member.bind(bound) for name, member in self.members.items()})


class FlatParameter(Parameter):
    """The first leaf of a kernel with packs. It accepts only FLAT, which users cannot pass: so a
    user's own call never matches an instance for flattened arguments."""

    def specialise(self, value):
        return _Spec(("is", FLAT), None, lambda ctx: None)


FLAT = type("Flat", (), {})()
MOST_ARGUMENTS = 64


def _flat_leaves(parameters):
    found = []
    for parameter in parameters:
        found += parameter.leaves() if parameter.kind is PackParameter else [parameter]
    return found


def leaves_of(parameters):
    """The parameters as the native side passes them: each pack is replaced by its members."""
    if not any(parameter.kind is PackParameter for parameter in parameters):
        return parameters
    return [FlatParameter("", None), *_flat_leaves(parameters)]


def make_parameter(kernel, position, parameter):
    annotation = parameter.annotation
    name = parameter.name
    if parameter.default is not EMPTY:
        raise say.taichi_kernels_do_not_support_default()
    if annotation is EMPTY:
        if position == 0 and in_class(kernel.__wrapped__):
            return SelfParameter(name, ti_types.template())
        raise say.taichi_kernels_parameters_must_type_annotated(name=name, kernel=kernel.__name__)
    made = _of_annotation(name, annotation)
    if made is None:
        raise say.invalid_type_annotation_argument_taichi_kernel(
            position=position, annotation=annotation
        )
    made.autodiff = kernel.autodiff
    return made


def _of_annotation(name, annotation):
    """The parameter for an annotation; None if the annotation is not valid."""
    if annotation is ti_types.template or isinstance(annotation, ti_types.template):
        return TemplateParameter(name, annotation)
    if annotation is ti_types.NdarrayType:
        annotation = ti_types.NdarrayType()
    if isinstance(annotation, ti_types.NdarrayType):
        return ArrayParameter(name, annotation)
    if isinstance(annotation, ti_types.MatrixType):
        return TensorParameter(name, annotation)
    if isinstance(annotation, ti_types.DType) or annotation in (int, float, bool):
        return ScalarParameter(name, annotation)
    if isinstance(annotation, ti_types.StructType):
        return StructParameter(name, annotation)
    if isinstance(annotation, ti_types.sparse_matrix_builder):
        return TripletsParameter(name, annotation)
    if isinstance(annotation, (ti_types.TextureType, ti_types.RWTextureType)):
        return TextureParameter(name, annotation)
    if isinstance(annotation, ti_types.ArgPackType):
        return PackParameter(name, annotation)
    return None


def cook_return(annotation):
    if isinstance(annotation, ti_types.CompoundType):
        return annotation
    try:
        return ti_types.cook_dtype(annotation)
    except ValueError:
        raise say.invalid_return_type(annotation=annotation) from None


def return_spec(of):
    """(scalar, count, make): how the native side makes the Python value of a result."""
    if isinstance(of, ti_types.DType):
        return (of.scalar, 0, None)
    if not isinstance(of, ti_types.MatrixType):
        scalars = _struct_scalars(of)
        return (scalars, len(scalars), lambda numbers: _make_struct(of, numbers))
    return ((of.dtype or runtime.cfg.default_fp).scalar, _count(of), lambda numbers: of(*numbers))
