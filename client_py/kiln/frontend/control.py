"""Handlers for if, while, break, continue, return, and statements without effect."""

import _ast

from .. import types as ti_types
from ..diagnostics import say
from . import report
from .call import is_static_call
from .expr import OPS, Expr
from .struct_value import return_struct
from .transformer import BREAK, CONTINUE, ENDED, HANDLERS, RETURNED, Loop

_NOT = OPS["logical_not"]


def if_(t, node):
    test = t.visit(node.test)
    if test.__class__ is not Expr:
        # The condition is known at compile time, so one branch replaces the statement. Without
        # `ti.static`, its loops stay serial, as loops in an `if` are.
        selected = not is_static_call(t, node.test)
        t.ctx.selected += selected
        t.block(node.body if test else node.orelse)
        t.ctx.selected -= selected
        return
    if test.type.shape:
        raise say.truth_value_of_tensor_is_ambiguous()
    builder = t.builder
    t.at(node.test)
    builder.begin_if(test.node)
    # Remembered for `break` and `continue` of unrolled loops, which a condition of run time cannot
    # decide.
    loop = t.loops[-1] if t.loops else None
    if loop is not None:
        outer, loop.dynamic_if = loop.dynamic_if, node
    t.runtime_block(node.body)
    if node.orelse:
        builder.else_()
        t.runtime_block(node.orelse)
    if loop is not None:
        loop.dynamic_if = outer
    builder.end()


def while_(t, node):
    if node.orelse:
        raise say.else_clause_for_while_not_supported()
    builder, ctx = t.builder, t.ctx
    t.at(node)
    builder.begin_while()
    t.loops.append(Loop(False))
    ctx.depth += 1
    mark = len(t.undo)
    test = t.visit(node.test)
    if test.__class__ is Expr:
        if test.type.shape:
            raise say.truth_value_of_tensor_is_ambiguous()
        t.at(node.test)
        # The condition is part of the body, because its code must run in each iteration.
        builder.begin_if(ctx.unary(_NOT, test).node)
        builder.break_()
        builder.end()
    # False at compile time: a loop that ends at once, but is emitted, as its test may have had
    # effects.
    elif not test:
        builder.break_()
    if test.__class__ is Expr or test:
        t.runtime_block(node.body)
    t.leave(mark)
    ctx.depth -= 1
    t.loops.pop()
    builder.end()


def break_(t, node):
    loop = _loop(t, "break")
    if loop.is_static:
        _refuse_dynamic_if(t, loop, "break")
        t.status = BREAK
        return
    if loop.is_parallel:
        raise say.cannot_break_outermost_loop()
    t.at(node)
    t.builder.break_()
    t.status = ENDED


def continue_(t, node):
    loop = _loop(t, "continue")
    if loop.is_static:
        _refuse_dynamic_if(t, loop, "continue")
        t.status = CONTINUE
        return
    t.at(node)
    t.builder.continue_()
    t.status = ENDED


def _loop(t, what):
    if not t.loops:
        raise say.jump_outside_loop(what=what)
    return t.loops[-1]


def _refuse_dynamic_if(t, loop, what):
    if loop.dynamic_if is not None:
        place = report.position(t.source, loop.dynamic_if.test)
        raise say.jump_of_static_loop_inside_dynamic_if(place=place, what=what)


def return_(t, node):
    if t.is_real:
        return _return_from_real(t, node)
    # The result of an inlined func has to be known at one place of its caller. Kernels follow the
    # same rule.
    if t.dynamic:
        raise say.return_inside_non_static_if_for()
    as_address = t.as_address and not t.returns
    value = None
    if node.value is not None:
        value = t.address(node.value) if as_address else t.visit(node.value)
    if value is None and t.is_kernel and t.returns:
        raise say.kernel_returns_nothing()
    t.at(node)
    if value is not None:
        if t.is_kernel:
            _return_from_kernel(t, value)
        else:
            t.result = value if as_address else _converted_result(t, value)
    t.status = RETURNED


def _return_from_real(t, node):
    """Emits a return of a real function, which may have several, anywhere."""
    value = None if node.value is None else t.visit(node.value)
    if value is None and t.returns:
        raise say.function_returns_nothing()
    if value is not None and not t.returns:
        raise say.function_with_return_value_must_annotated()
    t.at(node)
    t.builder.return_([] if value is None else _result_nodes(t, value, "function"))
    # Only says that there is one; the callee's function returns the values.
    t.result = True
    t.status = ENDED


def _converted_result(t, value):
    """The result of a func, with scalars cast to the annotated types."""
    if not t.returns:
        return t.loaded(value)
    if len(t.returns) == 1:
        return _converted_one(t, value, t.returns[0])
    return tuple(_converted_one(t, v, r) for v, r in zip(value, t.returns))


def _converted_one(t, value, of):
    if of.__class__ is ti_types.DType or of in (int, float, bool):
        return t.ctx.cast(value, ti_types.cook_dtype(of))
    return t.loaded(value)


def _return_from_kernel(t, value):
    if not t.returns:
        raise say.kernel_with_return_value_must_annotated()
    t.builder.return_(_result_nodes(t, value, "kernel"))


def _result_nodes(t, value, kind):
    values = [value] if len(t.returns) == 1 else value
    if not isinstance(values, (list, tuple)) or len(values) != len(t.returns):
        raise say.returns_other_number_of_values(kind=kind, count=len(t.returns), value=value)
    return [_result_node(t, v, r) for v, r in zip(values, t.returns)]


def _result_node(t, value, of):
    ctx = t.ctx
    if isinstance(of, ti_types.MatrixType):
        value = ctx.expr(value)
        info = value.type
        if not info.shape:
            raise say.result_not_convertible(needed=of.to_string(), got=info.name)
        # Cutting off fractions without a word would be a wrong result.
        if of.dtype is not None and of.dtype.is_int and info.dtype.is_float:
            raise say.result_not_convertible(needed=of.dtype.to_string(), got=info.dtype)
        ti_types.check_return_shape(of, info.shape)
        return value.node
    if of.__class__ is ti_types.DType or of in (int, float, bool):
        value = ctx.expr(value)
        info = value.type
        if info.shape or info.members:
            raise say.result_not_convertible(needed=of, got=info.name)
        return value.node
    return return_struct(ctx, value, of)


def expression_statement(t, node):
    if node.value.__class__ is not _ast.Constant:  # a docstring
        t.visit(node.value)


def nothing(t, node):
    pass


def function_definition(t, node):
    kind = "kernel" if t.is_kernel else "func"
    raise say.function_definition_not_allowed_ti(kind=kind)


HANDLERS.update(
    {
        _ast.Break: break_,
        _ast.Continue: continue_,
        _ast.Expr: expression_statement,
        _ast.FunctionDef: function_definition,
        _ast.If: if_,
        _ast.Pass: nothing,
        _ast.Return: return_,
        _ast.While: while_,
    }
)
