"""Walks a function's syntax tree and emits it.

There is one Transformer per function (a kernel, or a @ti.func inlined into it). HANDLERS has one
plain function `handler(t, node)` for each class of node; build.py imports the modules that define
them.

    t.visit(node)    the value of an expression: a Python object, or an Expr
    t.address(node)  the same, but a Ref for a variable or an element in memory

`visit` adds the position of the innermost node to exceptions. An error in an inlined function also
gets the position of the call, and so on outwards.
"""

import sys
from _ast import Attribute, Call, FunctionDef, Name
from _ast import Expr as Expression

from .. import types as ti_types
from ..data.ndarray import Ndarray
from ..diagnostics import say
from ..errors import TaichiCompilationError, TaichiRuntimeError
from ..handlers import raised_by_handler
from . import report
from .context import ArrayArgument
from .expr import Convertible, Expr, Ref
from .names import changed_names
from .pack import PackArgument
from .shared_array import SharedTensors
from .source import EMPTY
from .struct_value import StructRef
from .texture import check_fits

# How a statement ends: NORMAL if the rest of the block can run, otherwise why it cannot.
NORMAL, ENDED, BREAK, CONTINUE, RETURNED = range(5)

_MISSING = object()


class RefList(list):
    """A local list whose elements are variables; a read of the list loads them."""


class RefTuple(tuple):
    pass


class RefDict(dict):
    pass


# The spelling of syntax without a handler, by the name of its class.
_SPELLINGS = {
    "AsyncFor": "`async for`",
    "AsyncFunctionDef": "`async def`",
    "AsyncWith": "`async with`",
    "Await": "`await`",
    "ClassDef": "`class`",
    "Delete": "`del`",
    "Global": "`global`",
    "Import": "`import`",
    "ImportFrom": "`from … import`",
    "Lambda": "`lambda`",
    "Match": "`match`",
    "Nonlocal": "`nonlocal`",
    "Raise": "`raise`",
    "Set": "a set",
    "SetComp": "a set comprehension",
    "Try": "`try`",
    "TryStar": "`try`",
    "With": "`with`",
    "Yield": "`yield`",
    "YieldFrom": "`yield from`",
}


def is_path(node):
    """Whether an expression is a name or attributes of one, as `ti.stop_grad`."""
    while node.__class__ is Attribute:
        node = node.value
    return node.__class__ is Name


def _is_stop(node):
    return getattr(node, "attr", getattr(node, "id", None)) == "stop_grad" and is_path(node)


class Handlers(dict):
    def __missing__(self, kind):
        def unsupported(t, node):
            name = kind.__name__
            raise say.unsupported_node(what=_SPELLINGS.get(name, name))

        return unsupported


HANDLERS = Handlers()
ADDRESS_HANDLERS = {}
ARGUMENT_HANDLERS = {}  # of Transformer.argument


class Loop:
    """A loop of the function around the current position."""

    __slots__ = ("dynamic_if", "is_parallel", "is_static")

    def __init__(self, is_static, is_parallel=False):
        self.is_static = is_static
        self.is_parallel = is_parallel
        self.dynamic_if = None  # the innermost run-time `if` inside the loop


