"""`taichi._kernels`: the reference's own kernels. Kiln fills and copies without kernels, so the
names exist but raise an error when they are used."""

from .absent import absent_function

_NAMES = (
    "arr_vulkan_layout_to_arr_normal_layout arr_vulkan_layout_to_field_normal_layout "
    "blit_from_field_to_field clear_gradients ext_arr_to_matrix ext_arr_to_ndarray "
    "ext_arr_to_ndarray_matrix ext_arr_to_tensor field_fill_python_scope fill_field fill_ndarray "
    "fill_ndarray_matrix load_texture_from_numpy matrix_to_ext_arr ndarray_matrix_to_ext_arr "
    "ndarray_to_ext_arr ndarray_to_ndarray save_texture_to_numpy scan_add_inclusive "
    "snode_deactivate snode_deactivate_dynamic sort_stage tensor_to_ext_arr tensor_to_image "
    "tensor_to_tensor uniform_add vector_to_fast_image vector_to_image warp_shfl_up_i32"
).split()
globals().update({name: absent_function(f"_kernels.{name}") for name in _NAMES})

__all__ = list(_NAMES)
