"""Access to texels in kernels, written in the language itself and inlined.

A texture is an array of vectors with one to four channels. A texel is a vector of four f32: red,
green, blue and alpha; those that are not stored are 0, 0, 0 and 1. `most` is the stored integer
that means 1.0, or 0 if stored numbers mean themselves.
"""

from .. import ops, originals
from .. import types as _types
from ..func import func
from ..static import static
from ..types import f32, i32
from .matrix import Vector


@func
def fetch(texels: _types.template(), index, most: _types.template()):
    """The texel at `index`, a vector of integers; outside of the texture, that of zeros."""
    alpha = static(0.0 if texels.element_shape()[0] == 4 else 1.0)
    texel = Vector([f32(0.0), f32(0.0), f32(0.0), f32(alpha)])
    if _is_inside(texels, index):
        texel = _decoded(texels[index], most)
    return texel


@func
def store(texels: _types.template(), index, texel, most: _types.template()):
    """Sets the texel at `index`; outside of the texture it does nothing."""
    if _is_inside(texels, index):
        channels = static(range(texels.element_shape()[0]))
        texels[index] = Vector([_encoded(texel[k], texels.dtype, most) for k in channels])


@func
def sample(texels: _types.template(), place, most: _types.template()):
    """The texture at `place`, where 0 to 1 along each axis is the whole of it, and further ones
    repeat it. Between the centres of texels it is linear, as samplers of GPUs are with the modes
    LINEAR and REPEAT (Vulkan 1.3, "Texel Filtering")."""
    ndim = static(texels.ndim)
    low = Vector([i32(0) for _ in static(range(ndim))])  # the texel before `place`
    high = Vector([i32(0) for _ in static(range(ndim))])  # the one after it
    part = Vector([f32(0.0) for _ in static(range(ndim))])  # how far `place` is between them
    for axis in static(range(ndim)):
        extent = texels.shape[axis]
        along = ops.cast(place[axis], f32)
        along = (along - ops.floor(along)) * extent - f32(0.5)
        before = ops.floor(along)
        part[axis] = along - before
        # Clamped for places that are infinite or no numbers.
        first = ops.min(ops.max(ops.cast(before, i32), -1), extent - 1)
        low[axis] = ops.select(first < 0, extent - 1, first)
        high[axis] = ops.select(first + 1 == extent, 0, first + 1)
    found = Vector([f32(0.0), f32(0.0), f32(0.0), f32(0.0)])
    for corner in static(range(1 << ndim)):
        weight = f32(1.0)
        index = low
        for axis in static(range(ndim)):
            if static(corner >> axis & 1):
                weight *= part[axis]
                index[axis] = high[axis]
            else:
                weight *= f32(1.0) - part[axis]
        found += weight * _decoded(texels[index], most)
    return found


@func
def _is_inside(texels: _types.template(), index):
    inside = True
    for axis in static(range(texels.ndim)):
        inside = inside and index[axis] >= 0 and index[axis] < texels.shape[axis]
    return inside


@func
def _decoded(stored, most: _types.template()):
    texel = Vector([f32(0.0), f32(0.0), f32(0.0), f32(1.0)])
    for k in static(range(stored.n)):
        texel[k] = ops.cast(stored[k], f32)
        if static(most > 0):
            texel[k] /= f32(float(most))
    return texel


@func
def _encoded(value, dtype: _types.template(), most: _types.template()):
    number = ops.cast(value, f32)
    if static(most > 0):
        # What is not a number becomes 0.
        number = ops.select(number > 0, ops.min(number, 1), 0)
        number = ops.round(number * f32(float(most)))
    return ops.cast(number, dtype)


originals.keep(globals())
