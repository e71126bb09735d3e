"""Errors of derivatives: tapes, forward mode, gradients of fields and arrays."""

from ..errors import TaichiCompilationError, TaichiRuntimeError, TaichiSyntaxError

ROWS = {
    "access_error": (RuntimeError, "{text}"),
    "array_without_gradient": (
        TaichiSyntaxError,
        "the array '{name}' has no gradient. Make it with ti.ndarray(…, needs_grad=True)",
    ),
    "arrays_of_derivative_overlap": (
        TaichiRuntimeError,
        "kernel '{kernel}': its derivative needs arrays of memory of their own, but the arguments "
        "'{name}' and '{other}' share memory",
    ),
    "checkpoint_count": (
        ValueError,
        "`{name}` of ti.ad.checkpoint must be an integer of at least {least}, got {value}",
    ),
    "checkpoint_differs": (
        RuntimeError,
        "steps of ti.ad.checkpoint ran again and left other values in {title}. `state` must name "
        "all that a step takes over from the one before, and what steps read must not change",
    ),
    "checkpoint_of_sparse_field": (
        TypeError,
        "`state` of ti.ad.checkpoint names {title}, which is sparse; only dense fields can be "
        "restored",
    ),
    "checkpoint_overwrites": (
        RuntimeError,
        "steps of ti.ad.checkpoint overwrite {title}, which kernel '{kernel}' used before the "
        "loop. Add it to `state`",
    ),
    "checkpoint_state_of_wrong_type": (
        TypeError,
        "`state` of ti.ad.checkpoint must name fields and ndarrays, got {kind}",
    ),
    "checkpoint_takes_over": (
        RuntimeError,
        "a step of ti.ad.checkpoint reads {title}, which an earlier step has written. Add it to "
        "`state`",
    ),
    "checkpoint_without_state": (
        TypeError,
        "`state` of ti.ad.checkpoint must be a list of the fields and ndarrays that a step takes "
        "over from the one before",
    ),
    "breaks_the_access_rule": (
        str,
        "Breaks the global data access rule. Snode {title} is overwritten unexpectedly.",
    ),
    "companion_below_other_snodes": (
        TaichiCompilationError,
        "'{name}' must be placed below sparse SNodes if and only if {title} is",
    ),
    "companion_of_other_shape": (
        TaichiCompilationError,
        "{title} has shape {shape}, but '{name}' has shape {got} or another offset",
    ),
    "derivative_of_quantised_field": (
        TaichiCompilationError,
        "{title} is quantised: kernels with gradients of it are not supported",
    ),
    "converted_array_has_gradient": (
        ValueError,
        "Argument {name} of dtype {dtype} has a gradient, but the kernel needs dtype {needed}; "
        "convert the array before the call",
    ),
    "field_without_dual": (
        RuntimeError,
        "{title} has no dual, please use ti.field(..., needs_dual=True) for all fields that are "
        "required by FwdMode.",
    ),
    "field_without_second_derivatives": (
        RuntimeError,
        "{title} has a gradient, but no dual, so its second derivatives would be lost; make it "
        "with needs_grad=True and needs_dual=True",
    ),
    "forward_mode_entered_twice": (
        AssertionError,
        "Forward mode manager can be entered only once.",
    ),
    "forward_mode_not_entered": (
        AssertionError,
        "Before recover the kernels, fwd mode manager must be entered.",
    ),
    "forward_mode_of_no_field": (
        AssertionError,
        "`loss` and `param` of FwdMode must be fields, got {kind}",
    ),
    "forward_mode_without_seed": (
        RuntimeError,
        "`seed` is not set for non 0-D field, please specify. `seed` is a list to specify which "
        "parameters the computed derivatives respect to. The length of the `seed` should be same "
        "to that of the `parameters`",
    ),
    "grad_check_failed": (
        AssertionError,
        "Grad check failed: Not all variables pass grad check",
    ),
    "grad_check_is_no_list": (
        AssertionError,
        "grad_check should be a list of fields that need to check gradients.",
    ),
    "grad_check_needs_f64": (AssertionError, "Only f64 is supported when checking grad."),
    "gradient_differs": (
        AssertionError,
        "the gradient of {title} differs from finite differences by {error:.2g}, more than "
        "{tolerance:g}",
    ),
    "gradient_is_not_placed": (
        RuntimeError,
        "Gradient {name} has not been placed, check whether `needs_grad=True`",
    ),
    "gradient_of_array_of_other_form": (
        ValueError,
        "Argument {name} has shape {shape} and dtype {dtype}, but its gradient is {got} of shape "
        "{got_shape} and dtype {got_dtype}",
    ),
    "gradients_evaluated_twice": (
        AssertionError,
        "Gradients of grad can be evaluated only once.",
    ),
    "gradient_of_tensor_of_wrong_type": (
        ValueError,
        "Expecting torch.Tensor for gradient tensor, but getting {kind} instead",
    ),
    "loss_field_without_gradient": (
        RuntimeError,
        "Gradients of loss are not allocated, please use ti.field(..., needs_grad=True) for all "
        "fields that are required by autodiff.",
    ),
    "loss_is_no_ndarray_of_one": (
        RuntimeError,
        "The loss of `Tape` must be an ndarray with only one element",
    ),
    "loss_is_no_scalar": (RuntimeError, "The loss of `Tape` must be a 0-D field, i.e. scalar"),
    "loss_is_no_tensor_of_one": (
        RuntimeError,
        "The loss of `Tape` must be a tensor only contains one element",
    ),
    "loss_ndarray_without_gradient": (
        RuntimeError,
        "Gradients of loss are not allocated, please set needs_grad=True for all ndarrays that are "
        "required by autodiff.",
    ),
    "loss_of_wrong_type": (
        TypeError,
        "The loss of `Tape` must be a field, an ndarray or a tensor, got {kind}",
    ),
    "loss_tensor_without_gradient": (
        RuntimeError,
        "Gradients of loss are not allocated, please set requires_grad=True for all tensors that "
        "are required by autodiff.",
    ),
    "non_contiguous_gradient_tensors_are_not": (
        ValueError,
        "Non contiguous gradient tensors are not supported, please call tensor.grad.contiguous() "
        "before passing it into taichi kernel.",
    ),
    "primal_is_no_python_function": (
        RuntimeError,
        "Primal function must be a **python** function instead of a taichi kernel. Please wrap the "
        "taichi kernel in a @ti.ad.grad_replaced decorated python function instead.",
    ),
    "primal_is_not_replaced": (
        RuntimeError,
        "Primal function `{name}` must be decorated by ti.ad.grad_replaced",
    ),
    "read_after_overwrite": (
        str,
        "gradients may be wrong: the gradient of kernel '{reader}' reads memory again{read}, which "
        "{writer} may have overwritten{written}. Give each launch cells of its own, or copy what "
        "is overwritten. Tape(access='error') makes this an error, 'ignore' silences it",
    ),
    "replaced_gradient_is_missing": (
        RuntimeError,
        "Function '{name}' is decorated by ti.ad.grad_replaced, but no ti.ad.grad_for gives its "
        "gradient",
    ),
    "second_derivative_of_a_function": (
        RuntimeError,
        "'{name}' has no second derivatives: ti.ad.hvp takes functions that run kernels, without "
        "gradients of their own",
    ),
    "second_derivative_of_an_array": (
        RuntimeError,
        "arrays have no second derivatives: use fields, or pass arrays without gradients",
    ),
    "second_derivative_of_no_field": (
        TypeError,
        "ti.ad.hvp takes fields, got {kind}",
    ),
    "seed_of_other_length": (
        AssertionError,
        "`seed` has {got} numbers, but `param` has {count}",
    ),
    "seeds_of_other_number": (
        AssertionError,
        "`seed` has {got} lists, but `param` names {count} fields",
    ),
    "step_overwrites_sparse_field": (
        RuntimeError,
        "a step of ti.ad.checkpoint overwrites {title} after one of its kernels has used it. Only "
        "dense fields can be restored for the gradient",
    ),
    "step_writes_elements": (
        RuntimeError,
        "in a step of ti.ad.checkpoint, Python writes single elements of {title}. Tapes do not "
        "record such writes; use `fill`, `from_numpy` or a kernel",
    ),
    "tape_entered_twice": (AssertionError, "Tape can be entered only once."),
    "tape_not_entered": (
        AssertionError,
        "Before evaluating gradients tape must be entered.",
    ),
    "tapes_do_not_nest": (
        RuntimeError,
        "Tape and FwdMode cannot be entered inside another Tape or FwdMode",
    ),
    "tape_limit_is_no_number": (
        ValueError,
        "KILN_TAPE_MB={text}: expected a number of megabytes, at least 1",
    ),
    "through_a_gradient_of_an_array": (
        RuntimeError,
        "Cannot automatically differentiate through a grad tensor, if you really want to do that, "
        "pass the grad tensor into the kernel directly",
    ),
    "torch_argument_of_wrong_type": (
        TypeError,
        "argument '{name}' of '{kernel}' is of type {kind}. A function made by "
        "ti.ad.torch_function takes tensors for arrays, and for nothing else",
    ),
    "torch_function_differentiated_twice": (
        RuntimeError,
        "kernel '{kernel}' has no second derivatives: create_graph=True is not supported",
    ),
    "torch_function_in_a_tape": (
        RuntimeError,
        "'{kernel}' is differentiated by PyTorch, so it cannot be called inside a Tape or FwdMode; "
        "call the kernel itself there",
    ),
    "torch_function_of_no_kernel": (TypeError, "ti.ad.torch_function expects a kernel, got {kind}"),
    "torch_function_of_other_kernel": (
        TypeError,
        "ti.ad.torch_function cannot take kernel '{kernel}', which returns a result or has a "
        "parameter that is an argument pack",
    ),
    "torch_function_without_output": (
        TypeError,
        "`out` of ti.ad.torch_function must name the parameters of kernel '{kernel}' to which it "
        "writes, as {{'y': 'x'}} for an output 'y' of the form of 'x'",
    ),
    "torch_output_is_no_array": (
        ValueError,
        "`out` names '{name}', which is not an array among the parameters of kernel '{kernel}'."
        "{hint}",
    ),
    "torch_output_like_no_input": (
        ValueError,
        "output '{name}' is to be made as {like!r}, which is neither a function nor the name of an "
        "array among the inputs",
    ),
    "torch_output_shares_memory": (
        ValueError,
        "the tensor made for output '{name}' shares memory with '{other}'",
    ),
    "unknown_access": (
        ValueError,
        'Tape(access={access!r}): expected "warn", "error" or "ignore"',
    ),
    "validation_without_debug": (
        str,
        "Debug mode is disabled, autodiff valid check will not work. Please specify "
        "`ti.init(debug=True)` to enable the check.",
    ),
    "value_without_gradient": (
        RuntimeError,
        "a {kind} without a gradient cannot be differentiated; make it with needs_grad=True",
    ),
}