class Transformer:
    __slots__ = (
        "as_address",
        "builder",
        "ctx",
        "dynamic",
        "function_id",
        "file_id",
        "immutable",
        "inlined_at",
        "is_kernel",
        "is_real",
        "loops",
        "mutable",
        "names",
        "outside",
        "raised",
        "result",
        "returns",
        "source",
        "spans",
        "static",
        "status",
        "undo",
    )

    def __init__(self, ctx, source, is_kernel, inlined_at=0):
        self.ctx = ctx
        self.builder = ctx.builder
        self.source = source
        self.is_kernel = is_kernel
        self.is_real = False  # whether it is a real function
        # An inlined function has scopes and positions of its own, so it needs a Transformer of its
        # own; what they share belongs to the context.
        # Names that are assigned more than once need memory; all others stay values.
        self.mutable = changed_names(source, ctx)
        self.names = {}
        self.outside = ctx.outside_of(source)
        self.undo = []  # (name, previous meaning), newest last
        self.immutable = ()  # parameters of a kernel or real function
        self.loops = []
        self.dynamic = 0  # depth of run-time control flow, in this function
        self.static = 0  # depth of ti.static(…)
        self.status = NORMAL
        self.result = None
        self.as_address = False  # whether the caller of an inlined function writes to its result
        self.returns = ()
        self.raised = False
        self.spans = {}
        self.inlined_at = inlined_at  # 1 + span of the call; 0 in the kernel itself
        self.file_id = ctx.file_id(source)
        self.function_id = ctx.name_id(source.name)

    def visit(self, node):
        try:
            # The class is the key: a chain of isinstance tests would cost most of the time of a
            # visit.
            return HANDLERS[node.__class__](self, node)
        except Exception as error:
            # The innermost node gave the position already; those around it let the error pass.
            if self.raised or raised_by_handler(error):
                raise
            self.raised = True
            located = report.located(self.source, node, error)
            if isinstance(error, (TaichiCompilationError, TaichiRuntimeError, ValueError)):
                raise located from None
            raise located from error

    def address(self, node):
        handler = ADDRESS_HANDLERS.get(node.__class__)
        return self.visit(node) if handler is None else self._located(handler, node)

    def argument(self, node):
        """As `address`, for an argument that a function may write to: `v.xy` and `m[1, :]` of a
        variable or an element in memory are Refs, too."""
        handler = ARGUMENT_HANDLERS.get(node.__class__)
        return self.address(node) if handler is None else self._located(handler, node)

    def _located(self, handler, node):
        """What `handler` makes of the node; its errors are raised with the node's place."""
        try:
            return handler(self, node)
        except Exception as error:
            if self.raised or raised_by_handler(error):
                raise
            self.raised = True
            raise report.located(self.source, node, error) from None

    def fail(self, node, error):
        """Raises `error` at `node`, a part of the node being visited."""
        self.raised = True
        raise report.located(self.source, node, error) from None

    # --- positions

    def span(self, node):
        span = self.spans.get(node)
        if span is None:
            span = self.spans[node] = self.builder.add_span(
                self.file_id,
                node.lineno,
                node.col_offset,
                node.end_lineno,
                node.end_col_offset,
                self.inlined_at,
                self.function_id,
            )
        return span

    def at(self, node):
        """Sets the position of the following nodes of the kernel."""
        # Most nodes of an expression have the position of the one before: setting it again costs a
        # call.
        span = self.spans.get(node) or self.span(node)
        ctx = self.ctx
        if span != ctx.current_span:
            ctx.current_span = span
            self.builder.set_span(span)

    # --- blocks and names

    def block(self, statements):
        """Transforms statements in a new scope, until one leaves it."""
        mark = len(self.undo)
        visit = self.visit
        for statement in statements:
            visit(statement)
            # What follows a return, break or continue never runs, and is not emitted.
            if self.status:
                break
        self.leave(mark)

    def body(self):
        """Transforms the function itself."""
        tree = self.source.tree
        if tree.__class__ is FunctionDef:
            self.scope(tree.body)
        else:
            self.visit(tree)  # `async def` has no handler, so this raises

    def scope(self, statements):
        """Transforms a block at whose end `ti.stop_grad` of a field ends."""
        ctx = self.ctx
        stopped = ctx.stopped
        if ctx.autodiff or ctx.is_validated:
            self.stop_gradients(statements)
        self.block(statements)
        ctx.restore_stopped(stopped)

    def stop_gradients(self, statements):
        """Carries out each `ti.stop_grad(…)` of a block, which also holds for what precedes it."""
        for statement in statements:
            call = statement.value if statement.__class__ is Expression else None
            if call.__class__ is not Call or not _is_stop(call.func):
                continue
            if len(call.args) == 1 and is_path(call.args[0]):
                try:
                    value = self.address(call.args[0])
                except Exception as error:  # a name of the block; the statement itself tells
                    if raised_by_handler(error):
                        raise
                    self.raised = False
                    continue
                if self.ctx.is_memory(value):
                    self.ctx.stop_gradients(value)

    def runtime_block(self, statements):
        """Transforms a block that is also a block of the kernel: a statement that ends it does not
        end the surrounding one."""
        self.ctx.depth += 1
        self.dynamic += 1
        self.scope(statements)
        self.dynamic -= 1
        self.ctx.depth -= 1
        if self.status == ENDED:
            self.status = NORMAL

    def leave(self, mark):
        undo, names = self.undo, self.names
        while len(undo) > mark:
            name, before = undo.pop()
            # The name did not exist outside of the scope; otherwise it gets its old meaning back.
            if before is _MISSING:
                del names[name]
            else:
                names[name] = before

    def create(self, name, value):
        """Binds a new name in the current scope."""
        self.undo.append((name, self.names.get(name, _MISSING)))
        self.names[name] = value

    def lookup(self, name):
        found = self.names.get(name, _MISSING)
        if found is _MISSING:
            found = self.outside.get(name, _MISSING)
            if found is _MISSING:
                found = self.ctx.resolve(self.source, name, self.names)
            if isinstance(found, Convertible):  # a Matrix made in Python is a constant
                return found._to_kernel(self.ctx)
        return found

    def declare(self, name, value):
        """Declares a variable with the type of `value`, its initial value."""
        self.create(name, self.variable(value, name in self.mutable))

    def create_parameter(self, name, argument):
        """Binds the name of a parameter of a kernel or real function. Programs cannot assign to the
        parameter, but to members of a struct: these belong to a local copy."""
        self.create(name, self._assignable(argument) if name in self.mutable else argument)

    def _assignable(self, argument):
        if argument.__class__ is PackArgument:
            return argument.map(self._assignable)
        is_struct = argument.__class__ is Expr and argument.type.members
        return self.variable(argument) if is_struct else argument

    def variable(self, value, mutable=True):
        """The variable for a value: memory if it is mutable; containers become variables element by
        element; other Python objects stay unchanged."""
        kind = value.__class__
        ctx = self.ctx
        if kind is Expr:
            pass
        elif kind is Ref:
            if value.level == Ref.BLOCK and value.type.shape:
                return value  # the name is that of the shared array itself
            value = ctx.value(value)
        elif kind in (int, float, bool):
            value = Expr(ctx, ctx.node(value))
        elif isinstance(value, list):
            parts = [self.variable(v, mutable) for v in value]
            return RefList(parts) if mutable else parts
        elif isinstance(value, tuple):
            parts = [self.variable(v, mutable) for v in value]
            # A named tuple stays one: programs read its members by name.
            if hasattr(value, "_fields"):
                return type(value)(*parts)
            return RefTuple(parts) if mutable else tuple(parts)
        elif isinstance(value, dict):
            parts = {k: self.variable(v, mutable) for k, v in value.items()}
            return RefDict(parts) if mutable else parts
        elif isinstance(value, Convertible):
            value = value._to_kernel(ctx)
        elif kind is SharedTensors:
            return value
        else:
            node = 0
            if value is not None and not isinstance(value, type):
                node = ctx.node_or_none(value)
            if not node:
                if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
                    raise say.numpy_array_as_a_scalar()
                if kind in _NEVER_NAMED:
                    raise say.invalid_constant_scalar_data_type(kind=kind)
                return value
            value = Expr(ctx, node)
        if not mutable:
            return value
        builder = ctx.builder
        # The level of the current loop tells later whether a write to it can race.
        node = builder.local(builder.type_of(value.node), value.node)
        return Ref(ctx, node, ctx.parallel, value.struct)

    def loaded(self, value):
        """`value` with every variable in it loaded."""
        kind = value.__class__
        if kind is Ref:
            return self.ctx.value(value)
        if kind is StructRef:
            return value._to_kernel(self.ctx)
        if kind is RefList:
            return [self.loaded(v) for v in value]
        if kind is RefTuple:
            return tuple([self.loaded(v) for v in value])
        if kind is RefDict:
            return {k: self.loaded(v) for k, v in value.items()}
        return value


