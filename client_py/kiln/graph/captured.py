"""Captured graphs: calls of kernels, recorded as they are made, and run again at once."""

from _thread import get_ident

from .. import _native, active, runtime
from ..data.interop import DeviceArray, current_stream
from ..diagnostics import say


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

    def __init__(self):
        self._launches = _native.CapturedLaunches()
        self._arguments = []  # of the launches, which keeps them
        self._external = []  # arrays of other libraries
        self._generation = self._fault = None
        self._is_ready = False

    def __enter__(self):
        watcher = _native.watcher()
        if self._generation is not None:
            raise say.graph_captured_twice()
        if watcher is not None:
            raise say.capture_inside(what=_named(watcher))
        runtime.require_init("capture a graph")
        self._generation = runtime.generation
        active.begin_capture()
        _native.watch_calls(_Capture(self))
        return self

    def __exit__(self, kind, error, traceback):
        _native.watch_calls(None)
        active.end_capture()
        if kind is not None:
            self._fault = error
        elif self._fault is not None:
            raise say.capture_failed(reason=self._fault) from self._fault
        else:
            self._launches.finish()
            self._is_ready = True

    def _add(self, kernel, args, kwargs):
        try:
            given, taken = kernel._of_graph(args, kwargs)
            self._launches.add(kernel, taken)
        except BaseException as error:
            self._fault = error
            raise
        self._arguments.append(taken)
        for value, one in zip(given, taken):
            if type(one) is DeviceArray and not any(value is known for known in self._external):
                self._external.append(value)

    def launch(self):
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
        watcher = _native.watcher()
        if watcher is not None and getattr(watcher, "thread", get_ident()) == get_ident():
            raise say.graph_launched_inside(what=_named(watcher))
        if not self._is_ready:
            raise say.graph_not_captured()
        if self._generation != runtime.generation:
            raise say.graph_outlived_its_fields()
        streams = {current_stream(array) for array in self._external} - {_native.stream()}
        for stream in streams:
            _native.wait_for(stream)
        failure = self._launches.run()
        if failure == "":
            raise say.graph_outlived_its_fields()
        if failure is not None:
            raise say.graph_failed(reason=failure)
        for stream in streams:
            _native.release_to(stream)

    def __len__(self):
        """The number of launches."""
        return len(self._launches)

    def __repr__(self):
        return f"<captured graph of {len(self)} launches>"


class _Capture:
    """What watches calls of kernels (_native.watch_calls) while a graph is captured."""

    watches_derivatives = True
    records = False  # a loop of steps (ad/checkpoint.py) is no call of its own

    def __init__(self, graph):
        self.thread = get_ident()
        self._graph = graph

    def __call__(self, kernel, args, kwargs):
        """Called in place of kernels: adds the call, if this thread makes it."""
        if get_ident() != self.thread:
            return kernel._miss(args, kwargs)
        return self._graph._add(kernel, args, kwargs)

    def append(self, call):
        """Called after a function with a gradient of its own, whose kernels the graph has."""

    def begin_call(self):
        """What watches the calls in such a function."""
        return self


def _named(watcher):
    return "the capture of a graph" if isinstance(watcher, _Capture) else "a tape"


def capture():
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
    return CapturedGraph()


__all__ = ["CapturedGraph", "capture"]
