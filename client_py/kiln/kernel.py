"""Kernels: functions that are compiled for the arguments they are called with.

Calls run in C (_native.KernelBase) once an instance for their arguments is known. This file makes
instances: it forms the signature, lets the front end build the kernel, compiles or fetches it, and
says how later calls are recognised and their arguments packed.
"""

import os
from _thread import RLock

from . import _native, declared, errors, events, forks, runtime, snode, stat
from . import types as ti_types
from .diagnostics import is_said, near, say
from .field import Field, flatten
from .frontend.source import EMPTY, FunctionSource
from .func import in_class, return_types
from .interop import is_external, numpy_view

# One instance is built at a time; waiting for the compiler does not hold it.
_build_lock = RLock()
# Of threads that race for one kernel's first call, one makes the instance.
_kernel_locks = {}  # id of the kernel -> its lock


def _forget_locks():
    """In a forked child nobody is left who could open a lock that another thread held."""
    global _build_lock
    _build_lock = RLock()
    _kernel_locks.clear()
    snode._make_lock()


os.register_at_fork(after_in_child=_forget_locks)
_MANY_INSTANCES = 64


class Kernel(_native.KernelBase):
    """What `@ti.kernel` makes. In a class it is a method."""

    _is_wrapped_kernel = True

    def __init__(self, fn):
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__module__ = fn.__module__
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn
        self.source = FunctionSource(fn, "kernel")
        self._parameters = None
        self._leaves = None  # what the native side passes: parameters, packs by member
        self._returns = None
        if self.source.may_be_read:
            self._read_signature()

    @property
    def in_class(self):
        """Whether it is a method: then its first parameter needs no annotation."""
        return in_class(self.__wrapped__)

    # --- signature

    def _read_signature(self):
        source = self.source
        parameters = []
        for position, parameter in enumerate(source.parameters):
            try:
                parameters.append(_make_parameter(self, position, parameter))
            except errors.TaichiSyntaxError as error:
                raise source.at_parameter(position, error) from None
        self._returns = return_types(source.returns)
        if any(r is Ellipsis for r in self._returns):
            raise say.ellipsis_not_supported_return_type_annotations()
        self._leaves = _leaves_of(parameters)
        self._parameters = parameters

    @property
    def parameters(self):
        if self._parameters is None:
            self._read_signature()
        return self._parameters

    def _positional(self, args, kwargs):
        """All arguments in the order of the parameters."""
        parameters = self.parameters
        if len(args) > len(parameters):
            raise say.kernel_too_many_arguments(
                kernel=self.__name__, expected=self._expected(), given=_shown(args)
            )
        found = list(args) + [EMPTY] * (len(parameters) - len(args))
        names = [p.name for p in parameters]
        for name, value in kwargs.items():
            if name not in names:
                raise say.kernel_unexpected_argument(name=name, hint=near(name, names))
            position = names.index(name)
            if position < len(args):
                raise say.kernel_multiple_values_for_argument(name=name)
            found[position] = value
        for parameter, value in zip(parameters, found):
            if value is EMPTY:
                raise say.kernel_parameter_missing(
                    parameter=parameter, kernel=self.__name__, expected=self._expected()
                )
        return tuple(found)

    def _expected(self):
        """The parameters as errors list them."""
        return ", ".join(map(str, self.parameters))

    # --- calls that no known instance answers

    def _miss(self, args, kwargs):
        declared.check()
        if kwargs or len(args) != len(self.parameters):
            args = self._positional(args, kwargs)
        if self._leaves is not self._parameters:
            args = self._flattened(args)
        args = self._viewed(args)
        copies = self._copied_arrays(args)
        if copies:
            return self._run_on_copies(args, copies)
        return self._run(args)

    def _flattened(self, args):
        """The leaves' values; the first is none of the caller's, so that no call is taken for one
        that is flat already."""
        flat = [_FLAT]
        for parameter, value in zip(self.parameters, args):
            if parameter.kind is _Pack:
                parameter.flatten(value, flat)
            else:
                flat.append(value)
        return tuple(flat)

    def _run(self, args):
        with _kernel_locks.setdefault(id(self), RLock()):
            if not self._knows(args):
                self._make_instance(args)
        ran, result = self._try(args)
        if not ran:
            raise say.arguments_kernel_changed_while_was_compiled(kernel=self.__name__)
        return result

    def _viewed(self, args):
        """The arguments with NumPy arrays over the memory of tensors."""
        viewed = None
        for position, (parameter, value) in enumerate(zip(self._leaves, args)):
            if parameter.kind is not _Array or getattr(value, "_is_array", False):
                continue
            if not _is_numpy(value) and not isinstance(value, Field) and is_external(value):
                viewed = list(args) if viewed is None else viewed
                viewed[position] = numpy_view(value, parameter.name)
        return args if viewed is None else tuple(viewed)

    def _copied_arrays(self, args):
        """position -> type of a copy's elements, for arrays that kernels cannot take by address."""
        found = {}
        for position, (parameter, value) in enumerate(zip(self._leaves, args)):
            if parameter.kind is _Array and _needs_copy(parameter, value):
                found[position] = _needed_dtype(parameter, value) or value.dtype
        return found

    def _run_on_copies(self, args, positions):
        import numpy as np

        args = list(args)
        # An array that is passed twice is copied once: the two stay one.
        copies = {}
        for position, dtype in positions.items():
            original = args[position]
            key = id(original), dtype
            if key not in copies:
                copied = np.array(original, dtype, order="C")
                copied.flags.writeable = original.flags.writeable
                copies[key] = (original, copied)
            args[position] = copies[key][1]
        result = self._run(tuple(args))
        for original, copied in copies.values():
            if original.flags.writeable:
                np.copyto(original, copied, casting="unsafe")
        return result

    def _make_instance(self, args):
        runtime.require_init(f"run kernel '{self.__name__}'")
        self._prune()
        snode.materialize()
        from .warm import records

        for position, (parameter, value) in enumerate(zip(self._leaves, args)):
            if parameter.kind is _Scalar and _annotation_advice(value):
                self._argument_error(position, value, False)
        specs = [p.specialise(v) for p, v in zip(self._leaves, args)]
        count = sum(spec.source is not None for spec in specs)
        if count > _MOST_ARGUMENTS:
            raise say.kernel_has_too_many_arguments(
                kernel=self.__name__, count=count, most=_MOST_ARGUMENTS
            )
        if self.num_instances == _MANY_INSTANCES:
            runtime._warn(
                say.kernel_has_many_instances(kernel=self.__name__, count=_MANY_INSTANCES)
            )
        found = records.find(self, args, specs)
        if found is not None and records.is_checking():
            records.compare(self, found, self._transform(args, specs))
        if found is None:
            with events.compiling(self.__name__):
                found = self._transform(args, specs)
        instance, fields = found
        sources = [
            (spec.source[0], position, *spec.source[1:])
            for position, spec in enumerate(specs)
            if spec.source is not None
        ]
        sources += [("field", getattr(f, "_bound_storage", f)) for f in fields]
        returns = [_return_spec(_cook_return(r)) for r in self._returns]
        if runtime.cfg.debug or runtime.cfg.check_out_of_bound:
            instance.accessed = self._accessed(specs, fields)
        runtime.instances_made += 1
        self._add_instance(instance, [s.matcher for s in specs], sources, returns)
        events.kernel_ready(
            self.__name__, instance.tier, instance.wait_seconds, instance.compile_seconds, instance
        )

    def _accessed(self, specs, fields):
        """By the instance's parameters: (what messages call it, its first index or None)."""
        taken = zip(self._leaves, specs)
        found = [(f"argument '{leaf.name}'", None) for leaf, spec in taken if spec.source]
        return found + [field._accessed() for field in fields]

    def _transform(self, args, specs):
        """Runs the front end and compiles; the instance, and the fields that it is bound to."""
        from .warm import records

        cfg = runtime.cfg
        builder = _native.Builder(cfg.default_ip.scalar, cfg.default_fp.scalar)
        runtime.transformed += 1
        # The front end's modules are imported as they are needed.
        with forks.held_off, _build_lock:
            from .frontend.context import BuildContext

            ctx = BuildContext(builder, cfg, self.__name__)
            fields = self._build(ctx, args, specs)
        for text in ctx.warnings:
            runtime._warn(text)
            if ctx.trace is not None:
                ctx.trace.said(text)
        instance = self._compile(ctx, builder)
        records.keep(self, ctx.trace, fields, ctx.sources, instance)
        return instance, fields

    def _build(self, ctx, args, specs):
        """Runs the front end; the fields that the kernel names, in order of their parameters."""
        from .frontend.build import build_kernel
        from .frontend.trace import Trace
        from .warm import records

        ctx.trace = Trace(self.source)
        arguments = []
        for position, spec in enumerate(specs):
            arguments.append(spec.bind(ctx))
            if args[position] is not _FLAT:
                ctx.trace.parameter(position, records.template_of(args[position], spec))
        if self._leaves is not self._parameters:
            bound = iter(arguments[1:])
            arguments = [parameter.bind(bound) for parameter in self._parameters]
        num_given = len(ctx.bindings)
        try:
            build_kernel(ctx, self.source, arguments, [_cook_return(r) for r in self._returns])
        except errors.TaichiCompilationError as error:
            if runtime.cfg.print_full_traceback:
                raise
            raise error from None
        fields = []
        for _, (kind, bound) in ctx.bindings[num_given:]:
            assert kind == "field", kind
            fields.append(bound)
        return fields

    def _compile(self, ctx, builder):
        cfg = runtime.cfg
        diagnostics = None
        try:
            instance = runtime.session().compile(
                builder,
                self.__name__,
                fast_math=bool(cfg.fast_math),
                debug=bool(cfg.debug),
                opt_level=cfg.llvm_opt_level,
                check_bounds=bool(cfg.debug or cfg.check_out_of_bound),
                on_overflow=runtime.ON_OVERFLOW[cfg.check_overflow] if cfg.debug else 0,
                default_int=cfg.default_ip.scalar,
                default_float=cfg.default_fp.scalar,
                cpu_level=cfg.cpu_level,
                print_ir=bool(cfg.print_ir),
                timing=bool(cfg.print_ir),
                statistics=stat.wanted,
                aliases=_aliases(ctx.bindings),
            )
        except _native.CompileFailed as failed:
            diagnostics = failed.args[0] if len(failed.args) == 1 else list(failed.args)
        if diagnostics is not None:  # raised here, so that no traceback shows CompileFailed
            from .frontend.report import raise_diagnostics

            raise_diagnostics(diagnostics, ctx)
        if stat.wanted:
            stat.record(instance)
        if cfg.print_ir:
            for name, seconds, ir, _ in instance.stages:
                print(f"[Kiln] {self.__name__}: {name} ({seconds * 1e3:.1f} ms):\n{ir}")
        return instance

    # --- what is said when a call goes wrong (called from C)

    def _argument_error(self, position, value, out_of_range):
        parameter = self._leaves[position]
        if parameter.in_pack:
            position = parameter.name
        else:
            position = self.parameters.index(parameter)
        if out_of_range:
            raise say.argument_out_of_range(
                position=position, kernel=self.__name__, value=value, parameter=parameter
            )
        raise say.scalar_argument_of_wrong_type(
            position=position,
            kind=type(value),
            needed=parameter.needed,
            name=parameter.name,
            kernel=self.__name__,
            advice=_annotation_advice(value),
        )

    def _read_only_error(self, position):
        raise say.read_only_array_written(
            position=position, kernel=self.__name__, name=self._leaves[position].name
        )

    def _runtime_error(self, text):
        """Raises what the runtime could not do in a launch."""
        raise say.launch_failed(kernel=self.__name__, reason=text)

    def _failed(self, instance, node, text, values):
        with forks.held_off:
            from .printing import raise_failure

        raise_failure(self, instance, node, text, values)

    def _hides_frames(self, error):
        """Whether the traceback of what a call raised ends at the call: for mistakes of the
        program's, which tell their place themselves."""
        if runtime.cfg.print_full_traceback:
            return False
        error_of_ours = (errors.TaichiCompilationError, errors.TaichiRuntimeError)
        return isinstance(error, error_of_ours) or is_said(error)

    def _overflow_text(self, instance, node, op):
        with forks.held_off:
            from .printing import overflow_text

        return overflow_text(instance, node, op)

    # --- what programs ask kernels

    @property
    def grad(self):
        return _Gradient(self)

    @property
    def _primal(self):
        return self

    def __repr__(self):
        return f"<ti.kernel {self.__qualname__}>"


