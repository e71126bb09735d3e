"""Graphs of launches, and what builds them."""

from .. import _native
from .. import types as ti_types
from ..arguments import ArrayParameter, ScalarParameter, TensorParameter, TextureParameter
from ..diagnostics import say
from ..kernel import Kernel
from .argument import (
    Argument,
    MatrixArgument,
    NdarrayArgument,
    RWTextureArgument,
    ScalarArgument,
    TextureArgument,
)


class Sequential:
    """Launches that `GraphBuilder.append` adds to a graph, also several times."""

    def __init__(self):
        self._steps = []  # (kernel, arguments), or a Sequential

    def dispatch(self, kernel_fn, *args):
        """Adds a launch, and compiles the kernel for it, unless that needs a texture's format.

        kernel_fn: the kernel, or a method that is one. args: for each of its parameters an argument
        (`Arg`), or a value that all runs use. Raises TaichiCompilationError if an argument does not
        fit its parameter, and the errors of compiling the kernel.
        """
        kernel = getattr(kernel_fn, "__func__", kernel_fn)
        if not isinstance(kernel, Kernel):
            raise say.graph_of_no_kernel(kind=type(kernel_fn).__name__)
        if kernel is not kernel_fn:
            args = (kernel_fn.__self__, *args)
        args = kernel._positional(args, {})
        kept, stand_ins = [], []
        is_known = True  # what the kernel is to be compiled for
        for parameter, arg in zip(kernel.parameters, args):
            if isinstance(arg, Argument):
                _check_fits(kernel, parameter, arg)
                kept.append(arg)
                stand_ins.append(arg.stand_in(parameter))
                is_known = is_known and stand_ins[-1] is not None
            else:
                kept.append(parameter.snapshot(arg))
                stand_ins.append(arg)
        if is_known:
            kernel._compile_for(stand_ins)
        self._steps.append((kernel, kept))

    def _launches(self):
        for step in self._steps:
            if isinstance(step, Sequential):
                yield from step._launches()
            else:
                yield step


class GraphBuilder(Sequential):
    """Records launches, in the order of the calls, for `compile`.

    Example::

        @ti.kernel
        def add(x: ti.types.ndarray(), amount: ti.i32):
            for i in x:
                x[i] += amount

        x = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.i32, ndim=1)
        amount = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "amount", ti.i32)
        builder = ti.graph.GraphBuilder()
        builder.dispatch(add, x, amount)
        builder.dispatch(add, x, 100)
        graph = builder.compile()
        numbers = ti.ndarray(ti.i32, 3)
        graph.run({"x": numbers, "amount": 5})
        print(numbers.to_numpy())  # prints: [105 105 105]
    """

    def __init__(self):
        super().__init__()
        self._arguments = {}  # name -> argument

    def dispatch(self, kernel_fn, *args):
        """Adds a launch, and compiles the kernel for it, unless that needs a texture's format.

        kernel_fn: the kernel, or a method that is one. args: for each of its parameters an argument
        (`Arg`), or a value that all runs use. Raises TaichiCompilationError if an argument does not
        fit its parameter, RuntimeError if another argument has its name, and the errors of
        compiling the kernel.
        """
        arguments = dict(self._arguments)  # only those of launches that are added
        _add_arguments(arguments, args)
        super().dispatch(kernel_fn, *args)
        self._arguments = arguments

    def create_sequential(self):
        """A list of launches of its own, for `append`."""
        return Sequential()

    def append(self, node):
        """Adds the launches of a list that `create_sequential` made, those added to it later
        included.

        node: the list.
        """
        if type(node) is not Sequential:
            raise say.graph_appends_no_sequential(kind=type(node).__name__)
        self._steps.append(node)

    def compile(self):
        """The graph of all launches added so far."""
        return Graph(list(self._launches()))


