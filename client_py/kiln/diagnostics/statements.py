"""Errors of statements in kernels."""

from ..errors import TaichiSyntaxError, TaichiTypeError

ROWS = {
    "conversion_not_supported": (TaichiTypeError, "conversion '{conversion}' is not supported."),
    "format_does_not_match": (TaichiTypeError, "'{spec}' doesn't match '{type}'."),
    "format_of_no_number": (TaichiTypeError, "'{spec}' is not a format for numbers"),
    "print_option_is_no_text": (
        TaichiTypeError,
        "'{name}' of print is a text known while the kernel is compiled, not {kind}",
    ),
    "recreating_variable": (TaichiSyntaxError, "Recreating variables is not allowed"),
    "loop_config_of_a_value": (
        TaichiTypeError,
        "Options of loop_config are numbers known while the kernel is compiled, not {kind}",
    ),
    "loop_config_out_of_range": (
        TaichiTypeError,
        "{name}={value}: expected a number from 1 to 2**31 - 1, or 0",
    ),
    "loop_config_outside_of_a_kernel": (
        TaichiSyntaxError,
        "ti.loop_config() can only be called inside a kernel",
    ),
    "annotated_variable_needs_value": (TaichiSyntaxError, "An annotated variable needs a value"),
    "argument_is_immutable": (
        TaichiSyntaxError,
        'Kernel argument "{name}" is immutable in the kernel. If you want to change '
        "its value, please create a new variable.",
    ),
    "assert_info_must_constant_or_formatted": (
        TaichiSyntaxError,
        "assert info must be constant or formatted string, not {kind}",
    ),
    "cannot_break_outermost_loop": (TaichiSyntaxError, "Cannot break in the outermost loop"),
    "cannot_loop_over_object_taichi_scope": (
        TaichiTypeError,
        "Cannot loop over the object {kind} in Taichi scope. Only Taichi fields (via "
        "template) or dense arrays (via types.ndarray) are supported.{advice}",
    ),
    "count_with_range": (str, " To count, write range(…)."),
    "unroll_with_static": (str, " To unroll a loop over its elements, write ti.static(…)."),
    "cannot_unpack_type": (TaichiSyntaxError, "Cannot unpack type: {kind}"),
    "else_clause_for_for_not_supported": (
        TaichiSyntaxError,
        "'else' clause for 'for' not supported in Taichi kernels",
    ),
    "else_clause_for_while_not_supported": (
        TaichiSyntaxError,
        "'else' clause for 'while' not supported in Taichi kernels",
    ),
    "every_argument_ndrange_should_integer_scalar": (
        TaichiTypeError,
        "Every argument of ndrange should be an integer scalar or a tuple/list of (int, int)",
    ),
    "every_argument_ndrange_should_scalar_or": (
        TaichiSyntaxError,
        "Every argument of ndrange should be a scalar or a tuple/list like (begin, end)",
    ),
    "expected_positional_argument_s_but_received": (
        TaichiSyntaxError,
        "Expected {expected} positional argument(s), but received {got} instead.",
    ),
    "format_specification_must_known_at_compile": (
        TaichiSyntaxError,
        "A format specification must be known at compile time",
    ),
    "function_definition_not_allowed_ti": (
        TaichiSyntaxError,
        "Function definition is not allowed in 'ti.{kind}'.",
    ),
    "group_for_should_have_loop_target": (
        TaichiSyntaxError,
        "Group for should have 1 loop target, found {count}",
    ),
    "input_ti_static_must_compile_time": (
        ValueError,
        "Input to ti.static must be compile-time constants or global pointers, instead of {x!r}",
    ),
    "jump_of_static_loop_inside_dynamic_if": (
        TaichiSyntaxError,
        "{place}You are trying to `{what}` a static `for` loop, but the `{what}` "
        "statement is inside a non-static `if`. ",
    ),
    "jump_outside_loop": (TaichiSyntaxError, "'{what}' outside loop"),
    "kernel_returns_nothing": (
        TaichiSyntaxError,
        "Kernel has a return type but does not have a return statement",
    ),
    "returns_other_number_of_values": (
        TaichiTypeError,
        "A {kind} that returns {count} values returned {value!r}",
    ),
    "function_returns_nothing": (
        TaichiSyntaxError,
        "Function has a return type but does not have a return statement",
    ),
    "function_with_return_value_must_annotated": (
        TaichiSyntaxError,
        "A function with a return value must be annotated with a return type, e.g. def "
        "func() -> ti.f32",
    ),
    "kernel_with_return_value_must_annotated": (
        TaichiSyntaxError,
        "A kernel with a return value must be annotated with a return type, e.g. def "
        "func() -> ti.f32",
    ),
    "keyword_not_found": (TaichiSyntaxError, "Keyword '{name}' not found."),
    "keyword_not_used": (TaichiSyntaxError, "Keyword '{name}' not used."),
    "loop_bound_is_cast": (
        str,
        "Casting range_for boundary values from {type} to i32, which may cause numerical issues",
    ),
    "loop_cannot_run_value_type": (
        TaichiSyntaxError,
        "A loop cannot run to a value of type {type}",
    ),
    "matrices_with_more_than_one_columns": (
        ValueError,
        "Matrices with more than one columns cannot be unpacked",
    ),
    "ndrange_for_loop_with_number_loop": (
        TaichiSyntaxError,
        "Ndrange for loop with number of the loop variables not equal to the dimension "
        "of the ndrange is not supported. Please check if the number of arguments of "
        "ti.ndrange() is equal to the number of the loop variables.",
    ),
    "no_decorator_allowed_inside_ti_ndrange": (
        TaichiSyntaxError,
        "No decorator is allowed inside 'ti.ndrange",
    ),
    "number_struct_for_indices_does_not": (
        IndexError,
        "Number of struct-for indices does not match loop variable dimensionality "
        '({count} != {ndim}). Maybe you wanted to use "for I in ti.grouped(x)" to '
        "group all indices into a single vector I?",
    ),
    "number_targets_not_equal_value_length": (
        TaichiSyntaxError,
        "The number of targets is not equal to value length",
    ),
    "print_has_no_option_kernel": (TaichiSyntaxError, "print has no option '{name}' in a kernel"),
    "range_loop_has_one_loop_variable": (TaichiSyntaxError, "A range loop has one loop variable"),
    "range_should_have_or_arguments_found": (
        TaichiSyntaxError,
        "Range should have 1 or 2 arguments, found {got}",
    ),
    "result_not_convertible": (
        TaichiTypeError,
        "Return (type={got}) cannot be converted into required type {needed}",
    ),
    "return_inside_non_static_if_for": (
        TaichiSyntaxError,
        "Return inside non-static if/for is not supported",
    ),
    "static_assert_with_non_static_condition": (
        TaichiTypeError,
        "Static assert with non-static condition",
    ),
    "static_assign_cannot_have_type_overloading": (
        TaichiSyntaxError,
        "Static assign cannot have type overloading",
    ),
    "static_assign_cannot_used_on_annotated": (
        TaichiSyntaxError,
        "Static assign cannot be used on annotated assignment",
    ),
    "struct_for_cannot_nested_loop_over": (
        TaichiSyntaxError,
        "Struct for cannot be nested: a loop over a field or array must be at the "
        "outermost scope of the kernel",
    ),
    "ti_grouped_cannot_nested": (TaichiSyntaxError, "'ti.grouped' cannot be nested"),
    "ti_static_cannot_nested": (TaichiSyntaxError, "'ti.static' cannot be nested"),
    "ti_static_not_allowed_inside_ti": (
        TaichiSyntaxError,
        "'ti.static' is not allowed inside 'ti.grouped'",
    ),
    "truth_value_of_tensor_is_ambiguous": (
        TaichiTypeError,
        "The truth value of vectors/matrices is ambiguous.\n"
        "Consider using `any` or `all` when comparing vectors/matrices:\n"
        "    if all(x == y):\n"
        "or\n"
        "    if any(x != y):\n",
    ),
    "unrolling_many_iterations": (
        str,
        "You are unrolling more than {limit} iterations, so the compile time may be "
        "extremely long. You can use a non-static for loop if you want to decrease the "
        "compile time. You can disable this warning by setting "
        "ti.init(unrolling_limit=0).",
    ),
    "unsupported_assignment_target": (
        TaichiSyntaxError,
        'Unsupported assignment target "{kind}"',
    ),
    "variable_already_declared_outer_scope_and": (
        TaichiSyntaxError,
        "Variable '{name}' is already declared in the outer scope and cannot be used "
        "as loop variable",
    ),
    "variable_cannot_assigned_maybe_not_taichi": (
        TaichiSyntaxError,
        "Variable '{target}' cannot be assigned. Maybe it is not a Taichi object?",
    ),
    "wrong_format_string_for_these_values": (
        TaichiTypeError,
        "Wrong format string for these values",
    ),
}