class _Gradient:
    """Stands where the gradient kernel will be."""

    def __init__(self, kernel):
        self._kernel = kernel

    def __call__(self, *args, **kwargs):
        raise say.gradients_kernels_are_not_supported_yet(kernel=self._kernel.__name__)


# --- Parameters ---------------------------------------------------------------------------------


class _Parameter:
    """One parameter, by the kind of its annotation. `specialise(value)` answers what an instance
    made for `value` knows about it: (matcher, slot source, bind(ctx))."""

    in_pack = False  # whether it is a member of an argument pack

    def __init__(self, name, annotation):
        self.name = name
        self.annotation = annotation

    kind = property(type)

    def bind(self, bound):
        """What the front end is given, out of what the leaves are bound to."""
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


class _Scalar(_Parameter):
    def specialise(self, value):
        dtype = ti_types.cook_dtype(self.annotation)
        return _Spec(("any",), ("scalar", dtype.scalar), lambda ctx: ctx.value_argument(dtype))


class _Tensor(_Parameter):
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


class _Struct(_Parameter):
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
    """The scalar of each number in a struct, members in order."""
    found = []
    for _, member in of._member_types():
        if hasattr(member, "_member_types"):
            found += _struct_scalars(member)
        elif isinstance(member, ti_types.MatrixType):
            found += [(member.dtype or runtime.cfg.default_fp).scalar] * _count(member)
        else:
            found.append(ti_types.cook_dtype(member).scalar)
    return found


