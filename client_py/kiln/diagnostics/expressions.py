"""Errors of expressions in kernels: names, types, source text."""

from ..errors import (
    TaichiCompilationError,
    TaichiIndexError,
    TaichiNameError,
    TaichiSyntaxError,
    TaichiTypeError,
)

ROWS = {
    "module_has_no_attribute": (AttributeError, "module '{module}' has no attribute '{name}'"),
    "no_such_attribute": (TaichiCompilationError, "AttributeError: {reason}.{hint}"),
    "bit_cast_for_kernels_there_no_typed": (
        TaichiTypeError,
        "bit_cast() is for kernels; there is no typed value in Python scope",
    ),
    "elements_are_scalars_vectors_or_matrices": (
        ValueError,
        "Only scalars, vectors, and matrices are allowed as elements of ti.types.ndarray()",
    ),
    "element_shape_and_dim_differ": (
        ValueError,
        "Both element_shape and element_dim are specified, but shape doesn't match specified dim: "
        "{got}!={dim}",
    ),
    "field_dim_is_ndim": (
        ValueError,
        "The field_dim argument for ndarray type is already deprecated. Please use ndim instead.",
    ),
    "matrix_type_and_element_shape": (
        TypeError,
        'Cannot specify matrix dtype "{dtype}" and element shape or dim at the same time.',
    ),
    "boundary_must_one_unsafe_clamp_got": (
        ValueError,
        "boundary must be one of ['unsafe', 'clamp'], got {boundary}",
    ),
    "call_raises_type_error": (
        TaichiTypeError,
        "TypeError when calling `{name}`: {reason}.{advice}",
    ),
    "calling_non_taichi_function": (
        str,
        'Calling non-taichi function "{name}". Scope inside the function is not '
        "processed by the Taichi AST transformer. The function may not work as "
        "expected. Proceed with caution! Maybe you can consider turning it into a "
        "@ti.func?",
    ),
    "cannot_use_non_writable_target_as": (
        TaichiSyntaxError,
        "cannot use a non-writable target as the first operand of 'atomic_{name}'",
    ),
    "container_needs_a_known_index": (
        TaichiTypeError,
        "A Python {kind} is subscripted while the kernel is compiled, so the index must be known "
        "then. Make it a ti.Vector, or loop over ti.static(range(…)).",
    ),
    "dimension_mismatch_between_and_for_matrix": (
        TaichiCompilationError,
        "dimension mismatch between {a} and {b} for matrix multiplication",
    ),
    "expected_indices_got": (TaichiIndexError, "Expected {count} indices, got {got}."),
    "field_with_dim_accessed_with_indices": (
        TaichiIndexError,
        "Field with dim {ndim} accessed with indices of dim {got}",
    ),
    "func_annotation_not_recognized": (
        TaichiSyntaxError,
        "Argument {name} of type {annotation} is not recognized.",
    ),
    "literal_exceeded_range": (
        TaichiTypeError,
        "Integer literal {value} exceeded the range of specified dtype: {dtype}",
    ),
    "literal_needs_its_kind": (
        TaichiTypeError,
        "{kind} literals must be annotated with a {what} type. For type casting, use `ti.cast`.",
    ),
    "func_argument_columns": (
        TaichiSyntaxError,
        "Argument {name} of type {annotation!r} is expected to be a Matrix with m {m}, "
        "but got {got}.",
    ),
    "func_argument_element_type": (
        TaichiTypeError,
        "Expect element type {wanted} for argument {name}, but get {got}",
    ),
    "func_argument_element_tensor": (
        TaichiTypeError,
        "Invalid value for argument {name} - required element type: {wanted}, but {got} is "
        "provided",
    ),
    "func_argument_is_no_tensor": (
        TaichiSyntaxError,
        "Argument {name} of type {annotation!r} is expected to be a Matrix, but got {kind}.",
    ),
    "func_argument_ndim": (
        TaichiSyntaxError,
        "Argument {name} of type {annotation!r} is expected to be a Matrix with ndim "
        "{ndim}, but got {count}.",
    ),
    "func_argument_rows": (
        TaichiSyntaxError,
        "Argument {name} of type {annotation!r} is expected to be a Matrix with n {n}, "
        "but got {got}.",
    ),
    "functions_inlined_without_end": (
        TaichiCompilationError,
        "The functions of this kernel call each other without end while they are "
        "inlined: {chain}. Use @ti.real_func for recursion at run time.",
    ),
    "hand_side_not_matrix": (TaichiCompilationError, "{side} hand side is not a matrix: {type}"),
    "index_out_range_for_size": (
        TaichiIndexError,
        "Index {value} is out of range for a size of {extent}",
    ),
    "integer_literal_exceeded_range_default_ip_please": (
        TaichiTypeError,
        "Integer literal {value} exceeded the range of default_ip: {dtype}, please "
        "specify the dtype via e.g. `ti.u64({value})` or set a different `default_ip` "
        "in `ti.init()`",
    ),
    "invalid_constant_scalar_data_type": (
        TaichiTypeError,
        "Invalid constant scalar data type: {kind}",
    ),
    "numpy_array_as_a_scalar": (
        TaichiTypeError,
        "Only 0-dimensional numpy array can be used to initialize a scalar expression",
    ),
    "components_come_first": (
        ValueError,
        "{what} takes {numbers} first, and then the type of its elements; got {given}",
    ),
    "element_without_components": (
        ValueError,
        "an element of shape {shape} has no components: each number must be at least 1",
    ),
    "did_you_mean_type": (str, ": did you mean ti.{name}?"),
    "types_are": (str, ": expected a type such as ti.f32, ti.i32, float or int"),
    "invalid_data_type": (ValueError, "Invalid data type {dtype}{advice}"),
    "kernel_calls_kernel": (
        TaichiSyntaxError,
        "Kernels cannot call other kernels. I.e., nested kernels are not allowed. "
        "Please check if you have direct/indirect invocation of kernels within "
        "kernels. Note that some methods provided by the Taichi standard library may "
        "invoke kernels, and please move their invocations to Python-scope.",
    ),
    "no_function_definition": (TaichiSyntaxError, "'{name}' is not a function that `def` defines"),
    "name_bound_in_a_block": (
        str,
        " The `{statement}` of line {line} assigns it, but only within its own block. Assign it "
        "before the `{statement}`.",
    ),
    "name_not_bound_yet_enclosing_function": (
        TaichiNameError,
        'Name "{name}" is not bound yet in the enclosing function',
    ),
    "name_not_defined": (TaichiNameError, 'Name "{name}" is not defined'),
    "name_not_defined_here": (TaichiNameError, 'Name "{name}" is not defined.{hint}'),
    "negative_indices_are_not_supported_taichi": (
        TaichiSyntaxError,
        "Negative indices are not supported in Taichi kernels.",
    ),
    "only_inside_static": (TaichiSyntaxError, '"{kind}" is only supported inside `ti.static`.'),
    "op_needs_an_argument": (TaichiTypeError, "{name}() needs at least one argument"),
    "operator_taichi_scope_not_supported": (
        TaichiSyntaxError,
        'Operator "{spelling}" in Taichi scope is not supported.',
    ),
    "primitive_type_can_only_decorate_single": (
        TaichiSyntaxError,
        "A primitive type can only decorate a single expression.",
    ),
    "primitive_type_cannot_decorate_expression_with": (
        TaichiSyntaxError,
        "A primitive type cannot decorate an expression with a compound type.",
    ),
    "return_matrix_ndim_mismatch_expecting_got": (
        TaichiTypeError,
        "Return matrix ndim mismatch, expecting={expected}, got={got}.",
    ),
    "return_matrix_shape_mismatch_expecting_got": (
        TaichiTypeError,
        "Return matrix shape mismatch, expecting={expected}, got={got}.",
    ),
    "rows_matrix_must_equally_long": (
        TaichiTypeError,
        "the rows of a matrix must be equally long",
    ),
    "scalar_kernel_cannot_unpacked": (TaichiTypeError, "a scalar of a kernel cannot be unpacked"),
    "scalar_kernel_has_no_len": (TypeError, "a scalar of a kernel has no len()"),
    "scalar_kernel_not_iterable": (TypeError, "a scalar of a kernel is not iterable"),
    "scalar_type_cannot_subscripted": (
        TaichiSyntaxError,
        "A scalar of type {type} cannot be subscripted",
    ),
    "slices_are_only_supported_for_vectors": (
        TaichiSyntaxError,
        "Slices are only supported for vectors and matrices",
    ),
    "source_changed_since_loaded": (
        str,
        "{file} has changed since Python loaded it: '{name}' is compiled from the new text, while "
        "the rest of the program is the old one. Start the program again.",
    ),
    "source_cannot_read_kernels_and_functions": (
        TaichiSyntaxError,
        "The source of '{name}' cannot be read ({file}). Kernels and Taichi functions are compiled "
        "from their source text: put them into a file.",
    ),
    "static_assign_cannot_used_on_elements": (
        TaichiSyntaxError,
        "Static assign cannot be used on elements in arrays",
    ),
    "struct_of_other_values": (
        TaichiSyntaxError,
        "Custom structs need to be initialized using either dictionary or keyword arguments",
    ),
    "struct_subscript_is_no_member": (
        TaichiSyntaxError,
        "The subscript of a struct is the name of a member, {names}, not {index}.{hint}",
    ),
    "struct_has_no_member": (AttributeError, "struct has no member '{name}'.{hint}"),
    "taichi_does_not_support_variables_slice": (
        TaichiCompilationError,
        "Taichi does not support variables in slice now, please use constant instead of it.",
    ),
    "ti_randn_can_only_called_inside": (
        TaichiSyntaxError,
        "ti.randn() can only be called inside a kernel",
    ),
    "ti_random_can_only_called_inside": (
        TaichiSyntaxError,
        "ti.random() can only be called inside a kernel",
    ),
    "truth_value_run_time_expression_not": (
        TaichiTypeError,
        "The truth value of a run-time expression is not known while the kernel is compiled.",
    ),
    "unsupported_node": (TaichiSyntaxError, "Kernels and Taichi functions cannot contain {what}"),
    "use_the_function_of_ti": (
        str,
        "\nDid you mean to use `{ours}` instead of `{module}.{name}`?",
    ),
    "numpy_computes_with_arrays": (
        str,
        "NumPy computes with its arrays and Python's numbers, not with values of a kernel",
    ),
    "called_with_other_arguments": (str, "its parameters are {parameters}"),
    "using_conditional_expression_for_element_wise": (
        TaichiSyntaxError,
        "Using conditional expression for element-wise select operation on Taichi "
        "vectors/matrices is deprecated and removed starting from Taichi v1.5.0 Please "
        'use "ti.select" instead.',
    ),
    "value_cannot_be_assigned_to_struct": (
        TaichiTypeError,
        "{value} cannot be assigned to a {type}",
    ),
    "value_type_cannot_called": (TaichiTypeError, "A value of type {type} cannot be called"),
    "value_type_has_no_attribute": (
        TaichiTypeError,
        "A value of type {type} has no attribute '{name}'.{hint}",
    ),
    "value_type_has_no_len": (TaichiTypeError, "A value of type {type} has no len()"),
    "vec_only_has_attributes_got": (
        TaichiSyntaxError,
        "vec{n} only has attributes={valid}, got={got}",
    ),
    "vector_needs_at_least_one_element": (TaichiTypeError, "a vector needs at least one element"),
    "vector_or_matrix_cannot_subscripted_by": (
        TaichiIndexError,
        "A vector or matrix cannot be subscripted by {index!r}",
    ),
    "struct_never_equals_number": (
        str,
        "A struct is never equal to a number. Compare one of its members.",
    ),
    "truth_of_a_float": (
        TaichiTypeError,
        "'{op}' takes integral conditions only, however '{type}' is provided. "
        "Consider using `x != 0` instead of `x`.",
    ),
}
