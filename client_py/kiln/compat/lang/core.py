"""`taichi._lib.core`: the few names of the reference's native module that programs use."""

from ... import runtime, stat
from ...types import is_integral, is_real, is_signed
from ...types.scalar import DType as DataType

GGUI_AVAILABLE = False
print_stat = stat.print_stat


def get_version_major():
    return _version()[0]


def get_version_minor():
    return _version()[1]


def get_version_patch():
    return _version()[2]


def get_version_string():
    return ".".join(map(str, _version()))


def get_commit_hash():
    return ""


def host_arch():
    return runtime.cpu


def arch_name(arch):
    return arch.name


def arch_from_name(name):
    return runtime.arch_from_name(name)


def _version():
    from ... import __version__

    return __version__


def _no():
    return False


with_cuda = with_metal = with_vulkan = with_amdgpu = with_dx11 = with_dx12 = _no


def with_opengl(_use_gles=False):
    return False


def __getattr__(name):
    # Devices, as core.x64 and core.cuda.
    if not name.startswith("_") and hasattr(runtime, name):
        return getattr(runtime, name)
    raise AttributeError(f"'taichi._lib.core.{name}' is not supported by Kiln")


__all__ = ["DataType", "GGUI_AVAILABLE", "is_integral", "is_real", "is_signed"]
