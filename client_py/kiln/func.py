"""@ti.func, @ti.pyfunc and @ti.real_func: functions that kernels call."""

from . import active
from . import types as ti_types
from .diagnostics import near, say
from .errors import TaichiSyntaxError
from .frontend.source import EMPTY, FunctionSource, function_of


class Func:
    """A function that kernels inline at each call. As a class attribute it binds the object through
    which it is read, as Python functions do."""

    _is_taichi_function = True
    _is_classkernel = False
    _is_decorated = True

    def __init__(self, fn, is_pyfunc=False, is_real=False):
        self.fn = fn
        self.func = fn
        self.is_pyfunc = is_pyfunc
        self.is_real = is_real
        self.in_class = in_class(fn)
        self.source = FunctionSource(fn)
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__module__ = fn.__module__
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn
        self._references = None
        self._returns = None
        if self.source.can_read_annotations:
            self._check_signature()

    @property
    def _is_real_function(self):
        return self.is_real

    def _check_signature(self):
        """Raises for errors in the signature that are visible before the first call."""
        for position, parameter in enumerate(self.source.parameters):
            try:
                self._check_parameter(position, parameter)
            except TaichiSyntaxError as error:
                from .frontend.report import at_parameter

                raise at_parameter(self.source, position, error) from None
        if any(r is Ellipsis for r in return_types(self.source.returns)):
            raise say.ellipsis_not_supported_return_type_annotations()

    def _check_parameter(self, position, parameter):
        if parameter.annotation is not EMPTY:
            if isinstance(parameter.annotation, ti_types.RefType):
                self._check_reference(parameter)
            elif not _is_parameter_type(parameter.annotation):
                raise say.invalid_type_annotation_argument_taichi_function(
                    position=position, annotation=parameter.annotation
                )
        elif self.is_real and not (position == 0 and self.in_class):
            raise say.real_func_parameter_must_annotated(
                function=self.__name__, name=parameter.name
            )

    def __get__(self, instance, owner):
        return self if instance is None else BoundFunc(self, instance)

    def __call__(self, *args, **kwargs):
        return self._call(args, kwargs, False)

    def _call(self, args, kwargs, is_method):
        """A call by Python code; while a kernel is being built, it inlines the function."""
        ctx = active.context()
        if ctx is None:
            if self.is_pyfunc:
                return self.fn(*args, **kwargs)
            raise say.func_called_from_python()
        return ctx.call_function(ctx, self, self.bind(list(args), kwargs), is_method)

    def _check_reference(self, parameter):
        of = parameter.annotation.dtype
        if isinstance(of, ti_types.CompoundType):
            raise say.reference_to_no_scalar(name=parameter.name, of=of)

    @property
    def returns(self):
        """The annotated types of the results."""
        if self._returns is None:
            self._returns = return_types(self.source.returns)
        return self._returns

    def by_reference(self, index):
        """Whether parameter `index` is bound to the argument itself, not a copy."""
        if self._references is None:
            self._references = [_is_reference(p.annotation) for p in self.source.parameters]
        return index < len(self._references) and self._references[index]

    def takes_reference(self, name):
        """As by_reference, for the parameter of that name."""
        for index, parameter in enumerate(self.source.parameters):
            if parameter.name == name:
                return self.by_reference(index)
        return False

    def _takes_references(self):
        self.by_reference(0)
        return any(self._references)

    def __reduce__(self):
        # As for Python's functions, a copy is the function itself, and a pickle has its name.
        return self.__qualname__

    def bind(self, args, kwargs):
        """The arguments in the order of the parameters, including defaults."""
        parameters = self.source.parameters
        if len(args) > len(parameters):
            names = ", ".join(map(str, parameters))
            given = ", ".join(map(str, args))
            raise say.func_too_many_arguments(names=names, given=given)
        if len(args) == len(parameters) and not kwargs:
            return args
        bound = list(args)
        for parameter in parameters[: len(args)]:
            if parameter.name in kwargs:
                raise say.func_multiple_values_for_argument(name=parameter.name)
        for i, parameter in enumerate(parameters[len(args) :], len(args)):
            name = parameter.name
            if name in kwargs:
                value = kwargs.pop(name)
                if not self.by_reference(i):
                    ctx = active.context()
                    value = ctx.value(value) if ctx is not None else value
                bound.append(value)
            elif parameter.default is not EMPTY:
                bound.append(parameter.default)
            else:
                raise say.func_parameter_missing(parameter=parameter, function=self.__name__)
        for name in kwargs:
            hint = near(name, [p.name for p in parameters])
            raise say.func_unexpected_argument(name=name, hint=hint)
        return bound


