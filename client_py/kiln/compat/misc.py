"""Small public names: extensions, formats, and log levels."""

from ..runtime import (  # noqa: F401  (Taichi has them in its module misc)
    CRITICAL,
    DEBUG,
    ERROR,
    INFO,
    TRACE,
    WARN,
    is_logging_effective,
    set_logging_level,
)


class _Names:
    """An enumeration; `members` are its names."""

    def __init__(self, kind, names):
        self._kind = kind
        for value, name in enumerate(names.split()):
            setattr(self, name, _Name(kind, name, value))


class _Name:
    __slots__ = ("kind", "name", "value")

    def __init__(self, kind, name, value):
        self.kind, self.name, self.value = kind, name, value

    def __repr__(self):
        return f"<{self.kind}.{self.name}: {self.value}>"

    def __str__(self):
        return f"{self.kind}.{self.name}"


extension = _Names(
    "Extension", "sparse quant mesh quant_basic data64 adstack bls assertion extfunc"
)
Format = _Names(
    "Format",
    "unknown r8 rg8 rgba8 rgba8srgb bgra8 bgra8srgb r8u rg8u rgba8u r8i rg8i rgba8i r16 rg16 rgb16 "
    "rgba16 r16u rg16u rgb16u rgba16u r16i rg16i rgb16i rgba16i r16f rg16f rgb16f rgba16f "
    "r32u rg32u rgb32u rgba32u r32i rg32i rgb32i rgba32i r32f rg32f rgb32f rgba32f depth16 "
    "depth24stencil8 depth32f",
)
AutodiffMode = _Names("AutodiffMode", "NONE VALIDATION FORWARD REVERSE")
SNodeGradType = _Names("SNodeGradType", "PRIMAL ADJOINT DUAL ADJOINT_CHECKBIT")
DeviceCapability = _Names("DeviceCapability", "spirv_has_int8 spirv_has_int16 spirv_has_int64")

__all__ = ["DeviceCapability", "Format", "extension", "is_logging_effective", "set_logging_level"]
