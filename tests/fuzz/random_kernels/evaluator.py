"""A direct evaluator of programs: it walks the text and computes one number at a time by the
documented rules of the language. It uses no code of Kiln.

A program is the text of a module: fields, struct types, functions, one kernel named `kernel`, and
`ARGUMENTS`. Unknown constructs, and results that the language leaves open, raise `Undecided`.

    evaluate(text) -> {"return": ..., "x0": [...], ...}     all observable numbers
"""

import ast
import itertools
import math

from .calls import Calls
from .numbers import FLOATS, INTS, TYPES, Arithmetic, Number, Undecided
from .values import (
    Field,
    Function,
    Matrix,
    MatrixType,
    Place,
    Struct,
    StructType,
    Variable,
    numbers_of,
    swizzle,
    text_of,
)

_STEPS = 60_000  # the most visits of nodes; a program with more is Undecided
_DEPTH = 40  # calls within calls


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Return(Exception):
    def __init__(self, value):
        super().__init__()
        self.value = value


def evaluate(text, loose=False):
    """Runs the program. loose: as `Arithmetic`'s."""
    return Evaluator(ast.parse(text), loose).run()


class Evaluator(Calls):
    def __init__(self, tree, loose=False):
        self.steps = 0
        self.depth = 0
        self.loose = loose
        self.globals = {}
        self.scopes = []
        self.kernel = None
        self.arguments = ast.List(elts=[])
        self.math = Arithmetic(loose=loose)
        for node in tree.body:
            self._declare(node)

    # ---- the module

    def _declare(self, node):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return
        if isinstance(node, ast.FunctionDef):
            decorator = text_of(node.decorator_list[0])
            if decorator == "ti.kernel":
                self.kernel = node
            else:
                self.globals[node.name] = Function(node, decorator == "ti.real_func")
            return
        if isinstance(node, ast.ClassDef):
            self.globals[node.name] = self._dataclass(node)
            return
        if isinstance(node, ast.Expr):
            self._place(node.value)
            return
        if not isinstance(node, ast.Assign):
            raise Undecided("a statement of a module")
        name = node.targets[0].id
        if name == "ARGUMENTS":
            self.arguments = node.value
        elif name == "OPTIONS":
            given = {k.arg: k.value.attr for k in node.value.keywords}
            self.math = Arithmetic(**given, loose=self.loose)
        else:
            self.globals[name] = self._global(name, node.value)

    def _dataclass(self, node):
        members = {
            n.target.id: self.type(n.annotation) for n in node.body if isinstance(n, ast.AnnAssign)
        }
        methods = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
        return StructType(members, methods)

    def _global(self, name, node):
        if isinstance(node, ast.Call):
            called = text_of(node.func)
            if called in ("ti.field", "ti.ndarray"):
                return Field(name, self.type(node.args[0]), self._shape(node.args[1:]))
            if called in ("ti.Vector.field", "ti.Vector.ndarray"):
                kind = MatrixType((node.args[0].value,), self.type(node.args[1]))
                return Field(name, kind, self._shape(node.args[2:]))
            if called in ("ti.Matrix.field", "ti.Matrix.ndarray"):
                kind = MatrixType((node.args[0].value, node.args[1].value), self.type(node.args[2]))
                return Field(name, kind, self._shape(node.args[3:]))
            if called.endswith(".field"):
                return Field(
                    name, self.type(node.func.value), self._shape([node.keywords[0].value])
                )
            return self.type(node)
        return ast.literal_eval(node)

    def _place(self, node):
        """ti.root.dense(...).dense(...).place(fields)."""
        sizes = {}
        level = node.func.value
        while isinstance(level, ast.Call):
            axes, given = level.args[0].attr, ast.literal_eval(level.args[1])
            for axis in axes:
                sizes[axis] = sizes.get(axis, 1) * given
            level = level.func.value
        shape = tuple(sizes[axis] for axis in sorted(sizes))
        for name in node.args:
            self.globals[name.id] = Field(name.id, self.globals[name.id].type, shape)

    def _shape(self, nodes):
        if not nodes:
            return ()  # not placed yet
        node = nodes[0]
        shape = ast.literal_eval(node)
        return shape if isinstance(shape, tuple) else (shape,)

    def type(self, node):
        """The type that an expression of the module, or an annotation, names."""
        text = text_of(node)
        if text.startswith("ti.") and text[3:] in TYPES:
            return text[3:]
        if isinstance(node, ast.Name) and isinstance(
            self.globals.get(node.id), (StructType, MatrixType)
        ):
            return self.globals[node.id]
        if isinstance(node, ast.Call):
            called = text_of(node.func)
            if called == "ti.types.vector":
                return MatrixType((node.args[0].value,), self.type(node.args[1]))
            if called == "ti.types.matrix":
                shape = (node.args[0].value, node.args[1].value)
                return MatrixType(shape, self.type(node.args[2]))
            if called == "ti.types.struct":
                return StructType({k.arg: self.type(k.value) for k in node.keywords})
        raise Undecided(f"the type {text}")

    def run(self):
        """Calls the kernel; returns the observable numbers."""
        visible = {n: v for n, v in self.globals.items() if isinstance(v, Field)}
        scope = {}
        for parameter, argument in zip(self.kernel.args.args, self.arguments.elts):
            if isinstance(argument, ast.Name):
                scope[parameter.arg] = Variable(self.globals[argument.id], True)
                continue
            value = ast.literal_eval(argument)
            to = self.type(parameter.annotation)
            value = self._from_python(value, to)
            # Members of a struct may be assigned. The generator never assigns the whole.
            scope[parameter.arg] = Variable(value, not isinstance(value, Struct))
        try:
            result = self._body(self.kernel, scope)
        except RecursionError:
            raise Undecided("too deep") from None
        except (_Break, _Continue):
            raise Undecided("break or continue outside a loop") from None
        seen = {n: [x for cell in v.cells for x in numbers_of(cell)] for n, v in visible.items()}
        if self.kernel.returns is not None:
            if result is None:
                raise Undecided("no value returned")
            kinds = self.kernel.returns
            if isinstance(kinds, ast.Subscript):
                kinds = [self.type(t) for t in kinds.slice.elts]
                if len(result) != len(kinds):
                    raise Undecided("another number of returned values")
                parts = [self.convert(x, t) for x, t in zip(result, kinds)]
                seen["return"] = [x for part in parts for x in numbers_of(part)]
            else:
                seen["return"] = list(numbers_of(self.convert(result, self.type(kinds))))
        elif result is not None:
            raise Undecided("a value returned")
        return seen

    def _from_python(self, value, to):
        if isinstance(to, StructType):
            return Struct(to, {n: self._from_python(value[n], t) for n, t in to.members.items()})
        if isinstance(to, MatrixType):
            flat = value if len(to.shape) == 1 else [x for row in value for x in row]
            return Matrix(to.shape, [self._from_python(x, to.type) for x in flat])
        if to in FLOATS:
            return self.math.cast(Number("f64", float(value)), to)
        return Number(to, value)

    def _body(self, function, scope):
        kept, self.scopes = self.scopes, [scope]
        self.depth += 1
        if self.depth > _DEPTH:
            raise Undecided("too many calls within calls")
        try:
            self.block(function.body)
        except _Return as result:
            return result.value
        finally:
            self.depth -= 1
            self.scopes = kept
        return None

    # ---- statements

    def block(self, statements):
        self.scopes.append({})
        try:
            for statement in statements:
                self._count()
                method = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
                if method is None:
                    raise Undecided(f"a statement {type(statement).__name__}")
                method(statement)
        finally:
            self.scopes.pop()

    def _count(self):
        self.steps += 1
        if self.steps > _STEPS:
            raise Undecided("too long")

    def _do_pass(self, node):
        pass

    def _do_expr(self, node):
        if isinstance(node.value, ast.Constant):
            return
        if text_of(node.value).startswith("ti.loop_config"):
            return
        self.value(node.value, statement=True)

    def _do_assign(self, node):
        value = self.value(node.value)
        if len(node.targets) != 1:
            raise Undecided("several targets")
        self._assign(node.targets[0], value)

    def _assign(self, target, value):
        if isinstance(target, ast.Tuple):
            parts = list(value.items) if isinstance(value, Matrix) else value
            if not isinstance(parts, (list, tuple)) or len(parts) != len(target.elts):
                raise Undecided("unpacking")
            for one, part in zip(target.elts, parts):
                self._assign(one, part)
            return
        if isinstance(target, ast.Name) and self._find(target.id) is None:
            self._define(target.id, value)
            return
        place = self.place(target)
        place.put(self.convert_like(value, place.get()))

    def _define(self, name, value):
        if name in self.globals:
            raise Undecided("a local with the name of a global")
        if isinstance(value, (int, float)):
            value = self.math.lift(value)
        if isinstance(value, (list, tuple)):
            raise Undecided("a local sequence")
        self.scopes[-1][name] = Variable(value)

    def _do_annassign(self, node):
        if self._find(node.target.id) is not None:
            raise Undecided("an annotation of what exists")
        self._define(
            node.target.id, self.convert(self.value(node.value), self.type(node.annotation))
        )

    def _do_augassign(self, node):
        op = _OPERATORS[type(node.op)]
        place = self.place(node.target)
        old = place.get()  # before the right side, as in Python
        value = self.value(node.value)
        changed = any(x is not y for x, y in zip(numbers_of(place.get()), numbers_of(old)))
        if changed and (self.loose or not isinstance(node.target, ast.Name)):
            raise Undecided("a target that its own value changes")
        if op in ("+", "-", "&", "|", "^"):
            value = self.convert_like(value, old, broadcast=True)
        place.put(self.convert_like(self.binary(op, old, value), old))

    def _do_if(self, node):
        if self.condition(node.test):
            self.block(node.body)
        else:
            self.block(node.orelse)

    def _do_while(self, node):
        if node.orelse:
            raise Undecided("while with else")
        while self.condition(node.test):
            try:
                self.block(node.body)
            except _Break:
                break
            except _Continue:
                continue

    def _do_for(self, node):
        static, turns = self._turns(node.iter)
        names = [n.id for n in getattr(node.target, "elts", [node.target])]
        for turn in turns:
            self._count()
            if len(names) > 1:
                if len(turn) != len(names):
                    raise Undecided("another number of loop variables")
                scope = {n: Variable(v, static) for n, v in zip(names, turn)}
            else:
                scope = {names[0]: Variable(turn, static)}
            for name in names:
                if name in self.globals or self._find(name) is not None:
                    raise Undecided("a loop variable that exists")
            self.scopes.append(scope)
            try:
                self.block(node.body)
            except _Break:
                if static:
                    raise Undecided("break in a static loop") from None
                break
            except _Continue:
                if static:
                    raise Undecided("continue in a static loop") from None
                continue
            finally:
                self.scopes.pop()

    def _turns(self, node):
        """(whether the loop is unrolled, the values of its variable)."""
        if isinstance(node, ast.Call):
            called = text_of(node.func)
            if called == "ti.static":
                _, turns = self._turns(node.args[0])
                values = []
                for turn in turns:
                    if isinstance(turn, Matrix):
                        raise Undecided("a static grouped loop")
                    values.append(
                        tuple(x.value for x in turn) if isinstance(turn, tuple) else turn.value
                    )
                return True, values
            if called == "range":
                ends = [self.index(self.value(x)) for x in node.args]
                if len(ends) == 3 and ends[2] == 0:
                    raise Undecided("a step of zero")
                return False, [Number("i32", i) for i in range(*ends)]
            if called == "ti.ndrange":
                return False, [
                    tuple(Number("i32", i) for i in turn) for turn in self._ndrange(node.args)
                ]
            if called == "ti.grouped":
                _, turns = self._turns(node.args[0])
                return False, [Matrix((len(turn),), turn) for turn in map(_tuple, turns)]
        field = self.value(node)
        if not isinstance(field, Field):
            raise Undecided("a loop over something else")
        turns = itertools.product(*(range(size) for size in field.shape))
        turns = [tuple(Number("i32", i) for i in turn) for turn in turns]
        return False, [turn[0] for turn in turns] if len(field.shape) == 1 else turns

    def _ndrange(self, nodes):
        ranges = []
        for node in nodes:
            if isinstance(node, ast.Tuple):
                ranges.append(range(*(self.index(self.value(x)) for x in node.elts)))
            else:
                ranges.append(range(self.index(self.value(node))))
        return itertools.product(*ranges)

    def _do_break(self, node):
        raise _Break

    def _do_continue(self, node):
        raise _Continue

    def _do_return(self, node):
        raise _Return(None if node.value is None else self.value(node.value))

    # ---- expressions

    def condition(self, node):
        return self.math.truth(self.scalar(self.value(node)))

    def scalar(self, x):
        if isinstance(x, (Number, int, float)):
            return x
        raise Undecided("a scalar was expected")

    def index(self, x):
        """A Python int from an integer."""
        x = self.scalar(x)
        if isinstance(x, Number):
            if x.type not in INTS:
                raise Undecided("an index that is not an integer")
            return self.math.cast(x, "i32").value
        if not isinstance(x, int):
            raise Undecided("an index that is not an integer")
        return x

    def value(self, node, statement=False):
        self._count()
        method = getattr(self, f"_get_{type(node).__name__.lower()}", None)
        if method is None:
            raise Undecided(f"an expression {type(node).__name__}")
        if isinstance(node, ast.Call):
            return method(node, statement)
        return method(node)

    def _get_constant(self, node):
        if not isinstance(node.value, (bool, int, float)):
            raise Undecided("such a constant")
        return node.value

    def _get_tuple(self, node):
        return [self.value(x) for x in node.elts]

    _get_list = _get_tuple

    def _find(self, name):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def _get_name(self, node):
        variable = self._find(node.id)
        if variable is not None:
            return variable.value
        if node.id in self.globals:
            return self.globals[node.id]
        raise Undecided(f"an unknown name {node.id}")

    def _get_binop(self, node):
        left = self.value(node.left)
        right = self.value(node.right)
        if isinstance(node.op, ast.MatMult):
            return self._matmul(left, right)
        return self.binary(_OPERATORS[type(node.op)], left, right)

    def binary(self, op, a, b):
        return self.each(lambda x, y: self.math.binary(op, x, y), a, b)

    def each(self, function, *operands):
        """Applies a scalar function to matrices of equal shape; scalars are broadcast."""
        shapes = {x.shape for x in operands if isinstance(x, Matrix)}
        if not shapes:
            return function(*map(self.scalar, operands))
        if len(shapes) > 1:
            raise Undecided("matrices of different shapes")
        shape = shapes.pop()
        columns = []
        for x in operands:
            if not isinstance(x, (Matrix, Number, int, float)):
                raise Undecided("such an operand")
            columns.append(x.items if isinstance(x, Matrix) else [x] * math.prod(shape))
        items = [self.math.lift(function(*row)) for row in zip(*columns)]
        return Matrix(shape, items)

    def _get_unaryop(self, node):
        op = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}[type(node.op)]
        return self.each(lambda x: self.math.unary(op, x), self.value(node.operand))

    def _get_boolop(self, node):
        """With operands that are bools."""
        stop = isinstance(node.op, ast.Or)
        for one in node.values:
            value = self.scalar(self.value(one))
            if isinstance(value, Number) and value.type != "u1":
                raise Undecided("and, or of other than bools")
            if self.math.truth(value) == stop:
                break
        return Number("u1", int(self.math.truth(value)))

    def _get_compare(self, node):
        left = self.value(node.left)
        result = None
        for op, right in zip(node.ops, node.comparators):
            right = self.value(right)
            one = self.each(
                lambda x, y, op=op: self.math.compare(_OPERATORS[type(op)], x, y), left, right
            )
            left = right
            if result is None:
                result = one
            else:
                result = self.math.binary(
                    "&", self.math.lift(self.scalar(result)), self.math.lift(self.scalar(one))
                )
        return result

    def _get_ifexp(self, node):
        """Only one operand runs; the type is that of both."""
        test = self.scalar(self.value(node.test))
        truth = self.math.truth(test)
        if not isinstance(test, Number):
            return self.value(node.body if truth else node.orelse)
        taken, other = (node.body, node.orelse) if truth else (node.orelse, node.body)
        value = self.value(taken)
        # The other operand is evaluated for its type, on a copy of everything.
        return self._as_promoted(value, self._type_of(other))

    def _type_of(self, node):
        """A value of the type that the expression has. The expression must have no effects."""
        for one in ast.walk(node):
            if isinstance(one, ast.Call) and "atomic" in text_of(one.func):
                raise Undecided("effects in an operand")
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
                raise Undecided("a call in an operand")
        return self.value(node)

    def _as_promoted(self, value, other):
        def one(x, y):
            x, y = self.math.lift(x), self.math.lift(y)
            return self.math.cast(x, self.math.promoted(x.type, y.type))

        if isinstance(value, Matrix) != isinstance(other, Matrix):
            raise Undecided("operands of different shapes")
        return self.each(one, value, other)

    def _get_attribute(self, node):
        base = self.value(node.value)
        if isinstance(base, Struct):
            if node.attr not in base.members:
                raise Undecided("no such member")
            return base.members[node.attr]
        if isinstance(base, Matrix):
            positions = swizzle(base, node.attr)
            if len(positions) == 1:
                return base.items[positions[0]]
            return Matrix((len(positions),), [base.items[i] for i in positions])
        raise Undecided(f"an attribute {node.attr}")

    def _get_subscript(self, node):
        base = self.value(node.value)
        if isinstance(base, (list, tuple)):
            index = self.value(node.slice)
            if not isinstance(index, int) or not 0 <= index < len(base):
                raise Undecided("such an index of a sequence")
            return base[index]
        if isinstance(base, Matrix) and isinstance(node.slice, ast.Slice):
            ends = [
                None if x is None else ast.literal_eval(x)
                for x in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            items = base.items[slice(*ends)]
            if len(base.shape) != 1 or not items:
                raise Undecided("such a slice")
            return Matrix((len(items),), items)
        if isinstance(base, Matrix):
            return base.items[self._position(base, node.slice)]
        return self.place(node).get()

    def _position(self, matrix, index):
        nodes = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(nodes) != len(matrix.shape):
            raise Undecided("another number of indices")
        position = 0
        for one, size in zip(nodes, matrix.shape):
            i = self.index(self.value(one))
            if not 0 <= i < size:
                raise Undecided("out of bounds")
            position = position * size + i
        return position

    def place(self, node):
        """The place that the expression names."""
        if isinstance(node, ast.Name):
            variable = self._find(node.id)
            if variable is None or variable.constant or isinstance(variable.value, Field):
                raise Undecided("what cannot be assigned")
            return Place(lambda: variable.value, lambda x: setattr(variable, "value", x))
        if isinstance(node, ast.Subscript):
            if isinstance(node.value, ast.Name):
                base = self.value(node.value)
                if isinstance(base, Field):
                    return self._cell(base, node.slice)
            inner = self.place(node.value)
            matrix = inner.get()
            if not isinstance(matrix, Matrix) or isinstance(node.slice, ast.Slice):
                raise Undecided("an element of something else")
            k = self._position(matrix, node.slice)
            return Place(
                lambda: inner.get().items[k], lambda x: inner.put(inner.get().replaced(k, x))
            )
        if isinstance(node, ast.Attribute):
            return self._member(self.place(node.value), node.attr)
        raise Undecided("what cannot be assigned")

    def _cell(self, field, index):
        nodes = index.elts if isinstance(index, ast.Tuple) else [index]
        if text_of(index) == "None":
            k = field.position([0] * len(field.shape))
        else:
            indices = []
            for one in nodes:
                x = self.value(one)
                indices += x.items if isinstance(x, Matrix) else [x]
            k = field.position([self.index(x) for x in indices])

        def put(x):
            field.cells[k] = x

        return Place(lambda: field.cells[k], put)

    def _member(self, inner, name):
        base = inner.get()
        if isinstance(base, Struct):
            if name not in base.members:
                raise Undecided("no such member")
            return Place(
                lambda: inner.get().members[name],
                lambda x: inner.put(Struct(base.type, {**inner.get().members, name: x})),
            )
        if not isinstance(base, Matrix):
            raise Undecided(f"an attribute {name}")
        positions = swizzle(base, name)
        if len(positions) == 1:
            k = positions[0]
            return Place(
                lambda: inner.get().items[k], lambda x: inner.put(inner.get().replaced(k, x))
            )
        if len(set(positions)) != len(positions):
            raise Undecided("a swizzle with repetitions")

        def put(x):
            matrix = inner.get()
            for k, item in zip(positions, x.items):
                matrix = matrix.replaced(k, item)
            inner.put(matrix)

        def get():
            return Matrix((len(positions),), [inner.get().items[k] for k in positions])

        return Place(get, put)

    # ---- conversions

    def convert(self, value, to):
        """Converts a value to a type, as an annotation or a return does."""
        if isinstance(to, MatrixType):
            if isinstance(value, list):
                value = self._matrix(value, None)
            if not isinstance(value, Matrix) or value.shape != to.shape:
                raise Undecided("a matrix was expected")
            return Matrix(to.shape, [self.convert(x, to.type) for x in value.items])
        if isinstance(to, StructType):
            if not isinstance(value, Struct) or value.type is not to:
                raise Undecided("a struct was expected")
            return value
        return self.math.cast(self.scalar(value), to)

    def convert_like(self, value, old, broadcast=False):
        """Converts a value to the type of the old value."""
        if isinstance(old, Matrix):
            if isinstance(value, list):
                value = self._matrix(value, None)
            if broadcast and isinstance(value, (Number, int, float)):
                value = Matrix(old.shape, [value] * len(old.items))
            if not isinstance(value, Matrix) or value.shape != old.shape:
                raise Undecided("a matrix of that shape was expected")
            items = [self.math.cast(x, y.type) for x, y in zip(value.items, old.items)]
            return Matrix(old.shape, items)
        if isinstance(old, Struct):
            return self.convert(value, old.type)
        if not isinstance(old, Number):
            raise Undecided("what cannot be assigned")
        return self.math.cast(self.scalar(value), old.type)


def _tuple(x):
    return x if isinstance(x, tuple) else (x,)


_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
