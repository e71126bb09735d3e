"""`taichi.lang.misc`: devices and hints."""

from ... import runtime
from ...static import assume_in_range, loop_config, loop_unique


def is_arch_supported(arch, use_gles=False):
    """Whether kernels can run on the device `arch`."""
    return runtime.is_arch_supported(arch, use_gles)


def get_host_arch_list():
    """The names of this machine's processor as a device."""
    return [runtime.cpu]


_EVERYWHERE = frozenset("sparse quant mesh quant_basic data64 adstack assertion".split())
_EXTENSIONS = {  # as the reference answers, which does not ask whether the machine has the device
    "x64": _EVERYWHERE | {"extfunc"},
    "arm64": _EVERYWHERE,
    "cuda": _EVERYWHERE | {"bls"},
}


def is_extension_supported(arch, extension):
    """Whether a kind of device supports an optional extension of the language."""
    return extension.name in _EXTENSIONS.get(arch.name, ())


def adaptive_arch_select(arch, enable_fallback):
    """The device that `init` would choose."""
    return runtime._select_arch(arch, enable_fallback)


def __getattr__(name):
    from .. import find

    return find("lang.misc", name)


__all__ = [
    "adaptive_arch_select",
    "assume_in_range",
    "get_host_arch_list",
    "is_arch_supported",
    "is_extension_supported",
    "loop_config",
    "loop_unique",
]
