"""@ti.func, @ti.pyfunc and @ti.real_func: functions that kernels call."""

from . import types as ti_types
from .diagnostics import near, say
from .frontend import active
from .frontend.source import EMPTY, FunctionSource


class Func:
    """A function that is inlined where a kernel calls it. As a class attribute it
    binds its instance, as Python functions do."""

    _is_taichi_function = True
    _is_classkernel = False

    def __init__(self, fn, is_pyfunc=False, is_real=False):
        self.fn = fn
        self.func = fn
        self.is_pyfunc = is_pyfunc
        self.is_real = is_real
        self.source = FunctionSource(fn)
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__module__ = fn.__module__
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn
        self._references = None

    def __get__(self, instance, owner):
        return self if instance is None else BoundFunc(self, instance)

    def __call__(self, *args, **kwargs):
        return self._call(args, kwargs, False)

    def _call(self, args, kwargs, is_method):
        """A call by Python code: while a kernel is compiled it inlines, too."""
        ctx = active.context()
        if ctx is None:
            if self.is_pyfunc:
                return self.fn(*args, **kwargs)
            raise say.func_called_from_python()
        from .frontend.transformer import inline

        return inline(ctx, self, self.bind(list(args), kwargs), 0, is_method)

    def by_reference(self, index):
        """Whether parameter `index` is bound to the argument itself, not a copy."""
        if self._references is None:
            self._references = [_is_reference(p.annotation) for p in self.source.parameters]
        return index < len(self._references) and self._references[index]

    def _takes_references(self):
        self.by_reference(0)
        return any(self._references)

    def bind(self, args, kwargs):
        """Arguments in the order of the parameters, defaults filled in."""
        parameters = self.source.parameters
        if len(args) > len(parameters):
            names = ", ".join([p.name for p in parameters])
            given = ", ".join([str(a) for a in args])
            raise say.func_too_many_arguments(names=names, given=given)
        if len(args) == len(parameters) and not kwargs:
            return args
        bound = list(args)
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
                raise say.func_parameter_missing(name=name)
        for name in kwargs:
            hint = near(name, [p.name for p in parameters])
            raise say.func_unexpected_argument(name=name, hint=hint)
        return bound


class BoundFunc:
    """A func reached through an instance: `self` is known while compiling."""

    __slots__ = ("func", "instance")
    _is_taichi_function = True

    def __init__(self, func, instance):
        self.func = func
        self.instance = instance

    def __call__(self, *args, **kwargs):
        return self.func._call((self.instance, *args), kwargs, True)

    def _takes_references(self):
        return self.func._takes_references()

    @property
    def __name__(self):
        return self.func.__name__


def _is_reference(annotation):
    return annotation in (ti_types.template, ti_types.NdarrayType) or isinstance(
        annotation, (ti_types.template, ti_types.NdarrayType, ti_types.RefType)
    )


def func(fn, is_real_function=False):
    """Decorator: a function for kernels only."""
    return Func(fn)


def pyfunc(fn):
    """Decorator: a function for kernels and for Python."""
    return Func(fn, is_pyfunc=True)


def real_func(fn):
    """Decorator: a function of its own in the kernel. Inlined, as long as it needs
    no recursion and one return only."""
    return Func(fn, is_real=True)


__all__ = ["func", "pyfunc", "real_func"]
