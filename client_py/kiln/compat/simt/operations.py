"""Operations of GPU threads: nodes of kernels for CUDA, and errors elsewhere."""

from ... import _native, active, runtime
from ... import types as ti_types
from ...diagnostics import say
from ...frontend.expr import Expr

_BY_SCALAR = {dtype.scalar: dtype for dtype in ti_types.ALL}


def simt(room, name, *values):
    """The value of operation `name` of `room`, whose operands are `values`."""
    facts = _native.SIMT_OPS.get(f"{room}.{name}")
    if facts is None or runtime.cfg.arch != runtime.cuda:
        raise say.simt_operation_needs_a_gpu(room=room, name=name, arch=runtime.cfg.arch.name)
    ctx = active.context()
    if ctx is None:
        raise say.simt_operation_outside_kernels(room=room, name=name)
    number, result, wanted = facts
    operands = [
        _operand(ctx, f"{room}.{name}", position, value, _BY_SCALAR[scalar])
        for position, (value, scalar) in enumerate(zip(values, wanted))
    ]
    type_id = ctx.type_id(_BY_SCALAR[result]) if result else 0
    node = ctx.builder.append(_native.NODES["simt"], type_id, 0, operands, number)
    return Expr(ctx, node) if result else None


def _operand(ctx, operation, position, value, dtype):
    """The node of an operand, which has to be of the type. Literals get it if it has them, and
    truth values are numbers."""
    if type(value) is int and dtype.is_int and dtype.min() <= value <= dtype.max():
        return ctx.const(value, dtype).node
    if type(value) is float and dtype.is_float:
        return ctx.const(value, dtype).node
    found = ctx.value(ctx.expr(value))
    if not found.type.shape and found.type.dtype is ti_types.u1 and dtype is ti_types.i32:
        return ctx.cast(found, dtype).node
    if found.type.shape or found.type.dtype is not dtype:
        raise say.simt_operand_of_other_type(
            operation=operation, position=position + 1, wanted=dtype, got=found.type.name
        )
    return found.node


def absent(room, name):
    """A function that programs can name. A call raises an error: no device has the operation."""

    def call(*_args, **_options):
        return simt(room, name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Neither on the CPU nor on CUDA: `{name}` of a {room}'s threads."
    return call


__all__ = ["absent", "simt"]
