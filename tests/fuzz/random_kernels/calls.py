"""Calls of the evaluator: functions, the language's own ones, and methods."""

import ast
import math

from .numbers import FLOATS, FUNCTIONS, INTS, TYPES, Number, Undecided, bounds, rounded
from .values import Field, Function, Matrix, MatrixType, Struct, StructType, Variable, text_of


class Calls:
    """The part of the Evaluator that computes calls."""

    def _get_call(self, node, statement):
        if isinstance(node.func, ast.Name):
            if node.func.id in ("min", "max", "abs", "int", "float") and node.func.id not in (
                self.globals
            ):
                return self._builtin(node.func.id, [self.value(x) for x in node.args])
            called = self.value(node.func)
            if isinstance(called, Function):
                return self._call(called, node)
            if isinstance(called, StructType):
                return self._struct(called, node)
            if isinstance(called, MatrixType):
                return self.convert(self._flat(node.args, called.shape), called)
            raise Undecided("a call of that")
        text = text_of(node.func)
        if text.startswith("ti.atomic_"):
            return self._atomic(text[len("ti.atomic_") :], node)
        if text in ("ti.Vector", "ti.Matrix"):
            to = self.type(node.args[1]) if len(node.args) > 1 else None
            return self._matrix(self.value(node.args[0]), to)
        if text in ("ti.cast", "ti.bit_cast"):
            function = self.math.cast if text == "ti.cast" else self.math.bit_cast
            to = self.type(node.args[1])
            return self.each(lambda x: function(x, to), self.value(node.args[0]))
        if text in ("ti.Vector.zero", "ti.Matrix.zero", "ti.Vector.one", "ti.Matrix.one"):
            to, shape = self.type(node.args[0]), tuple(x.value for x in node.args[1:])
            item = self.math.cast(int(text.endswith("one")), to)
            return Matrix(shape, [item] * math.prod(shape))
        if text_of(node.func.value) in ("ti", "ti.math"):
            name = node.func.attr
            return self._builtin(name, [self.value(x) for x in node.args])
        return self._method(node)

    def _flat(self, nodes, shape):
        items = [self.value(x) for x in nodes]
        if len(items) != math.prod(shape):
            raise Undecided("another number of elements")
        return Matrix(shape, items)

    def _matrix(self, rows, to):
        """From lists. to: the element type; without one all must have one type."""
        if not isinstance(rows, list) or not rows:
            raise Undecided("elements were expected")
        shape = (len(rows), len(rows[0])) if isinstance(rows[0], list) else (len(rows),)
        flat = [x for row in rows for x in row] if len(shape) == 2 else rows
        if len(flat) != math.prod(shape) or any(isinstance(x, (list, Matrix)) for x in flat):
            raise Undecided("elements of an uneven matrix")
        items = [self.math.lift(self.scalar(x)) for x in flat]
        if to is not None:
            items = [self.math.cast(x, to) for x in items]
        elif len({x.type for x in items}) > 1:
            raise Undecided("elements of several types")
        return Matrix(shape, items)

    def _struct(self, type, node):
        if len(node.args) > len(type.members):
            raise Undecided("more members than there are")
        given = dict(zip(type.members, (self.value(x) for x in node.args)))
        given.update((k.arg, self.value(k.value)) for k in node.keywords)
        return self._made(type, given)

    def _made(self, type, given):
        """A struct from some members; the others are zero."""
        return Struct(type, {n: self._made_of(t, given.get(n, 0)) for n, t in type.members.items()})

    def _made_of(self, to, value):
        """The value of a member. One number fills a matrix, or is the first member of a struct."""
        if not isinstance(value, (Number, int, float)):
            return self.convert(value, to)
        if isinstance(to, StructType):
            return self._made(to, dict(zip(to.members, [value])))
        return self._filled(to, value)

    def _filled(self, to, number):
        """A value of the type whose numbers are all `number`."""
        if isinstance(to, StructType):
            return Struct(to, {n: self._filled(t, number) for n, t in to.members.items()})
        if isinstance(to, MatrixType):
            return Matrix(to.shape, [self._filled(to.type, number)] * math.prod(to.shape))
        return self.math.cast(number, to)

    def _fill(self, field, value):
        if isinstance(field.type, StructType) and not isinstance(value, Struct):
            filled = self._filled(field.type, self.scalar(value))
            field.cells[:] = [filled] * len(field.cells)
        else:
            field.cells[:] = [self.convert_like(value, x, broadcast=True) for x in field.cells]

    def _call(self, function, node):
        scope = {}
        parameters = function.tree.args.args
        if len(node.args) != len(parameters) or node.keywords:
            raise Undecided("another number of arguments")
        for parameter, argument in zip(parameters, node.args):
            annotation = parameter.annotation
            if annotation is not None and text_of(annotation) == "ti.template()":
                if isinstance(argument, ast.Name) and self._find(argument.id) is not None:
                    scope[parameter.arg] = self._find(argument.id)  # the variable itself
                    continue
                scope[parameter.arg] = Variable(self.value(argument), True)
                continue
            value = self.value(argument)
            if annotation is not None:
                value = self._passed(value, self.type(annotation), function.real)
            elif isinstance(value, (int, float)):
                value = self.math.lift(value)
            elif isinstance(value, list):
                raise Undecided("a sequence as an argument")
            scope[parameter.arg] = Variable(value, function.real and not isinstance(value, Struct))
        result = self._body(function.tree, scope)
        if function.real and function.tree.returns is not None:
            if result is None:
                raise Undecided("no value returned")
            result = self.convert(result, self.type(function.tree.returns))
        return result

    def _passed(self, value, to, real):
        """An argument of an annotated parameter. A matrix annotation determines only the shape, and
        elements keep their type, except in real functions."""
        if not real and isinstance(to, MatrixType) and isinstance(value, Matrix):
            if value.shape != to.shape:
                raise Undecided("a matrix of that shape was expected")
            return value
        return self.convert(value, to)

    def _atomic(self, name, node):
        place = self.place(node.args[0])
        value = self.value(node.args[1])
        old = place.get()
        value = self.convert_like(value, old, broadcast=True)
        op = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}.get(name, name)
        place.put(self.convert_like(self.binary(op, old, value), old))
        return old

    def _builtin(self, name, values):
        if name in TYPES:
            if len(values) != 1:
                raise Undecided("a cast of several values")
            if isinstance(values[0], int) and not isinstance(values[0], bool):
                if name not in INTS or not bounds(name)[0] <= values[0] <= bounds(name)[1]:
                    raise Undecided("a literal that is not of its type")
            if isinstance(values[0], float) and name not in FLOATS:
                raise Undecided("a literal that is not of its type")
            if isinstance(values[0], float) and name in FLOATS:
                return Number(name, rounded(name, values[0]))
            return self.each(lambda x: self.math.cast(x, name), values[0])
        if name in ("int", "float"):
            to = self.math.default_ip if name == "int" else self.math.default_fp
            return self.each(lambda x: self.math.cast(x, to), values[0])
        if name in ("min", "max"):
            result = values[0]
            for value in values[1:]:
                result = self.binary(name, result, value)
            return result
        if name == "abs":
            return self.each(self.math.absolute, values[0])
        if name in ("floor", "ceil", "round"):
            return self.each(lambda x: self.math.rounding(name, x), values[0])
        if name in FUNCTIONS:
            return self.each(lambda *x: self.math.function(name, *x), *values)
        if name == "pow":
            return self.binary("**", *values)
        if name in ("raw_div", "raw_mod"):
            return self.each(lambda x, y: self.math.raw(name, x, y), *values)
        if name in ("popcnt", "clz") and isinstance(values[0], Number):
            bits = values[0].value & 0xFFFFFFFF
            if INTS.get(values[0].type) != 32:
                raise Undecided(f"{name} of another width")
            counted = bin(bits).count("1") if name == "popcnt" else 32 - bits.bit_length()
            return Number("i32", counted)
        if name == "clamp":
            return self.binary("max", values[1], self.binary("min", values[2], values[0]))
        if name == "mix":
            x, y, a = values
            left = self.binary("*", x, self.binary("-", 1.0, a))
            return self.binary("+", left, self.binary("*", y, a))
        if name == "fract":
            return self.binary("-", values[0], self.math.rounding("floor", values[0]))
        if name == "bit_shr":
            return self.each(lambda x, y: self.math.shift(">>>", x, y), *values)
        if name == "select":
            return self._select(*values)
        if name == "static" and len(values) == 1:
            return values[0]
        raise Undecided(f"a function {name}")

    def _select(self, condition, a, b):
        if not any(isinstance(x, (Number, Matrix)) for x in (condition, a, b)):
            return a if condition else b

        def one(c, x, y):
            x, y = self.math.lift(x), self.math.lift(y)
            to = self.math.promoted(x.type, y.type)
            return self.math.cast(x if self.math.truth(c) else y, to)

        return self.each(one, condition, a, b)

    def _method(self, node):
        base, name = self.value(node.func.value), node.func.attr
        arguments = [self.value(x) for x in node.args]
        if isinstance(base, Struct) and name in base.type.methods:
            return self._call_method(base.type.methods[name], node.func.value, arguments)
        if isinstance(base, Field) and name == "fill" and len(arguments) == 1:
            return self._fill(base, arguments[0])
        if not isinstance(base, Matrix):
            raise Undecided(f"a method {name}")
        shape, items = base.shape, base.items
        if name in ("sum", "min", "max") and not arguments:
            op = "+" if name == "sum" else name
            return self._reduce(op, items)
        if name == "dot":
            return self._dot(items, self._operand(arguments[0], shape).items)
        if name in ("any", "all") and not arguments:
            truths = [self.math.truth(x) for x in items]
            return Number("u1", int(any(truths) if name == "any" else all(truths)))
        if name == "norm" and not arguments:
            return self.math.function("sqrt", self._dot(items, items))
        if name == "norm_sqr":
            return self._dot(items, items)
        if name == "cross" and shape == (3,):
            a, b = items, self._operand(arguments[0], shape).items
            pairs = [(1, 2), (2, 0), (0, 1)]
            return Matrix((3,), [self._difference(a[i], b[j], a[j], b[i]) for i, j in pairs])
        if name == "outer_product" and len(shape) == 1 and len(arguments[0].shape) == 1:
            other = arguments[0]
            products = [self.math.binary("*", x, y) for x in items for y in other.items]
            return Matrix((shape[0], other.shape[0]), products)
        if name == "transpose" and len(shape) == 2:
            flat = [x for j in range(shape[1]) for x in base.column(j)]
            return Matrix((shape[1], shape[0]), flat)
        if name == "trace" and len(shape) == 2 and shape[0] == shape[1]:
            return self._reduce("+", [items[i * shape[1] + i] for i in range(shape[0])])
        if name == "determinant" and shape == (2, 2):
            return self._difference(items[0], items[3], items[2], items[1])
        if name == "cast":
            to = self.type(node.args[0])
            return Matrix(shape, [self.math.cast(x, to) for x in items])
        raise Undecided(f"a method {name}")

    def _call_method(self, method, owner, arguments):
        """Calls a method. Assigning members of `self` changes the variable that it is called on."""
        names = [parameter.arg for parameter in method.args.args]
        scope = {n: Variable(self.math.lift(self.scalar(x))) for n, x in zip(names[1:], arguments)}
        changes = not any(isinstance(n, ast.Return) for n in method.body)
        place = self.place(owner) if changes else None
        scope[names[0]] = itself = Variable(place.get() if changes else self.value(owner))
        result = self._body(method, scope)
        if changes:
            place.put(itself.value)
        return result

    def _operand(self, other, shape):
        if not isinstance(other, Matrix) or other.shape != shape:
            raise Undecided("a matrix of that shape was expected")
        return other

    def _difference(self, a, b, c, d):
        return self.math.binary("-", self.math.binary("*", a, b), self.math.binary("*", c, d))

    def _reduce(self, op, items):
        """Reduces from the left. The error bound of float sums allows any order."""
        result = items[0]
        size = abs(result.value)
        for item in items[1:]:
            result = self.math.binary(op, result, item)
            size += abs(item.value)
        if op == "+" and len(items) > 2 and result.type in FLOATS:
            if not math.isfinite(size):
                raise Undecided("a sum that is not finite")
            error = 2.0 ** (1 - FLOATS[result.type]) * len(items) * size
            result = Number(result.type, result.value, result.error + error)
        return result

    def _dot(self, a, b):
        return self._reduce("+", [self.math.binary("*", x, y) for x, y in zip(a, b)])

    def _matmul(self, a, b):
        if self.loose and any(INTS.get(x.type, 32) < 32 for m in (a, b) for x in m.items):
            raise Undecided("products of narrow integers")
        if not isinstance(a, Matrix) or not isinstance(b, Matrix) or len(a.shape) != 2:
            raise Undecided("a product of such operands")
        if a.shape[1] != b.shape[0]:
            raise Undecided("a product of such shapes")
        rows = [a.row(i) for i in range(a.shape[0])]
        if len(b.shape) == 1:
            return Matrix((a.shape[0],), [self._dot(row, b.items) for row in rows])
        columns = [b.column(j) for j in range(b.shape[1])]
        items = [self._dot(row, column) for row in rows for column in columns]
        return Matrix((a.shape[0], b.shape[1]), items)
