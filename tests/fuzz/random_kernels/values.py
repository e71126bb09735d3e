"""What programs of the evaluator compute with: values, fields, functions, variables."""

import ast
import math

from . import data
from .numbers import Number, Undecided


class Matrix:
    """An immutable vector or matrix. shape: (n,) or (n, m); items: its numbers, row by row."""

    def __init__(self, shape, items):
        self.shape = shape
        self.items = tuple(items)

    def replaced(self, position, value):
        items = list(self.items)
        items[position] = value
        return Matrix(self.shape, items)

    def row(self, i):
        return self.items[i * self.shape[1] : (i + 1) * self.shape[1]]

    def column(self, j):
        return self.items[j :: self.shape[1]]


class Struct:
    """An immutable struct: its type and the values of its members."""

    def __init__(self, type, members):
        self.type = type
        self.members = members


class StructType:
    def __init__(self, members, methods=None):
        self.members = members  # name to type
        self.methods = methods or {}  # name to its tree


class MatrixType:
    def __init__(self, shape, type):
        self.shape = shape
        self.type = type


class Field:
    """A field or an ndarray: its cells in row-major order."""

    def __init__(self, name, type, shape, atomic_floats=False):
        self.type = type
        self.shape = shape
        self.cells = data.cells(name, type, shape, make)

    def position(self, indices):
        if len(indices) != len(self.shape):
            raise Undecided("another number of indices")
        position = 0
        for index, size in zip(indices, self.shape):
            if not 0 <= index < size:
                raise Undecided("out of bounds")
            position = position * size + index
        return position


def make(type, numbers):
    """A value of the type from the next of `numbers`, a function from scalar type to value."""
    if isinstance(type, MatrixType):
        items = [make(type.type, numbers) for _ in range(math.prod(type.shape))]
        return Matrix(type.shape, items)
    if isinstance(type, StructType):
        return Struct(type, {n: make(t, numbers) for n, t in type.members.items()})
    return Number(type, numbers(type))


class Function:
    """A func or a real func."""

    def __init__(self, tree, real):
        self.tree = tree
        self.real = real


class Place:
    """A place of a value: it can be read, and written with a conversion to its type."""

    def __init__(self, get, put):
        self.get = get
        self.put = put


class Variable:
    """A local variable, or the meaning of another name."""

    __slots__ = ("value", "constant")

    def __init__(self, value, constant=False):
        self.value = value
        self.constant = constant


def text_of(node):
    """The text of an expression. It is cached in the node, because each visit needs it."""
    if not hasattr(node, "text"):
        node.text = ast.unparse(node)
    return node.text


def swizzle(matrix, name):
    for letters in ("xyzw", "rgba", "stpq"):
        if len(matrix.shape) == 1 and all(c in letters[: matrix.shape[0]] for c in name):
            return [letters.index(c) for c in name]
    raise Undecided(f"an attribute {name}")


def numbers_of(value):
    if isinstance(value, Matrix):
        yield from value.items
    elif isinstance(value, Struct):
        for member in value.members.values():
            yield from numbers_of(member)
    else:
        yield value
