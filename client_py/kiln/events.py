"""Events of a running program, and the callbacks that listen to them.

Publishers (the kernel runtime, GUI.show) call `kernel_ready` and `frame`. Listeners (the progress
display of `kiln run`, tools) register callbacks. Without listeners, publishing costs one attribute
look-up.
"""

_kernel_listeners = []
# (kernel's name, tier) -> [instances made, seconds waited, seconds of compiling], for the profiler.
# These are sums because the number of instances is unbounded: a program that makes a data-oriented
# object in each frame makes instances in each frame.
made = {}
_compile_listeners = []
_frame_listeners = []
_total_listeners = []


def on_kernel(callback):
    """Calls `callback(name, tier, wait_seconds, compile_seconds, instance)` for each instance made.

    `tier` names the source of the code: "compiled", "disk", "memory" or "process". `wait_seconds`
    is how long the program waited; `compile_seconds` is how long the compilation took, now or when
    the entry was made. `instance` is None, or has `digest` and `key_parts` (_native.Instance).
    Returns a function that ends the subscription.
    """
    _kernel_listeners.append(callback)
    return lambda: _remove(_kernel_listeners, callback)


def on_compile(callback):
    """Calls `callback(name)` when a thread begins to make a kernel without a warm record, and
    `callback(None)` in the same thread when that succeeded or failed.
    Returns a function that ends the subscription.
    """
    _compile_listeners.append(callback)
    return lambda: _remove(_compile_listeners, callback)


def on_frame(callback):
    """Calls `callback(count)` after each GUI frame; `count` is the number of frames of that GUI."""
    _frame_listeners.append(callback)
    return lambda: _remove(_frame_listeners, callback)


def on_total(callback):
    """Calls `callback(total)` when a program announces how many frames it will show."""
    _total_listeners.append(callback)
    return lambda: _remove(_total_listeners, callback)


def frames(total):
    """`range(total)` for a loop over frames; announces its length to the listeners."""
    for callback in tuple(_total_listeners):
        callback(total)
    return range(total)


def kernel_ready(name, tier, wait_seconds, compile_seconds=0.0, instance=None):
    """Publishes that an instance of the kernel `name` can run."""
    sums = made.setdefault((name, tier), [0, 0.0, 0.0])
    sums[0] += 1
    sums[1] += wait_seconds
    sums[2] += compile_seconds
    for callback in tuple(_kernel_listeners):
        callback(name, tier, wait_seconds, compile_seconds, instance)


class compiling:
    """Context manager that publishes the beginning and end of making the kernel `name`."""

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        for callback in tuple(_compile_listeners):
            callback(self._name)

    def __exit__(self, *_):
        for callback in tuple(_compile_listeners):
            callback(None)


def is_hit(tier):
    """Whether code from that tier was compiled earlier."""
    return tier != "compiled"


def frame(count=0):
    """Publishes that a frame was shown."""
    for callback in tuple(_frame_listeners):
        callback(count)


def _remove(listeners, callback):
    if callback in listeners:
        listeners.remove(callback)
