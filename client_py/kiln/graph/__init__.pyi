# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.graph`: launches recorded once, with names in place of arguments, and run many times."""

from typing import Any
def Arg(tag: Any = None, name: Any = None, dtype: Any = None, ndim: Any = None, field_dim: Any = None, element_shape: Any = None) -> Any:
    """An argument of a graph, to be given to `dispatch` in place of a value.

    tag: its kind (ArgKind). name: the key of its value in `Graph.run`. dtype: the type of a scalar,
    of a matrix or of an ndarray's elements. ndim: the number of an ndarray's axes. field_dim: an
    older name of ndim. element_shape: not supported any more; the dtype has it.

    Raises TaichiRuntimeError for properties that arguments of the kind do not have, or lack.

        x = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
        dt = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "dt", ti.f32)
        print(x.name, dt)  # prints: x dt : f32
    """
class ArgKind:
    """The kind of a graph's argument: SCALAR, NDARRAY, MATRIX, TEXTURE or RWTEXTURE.

    Example::

        print(ti.graph.ArgKind.SCALAR)  # prints: ArgKind.SCALAR
    """
    def __init__(self, name: Any, value: Any) -> None: ...
    MATRIX: Any
    NDARRAY: Any
    RWTEXTURE: Any
    SCALAR: Any
    TEXTURE: Any
    name: Any
    value: Any
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
    def __init__(self, launches: Any) -> None: ...
    def run(self, args: Any) -> Any:
        """Runs the launches.

        args: {name: value} of all arguments; values of other names are ignored. Raises RuntimeError
        for a value that is missing or does not fit, before any launch.
        """
class GraphBuilder:
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

    def append(self, node: Any) -> Any:
        """Adds the launches of a list that `create_sequential` made, those added to it later
        included.

        node: the list.
        """
    def compile(self) -> Any:
        """The graph of all launches added so far."""
    def create_sequential(self) -> Any:
        """A list of launches of its own, for `append`."""
    def dispatch(self, kernel_fn: Any, *args: Any) -> Any:
        """Adds a launch, and compiles the kernel for it.

        kernel_fn: the kernel, or a method that is one. args: for each of its parameters an argument
        (`Arg`), or a value that all runs use. Raises TaichiCompilationError if an argument does not
        fit its parameter, RuntimeError if another argument has its name, and the errors of
        compiling the kernel.
        """
