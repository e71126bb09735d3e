"""Streams of CUDA devices in which a thread launches kernels: `ti.cuda.stream`."""

from . import _native, runtime
from .active import check_python_scope
from .diagnostics import say


class StreamScope:
    """What `ti.cuda.stream` returns: a context manager. Scopes nest."""

    def __init__(self, stream):
        self._handle = _handle_of(stream)
        self._choices = []  # a scope may be entered again

    def __enter__(self):
        check_python_scope("ti.cuda.stream")
        runtime.require_init("use a stream")
        if runtime.cfg.arch != runtime.cuda:
            raise say.stream_without_cuda()
        self._choices.append(_native.StreamChoice(self._handle))
        return self

    def __exit__(self, kind, error, traceback):
        self._choices.pop().end()


def _handle_of(stream):
    handle = getattr(stream, "cuda_stream", None)  # PyTorch's
    given = getattr(stream, "__cuda_stream__", None)
    if handle is None and given is not None:
        given = given() if callable(given) else given
        if not isinstance(given, tuple) or len(given) != 2 or given[0] != 0:
            raise say.stream_of_other_protocol(given=given)
        handle = given[1]
    if handle is None:
        handle = stream
    if isinstance(handle, bool) or not hasattr(handle, "__index__"):
        raise say.no_stream(kind=type(stream).__name__)
    handle = handle.__index__()
    if not 0 <= handle < 1 << 64:
        raise say.stream_out_of_range(handle=handle)
    return handle
