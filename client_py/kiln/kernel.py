"""Kernels: functions that are compiled for the kinds of arguments in their calls.

Calls run in C (_native.KernelBase) if an instance for their arguments exists. Otherwise Python code
here puts the arguments in order, has the instance made (instance.py), and raises errors.
"""

import os
from _thread import RLock

from . import _native, autodiff, errors, forks, provided, runtime
from .arguments import (
    FLAT,
    ArrayParameter,
    PackParameter,
    ScalarParameter,
    StructParameter,
    TensorParameter,
    annotation_advice,
    has_grad,
    is_numpy,
    leaves_of,
    make_parameter,
    needed_dtype,
    needs_copy,
    shown,
)
from .data import declared
from .data.field import AnyArray, Field
from .data.interop import array_view, is_external, release
from .diagnostics import is_diagnostic, near, say
from .frontend.source import EMPTY, FunctionSource, function_of
from .func import in_class, return_types

# If several threads call a kernel for the first time, one of them makes the instance.
_kernel_locks = {}  # id of the kernel -> its lock
# The threads that held locks do not exist in a forked child.
os.register_at_fork(after_in_child=_kernel_locks.clear)


class Kernel(_native.KernelBase):
    """The result of `@ti.kernel`. In a class it is a method."""

    _is_decorated = True
    autodiff = autodiff.NONE
    is_validated = False  # whether it checks that it overwrites nothing that was read
    _mode = "NONE"  # the name of the same in lang.enums.AutodiffMode

    def __init__(self, fn):
        self.__name__ = fn.__name__
        self.__qualname__ = fn.__qualname__
        self.__module__ = fn.__module__
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn
        self.source = FunctionSource(fn, "kernel")
        self._parameters = None
        self._leaves = None  # parameters as the native side passes them: packs by member
        self._returns = None
        self._derivatives = {}  # class -> kernel
        if self.source.can_read_annotations:
            self._read_signature()

    @property
    def in_class(self):
        """Whether the kernel is a method, whose first parameter needs no annotation."""
        return in_class(self.__wrapped__)

    # --- signature

    def _read_signature(self):
        source = self.source
        parameters = []
        for position, parameter in enumerate(source.parameters):
            try:
                parameters.append(make_parameter(self, position, parameter))
            except errors.TaichiSyntaxError as error:
                from .frontend.report import at_parameter

                raise at_parameter(source, position, error) from None
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
        """The parameters as error messages list them."""
        return ", ".join(map(str, self.parameters))

    # --- recorded calls

    def _recorded(self, args, kwargs):
        """The arguments of a call by position, as they are now: the program may change a vector or
        struct later, which the call copied."""
        if kwargs or len(args) != len(self.parameters):
            args = self._positional(args, kwargs)
        return tuple([p.snapshot(value) for p, value in zip(self.parameters, args)])

    @property
    def _takes_values(self):
        """Whether all parameters are numbers, vectors, matrices or structs."""
        return all(
            p.kind in (ScalarParameter, TensorParameter, StructParameter) for p in self._leaves
        )

    def _accesses(self, args):
        """[(value, written)] of a recorded call: the fields and arrays that it uses, and whether it
        may write to them. Makes the instance if there is none."""
        args = self._of_leaves(args)
        self._make_instance(args)
        instance, sources = self._bound(args)
        found = []
        for (kind, *source), written in zip(sources, instance.writes):
            if kind == "array":
                found.append((args[source[0]], written))
            elif kind == "field" and isinstance(source[0], Field):
                found.append((source[0], written))
        return found

    # --- captured graphs

    def _of_graph(self, args, kwargs):
        """The arguments of a call that a graph captures: of the leaves, and as the instance for
        them, which there is afterwards, takes them."""
        declared.check(runtime.generation)
        if kwargs or len(args) != len(self.parameters):
            args = self._positional(args, kwargs)
        if self._leaves is not self._parameters:
            args = self._flattened(args)
        taken = self._viewed(args)
        for position in self._copied_arrays(taken):
            self._not_in_graph("copied", position)
        self._make_instance(taken)
        return args, taken

    def _not_in_graph(self, why, position):
        """Raises the error for a launch that a graph cannot have."""
        if why == "copied":
            raise say.graph_copies_array(kernel=self.__name__, name=self._leaves[position].name)
        if why == "returns":
            raise say.graph_of_kernel_that_returns(kernel=self.__name__)
        raise say.graph_of_kernel_that_prints(kernel=self.__name__)

    # --- calls without an instance

    def _miss(self, args, kwargs):
        declared.check(runtime.generation)
        if kwargs or len(args) != len(self.parameters):
            args = self._positional(args, kwargs)
        args = self._of_leaves(args)
        copies = self._copied_arrays(args)
        result = self._run_on_copies(args, copies) if copies else self._run(args)
        release(args)
        return result

    def _of_leaves(self, args):
        """The arguments of a call as instances take them."""
        if self._leaves is not self._parameters:
            args = self._flattened(args)
        return self._viewed(args)

    def _flattened(self, args):
        """The values of the leaves, preceded by FLAT, which marks them as flattened; see
        FlatParameter."""
        flat = [FLAT]
        for parameter, value in zip(self.parameters, args):
            if parameter.kind is PackParameter:
                parameter.flatten(value, flat)
            else:
                flat.append(value)
        return tuple(flat)

    def _run(self, args):
        self._make_instance(args)
        ran, result = self._try(args)
        if not ran:
            raise say.arguments_kernel_changed_while_was_compiled(kernel=self.__name__)
        return result

    def _compile_for(self, args):
        """Makes the instance for a call with these arguments, one for each parameter."""
        declared.check(runtime.generation)
        self._make_instance(self._of_leaves(tuple(args)))

    def _make_instance(self, args):
        """Makes an instance for the arguments unless there is one."""
        with _kernel_locks.setdefault(id(self), RLock()):
            if self._bound(args) is None:
                with forks.held_off:
                    self._make(args)

    def _make(self, args):
        provided.make_instance(self, args)
        if _native.watcher() is not None:
            provided.begin_gradient(self, args)

    def _viewed(self, args):
        """The arguments, with tensors replaced by what has their memory; see array_view."""
        viewed = None
        for position, (parameter, value) in enumerate(zip(self._leaves, args)):
            if parameter.kind is not ArrayParameter or isinstance(value, AnyArray):
                continue
            if not is_numpy(value) and not isinstance(value, Field) and is_external(value):
                viewed = list(args) if viewed is None else viewed
                viewed[position] = array_view(value, parameter.name)
        return args if viewed is None else tuple(viewed)

    def _copied_arrays(self, args):
        """position -> type of the copy's elements, for arrays that the kernel cannot access in
        place."""
        found = {}
        for position, (parameter, value) in enumerate(zip(self._leaves, args)):
            if parameter.kind is ArrayParameter and needs_copy(parameter, value):
                found[position] = needed_dtype(parameter, value) or value.dtype
                if self.autodiff and has_grad(value):
                    raise say.converted_array_has_gradient(
                        name=parameter.name, dtype=value.dtype, needed=found[position]
                    )
        return found

    def _run_on_copies(self, args, positions):
        import numpy as np

        args = list(args)
        # Copy an array that is passed twice only once: writes through one must show in the other.
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

    # --- errors of calls (raised from C)

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

    def _long_axis_error(self, position, axis, extent):
        raise say.array_of_too_many_indices(
            name=self._leaves[position].name, axis=axis, extent=extent
        )

    def _other_device_error(self, position, number, own):
        """Raises the error for an array on CUDA device `number`; `own`: that of the kernel, or
        -1."""
        raise say.array_on_other_device(
            name=self._leaves[position].name,
            number=number,
            own="the CPU" if own < 0 else f"device {own}",
        )

    def _gradient_error(self, position, value, gradient):
        """Raises the error for an array whose gradient is missing or has another form."""
        name = self._leaves[position].name
        if gradient is None:
            raise say.array_without_gradient(name=name)
        raise say.gradient_of_array_of_other_form(
            name=name,
            shape=tuple(value.shape),
            dtype=value.dtype,
            got=shown([gradient]),
            got_shape=tuple(getattr(gradient, "shape", ())),
            got_dtype=getattr(gradient, "dtype", None),
        )

    def _overlap_error(self, position, other):
        raise say.arrays_of_derivative_overlap(
            kernel=self.__name__, name=self._leaves[position].name, other=self._leaves[other].name
        )

    def _runtime_error(self, text):
        """Raises the error of a launch that the runtime could not complete."""
        raise say.launch_failed(kernel=self.__name__, reason=text)

    def _failed(self, instance, node, text, values):
        with forks.held_off:
            from .printing import raise_failure

        raise_failure(self, instance, node, text, values)

    def _hides_frames(self, error):
        """Whether the traceback of an error ends at the call. It does for errors of the program,
        whose messages contain their position."""
        if runtime.cfg.print_full_traceback:
            return False
        error_of_ours = (errors.TaichiCompilationError, errors.TaichiRuntimeError)
        return isinstance(error, error_of_ours) or is_diagnostic(error)

    def _overflow_text(self, instance, node, op):
        with forks.held_off:
            from .printing import overflow_text

        return overflow_text(instance, node, op)

    # --- other attributes for programs

    @property
    def grad(self):
        """The kernel of the gradients; see Gradient."""
        return self._derivative(Gradient)

    @property
    def _dual(self):
        """The kernel of the duals; see Dual."""
        return self._derivative(Dual)

    @property
    def _second(self):
        """The kernel of second derivatives; see SecondDerivative."""
        return self._derivative(SecondDerivative)

    @property
    def _validated(self):
        """The kernel that checks accesses; see Validated."""
        return self._derivative(Validated)

    def _derivative(self, kind):
        found = self._derivatives.get(kind)
        if found is None:
            found = self._derivatives[kind] = kind(self)
        return found

    @property
    def autodiff_mode(self):
        """The member of AutodiffMode that says what calls of the kernel compute."""
        return getattr(provided.AutodiffMode, self._mode)

    @autodiff_mode.setter
    def autodiff_mode(self, mode):
        self._mode = mode.name

    # Libraries ask by these whether something is a kernel, and which kind of it.
    _is_wrapped_kernel = True

    @property
    def _is_classkernel(self):
        return self.in_class

    @property
    def _primal(self):
        return self

    @property
    def _adjoint(self):
        return self.grad

    def __reduce__(self):
        # As for Python's functions, a copy is the kernel itself, and a pickle has its name.
        return self.__qualname__

    def __repr__(self):
        return f"<ti.kernel {self.__qualname__}>"


