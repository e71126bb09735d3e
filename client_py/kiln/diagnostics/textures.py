"""Errors of textures (ti.Texture)."""

from ..errors import (
    TaichiCompilationError,
    TaichiRuntimeError,
    TaichiRuntimeTypeError,
    TaichiTypeError,
)

ROWS = {
    "argument_is_no_texture": (
        TaichiRuntimeTypeError,
        "Argument {name} must be a texture, got {kind}",
    ),
    "export_of_graph_with_texture_of_any_format": (
        TaichiCompilationError,
        "cannot export launch '{name}': argument '{argument}' takes textures of any format, and a "
        "module has code for one; use ArgKind.RWTEXTURE, which states it",
    ),
    "export_of_texture_without_format": (
        TaichiCompilationError,
        "cannot export kernel '{name}': the annotation of '{parameter}' does not say the format of "
        "the texture; pass one by template_args={{'{parameter}': …}}",
    ),
    "func_argument_is_no_texture": (
        TaichiTypeError,
        "parameter '{name}' takes a texture parameter of the kernel that is annotated {needed}",
    ),
    "rw_texture_without_format": (TaichiCompilationError, "fmt is required for rw_texture type"),
    "texture_argument_format": (
        TaichiRuntimeTypeError,
        "RWTextureType format mismatch for argument {name}: expected {needed}, got {got}",
    ),
    "texture_argument_ndim": (
        TaichiRuntimeTypeError,
        "{kind} dimension mismatch for argument {name}: expected {needed}, got {got}",
    ),
    "texture_from_image_of_other_size": (
        AssertionError,
        "a texture of {shape} texels cannot hold a picture of {size}",
    ),
    "texture_from_no_field": (TypeError, "from_field takes a field, got {kind}"),
    "texture_from_no_image": (AssertionError, "from_image takes a PIL image, got {kind}"),
    "texture_from_no_ndarray": (TypeError, "from_ndarray takes an ndarray, got {kind}"),
    "texture_from_other_elements": (
        ValueError,
        "a texture of format {fmt} takes {shape} elements of {needed}, got {got_shape} of {got}",
    ),
    "texture_has_no_subscripts": (
        TaichiTypeError,
        "A texture has no subscripts in a kernel: use fetch or sample_lod of `ti.types.texture`, "
        "load or store of `ti.types.rw_texture`",
    ),
    "texture_has_no_elements": (
        TypeError,
        "textures have no elements in Python: to_numpy copies all, and kernels access single ones",
    ),
    "texture_index_count": (
        TaichiTypeError,
        "{method} needs one number for each axis of the texture, here {ndim}; got {got}",
    ),
    "texture_index_type": (
        TaichiTypeError,
        "{method} needs {needed} for each axis of the texture, got {got}",
    ),
    "texture_is_no_parameter": (
        TaichiCompilationError,
        "Kernels access textures through parameters that are annotated ti.types.texture or "
        "ti.types.rw_texture",
    ),
    "texture_is_no_picture": (
        TaichiRuntimeError,
        "{call} needs a texture of two axes that stores fractions or floats, this one has the "
        "format {fmt} and the shape {shape}",
    ),
    "texture_needs_other_annotation": (
        TaichiCompilationError,
        "{method} is for parameters that are annotated {needed}",
    ),
    "texture_of_other_format": (TypeError, "no texture has the format {fmt}"),
    "texture_of_other_shape": (
        RuntimeError,
        "Texture shape invalid: 1 to 3 axes of at least one texel are possible, got {shape}",
    ),
    "texture_stores_other_value": (
        TaichiTypeError,
        "store takes a texel as a vector of 4 floats, got {got}",
    ),
}
