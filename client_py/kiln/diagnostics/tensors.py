"""Errors of vectors, matrices and structs."""

from ..errors import TaichiCompilationError, TaichiRuntimeError, TaichiSyntaxError, TaichiTypeError

ROWS = {
    "cross_product_only_supported_between_pairs": (
        TaichiCompilationError,
        "Cross product is only supported between pairs of 2D/3D vectors, got size {n}",
    ),
    "default_value_in_dataclass": (
        TaichiSyntaxError,
        "Default value in @dataclass is not supported: '{name}' of {owner}.",
    ),
    "expected_a_vector": (TaichiCompilationError, "expected a vector, got {what}"),
    "expected_square_matrix_got_shape": (
        TaichiCompilationError,
        "expected a square matrix, got shape {shape}",
    ),
    "fill_of_a_value": (
        TaichiSyntaxError,
        "Only a variable or an element of a field or array can be filled, and not a value of type "
        "{type}. Assign it to a variable first.",
    ),
    "incompatible_arguments_for_custom_type": (
        TaichiSyntaxError,
        "Incompatible arguments for the custom {what} type: ({shape}), ({count})",
    ),
    "incompatible_struct_members": (
        TaichiSyntaxError,
        "Incompatible arguments for custom struct members! {owner} got {got}",
    ),
    "matrix_and_vector_dimension_dismatch": (ValueError, "Matrix and Vector dimension mismatch"),
    "matrix_has_one_or_two_dimensions": (ValueError, "A matrix has one or two dimensions"),
    "matrix_vector_can_only_initialized_with": (
        TaichiTypeError,
        "An Matrix/Vector can only be initialized with an array-like object",
    ),
    "not_tensor_type": (TaichiCompilationError, "not tensor type: {what}"),
    "object_has_no_attribute": (AttributeError, "'{kind}' object has no attribute '{name}'"),
    "only_dimension_supported_got_shape": (
        TaichiCompilationError,
        "only dimension < {limit} is supported, got shape {shape}",
    ),
    "only_supports_matrices": (ValueError, "{what} only supports {sizes} matrices."),
    "operand_is_no_vector": (TaichiCompilationError, "{side} for {op} is not a vector"),
    "required_shapes_same_got_shapes": (
        TaichiCompilationError,
        "required shapes to be the same, got shapes {shapes}",
    ),
    "right_hand_side_not_matrix": (
        TaichiCompilationError,
        "right hand side is not a matrix: {kind}",
    ),
    "too_many_arguments_has_members": (
        TaichiSyntaxError,
        "Too many arguments: {owner} has {count} members",
    ),
    "transpose_cannot_apply_vector_if_you": (
        TaichiCompilationError,
        "`transpose()` cannot apply to a vector. If you want something like `a @ "
        "b.transpose()`, write `a.outer_product(b)` instead.",
    ),
    "type_needs_an_argument": (TaichiSyntaxError, "{kind} needs at least one argument"),
    "unit_index_out_range": (ValueError, "unit({n}, {i}): the index is out of range"),
    "value_len_does_not_match_swizzle": (
        TaichiRuntimeError,
        "value len does not match the swizzle pattern={name}",
    ),
    "vector_has_one_dimension": (ValueError, "A vector has one dimension"),
    "vector_or_matrix_made_list": (TaichiTypeError, "a vector or matrix is made of a list"),
    "view_made_by_subscripting_field": (TypeError, "a view is made by subscripting a field"),
    "swizzle_of_another_length": (
        TaichiTypeError,
        "cannot assign {count} elements to the {want} of '{name}'",
    ),
}
