"""Values of a kernel under construction.

`Expr` is a value; `Ref` is an address (a variable, an element of a field). Both have the id of
their node and its context. Python's operators on them append nodes. An operator loads its Refs.

The modules that implement attributes (tensor.py), subscripts (subscript.py) and `@` (matrix_ops.py)
add these operations to Expr.
"""

from .. import _native
from ..diagnostics import say

OPS = _native.OPS
# Larger tensors become loops over memory (kMaxScalarised in common/language/type.h).
MAX_UNROLLED = 32


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
    """An address. `level` is the parallel loop to which the memory is private: 0 is the kernel's
    serial part; memory at GLOBAL is shared by all threads."""

    __slots__ = ("level",)
    __hash__ = object.__hash__
    GLOBAL = -1

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


def _binary(op):
    def method(self, other):
        ctx = self.ctx
        builder = ctx.builder
        left = self.node if self.__class__ is Expr else builder.load(self.node)
        right = other.node if other.__class__ is Expr else ctx.node_or_none(other)
        if not right:
            return NotImplemented
        return Expr(ctx, builder.binary(op, left, right))

    return method


def _reflected(op):
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


_ARITHMETIC = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "truediv",
    "floordiv": "floordiv",
    "mod": "mod",
    "pow": "pow",
    "lshift": "shl",
    "rshift": "shr",
    "and": "bit_and",
    "or": "bit_or",
    "xor": "bit_xor",
}
_COMPARE = {
    "lt": "cmp_lt",
    "le": "cmp_le",
    "gt": "cmp_gt",
    "ge": "cmp_ge",
    "eq": "cmp_eq",
    "ne": "cmp_ne",
}

for _name, _spelling in _ARITHMETIC.items():
    setattr(Expr, f"__{_name}__", _binary(OPS[_spelling]))
    setattr(Expr, f"__r{_name}__", _reflected(OPS[_spelling]))
for _name, _spelling in _COMPARE.items():
    setattr(Expr, f"__{_name}__", _binary(OPS[_spelling]))
for _name, _spelling in {"neg": "neg", "abs": "abs", "invert": "bit_not"}.items():
    setattr(Expr, f"__{_name}__", _unary(OPS[_spelling]))