def _flatten_struct(of, value, numbers):
    entries = value if isinstance(value, dict) else getattr(value, "entries", None)
    if not hasattr(entries, "keys"):
        raise say.no_struct()
    for name, member in of._member_types():
        item = entries[name]
        if hasattr(member, "_member_types"):
            _flatten_struct(member, item, numbers)
        elif isinstance(member, ti_types.MatrixType):
            numbers += flatten(item, member.shape)
        else:
            numbers.append(item)


def _make_struct(of, numbers):
    """The Python struct of a flat list, which is used up."""
    values = {}
    for name, member in of._member_types():
        if hasattr(member, "_member_types"):
            values[name] = _make_struct(member, numbers)
        elif isinstance(member, ti_types.MatrixType):
            values[name] = member(*[numbers.pop(0) for _ in range(_count(member))])
        else:
            values[name] = numbers.pop(0)
    return of(**values)


class _Template(_Parameter):
    needed = "template"

    def specialise(self, value):
        if getattr(value, "_is_array", False):
            raise say.ndarray_shouldn_t_passed_via_ti()
        return _Spec(_template_matcher(self.name, value), None, lambda ctx: value)


class _Self(_Template):
    """The object whose method the kernel is."""

    def specialise(self, value):
        if not hasattr(value, "_data_oriented"):
            raise say.class_is_not_data_oriented(kind=type(value).__name__)
        return super().specialise(value)


