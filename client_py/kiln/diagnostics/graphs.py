"""Errors of graphs (ti.graph)."""

from ..errors import TaichiCompilationError, TaichiRuntimeError

ROWS = {
    "capture_failed": (
        TaichiRuntimeError,
        "the graph cannot be used, because a call in its `with` block failed: {reason}",
    ),
    "capture_inside": (TaichiRuntimeError, "a graph cannot be captured inside of {what}"),
    "graph_appends_no_sequential": (
        TypeError,
        "`append` takes what `create_sequential` of a graph builder returns, got {kind}",
    ),
    "graph_argument_element_shape": (
        TaichiRuntimeError,
        "The element_shape argument for ndarray is deprecated in v1.6.0, and it is removed in "
        "v1.7.0. Please use vector or matrix data type instead.",
    ),
    "graph_argument_field_dim": (
        str,
        "The field_dim argument for ndarray will be deprecated in v1.6.0, use ndim instead.",
    ),
    "graph_argument_for_template": (
        TaichiCompilationError,
        "the argument '{argument}' of a graph cannot stand for parameter '{parameter}' of kernel "
        "'{kernel}'; give dispatch the value itself",
    ),
    "graph_argument_lacks": (
        TaichiRuntimeError,
        "a graph argument of kind {kind} needs a value for '{name}'",
    ),
    "graph_argument_name": (TaichiRuntimeError, "name must be a string, but found {kind}."),
    "graph_argument_name_twice": (RuntimeError, "An arg with name {name} already exists!"),
    "graph_argument_of_other_dtype": (
        TaichiCompilationError,
        "Arg {name}'s dtype {dtype} doesn't match kernel's annotated dtype={needed}",
    ),
    "graph_argument_of_other_ndim": (
        TaichiCompilationError,
        "{ndim} from Arg {name} doesn't match kernel's annotated ndim={needed}",
    ),
    "graph_argument_of_two_dims": (
        TaichiRuntimeError,
        "field_dim is deprecated, please do not specify field_dim and ndim at the same time.",
    ),
    "graph_argument_of_wrong_kind": (
        TaichiCompilationError,
        "the argument '{argument}' of a graph cannot stand for parameter '{parameter}' of kernel "
        "'{kernel}'",
    ),
    "graph_argument_property": (
        TaichiRuntimeError,
        "Invalid argument: {name}, you can only create a graph argument with: {allowed}",
    ),
    "graph_argument_without_kind": (
        TaichiRuntimeError,
        "tag must be a ArgKind variant, but found {kind}.",
    ),
    "graph_matrix_argument_of_other_shape": (
        RuntimeError,
        "Matrix dimension mismatch, expected {needed} but dispatched shape {got}.",
    ),
    "graph_matrix_of_other_shape": (
        TaichiRuntimeError,
        "the graph's argument '{argument}': {error}",
    ),
    "graph_matrix_of_scalar_type": (
        TaichiRuntimeError,
        "Tag ArgKind.MATRIX must specify matrix type, but got {dtype}.",
    ),
    "graph_ndarray_of_other_dtype": (
        RuntimeError,
        "Dispatch node is compiled for argument {name} with dtype={needed} but got an ndarray with "
        "dtype={got}",
    ),
    "graph_ndarray_of_other_elements": (
        RuntimeError,
        "Dispatch node is compiled for argument {name} with element_shape={needed} but got an "
        "ndarray with element_shape={got}",
    ),
    "graph_ndarray_of_other_ndim": (
        RuntimeError,
        "Dispatch node is compiled for argument {name} with field_dim={needed} but got an ndarray "
        "with field_dim={got}",
    ),
    "graph_texture_of_other_format": (
        RuntimeError,
        "the graph's argument {name} is a texture of format {needed}, got one of {got}",
    ),
    "graph_texture_of_other_ndim": (
        RuntimeError,
        "the graph's argument {name} is a texture with {needed} axes, got one with {got}",
    ),
    "graph_captured_twice": (
        TaichiRuntimeError,
        "a graph is captured once: `ti.graph.capture()` makes another one",
    ),
    "graph_copies_array": (
        TaichiRuntimeError,
        "a captured graph cannot have the call of kernel '{kernel}', which works on a copy of the "
        "array '{name}': pass an ndarray, or an array that is on the device in the type and order "
        "that the kernel needs",
    ),
    "graph_failed": (TaichiRuntimeError, "the launch of a captured graph failed: {reason}"),
    "graph_launched_inside": (TaichiRuntimeError, "a graph cannot be launched inside of {what}"),
    "graph_not_captured": (
        TaichiRuntimeError,
        "the graph has no launches yet: its `with` block has not ended, or ended with an error",
    ),
    "graph_of_kernel_that_prints": (
        TaichiRuntimeError,
        "a captured graph cannot have a call of kernel '{kernel}', which prints: the program would "
        "have to wait for it",
    ),
    "graph_of_kernel_that_returns": (
        TaichiRuntimeError,
        "a captured graph cannot have a call of kernel '{kernel}', which returns a value: have it "
        "write to a field or an ndarray instead",
    ),
    "graph_of_no_kernel": (TypeError, "`dispatch` takes a kernel, got {kind}"),
    "graph_outlived_its_fields": (
        TaichiRuntimeError,
        "the graph uses memory that ended with ti.init(), ti.reset() or its SNode tree: capture it "
        "again",
    ),
    "graph_scalar_of_matrix_type": (
        TaichiRuntimeError,
        "Tag ArgKind.SCALAR must specify a scalar type, but found {kind}.",
    ),
    "graph_value_is_missing": (
        RuntimeError,
        "the graph needs a value for its argument '{argument}'; the given names are {given}",
    ),
    "graph_value_of_wrong_type": (
        TaichiRuntimeError,
        "the graph's argument '{argument}' cannot take a value of type {kind}",
    ),
    "not_in_capture": (
        TaichiRuntimeError,
        "{name} cannot be part of a captured graph, which has only calls of kernels: use it before "
        "or after the `with` block",
    ),
}
