"""Errors of fields, ndarrays and SNodes."""

from ..errors import (
    TaichiCompilationError,
    TaichiIndexError,
    TaichiRuntimeError,
    TaichiSyntaxError,
    TaichiTypeError,
)

ROWS = {
    "append_of_other_size": (
        TaichiCompilationError,
        "the cells of {node} hold {count} numbers, but {got} are appended",
    ),
    "append_to_cells_with_snodes": (
        TaichiCompilationError,
        "ti.append needs a dynamic SNode with nothing but fields in its cells, not {node}",
    ),
    "axes_and_dimensions_different_number": (
        TaichiRuntimeError,
        "axes and dimensions of different number ({axes} != {extents})",
    ),
    "axes_one_level_must_different": (TaichiRuntimeError, "axes of one level must be different"),
    "axis_of_other_type": (
        TypeError,
        "an axis is given as ti.i, ti.j, …, or by its number, got {value!r}",
    ),
    "axes_order_must_different": (TaichiSyntaxError, "The axes in order must be different"),
    "axis_too_long": (
        TaichiRuntimeError,
        "axis {axis} would have {extent} indices, but indices are 32-bit integers",
    ),
    "cannot_be_called_in_taichi_scope": (
        AssertionError,
        "{name} cannot be called in Taichi-scope",
    ),
    "cannot_copy_from_non_field_object": (TypeError, "Cannot copy from a non-field object"),
    "cannot_copy_from_non_ndarray_object": (
        AssertionError,
        "Cannot copy from a non-ndarray object",
    ),
    "chunk_size_must_be_positive": (
        TaichiRuntimeError,
        "The chunk size of a dynamic SNode must be a positive integer, got {value}",
    ),
    "companions_are_not_placed": (
        TaichiRuntimeError,
        "These field(s) require `needs_{kind}=True`, however their {kind} field(s) are not "
        "placed:\n"
        "{places}\n"
        "(give a shape, or place the {kind} field(s), as ti.root.dense(ti.i, 1).place(x.{kind}))",
    ),
    "components_of_other_compute_types": (
        TaichiRuntimeError,
        "Member fields of a matrix field must have the same compute type",
    ),
    "components_of_other_shapes": (
        TaichiRuntimeError,
        "Members of the following field have different shapes {shapes}: {title}",
    ),
    "container_of_too_many_cells": (
        TaichiRuntimeError,
        "a container of {cells} cells; below and in sparse SNodes at most 2**31-1 are possible",
    ),
    "d_ndarray_indexed_with_d_indices": (
        TaichiIndexError,
        "{ndim}d ndarray indexed with {got}d indices: {indices}",
    ),
    "deactivate_all_of_open_builder": (
        str,
        "'deactivate_all()' would do nothing if FieldsBuilder is not finalized",
    ),
    "deactivate_all_of_root": (
        str,
        "'ti.root.deactivate_all()' would deactivate all finalized snodes.",
    ),
    "detected_illegal_element_type_please_aware": (
        TypeError,
        "Detected illegal element of type: {kind}. Please be aware that slicing a "
        "ti.field is not supported so far.",
    ),
    "dimension_field_must_integer_got": (
        TypeError,
        "a dimension of a field must be an integer, got {value!r}",
    ),
    "dimensionality_shape_and_offset_must_same": (
        TaichiSyntaxError,
        "The dimensionality of shape and offset must be the same ({dim} != {got})",
    ),
    "dimensionality_shape_and_order_must_same": (
        TaichiSyntaxError,
        "The dimensionality of shape and order must be the same ({dim} != {got})",
    ),
    "does_not_fit_element_type": (
        TypeError,
        "{value} does not fit an element of type {dtype} of {title}",
    ),
    "dynamic_snode_has_one_axis": (TaichiRuntimeError, "a dynamic SNode has one axis"),
    "dynamic_snode_needs_axis_of_its_own": (
        TaichiRuntimeError,
        "Dynamic SNode must have a standalone dimensionality.",
    ),
    "elements_of_unsupported_dtype": (
        AssertionError,
        "arrays of dtype {dtype} are not supported",
    ),
    "every_dimension_taichi_field_should_positive": (
        TaichiRuntimeError,
        "Every dimension of a Taichi field should be positive, got {extent} in "
        "dimension {position}.",
    ),
    "expected_but_provided": (TypeError, "{needed} expected, but {kind} provided"),
    "field_and_numpy_array_shapes_differ": (
        ValueError,
        "ti.field shape {shape} does not match the numpy array shape {got}",
    ),
    "field_and_source_shapes_differ": (
        ValueError,
        "ti.field shape {shape} does not match the source field shape {got}",
    ),
    "field_cannot_use_its_places": (
        TaichiRuntimeError,
        "{title} cannot have its places there: {reason}",
    ),
    "field_got_no_memory": (
        TaichiRuntimeError,
        "{title} has no memory: there was an error when it should have got some",
    ),
    "field_index_out_of_bounds": (
        IndexError,
        "index {index} is out of bounds for axis {axis} of {title}: {first} <= index < "
        "{end} (shape {shape})",
    ),
    "fieldsbuilder_finalized": (TaichiRuntimeError, "FieldsBuilder finalized"),
    "filled_with_other_shape": (AssertionError, "cannot fill: {what}"),
    "finalizing_empty_builder": (str, "Finalizing an empty FieldsBuilder!"),
    "get_addr_of_snode": (TaichiTypeError, "ti.get_addr takes a field, not {node!r}"),
    "gone_memory_ended_with_ti_reset": (
        TaichiRuntimeError,
        "{title} is gone: its memory ended with ti.reset(), ti.init() or destroy()",
    ),
    "gone_memory_was_given_back": (
        TaichiRuntimeError,
        "{title} is gone: its memory was given back",
    ),
    "has_been_placed_already": (TaichiRuntimeError, "{title} has been placed already"),
    "has_no_memory": (TaichiRuntimeError, "{title} has no memory"),
    "index_ndarray_must_integer_got": (
        TypeError,
        "an index of an ndarray must be an integer, got {index!r}",
    ),
    "invalid_axis": (TaichiSyntaxError, "Invalid axis {letter}"),
    "invalid_index_for": (IndexError, "invalid index {key!r} for {title}"),
    "is_active_needs_sparse_snode": (
        TaichiTypeError,
        "ti.is_active only works on pointer, hash or bitmasked nodes.",
    ),
    "matrix_field_and_numpy_array_shapes_differ": (
        ValueError,
        "ti.Matrix.field shape {shape} with elements {element_shape} does not match "
        "the numpy array shape {got}",
    ),
    "maximum_dynamic_snode_cannot_exceed_maximum": (
        TaichiRuntimeError,
        "The maximum {name} of a dynamic SNode cannot exceed the maximum value of a "
        "32-bit signed integer: Got {value} > 2**31-1",
    ),
    "members_struct_field_cannot_replaced": (
        AttributeError,
        "the members of a struct field cannot be replaced",
    ),
    "mismatch_shape_expected_but_provided": (
        ValueError,
        "Mismatch shape: {full} expected, but {got} provided",
    ),
    "ndarray_is_read_only": (
        ValueError,
        "{title} is read-only, as the array whose memory it shares",
    ),
    "ndarray_index_out_of_bounds": (
        IndexError,
        "index {index} is out of bounds for axis {axis} of {title}: 0 <= index < "
        "{extent} (shape {shape})",
    ),
    "ndarrays_structs_are_not_supported_yet": (
        TaichiRuntimeError,
        "ndarrays of structs are not supported yet",
    ),
    "no_memory_for_element": (TaichiRuntimeError, "{reason}; needed for an element of {title}"),
    "no_memory_for_fields": (TaichiRuntimeError, "{reason}; needed for {fields}"),
    "no_snode": (TaichiTypeError, "ti.{name} takes an SNode or a field, not {value}"),
    "not_supported_as_ndarray_element_type": (
        TaichiRuntimeError,
        "{dtype} is not supported as ndarray element type",
    ),
    "not_supported_for_field_with_needs_grad": (
        TaichiRuntimeError,
        "{dtype} is not supported for field with `needs_grad=True` or `needs_dual=True`.",
    ),
    "not_supported_for_ndarray_with_needs_grad": (
        TaichiRuntimeError,
        "{dtype} is not supported for ndarray with `needs_grad=True` or `needs_dual=True`.",
    ),
    "not_valid_shape_for_ndarray": (
        TaichiRuntimeError,
        "{extents} is not a valid shape for ndarray",
    ),
    "nothing_can_added_below_place": (TaichiRuntimeError, "nothing can be added below a place"),
    "offset_must_be_integer": (
        TypeError,
        "the offset of a field along an axis must be an integer, got {value!r}",
    ),
    "only_in_kernels": (TaichiRuntimeError, "ti.{name} can only be called inside a kernel"),
    "operation_on_snode": (
        TaichiRuntimeError,
        "The {name} operation is not supported on {kind} SNode",
    ),
    "placed_by_fieldsbuilder_that_has_not": (
        TaichiRuntimeError,
        "{title} is placed by a FieldsBuilder that has not been finalized",
    ),
    "placed_with_offset_of_other_dimensionality": (
        TaichiRuntimeError,
        "The dimensionality of shape and offset must be the same ({axes} != {got})",
    ),
    "bitpacked_is_no_field": (
        TaichiTypeError,
        "BitpackedFields take fields of quantised types, not {value}",
    ),
    "bits_out_of_range": (
        TaichiRuntimeError,
        "{name} of a quantised type must be {least} to {most} bits, not {bits}",
    ),
    "exponent_shared_by_one": (
        TaichiSyntaxError,
        "At least 2 fields need to be placed when shared_exponent=True",
    ),
    "fixed_point_computed_in": (
        TaichiRuntimeError,
        "fixed-point numbers compute in f32 or f64, not {compute}",
    ),
    "fixed_point_option_is_no_number": (
        TaichiTypeError,
        "{name} of fixed-point numbers must be a number, not {value!r}",
    ),
    "floats_of_few_bits_computed_in": (
        TaichiRuntimeError,
        "quantised floats compute in f32, not {compute}",
    ),
    "not_quantised_in_word": (
        TaichiRuntimeError,
        "{title} is in a {kind}, so its type must be a quantised one",
    ),
    "nothing_is_bitpacked": (TaichiRuntimeError, "BitpackedFields without fields are placed"),
    "number_of_bits_is_no_integer": (
        TaichiTypeError,
        "{name} of a quantised type must be a number of bits, not {bits!r}",
    ),
    "only_fields_in_words": (TaichiRuntimeError, "a {kind} holds fields alone"),
    "quant_array_holds_one_field": (
        TaichiRuntimeError,
        "a quant_array holds one scalar field, so {title} does not fit",
    ),
    "quant_array_of_floats": (
        TaichiRuntimeError,
        "a quant_array holds quantised integers or fixed-point numbers; {title} is one of floats",
    ),
    "quantised_integers_in_floats": (
        TaichiRuntimeError,
        "quantised integers compute in an integer type, not {compute}",
    ),
    "quantised_outside_word": (
        TaichiRuntimeError,
        "{title} is of the quantised type {dtype}: place it by ti.BitpackedFields or below a"
        " quant_array",
    ),
    "scale_is_no_number": (
        TaichiRuntimeError,
        "the scale of fixed-point numbers must be finite and not 0, got {scale}",
    ),
    "shared_exponents_differ": (
        TaichiRuntimeError,
        "numbers with a shared exponent have exponents of one size: {title} has {got} bits, those"
        " before {bits}",
    ),
    "types_of_other_number": (
        TaichiRuntimeError,
        "{got} types for the {count} components of a matrix field",
    ),
    "word_of_other_bits": (
        TaichiRuntimeError,
        "a word of quantised numbers has 8, 16, 32 or 64 bits, not {bits}",
    ),
    "word_overflows": (
        TaichiRuntimeError,
        "{what} overflows: {used} bits used out of {bits}",
    ),
    "rescale_index_of_no_field": (
        AssertionError,
        "The {which} argument must be a field or an SNode",
    ),
    "shape_cannot_none_when_offset_set": (
        TaichiSyntaxError,
        "shape cannot be None when offset is set",
    ),
    "shape_cannot_none_when_order_set": (
        TaichiSyntaxError,
        "shape cannot be None when order is set",
    ),
    "shape_with_elements_does_not_match": (
        AssertionError,
        "shape {shape} with elements {element_shape} does not match the source's {got} "
        "with {got_element}",
    ),
    "slicing_not_supported_on_ti_field": (
        AssertionError,
        "Slicing is not supported on ti.field: {count} indices needed, got {key!r}",
    ),
    "snode_index_must_be_integer": (
        TaichiTypeError,
        "indices must be integers, however '{type}' is provided as index {position}",
    ),
    "snode_indexed_with": (TaichiRuntimeError, "{node} has {count} indices. Indexed with {got}."),
    "snode_is_gone": (
        TaichiRuntimeError,
        "the SNode '{node}' is gone: its memory ended with ti.reset(), ti.init() or destroy()",
    ),
    "snode_is_not_dynamic": (TaichiTypeError, "ti.{name} only works on dynamic nodes."),
    "snode_not_finalized": (
        TaichiRuntimeError,
        "the SNode '{node}' belongs to a FieldsBuilder that has not been finalized",
    ),
    "snode_tree_has_been_destroyed": (TaichiRuntimeError, "SNode tree has been destroyed"),
    "snode_without_children": (
        TaichiRuntimeError,
        "{kind} node must have at least one child. ({node})",
    ),
    "snodes_nested_too_deep": (TaichiRuntimeError, "SNodes can be nested {limit} deep at most"),
    "sparse_grid_of_other_dimensions": (Exception, "Only 2D and 3D sparse grids are supported"),
    "struct_field_has_no_member": (
        AttributeError,
        "the struct field has no member '{name}'.{hint}",
    ),
    "field_has_no_option": (TypeError, "{what} has no parameter '{name}'.{hint}"),
    "struct_for_only_available_taichi_scope": (
        NotImplementedError,
        "Struct for is only available in Taichi scope.",
    ),
    "tensor_of_other_type": (ValueError, "the tensor's elements are {got}, not {wanted}"),
    "there_are_axes_got_axis": (TaichiRuntimeError, "there are {limit} axes, got axis {number}"),
    "these_field_s_are_not_placed": (
        TaichiRuntimeError,
        "These field(s) are not placed:\n"
        "{places}\n"
        "(give a shape, or place the field below ti.root)",
    ),
    "type_cannot_element_type": (
        TypeError,
        "{value!r} of type {kind} cannot be an element of type {dtype} of {title}",
    ),
    "value_cannot_be_placed": (ValueError, "{arg} cannot be placed"),
    "value_not_of_shape": (ValueError, "{value!r} is not of shape {shape}"),
}