# Types of values to which a kernel cannot bind a name.
_NEVER_NAMED = frozenset(
    (str, bytes, complex, set, frozenset, type(...), type(sys), type(len), type(lambda: 0))
)


def inline(ctx, func, arguments, inlined_at=0, is_method=False, as_address=False):
    """Transforms a @ti.func in place of its call, and returns its result. `arguments` are values or
    Refs in the order of its parameters. The first argument of a method is the object itself.
    as_address: a variable or element that the function returns stays an address."""
    source = func.source
    trace = ctx.trace
    if trace is not None:
        # A record of this kernel is stale as soon as the text of the function changes.
        trace.enters(source)
    t = Transformer(ctx, source, False, inlined_at)
    # Recursion of inlined functions has no end at compile time.
    if len(ctx.function_chain) >= report.CHAIN_LIMIT:
        raise say.functions_inlined_without_end(chain=report.cycle(ctx.function_chain))
    # Not in a `finally`: after an error the context is dropped with the kernel.
    ctx.function_chain.append(func.__name__)
    mutable = t.mutable
    for parameter, argument in zip(source.parameters, arguments):
        annotation = parameter.annotation
        # Only the first argument of a method is the object; it has no type of a kernel and is bound
        # as it is.
        if is_method:
            value, is_method = argument, False
        elif annotation is EMPTY:
            # A value that the func does not change needs no copy.
            if argument.__class__ is Expr and parameter.name not in mutable:
                value = argument
            else:
                value = t.variable(argument, parameter.name in mutable)
        else:
            value = _bind(t, parameter, annotation, argument)
        t.names[parameter.name] = value
    t.returns = func.returns
    t.as_address = as_address
    t.body()
    if t.returns and t.result is None:
        raise say.function_returns_nothing()
    ctx.function_chain.pop()
    return t.result