class Derivative(Kernel):
    """A kernel that computes derivatives of what another one, its primal, computes. It takes the
    same arguments."""

    grad = None

    def __init__(self, primal):
        limit = os.environ.get("KILN_TAPE_MB", "")
        if limit and not (limit.isdecimal() and int(limit) > 0):
            raise say.tape_limit_is_no_number(text=limit)
        super().__init__(primal.__wrapped__)
        self.source = primal.source
        self._compilations = []  # see ad/ahead.py
        self._set_derivative()

    def _make(self, args):
        while self._compilations:
            self._compilations.pop().finish()
        if self._bound(args) is None:
            super()._make(args)


class Validated(Kernel):
    """Computes what its primal computes. Checks that no element of a field with a gradient is
    overwritten after it was read, since the gradient would read it again. Debug mode only."""

    grad = None
    is_validated = True
    _mode = "VALIDATION"

    def __init__(self, primal):
        super().__init__(primal.__wrapped__)
        self.source = primal.source


class Gradient(Derivative):
    """Adds to the gradients of what its primal reads what those of the things that it writes make
    of them. It takes and clears the gradients of what the primal overwrites."""

    autodiff = autodiff.REVERSE
    _mode = "REVERSE"


class SecondDerivative(Derivative):
    """Computes what the gradient of its primal computes, and how that changes along the direction
    of the duals."""

    autodiff = autodiff.SECOND
    _mode = "REVERSE"


class Dual(Derivative):
    """Computes what its primal computes, and the duals of what it writes from those of what it
    reads."""

    autodiff = autodiff.FORWARD
    _mode = "FORWARD"


def kernel(fn):
    """Makes a kernel of a function: Python calls it, and its outermost loops run in parallel.

    fn: the function. Its parameters are annotated with scalar, vector, matrix and struct types,
    ti.template() or ti.types.ndarray(). The first call compiles it; calls with other types of
    arrays or other template arguments compile it again. Raises TaichiSyntaxError for parameters
    that kernels cannot have. The first call raises the errors in the body.

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
    return Kernel(function_of(fn, "kernel"))


def data_oriented(cls):
    """Decorator of a class whose methods may be kernels. Attributes of `self` are compiled in.

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