class _Array(_Parameter):
    def specialise(self, value):
        wanted = self.annotation
        element = wanted.dtype
        if getattr(value, "_is_array", False):
            dtype, element_shape, ndim = value.dtype, value.element_shape, len(value.shape)
            self._check_ndarray(value, element)
        else:
            dtype, element_shape, ndim = self._check_external(value, element)
        # An annotation without element type takes NumPy arrays as arrays of scalars.
        numpy_element_axes = element.ndim if isinstance(element, ti_types.MatrixType) else 0
        boundary = 1 if wanted.boundary == "clamp" else 0
        descriptor = _native.ndarray_descriptor(dtype.scalar, list(element_shape), ndim, boundary)
        return _Spec(
            ("array", dtype.scalar, ndim, list(element_shape), numpy_element_axes),
            ("array",),
            lambda ctx: ctx.array_argument(descriptor, dtype, element_shape, ndim, wanted.boundary),
        )

    def _check_ndarray(self, value, element):
        wanted, got = self.annotation, value.element_type
        if isinstance(element, ti_types.MatrixType):
            fits = isinstance(got, ti_types.MatrixType) and _matches_element(element, got)
            if not fits:
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
        """(dtype, element_shape, ndim) of a NumPy array or the like."""
        wanted = self.annotation
        shape = getattr(value, "shape", None)
        if shape is None or not hasattr(value, "dtype") or isinstance(value, Field):
            advice = _annotation_advice(value) if isinstance(value, Field) else ""
            raise say.field_for_array_argument(name=self.name, value=_shown([value]), advice=advice)
        shape = tuple(shape)
        dtype = ti_types.BY_NUMPY.get(str(value.dtype))
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
        if not _is_numpy(value):
            raise say.array_argument_of_wrong_type(name=self.name, kind=type(value))
        flags = value.flags
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


