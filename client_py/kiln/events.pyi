# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""Events of a running program, and the callbacks that listen to them.

Publishers (the kernel runtime, GUI.show) call `kernel_ready` and `frame`. Listeners (the progress
display of `kiln run`, tools) register callbacks. Without listeners, publishing costs one attribute
look-up.
"""

from typing import Any
class compiling:
    """Context manager that publishes the beginning and end of making the kernel `name`."""
    def __init__(self, name: Any) -> None: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *_: Any) -> None: ...
def frame(count: Any = 0) -> Any:
    """Publishes that a frame was shown."""
def frames(total: Any) -> Any:
    """`range(total)` for a loop over frames; announces its length to the listeners."""
def is_hit(tier: Any) -> Any:
    """Whether code from that tier was compiled earlier."""
def kernel_ready(name: Any, tier: Any, wait_seconds: Any, compile_seconds: Any = 0.0, instance: Any = None) -> Any:
    """Publishes that an instance of the kernel `name` can run."""
made: Any
def on_compile(callback: Any) -> Any:
    """Calls `callback(name)` when a thread begins to make a kernel without a warm record, and
    `callback(None)` in the same thread when that succeeded or failed.
    Returns a function that ends the subscription.
    """
def on_frame(callback: Any) -> Any:
    """Calls `callback(count)` after each GUI frame; `count` is the number of frames of that GUI."""
def on_kernel(callback: Any) -> Any:
    """Calls `callback(name, tier, wait_seconds, compile_seconds, instance)` for each instance made.

    `tier` names the source of the code: "compiled", "disk", "memory" or "process". `wait_seconds`
    is how long the program waited; `compile_seconds` is how long the compilation took, now or when
    the entry was made. `instance` is None, or has `digest` and `key_parts` (_native.Instance).
    Returns a function that ends the subscription.
    """
def on_total(callback: Any) -> Any:
    """Calls `callback(total)` when a program announces how many frames it will show."""
