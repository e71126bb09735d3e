"""Small public names: extensions, capabilities of devices, and log levels."""

from ..named import Names
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

extension = Names("Extension", "sparse quant mesh quant_basic data64 adstack bls assertion extfunc")
AutodiffMode = Names("AutodiffMode", "NONE VALIDATION FORWARD REVERSE")
SNodeGradType = Names("SNodeGradType", "PRIMAL ADJOINT DUAL ADJOINT_CHECKBIT")
DeviceCapability = Names("DeviceCapability", "spirv_has_int8 spirv_has_int16 spirv_has_int64")

__all__ = ["DeviceCapability", "extension", "is_logging_effective", "set_logging_level"]