def _bind(t, parameter, annotation, argument):
    """The binding of an annotated parameter of a func."""
    ctx = t.ctx
    if annotation is ti_types.template or isinstance(annotation, ti_types.template):
        return argument  # by reference
    if isinstance(annotation, ti_types.NdarrayType) or annotation is ti_types.NdarrayType:
        if argument.__class__ is not ArrayArgument and not isinstance(argument, Ndarray):
            raise say.func_annotation_not_recognized(name=parameter.name, annotation=annotation)
        if argument.__class__ is ArrayArgument:
            argument.check_fits(parameter.name, annotation)
        return argument
    if isinstance(annotation, ti_types.BY_REFERENCE):
        check_fits(parameter.name, annotation, argument)
        return argument
    mutable = parameter.name in t.mutable
    if isinstance(annotation, ti_types.MatrixType):
        value = ctx.value(argument)
        if value.__class__ is not Expr:
            value = ctx.expr(value)
        shape = value.type.shape
        fields = {"name": parameter.name, "annotation": annotation}
        if not shape:
            raise say.func_argument_is_no_tensor(**fields, kind=type(argument))
        if len(shape) != annotation.ndim:
            raise say.func_argument_ndim(**fields, ndim=annotation.ndim, count=len(shape))
        if shape[0] != annotation.n:
            raise say.func_argument_rows(**fields, n=annotation.n, got=shape[0])
        if len(shape) == 2 and shape[1] != annotation.m:
            raise say.func_argument_columns(**fields, m=annotation.m, got=shape[1])
        return t.variable(value, mutable)
    if annotation.__class__ is ti_types.DType or annotation in (int, float, bool):
        value = ctx.cast(ctx.value(argument), ti_types.cook_dtype(annotation))
        return t.variable(value, mutable)
    return t.variable(argument, mutable)
