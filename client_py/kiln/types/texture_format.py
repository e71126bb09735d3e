"""Formats of textures."""

from ..named import Names
from .scalar import BY_NAME

Format = Names(
    "Format",
    "unknown r8 rg8 rgba8 rgba8srgb bgra8 bgra8srgb r8u rg8u rgba8u r8i rg8i rgba8i r16 rg16 rgb16 "
    "rgba16 r16u rg16u rgb16u rgba16u r16i rg16i rgb16i rgba16i r16f rg16f rgb16f rgba16f "
    "r32u rg32u rgb32u rgba32u r32i rg32i rgb32i rgba32i r32f rg32f rgb32f rgba32f depth16 "
    "depth24stencil8 depth32f",
)
_CHANNELS = ("r", "rg", "rgb", "rgba")


def _stored_as(fmt):
    """(dtype, channels) of a format's texels; None for the formats that no texture has."""
    channels = fmt.name.rstrip("uif").rstrip("0123456789")
    bits, kind = fmt.name[len(channels) :].rstrip("uif"), fmt.name[-1]
    if channels not in _CHANNELS:
        return None
    dtype = BY_NAME[(kind if kind in "uif" else "u") + bits]
    return dtype, len(channels)


# The formats of textures: what their texels are stored as. The reference has it by this name.
FORMAT2TY_CH = {fmt: stored for fmt in Format if (stored := _stored_as(fmt)) is not None}


def largest_of(fmt):
    """The stored integer that means 1.0, in formats of fractions (`r8`, `rgba16`); 0 in others,
    whose texels mean what is stored."""
    return 0 if fmt.name[-1] in "uif" else (1 << FORMAT2TY_CH[fmt][0].bits) - 1


__all__ = ["FORMAT2TY_CH", "Format", "largest_of"]
