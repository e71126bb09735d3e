"""Binds a differentiated kernel to the gradients or duals of the fields and arrays that it uses."""

from .. import autodiff
from ..data.field import Field
from ..diagnostics import say
from .context import ArrayArgument

# How the kernel is differentiated -> the attribute of the companions that it takes.
_KINDS = {autodiff.REVERSE: "grad", autodiff.FORWARD: "dual"}


def differentiate(ctx, arguments):
    """Makes the kernel under construction compute derivatives, as ctx.autodiff says. arguments: the
    values of the kernel's parameters."""
    if ctx.autodiff == autodiff.SECOND:
        _differentiate_twice(ctx, arguments)
        return
    ctx.builder.differentiate(ctx.autodiff)
    kind = _KINDS[ctx.autodiff]
    connect = ctx.builder.set_gradient if kind == "grad" else ctx.builder.set_dual
    if kind == "grad":
        for argument in arguments:
            if argument.__class__ is ArrayArgument and _has_grad(argument):
                if argument._grad is not None:
                    raise say.through_a_gradient_of_an_array()
                connect(argument.param, argument.grad.param)
    for param, (source, bound) in list(ctx.bindings):
        if source != "field" or not isinstance(bound, Field):
            continue
        companion = _companion(ctx, bound, kind)
        if companion is not None:
            connect(param, ctx.param_of(companion))


def _differentiate_twice(ctx, arguments):
    """Gradients, and the duals of fields and of their gradients."""
    ctx.builder.differentiate(autodiff.REVERSE)
    ctx.builder.differentiate(autodiff.FORWARD)
    for argument in arguments:
        if argument.__class__ is ArrayArgument and _has_grad(argument):
            raise say.second_derivative_of_an_array()
    for param, (source, bound) in list(ctx.bindings):
        if source != "field" or not isinstance(bound, Field):
            continue
        grad, dual = _companion(ctx, bound, "grad"), _companion(ctx, bound, "dual")
        if grad is None:
            continue
        of_grad = None if dual is None else _companion(ctx, grad, "dual")
        if of_grad is None:
            raise say.field_without_second_derivatives(title=bound._title())
        ctx.builder.set_gradient(param, ctx.param_of(grad))
        ctx.builder.set_dual(param, ctx.param_of(dual))
        ctx.builder.set_dual(ctx.param_of(grad), ctx.param_of(of_grad))


def _has_grad(argument):
    return argument.make_grad is not None and argument.dtype.is_float


def _companion(ctx, field, kind):
    """The placed companion of a field; None without one. Recorded in the trace."""
    # A part of a field in several words has the companion of the whole.
    whole = getattr(field, "_shares", field) if field._is_quantised() else field
    found = getattr(whole, kind)
    if ctx.trace is not None:
        ctx.trace.attribute(whole, kind, found, ctx.trace.describe.objects[0])
    if found is None or None in found._places:
        return None
    if whole._is_quantised():
        raise say.derivative_of_quantised_field(title=whole._title())
    whole._check_companion(found)
    return found


__all__ = ["differentiate"]
