"""Other ways to launch the kernels of a language case, which must not change its outcome. For cases
without tapes, which watch the calls of kernels themselves:

    KILN_TEST_LAUNCHES=graphs    each call that a graph can have by a captured graph
    KILN_TEST_LAUNCHES=streams   each call in another CUDA stream than the one before
    KILN_TEST_LAUNCHES=devices   each case on another CUDA device than the one before, of two
"""

import atexit
import ctypes
import os

import kiln
from kiln import _native, graph

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Graphs:
    """What watches calls; see _native.watch_calls."""

    watches_derivatives = True
    records = False
    launched = 0

    def __call__(self, kernel, args, kwargs):
        _native.watch_calls(None)
        try:
            return self.launch(kernel, args, kwargs)
        finally:
            _native.watch_calls(self)

    def launch(self, kernel, args, kwargs):
        try:
            with graph.capture() as captured:
                kernel(*args, **kwargs)
        except kiln.TaichiRuntimeError as error:
            if "captured graph" not in str(error):
                raise
            return kernel(*args, **kwargs)
        Graphs.launched += 1
        return captured.launch()

    def append(self, call):
        pass

    def begin_call(self):
        return self


class Streams(Graphs):
    streams = []

    def launch(self, kernel, args, kwargs):
        if not self.streams:
            driver = ctypes.CDLL(os.path.join(ROOT, ".kiln", "bin", "libcuda-emulator.so"))
            for _ in range(2):
                stream = ctypes.c_void_p()
                assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0  # non-blocking
                self.streams.append(stream.value)
            self.streams.append(0)
        Graphs.launched += 1
        with kiln.cuda.stream(self.streams[self.launched % 3]):
            return kernel(*args, **kwargs)


def next_device():
    """Has ti.init choose the other device."""
    os.environ["KILN_CUDA_DEVICE"] = str(1 - int(os.environ.get("KILN_CUDA_DEVICE", "0")))


def install(mode):
    """Has the kernels of the process launched in that way, of which there must be one at least."""
    atexit.register(lambda: Graphs.launched or os._exit(3))
    _native.watch_calls({"graphs": Graphs, "streams": Streams}[mode]())