class _Triplets(_Parameter):
    """A sparse matrix builder, passed as the array of words that it is."""

    needed = "sparse_matrix_builder"

    def specialise(self, value):
        from .frontend.triplets import triplets_argument
        from .linalg import SparseMatrixBuilder

        if type(value) is not SparseMatrixBuilder:
            raise say.argument_of_wrong_type(
                name=self.name, kind=type(value), needed="ti.linalg.SparseMatrixBuilder"
            )
        scalar, dtype = value._word.scalar, value.dtype
        descriptor = _native.ndarray_descriptor(scalar, [], 1)
        return _Spec(
            ("array", scalar, 1, [], 0, SparseMatrixBuilder),
            ("array",),
            lambda ctx: triplets_argument(ctx, descriptor, dtype),
        )


def _annotation_advice(value):
    """How to annotate the parameter that a field or array was passed for; empty for the rest."""
    if getattr(value, "_is_field", False):
        return say.annotate_as_template()
    is_array = getattr(value, "_is_array", False) or _is_numpy(value)
    return say.annotate_as_ndarray() if is_array and value.shape else ""


def _shown(arguments):
    """Arguments as errors list them: what has a long text by its type."""
    texts = []
    for value in arguments:
        is_plain = value is None or isinstance(value, (bool, int, float, str, list, tuple))
        text = repr(value) if is_plain else ""
        texts.append(text if 0 < len(text) <= 40 else f"a {type(value).__name__}")
    return ", ".join(texts)


def _matches_element(wanted, got):
    return (
        wanted.ndim == got.ndim
        and all(w is None or w == g for w, g in zip(wanted.shape, got.shape))
        and (wanted.dtype is None or wanted.dtype is got.dtype)
    )


def _needs_copy(parameter, value):
    """A NumPy array in Fortran order, misaligned, or of other numbers than the parameter's vectors
    or matrices; any other stride is refused."""
    if getattr(value, "_is_array", False) or not _is_numpy(value):
        return False
    flags = value.flags
    if flags.c_contiguous:
        return not flags.aligned or _needed_dtype(parameter, value) is not None
    return flags.f_contiguous


def _needed_dtype(parameter, value):
    """The NumPy type that an array of vectors or matrices is converted to; None if it stays."""
    element = parameter.annotation.dtype
    dtype = element.dtype if isinstance(element, ti_types.MatrixType) else None
    given = str(value.dtype)
    if dtype is None or dtype.numpy_name == given or given not in ti_types.BY_NUMPY:
        return None
    return dtype.numpy_name


def _is_numpy(value):
    return any(t.__name__ == "ndarray" and t.__module__ == "numpy" for t in type(value).__mro__)


def _template_matcher(name, value):
    if isinstance(value, (Field, _native.KernelBase)) or getattr(value, "_is_snode", False):
        return ("is", value)
    if isinstance(value, (list, dict, set)):
        raise say.cannot_template_argument_content_may_change(kind=type(value).__name__, name=name)
    # Objects that are equal only to themselves, and those whose `==` answers by element.
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
    """Matches the object itself, and lets it go when the program does."""
    import weakref

    try:
        return ("weak", weakref.ref(value))
    except TypeError:
        return ("is", value)


class _Pack(_Parameter):
    """An argument pack: a parameter for each member."""

    def __init__(self, name, annotation):
        super().__init__(name, annotation)
        self.members = {}
        for member, of in annotation.members.items():
            made = _of_annotation(f"{name}.{member}", of)
            made.in_pack = True
            self.members[member] = made

    def leaves(self):
        return _flat_leaves(self.members.values())

    def flatten(self, value, flat):
        """Appends the values of the members of a pack."""
        from .argpack import ArgPack

        if not isinstance(value, ArgPack):
            raise say.argument_is_no_pack(name=self.name, kind=type(value))
        entries = value._entries
        for name, member in self.members.items():
            if name not in entries:
                raise say.argument_is_other_pack(name=self.name, member=name, kind=value._type)
            if member.kind is _Pack:
                member.flatten(entries[name], flat)
            else:
                flat.append(entries[name])

    def bind(self, bound):
        from .frontend.pack import PackArgument

        return PackArgument({name: member.bind(bound) for name, member in self.members.items()})


class _Flat(_Parameter):
    """Stands first among the leaves of a kernel with packs."""

    def specialise(self, value):
        return _Spec(("is", _FLAT), None, lambda ctx: None)


_FLAT = type("Flat", (), {})()
_MOST_ARGUMENTS = 64


def _flat_leaves(parameters):
    found = []
    for parameter in parameters:
        found += parameter.leaves() if parameter.kind is _Pack else [parameter]
    return found


