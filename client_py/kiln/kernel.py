"""Kernels: functions that are compiled for the arguments they are called with.

Calls run in C (_native.KernelBase) once an instance for their arguments is known. Python does the
rest: it orders the arguments, has an instance made (instance.py) where none is known, and says what
went wrong.
"""

import os
from _thread import RLock

from . import _native, errors, forks, provided, runtime
from .arguments import (
    FLAT,
    ArrayParameter,
    PackParameter,
    annotation_advice,
    is_numpy,
    leaves_of,
    make_parameter,
    needed_dtype,
    needs_copy,
    shown,
)
from .data import declared
from .data.field import Field
from .data.interop import is_external, numpy_view
from .data.ndarray import Ndarray
from .diagnostics import is_said, near, say
from .frontend.source import EMPTY, FunctionSource
from .func import in_class, return_types

# Of threads that race for one kernel's first call, one makes the instance.
_kernel_locks = {}  # id of the kernel -> its lock
# In a forked child no thread is left that could open a lock that another thread held.
os.register_at_fork(after_in_child=_kernel_locks.clear)


class Kernel(_native.KernelBase):
    """What `@ti.kernel` makes. In a class it is a method."""

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
                parameters.append(make_parameter(self, position, parameter))
            except errors.TaichiSyntaxError as error:
                raise source.at_parameter(position, error) from None
        self._returns = return_types(source.returns)
        if any(r is Ellipsis for r in self._returns):
            raise say.ellipsis_not_supported_return_type_annotations()
        self._leaves = leaves_of(parameters)
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
                kernel=self.__name__, expected=self._expected(), given=shown(args)
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
        declared.check(runtime.generation)
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
        flat = [FLAT]
        for parameter, value in zip(self.parameters, args):
            if parameter.kind is PackParameter:
                parameter.flatten(value, flat)
            else:
                flat.append(value)
        return tuple(flat)

    def _run(self, args):
        with _kernel_locks.setdefault(id(self), RLock()):
            if not self._knows(args):
                provided.make_instance(self, args)
        ran, result = self._try(args)
        if not ran:
            raise say.arguments_kernel_changed_while_was_compiled(kernel=self.__name__)
        return result

    def _viewed(self, args):
        """The arguments with NumPy arrays over the memory of tensors."""
        viewed = None
        for position, (parameter, value) in enumerate(zip(self._leaves, args)):
            if parameter.kind is not ArrayParameter or isinstance(value, Ndarray):
                continue
            if not is_numpy(value) and not isinstance(value, Field) and is_external(value):
                viewed = list(args) if viewed is None else viewed
                viewed[position] = numpy_view(value, parameter.name)
        return args if viewed is None else tuple(viewed)

    def _copied_arrays(self, args):
        """position -> type of a copy's elements, for arrays that kernels cannot take by address."""
        found = {}
        for position, (parameter, value) in enumerate(zip(self._leaves, args)):
            if parameter.kind is ArrayParameter and needs_copy(parameter, value):
                found[position] = needed_dtype(parameter, value) or value.dtype
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
            advice=annotation_advice(value),
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
