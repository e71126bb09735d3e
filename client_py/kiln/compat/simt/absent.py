"""Operations of GPU threads that CPUs do not have."""

from ... import runtime
from ...diagnostics import say


def operation(room, name):
    """A function that programs can name. A call raises an error: CPUs lack the operation."""

    def absent(*_args, **_options):
        raise say.simt_operation_needs_a_gpu(room=room, name=name, arch=runtime.cfg.arch.name)

    absent.__name__ = absent.__qualname__ = name
    absent.__doc__ = f"Not on the CPU: `{name}` of a {room}'s threads."
    return absent


__all__ = ["operation"]
