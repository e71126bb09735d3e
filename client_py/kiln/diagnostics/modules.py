"""Errors of exported modules (ti.aot)."""

from ..errors import (
    TaichiAssertionError,
    TaichiCompilationError,
    TaichiRuntimeError,
)

ROWS = {
    "export_archive_name": (
        ValueError,
        "the archive of a module ends in .tcm, got '{path}'",
    ),
    "export_for_other_arch": (
        str,
        "modules are for ti.cpu and ti.cuda; arch={arch} is ignored",
    ),
    "export_of_array_without_type": (
        TaichiCompilationError,
        "cannot export kernel '{name}': the annotation of '{parameter}' does not say its type; "
        "write ti.types.ndarray(dtype=…, ndim=…), or pass template_args={{'{parameter}': …}}",
    ),
    "export_of_graph_with_constant": (
        TaichiCompilationError,
        "cannot export launch '{name}': the graph passes a value for '{parameter}', and modules "
        "hold only numbers; make it an argument of the graph",
    ),
    "export_of_graph_with_pack": (
        TaichiCompilationError,
        "cannot export launch '{name}': its kernel takes an argument pack",
    ),
    "export_of_no_field": (TypeError, "field '{name}' of a module: a field expected, got {kind}"),
    "export_of_no_graph": (TypeError, "graph '{name}' of a module: a graph expected, got {kind}"),
    "export_of_no_kernel": (TypeError, "only kernels can be exported, got {kind}"),
    "export_of_nothing": (
        RuntimeError,
        "the module has no kernels: mark them with @ti.aot.export, or add them with add_kernel",
    ),
    "export_of_taken_name": (RuntimeError, "the module has '{name}' already; pass another name"),
    "export_of_template_without_value": (
        TaichiCompilationError,
        "cannot export kernel '{name}': its parameter '{parameter}' is a ti.template(); pass "
        "template_args={{'{parameter}': …}}",
    ),
    "export_of_unknown_parameter": (
        TaichiCompilationError,
        "cannot export kernel '{name}': it has no parameter '{parameter}'; it has {known}",
    ),
    "export_of_unknown_template_value": (
        RuntimeError,
        "'{parameter}' takes a number or a field that was added to the module, got {kind}",
    ),
    "export_of_unsupported_parameter": (
        TaichiCompilationError,
        "cannot export kernel '{name}': its parameter '{parameter}' is a {needed}",
    ),
    "export_to_path_without_name": (
        ValueError,
        "'{path}': the file's name, up to its first '.', has to be a Python name, or pass a name",
    ),
    "loaded_module_has_no_attribute": (
        AttributeError,
        "module '{module}' has no kernel, field or graph '{name}'; it has {known}",
    ),
    "module_argument": (TaichiRuntimeError, "{text}"),
    "module_does_not_fit": (RuntimeError, "{text}"),
    "module_field_of_other_shape": (
        ValueError,
        "field '{name}' of the module has the shape {shape}, the array {got}",
    ),
    "module_for_other_arch": (
        ValueError,
        "modules run on ti.cpu and ti.cuda, arch={arch} is neither",
    ),
    "module_is_damaged": (ValueError, "{text}"),
    "module_is_not_trusted": (PermissionError, "{path}: no trusted key vouches for it: {why}"),
    "module_kernel_failed": (TaichiAssertionError, "{text}"),
    "module_unavailable": (OSError, "{text}"),
    "module_without_trusted_keys": (ValueError, "trusted=: no file with public keys is named"),
}
