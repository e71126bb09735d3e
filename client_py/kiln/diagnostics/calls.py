"""Errors of calls of kernels and functions."""

from ..errors import (
    TaichiCompilationError,
    TaichiRuntimeError,
    TaichiRuntimeTypeError,
    TaichiSyntaxError,
    TaichiTypeError,
)

ROWS = {
    "non_contiguous_tensors_are_not": (
        ValueError,
        "Non contiguous tensors are not supported, please call tensor.contiguous() before passing "
        "it into taichi kernel.",
    ),
    "cuda_array_of_other_type": (ValueError, "its type {typestr!r} is not a type of the language"),
    "cuda_array_with_mask": (ValueError, "it has a mask"),
    "cuda_array_of_other_strides": (
        ValueError,
        "its strides {strides} are not those of C order",
    ),
    "cuda_array_of_other_form": (
        ValueError,
        "its `__cuda_array_interface__` gives {value!r} as '{entry}'",
    ),
    "stream_of_no_handle": (ValueError, "{stream!r} is not a CUDA stream"),
    "ambiguous_stream": (ValueError, "stream 0 is ambiguous; the default stream of CUDA is 1"),
    "elements_only_in_place": (
        BufferError,
        "other libraries get the elements in place, on their own device; to_numpy() makes a copy",
    ),
    "read_only_elements_only_by_interface": (
        BufferError,
        "the elements are read-only, which DLPack's capsules without a version cannot say; use "
        "__cuda_array_interface__, or a copy",
    ),
    "elements_not_on_cuda": (
        AttributeError,
        "__cuda_array_interface__: the elements are not on a CUDA device",
    ),
    "tensor_cannot_be_taken": (
        ValueError,
        "Invalid value for argument {name} - the tensor cannot be used in place: {reason}",
    ),
    "array_on_other_device": (
        ValueError,
        "Invalid value for argument {name} - the array is on CUDA device {number}, the program's "
        "kernels run on {own}: make another after ti.init(), and fill it by copy_from",
    ),
    "class_is_not_data_oriented": (
        TaichiSyntaxError,
        "Please decorate class {kind} with @ti.data_oriented",
    ),
    "invalid_return_type": (TaichiCompilationError, "Invalid data type {annotation}"),
    "annotate_as_ndarray": (str, ". To pass an array, annotate the parameter ti.types.ndarray()"),
    "annotate_as_template": (str, ". To pass a field, annotate the parameter ti.template()"),
    "argpack_has_no_member": (AttributeError, "the argument pack has no member '{name}'.{hint}"),
    "argpack_has_no_member_in_kernel": (
        TaichiCompilationError,
        "the argument pack has no member '{name}'.{hint}",
    ),
    "argpack_made_without_type": (
        TaichiSyntaxError,
        "An argument pack is made by its type: ti.types.argpack(a=ti.i32)(a=1)",
    ),
    "argpack_member_missing": (
        TaichiRuntimeTypeError,
        "Argument '{name}' of type {of} is missing",
    ),
    "argpack_member_of_wrong_type": (
        TaichiRuntimeTypeError,
        "Argument '{name}' (type={kind}) cannot be converted into required type {needed}",
    ),
    "argpack_too_many_values": (
        TaichiSyntaxError,
        "The argument pack has {count} members, {got} values are given",
    ),
    "argpack_without_members": (TaichiSyntaxError, "An argument pack needs at least one member"),
    "argument_is_no_pack": (
        TaichiRuntimeTypeError,
        "Argument {name} must be an argument pack, got {kind}",
    ),
    "argument_is_other_pack": (
        TaichiRuntimeTypeError,
        "Argument {name} has no member '{member}': it is a pack of type {kind}",
    ),
    "argument_not_convertible": (TaichiRuntimeTypeError, "Argument '{name}': {error}"),
    "argument_of_wrong_type": (
        TaichiRuntimeTypeError,
        "Argument '{name}' (type={kind}) cannot be converted into required type {needed}",
    ),
    "argument_out_of_range": (
        TaichiRuntimeTypeError,
        "Argument {position} of kernel '{kernel}': {value} is out of range for '{parameter}'",
    ),
    "arguments_kernel_changed_while_was_compiled": (
        TaichiRuntimeError,
        "the arguments of kernel '{kernel}' changed while it was compiled",
    ),
    "array_argument_dtype": (
        ValueError,
        "Invalid value for argument {name} - required array has dtype={required}, "
        "array with dtype={got} is provided",
    ),
    "array_argument_ndim": (
        ValueError,
        "Invalid value for argument {name} - required array has ndim={ndim}, array "
        "with {count} dimensions is provided",
    ),
    "array_argument_of_unsupported_dtype": (
        AssertionError,
        "Invalid value for argument {name} - arrays of dtype {dtype} are not supported",
    ),
    "array_argument_of_wrong_type": (
        TaichiRuntimeTypeError,
        "Invalid type for argument {name}, got {kind}",
    ),
    "cannot_template_argument_content_may_change": (
        TypeError,
        "a {kind} cannot be the template argument '{name}': its content may change; pass a tuple",
    ),
    "decorated_no_function": (
        TypeError,
        "@ti.{decorator} is for functions that `def` defines, not for {value!r}{advice}",
    ),
    "ellipsis_not_supported_return_type_annotations": (
        TaichiSyntaxError,
        "Ellipsis is not supported in return type annotations",
    ),
    "expect_element_type_for_argument_but": (
        TypeError,
        "Expect element type {element} for argument {name}, but get {got}",
    ),
    "field_for_array_argument": (
        TaichiRuntimeTypeError,
        "Invalid type for argument {name}, got {value}{advice}",
    ),
    "func_called_from_python": (
        TaichiSyntaxError,
        "Taichi functions cannot be called from Python-scope.",
    ),
    "func_multiple_values_for_argument": (
        TaichiSyntaxError,
        "Multiple values for argument '{name}'.",
    ),
    "func_parameter_missing": (
        TaichiSyntaxError,
        "Parameter `{parameter}` missing in the call of '{function}'.",
    ),
    "func_too_many_arguments": (
        TaichiSyntaxError,
        "Too many arguments. Expected ({names}), got ({given}).",
    ),
    "func_unexpected_argument": (TaichiSyntaxError, "Unexpected argument '{name}'.{hint}"),
    "invalid_type_annotation_argument_taichi_function": (
        TaichiSyntaxError,
        "Invalid type annotation (argument {position}) of Taichi function: {annotation}",
    ),
    "invalid_type_annotation_argument_taichi_kernel": (
        TaichiSyntaxError,
        "Invalid type annotation (argument {position}) of Taichi kernel: {annotation}",
    ),
    "invalid_value_for_argument_required_array": (
        ValueError,
        "Invalid value for argument {name} - required array has ndim={ndim} "
        "element_dim={element_dim}, array with {count} dimensions is provided",
    ),
    "invalid_value_for_argument_required_element": (
        ValueError,
        "Invalid value for argument {name} - required element type: {element}, but "
        "{got} is provided",
    ),
    "invalid_value_for_argument_required_element_dim": (
        ValueError,
        "Invalid value for argument {name} - required element_dim={element_dim}, array "
        "with {count} dimensions is provided",
    ),
    "invalid_value_for_argument_required_element_shape": (
        ValueError,
        "Invalid value for argument {name} - required element_shape={shape}, array "
        "with element shape of {element_shape} is provided",
    ),
    "kernel_has_many_instances": (
        str,
        "kernel '{kernel}' has {count} instances: each new value of a template "
        "argument compiles it again",
    ),
    "kernel_has_too_many_arguments": (
        TaichiRuntimeError,
        "The number of elements in kernel arguments is too big! Kernel '{kernel}' has {count}. "
        "Do not exceed {most} on x64 backend.",
    ),
    "kernel_multiple_values_for_argument": (
        TaichiSyntaxError,
        "\nMultiple values for argument '{name}'.",
    ),
    "kernel_parameter_missing": (
        TaichiSyntaxError,
        "\nParameter `{parameter}` missing. Kernel '{kernel}' takes ({expected}).",
    ),
    "kernel_too_many_arguments": (
        TaichiSyntaxError,
        "\nToo many arguments. Expected ({expected}), got ({given}) "
        "in the call of kernel '{kernel}'.",
    ),
    "launch_failed": (TaichiRuntimeError, "kernel '{kernel}': {reason}"),
    "kernel_unexpected_argument": (TaichiSyntaxError, "\nUnexpected argument '{name}'.{hint}"),
    "ndarray_argument_ndim": (
        ValueError,
        "Invalid value for argument {name} - required ndim={ndim}, but {count}d "
        "ndarray with shape {shape} is provided",
    ),
    "ndarray_argument_needs_grad": (
        ValueError,
        "Invalid value for argument {name} - required needs_grad=True, but False is provided",
    ),
    "ndarray_shouldn_t_passed_via_ti": (
        TaichiRuntimeTypeError,
        "Ndarray shouldn't be passed in via `ti.template()`, please annotate your "
        "kernel using `ti.types.ndarray(...)` instead",
    ),
    "no_struct": (TypeError, "it is not a struct"),
    "non_contiguous_numpy_arrays_are_not": (
        ValueError,
        "Non contiguous numpy arrays are not supported, please call "
        "np.ascontiguousarray(arr) before passing it into taichi kernel.",
    ),
    "parameters_keyword_only": (
        TaichiSyntaxError,
        "Taichi {kind}s do not support keyword parameters",
    ),
    "parameters_positional_only": (
        TaichiSyntaxError,
        'Taichi {kind}s only support "positional or keyword" parameters',
    ),
    "parameters_variable_keyword": (
        TaichiSyntaxError,
        "Taichi {kind}s do not support variable keyword parameters (i.e., **kwargs)",
    ),
    "parameters_variable_positional": (
        TaichiSyntaxError,
        "Taichi {kind}s do not support variable positional parameters (i.e., *args)",
    ),
    "array_of_too_many_indices": (
        ValueError,
        "Invalid value for argument {name} - axis {axis} of the array has {extent} indices, but "
        "indices are 32-bit integers",
    ),
    "read_only_array_written": (
        ValueError,
        "Argument {position} of kernel '{kernel}': the array for '{name}' is "
        "read-only, and the kernel writes to it",
    ),
    "real_func_argument_has_no_address": (
        TaichiSyntaxError,
        "Argument '{name}' is passed by reference: it must be a variable, or an element of a "
        "field or array, of type {dtype}, and not the value {got}",
    ),
    "real_func_argument_is_no_array": (
        TaichiTypeError,
        "Expected ndarray in the kernel argument for argument {name}, got {got}",
    ),
    "real_func_argument_of_other_type": (
        TaichiTypeError,
        "Argument '{name}' of type {got} cannot be converted into required type {needed}",
    ),
    "real_func_instances_without_end": (
        TaichiCompilationError,
        "Each call makes a function for new template arguments, without end: {chain}. Pass what "
        "changes from call to call by value.",
    ),
    "real_func_parameter_must_annotated": (
        TaichiSyntaxError,
        "Taichi function `{function}` parameter `{name}` must be type annotated",
    ),
    "real_func_reference_of_other_type": (
        TaichiTypeError,
        "Argument '{name}' is a reference to {dtype}, but the value has type {got}, and nothing "
        "is converted on the way back",
    ),
    "real_func_template_is_not_known": (
        TaichiSyntaxError,
        "Template argument '{name}' of a real function must be known when it is compiled. Pass "
        "values of the kernel by value, or its variables by reference (ti.ref).",
    ),
    "reference_to_no_scalar": (
        TaichiSyntaxError,
        "Parameter '{name}' is a reference to {of}: only scalars are passed by reference",
    ),
    "scalar_argument_of_wrong_type": (
        TaichiRuntimeTypeError,
        "Argument {position} (type={kind}) cannot be converted into required type "
        "{needed} (parameter '{name}' of kernel '{kernel}'){advice}",
    ),
    "struct_argument_of_wrong_type": (
        TaichiRuntimeTypeError,
        "Argument '{name}' (type={kind}) cannot be converted into required type {needed}: {error}",
    ),
    "taichi_kernels_do_not_support_default": (
        TaichiSyntaxError,
        "Taichi kernels do not support default values for arguments",
    ),
    "taichi_kernels_parameters_must_type_annotated": (
        TaichiSyntaxError,
        "Taichi kernels parameters must be type annotated: '{name}' of kernel '{kernel}' is not",
    ),
    "unhashable_type_cannot_template_argument": (
        TypeError,
        "unhashable type: '{kind}' cannot be the template argument '{name}'",
    ),
    "wrapper_left_out": (
        str,
        "@ti.{decorator} compiles '{name}' without the decorators between: their functions do not "
        "run. Write them above @ti.{decorator}.",
    ),
}
