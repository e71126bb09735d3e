"""Values of a kernel under construction.

`Expr` is a value; `Ref` is an address (a variable, an element of a field). Both have the id of
their node and its context. Python's operators on them append nodes. An operator loads its Refs.

The modules that implement attributes (tensor.py), subscripts (subscript.py) and `@` (matrix_ops.py)
add these operations to Expr.
"""

import operator

from .. import _native
from ..diagnostics import say

OPS = _native.OPS
# Larger tensors become loops over memory.
MAX_UNROLLED = _native.MAX_SCALARISED


class TaichiOperations:
    """Base class of the operands of the language's operators: kernel values and Python's
    matrices."""

    __slots__ = ()


class Convertible:
    """Base class of objects that convert to kernel values: matrices and structs of Python, elements
    of struct fields."""

    __slots__ = ()

    def _to_kernel(self, ctx):
        """The value in the kernel under construction, an Expr."""
        raise NotImplementedError


class Expr(TaichiOperations):
    """A typed value.

    parts: the scalar elements, if they are known; static subscripts then need no node. struct: the
    StructType of a struct value. Struct types with equal members are one type of the kernel, but
    may have different methods.
    """

    __slots__ = ("ctx", "node", "parts", "struct")
    # Makes NumPy scalars on the left leave the operation to this class.
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, ctx, node, parts=None, struct=None):
        self.ctx = ctx
        self.node = node
        self.parts = parts
        self.struct = struct

    @property
    def type(self):
        """The TypeInfo of the value; for an address, of the value in memory."""
        return self.ctx.type_of(self.node)

    def get_shape(self):
        return self.type.shape

    def __len__(self):
        shape = self.type.shape
        if not shape:
            raise say.scalar_kernel_has_no_len()
        return shape[0]

    def __iter__(self):
        shape = self.type.shape
        if not shape:
            raise say.scalar_kernel_not_iterable()
        return iter([self[i] for i in range(shape[0])])

    def __bool__(self):
        raise say.truth_value_run_time_expression_not()

    def __pos__(self):
        return self

    def __repr__(self):
        return f"<Taichi expression of type {self.type.name}>"


def kind_of(value):
    """The kind of a value for error messages; for kernel values, the name of their type."""
    return value.type.name if isinstance(value, Expr) else type(value)


class Ref(Expr):
    """An address. `level` is the parallel loop to which the memory is private; 0 is the kernel's
    serial part. All threads share memory at GLOBAL, and the threads of a block an array at
    BLOCK."""

    __slots__ = ("level",)
    __hash__ = object.__hash__
    GLOBAL = -1
    BLOCK = -2

    def __init__(self, ctx, node, level, struct=None):
        self.ctx = ctx
        self.node = node
        self.parts = None
        self.level = level
        self.struct = struct

    @property
    def shared(self):
        """Whether other threads may write to this address at the same time."""
        return self.level != self.ctx.parallel


def is_large(x):
    """Whether a value or address is a tensor that is too large to scalarise."""
    n = 1
    for extent in x.type.shape:
        n *= extent
    return n > MAX_UNROLLED


def _binary(function):
    op = BINARY_OPS[function]

    def method(self, other):
        ctx = self.ctx
        builder = ctx.builder
        left = self.node if self.__class__ is Expr else builder.load(self.node)
        right = other.node if other.__class__ is Expr else ctx.node_or_none(other)
        if not right:
            return NotImplemented
        return Expr(ctx, builder.binary(op, left, right))

    return method


def _reflected(function):
    op = BINARY_OPS[function]

    def method(self, other):
        ctx = self.ctx
        builder = ctx.builder
        left = ctx.node_or_none(other)
        if not left:
            return NotImplemented
        right = self.node if self.__class__ is Expr else builder.load(self.node)
        return Expr(ctx, builder.binary(op, left, right))

    return method


def _unary(op):
    def method(self):
        ctx = self.ctx
        builder = ctx.builder
        node = self.node if self.__class__ is Expr else builder.load(self.node)
        return Expr(ctx, builder.unary(op, node))

    return method


# Token of a binary operator -> Python's function of it.
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "@": operator.matmul,
}
COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
# Python's function of a binary operator -> the op that it is between two values of the kernel.
BINARY_OPS = {
    functions[token]: OPS[spelling]
    for family, functions in ((_native.BINARY, BINARY), (_native.COMPARE, COMPARE))
    for spelling, (its_family, token) in _native.OP_FACTS.items()
    if its_family == family and token in functions
}


def add_operators(cls, forward, reflected):
    """Adds the methods of the binary operators but `@` to a class.

    forward(function) and reflected(function) make the methods of the left and right operand from
    Python's function of the operator.
    """
    for token, function in BINARY.items():
        if token != "@":
            name = function.__name__.rstrip("_")  # `and_` has the methods `__and__`, `__rand__`
            setattr(cls, f"__{name}__", forward(function))
            setattr(cls, f"__r{name}__", reflected(function))
    for function in COMPARE.values():
        setattr(cls, f"__{function.__name__}__", forward(function))


add_operators(Expr, _binary, _reflected)
for _name, _spelling in {"neg": "neg", "abs": "abs", "invert": "bit_not"}.items():
    setattr(Expr, f"__{_name}__", _unary(OPS[_spelling]))