class Graph:
    """Launches that run in order. `GraphBuilder.compile` makes one.

    launches: pairs of a kernel and its arguments.

    Example::

        @ti.kernel
        def add(x: ti.types.ndarray(), amount: ti.i32):
            for i in x:
                x[i] += amount

        numbers = ti.ndarray(ti.i32, 3)
        amount = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "amount", ti.i32)
        builder = ti.graph.GraphBuilder()
        builder.dispatch(add, numbers, amount)
        graph = builder.compile()
        for amount in range(4):
            graph.run({"amount": amount})
        print(numbers.to_numpy())  # prints: [6 6 6]
    """

    def __init__(self, launches):
        self._arguments = {}
        for _, args in launches:
            _add_arguments(self._arguments, args)
        places = {}  # argument, or id of a value -> its number
        self._values = []  # by number; None for arguments
        for name in self._arguments:
            places[name] = len(self._values)
            self._values.append(None)
        calls = []
        for kernel, args in launches:
            numbers = []
            for arg in args:
                key = arg.name if isinstance(arg, Argument) else id(arg)
                if key not in places:
                    places[key] = len(self._values)
                    self._values.append(arg)
                numbers.append(places[key])
            calls.append((kernel, tuple(numbers)))
        self._calls = tuple(calls)

    def run(self, args):
        """Runs the launches.

        args: {name: value} of all arguments; values of other names are ignored. Raises RuntimeError
        for a value that is missing or does not fit, before any launch.
        """
        values = list(self._values)
        for number, (name, argument) in enumerate(self._arguments.items()):
            if name not in args:
                raise say.graph_value_is_missing(argument=argument, given=sorted(args))
            values[number] = argument.checked(args[name])
        _native.call_all(self._calls, values)


def _add_arguments(known, args):
    for arg in args:
        if isinstance(arg, Argument) and known.setdefault(arg.name, arg) != arg:
            raise say.graph_argument_name_twice(name=arg.name)


def _check_fits(kernel, parameter, argument):
    kind = parameter.kind
    wanted = _WANTED.get(kind)
    if wanted is None:
        raise say.graph_argument_for_template(
            argument=argument.name, parameter=parameter, kernel=kernel.__name__
        )
    if not isinstance(argument, wanted):
        raise say.graph_argument_of_wrong_kind(
            argument=argument, parameter=parameter, kernel=kernel.__name__
        )
    annotation = parameter.annotation
    if kind is TextureParameter:
        _check_fits_texture(kernel, parameter, argument)
        return
    if kind is ArrayParameter:
        if annotation.ndim is not None and annotation.ndim != argument.field_dim:
            raise say.graph_argument_of_other_ndim(
                ndim=argument.field_dim, name=parameter.name, needed=annotation.ndim
            )
        needed = annotation.dtype
    else:
        needed = annotation
    if kind is TensorParameter:
        if argument.element_shape != needed.shape:
            raise say.graph_matrix_argument_of_other_shape(
                needed=needed.shape, got=argument.element_shape
            )
    elif needed is not None and not _are_like(argument._element, needed):
        raise say.graph_argument_of_other_dtype(
            name=parameter.name,
            dtype=argument._element,
            needed=needed,
        )


def _check_fits_texture(kernel, parameter, argument):
    needed = parameter.annotation
    if argument.field_dim != needed.num_dimensions:
        raise say.graph_argument_of_other_ndim(
            ndim=argument.field_dim, name=parameter.name, needed=needed.num_dimensions
        )
    is_stored = isinstance(needed, ti_types.RWTextureType)
    if is_stored != isinstance(argument, RWTextureArgument):
        raise say.graph_argument_of_wrong_kind(
            argument=argument, parameter=parameter, kernel=kernel.__name__
        )
    if is_stored and argument.fmt is not needed.fmt:
        raise say.texture_argument_format(name=parameter.name, needed=needed.fmt, got=argument.fmt)


_WANTED = {
    ArrayParameter: NdarrayArgument,
    ScalarParameter: ScalarArgument,
    TensorParameter: MatrixArgument,
    TextureParameter: TextureArgument,
}


def _are_like(dtype, needed):
    if isinstance(dtype, ti_types.MatrixType) or isinstance(needed, ti_types.MatrixType):
        return (
            isinstance(dtype, ti_types.MatrixType)
            and isinstance(needed, ti_types.MatrixType)
            and dtype.shape == needed.shape
            and (needed.dtype is None or dtype.dtype is needed.dtype)
        )
    return dtype is ti_types.cook_dtype(needed)
