"""Kinds of devices, under the names that programs use: `ti.cpu`, `ti.cuda`."""

import os

from . import _native, provided
from .diagnostics import near, say


class Arch:
    """A kind of device. Devices of equal names are equal, so copies and pickles are, too."""

    __slots__ = ("name", "value")

    def __init__(self, name, value):
        self.name = name
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Arch) and other.name == self.name

    def __hash__(self):
        return hash(self.name)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return (arch_from_name, (self.name,))

    def __int__(self):
        return self.value

    def __repr__(self):
        return f"<Arch.{self.name}: {self.value}>"

    def __str__(self):
        return f"Arch.{self.name}"


class Cuda(Arch):
    """NVIDIA's GPUs: `ti.cuda`."""

    __slots__ = ()

    def device_count(self):
        """The number of CUDA devices, among which `ti.init(arch=ti.cuda, cuda_device=...)` chooses;
        0 without a driver. Starts none of them.

            for number in range(ti.cuda.device_count()):
                ti.init(arch=ti.cuda, cuda_device=number)
        """
        return _native.count_cuda_devices()

    def stream(self, stream):
        """A `with` block in which this thread launches kernels in a CUDA stream, instead of the
        legacy default stream.

        stream: its handle, or an object that has one: PyTorch's, or any with `__cuda_stream__`. It
        has to exist until the block ends. All work of Kiln keeps its order. The stream waits for
        what was launched before. What is launched afterwards, or reads a result, waits for the
        stream. Raises TypeError or ValueError if the argument is not a stream. Raises RuntimeError
        if the program's kernels run on the CPU or on another device than the stream.

            stream = torch.cuda.Stream()
            with ti.cuda.stream(stream):
                step()
        """
        return provided.StreamScope(stream)


_ARCHES = {
    name: (Cuda if name == "cuda" else Arch)(name, value)
    for value, name in enumerate(
        ("x64", "arm64", "cuda", "metal", "opengl", "dx11", "dx12", "vulkan", "amdgpu", "gles")
    )
}
x64 = x86_64 = _ARCHES["x64"]
arm64 = _ARCHES["arm64"]
cuda = _ARCHES["cuda"]
metal = _ARCHES["metal"]
opengl = _ARCHES["opengl"]
gles = _ARCHES["gles"]
dx11 = _ARCHES["dx11"]
dx12 = _ARCHES["dx12"]
vulkan = _ARCHES["vulkan"]
amdgpu = _ARCHES["amdgpu"]
cpu = arm64 if os.uname().machine in ("aarch64", "arm64") else x64
gpu = [cuda, metal, vulkan, opengl, dx11, dx12, gles, amdgpu]


def arch_from_name(name):
    """The device of that name; a list for "gpu"."""
    if name in ("cpu", "gpu"):
        return cpu if name == "cpu" else gpu
    if name not in _ARCHES:
        raise say.unknown_architecture_name(name=name, hint=near(name, ("cpu", "gpu", *_ARCHES)))
    return _ARCHES[name]


def is_arch_supported(arch, use_gles=False):
    return arch == cpu or (arch == cuda and not why_not_on_cuda())


def why_not_on_cuda():
    """Why kernels cannot run on a CUDA device of this machine; "": they can."""
    # A driver that the user names has to work: init says why it does not.
    return "" if os.environ.get("KILN_CUDA_DRIVER") else _native.why_no_cuda_device()


__all__ = [
    "amdgpu",
    "arm64",
    "cpu",
    "cuda",
    "dx11",
    "dx12",
    "gles",
    "gpu",
    "metal",
    "opengl",
    "vulkan",
    "x64",
    "x86_64",
]
