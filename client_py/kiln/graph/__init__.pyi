# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.graph`: launches recorded once and run many times. `GraphBuilder` records them with names in
place of arguments, `capture` as they are (`ti.graph()` is short for it).
"""

from typing import Any
def Arg(tag: Any = None, name: Any = None, dtype: Any = None, ndim: Any = None, field_dim: Any = None, element_shape: Any = None, fmt: Any = None) -> Any:
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
class CapturedGraph:
    """The launches of a `with` block, to be run any number of times. `ti.graph.capture` makes one.

    Example::

        x = ti.field(ti.i32, shape=4)

        @ti.kernel
        def add(amount: ti.i32):
            for i in x:
                x[i] += amount

        with ti.graph.capture() as graph:
            add(1)
            add(10)
        print(len(graph), x)  # prints: 2 [0 0 0 0]
    """

    def __enter__(self) -> Any: ...
    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None: ...
    def __len__(self) -> int:
        """The number of launches."""
    def launch(self) -> Any:
        """Runs the launches, in order. On a CUDA device this is one call of the driver, which does
        not wait for them.

        Raises TaichiRuntimeError if the capture has not ended, or if what the launches use was
        destroyed by `ti.init`, `ti.reset` or the end of an SNode tree. Also raises the errors of
        the launches.

            x = ti.field(ti.i32, shape=4)

            @ti.kernel
            def add(amount: ti.i32):
                for i in x:
                    x[i] += amount

            with ti.graph.capture() as graph:
                add(1)
                add(10)
            for _ in range(3):
                graph.launch()
            print(x)  # prints: [33 33 33 33]
        """
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
        """Adds a launch, and compiles the kernel for it, unless that needs a texture's format.

        kernel_fn: the kernel, or a method that is one. args: for each of its parameters an argument
        (`Arg`), or a value that all runs use. Raises TaichiCompilationError if an argument does not
        fit its parameter, RuntimeError if another argument has its name, and the errors of
        compiling the kernel.
        """
def capture() -> CapturedGraph:
    """A graph that gets the calls of kernels that this thread makes in a `with` block. They do not
    take place there, but whenever the graph is launched, with the arguments that they have in the
    block.

    `ti.graph()` does the same. The result's method `launch` runs the launches. On a CUDA device
    this is one call of the driver, however many launches there are, and one for each task that
    draws random numbers. The host has to see the outcome of kernels that check something, or that
    keep a tape for their gradient. Each of these is one call more, and so are the launches between
    two of them. Raises TaichiRuntimeError in the block for what a graph cannot have: kernels that
    return values or print, arrays that the device has to copy, and what Python itself does with
    fields and arrays.

        x = ti.field(ti.f32, shape=4)

        @ti.kernel
        def heat():
            for i in x:
                x[i] += 1

        @ti.kernel
        def cool():
            for i in x:
                x[i] *= 0.5

        with ti.graph.capture() as step:
            heat()
            cool()
        for _ in range(10):
            step.launch()
        print(x[0])  # prints: 0.9990234375
    """