def _leaves_of(parameters):
    """The parameters themselves, if none is a pack."""
    if not any(parameter.kind is _Pack for parameter in parameters):
        return parameters
    return [_Flat("", None), *_flat_leaves(parameters)]


def _make_parameter(kernel, position, parameter):
    annotation = parameter.annotation
    name = parameter.name
    if parameter.default is not EMPTY:
        raise say.taichi_kernels_do_not_support_default()
    if annotation is EMPTY:
        if position == 0 and in_class(kernel.__wrapped__):
            return _Self(name, ti_types.template())
        raise say.taichi_kernels_parameters_must_type_annotated(name=name, kernel=kernel.__name__)
    made = _of_annotation(name, annotation)
    if made is None:
        raise say.invalid_type_annotation_argument_taichi_kernel(
            position=position, annotation=annotation
        )
    return made


def _of_annotation(name, annotation):
    """The parameter by the kind of its annotation; None for what is none."""
    if annotation is ti_types.template or isinstance(annotation, ti_types.template):
        return _Template(name, annotation)
    if annotation is ti_types.NdarrayType:
        annotation = ti_types.NdarrayType()
    if isinstance(annotation, ti_types.NdarrayType):
        return _Array(name, annotation)
    if isinstance(annotation, ti_types.MatrixType):
        return _Tensor(name, annotation)
    if isinstance(annotation, ti_types.DType) or annotation in (int, float, bool):
        return _Scalar(name, annotation)
    if hasattr(annotation, "_member_types"):
        return _Struct(name, annotation)
    if isinstance(annotation, ti_types.sparse_matrix_builder):
        return _Triplets(name, annotation)
    if hasattr(annotation, "_is_argpack"):
        return _Pack(name, annotation)
    return None


def _cook_return(annotation):
    if isinstance(annotation, ti_types.MatrixType) or hasattr(annotation, "_member_types"):
        return annotation
    try:
        return ti_types.cook_dtype(annotation)
    except ValueError:
        raise say.invalid_return_type(annotation=annotation) from None


def _return_spec(of):
    """(scalar, count, make): how the native side makes the Python value."""
    if isinstance(of, ti_types.DType):
        return (of.scalar, 0, None)
    if not isinstance(of, ti_types.MatrixType):
        scalars = _struct_scalars(of)
        return (scalars, len(scalars), lambda numbers: _make_struct(of, numbers))
    return ((of.dtype or runtime.cfg.default_fp).scalar, _count(of), lambda numbers: of(*numbers))


def _aliases(bindings):
    """Groups of parameters whose fields share memory: a component's own field and its matrix."""
    return overlapping([(param, bound) for param, (kind, bound) in bindings if kind == "field"])


def overlapping(fields):
    """Of pairs (number, field): the numbers of fields that share memory, in groups."""
    groups = {}
    for number, field in fields:
        groups.setdefault(id(getattr(field, "_memory", field)), []).append(number)
    return [numbers for numbers in groups.values() if len(numbers) > 1]


# --- Decorators ---------------------------------------------------------------------------------


def kernel(fn):
    """Makes a kernel of a function: Python calls it, and its outermost loops run in parallel.

    fn: the function. Its parameters are annotated: with scalar types, vector, matrix and struct
    types, ti.template(), ti.types.ndarray(). It is compiled when it is first called, and anew for
    other types of arrays and other template arguments. TaichiSyntaxError for parameters that
    kernels cannot have; what is wrong in the body is raised by the first call.

        x = ti.field(ti.f32, shape=4)

        @ti.kernel
        def fill(value: ti.f32):
            for i in x:
                x[i] = value * i

        fill(2.0)
        print(x)  # prints: [0. 2. 4. 6.]
    """
    if isinstance(fn, Kernel):
        return fn
    return Kernel(fn)


def data_oriented(cls):
    """Decorator of a class whose methods may be kernels; what they read of `self` is compiled in.

    cls: the class.

        @ti.data_oriented
        class Counter:
            def __init__(self, n):
                self.values = ti.field(ti.i32, shape=n)

            @ti.kernel
            def add(self, amount: ti.i32):
                for i in self.values:
                    self.values[i] += amount

        counter = Counter(3)
        counter.add(5)
        print(counter.values)  # prints: [5 5 5]
    """
    cls._data_oriented = True
    return cls


__all__ = ["data_oriented", "kernel"]