class BoundFunc:
    """A func read through an object, whose `self` is therefore known at compile time."""

    __slots__ = ("func", "instance")
    _is_taichi_function = True

    def __init__(self, func, instance):
        self.func = func
        self.instance = instance

    def __call__(self, *args, **kwargs):
        return self.func._call((self.instance, *args), kwargs, self.is_method)

    @property
    def is_method(self):
        """Whether the first parameter is bound to the object itself. A function defined outside of
        any class that became a struct's method treats it like its other parameters."""
        return self.func.in_class

    def _takes_references(self):
        return self.func._takes_references()

    @property
    def __name__(self):
        return self.func.__name__


def in_class(fn):
    """Whether a function was defined in the body of a class."""
    outer = fn.__qualname__.rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


def return_types(annotation):
    """The list of types that a return annotation names."""
    if annotation is EMPTY or annotation is None:
        return ()
    args = getattr(annotation, "__args__", None)
    if args is not None and getattr(annotation, "__origin__", None) is tuple:
        return tuple(args)
    if isinstance(annotation, (tuple, list)):
        return tuple(annotation)
    return (annotation,)


def _is_parameter_type(annotation):
    return annotation in (ti_types.template, ti_types.NdarrayType, int, float, bool) or isinstance(
        annotation, _PARAMETER_TYPES
    )


_PARAMETER_TYPES = (
    ti_types.CompoundType,
    ti_types.DType,
    *ti_types.BY_REFERENCE,
    ti_types.RefType,
    ti_types.template,
)


def _is_reference(annotation):
    return annotation in (ti_types.template, ti_types.NdarrayType) or isinstance(
        annotation, (ti_types.template, *ti_types.BY_REFERENCE, ti_types.RefType)
    )


def func(fn, is_real_function=False):
    """Makes a function that only kernels may call; each call is replaced by its body.

    fn: the function. Its parameters may be annotated; ti.template() passes them by reference.
    is_real_function: makes a real function, as `ti.real_func` does. Raises TaichiSyntaxError for
    invalid annotations, and for calls from Python.

        @ti.func
        def square(x):
            return x * x

        @ti.kernel
        def k(a: ti.f32) -> ti.f32:
            return square(a) + 1

        print(k(3.0))  # prints: 10.0
    """
    return Func(function_of(fn, "func"), is_real=is_real_function)


def pyfunc(fn):
    """Makes a function that both kernels and Python may call.

    fn: the function; in kernels each call is replaced by its body.

        @ti.pyfunc
        def square(x):
            return x * x

        @ti.kernel
        def k(a: ti.i32) -> ti.i32:
            return square(a)

        print(k(3), square(4))  # prints: 9 16
    """
    return Func(function_of(fn, "pyfunc"), is_pyfunc=True)


def real_func(fn):
    """Makes a function that kernels call at run time instead of inlining it.

    fn: the function, with annotated parameters and results. It may return anywhere and may call
    itself. Its loops are serial. A parameter annotated `ti.ref(ti.f32)` takes a variable or an
    element of a field by reference.

        @ti.real_func
        def gcd(a: ti.i32, b: ti.i32) -> ti.i32:
            if b == 0:
                return a
            return gcd(b, a % b)

        @ti.kernel
        def k() -> ti.i32:
            return gcd(12, 18)

        print(k())  # prints: 6
    """
    return Func(function_of(fn, "real_func"), is_real=True)


__all__ = ["func", "pyfunc", "real_func"]
