"""Generates random expressions of a given kind over the names in scope."""

from .numbers import INTS

DEEPEST_CALL = 8  # of a function that makes a struct


class Expressions:
    """The part of the generator that makes expressions; generator.py keeps the scopes."""

    # ---- help

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, sequence):
        return self.random.choice(list(sequence))

    def fresh(self, stem):
        self.counter += 1
        return f"{stem}{self.counter}"

    def int_type(self):
        return self.pick(["i32"] * 4 + list(INTS))

    def float_type(self):
        return self.pick(["f32", "f32", "f64", "f64", "f16"])

    def type_of(self, kind):
        return {"int": self.int_type, "float": self.float_type, "bool": lambda: "u1"}[kind]()

    def scalar_kind(self):
        return self.pick(["int", "int", "float"])

    def vector_kind(self):
        n = self.pick([2, 3, 7, 40]) if self.large else self.pick([2, 2, 3, 3, 4])
        return ("vec", n, self.scalar_kind())

    def matrix_kind(self):
        sizes = [2, 3, 6, 7] if self.large else [2, 2, 3, 4]
        return ("mat", self.pick(sizes), self.pick(sizes), self.scalar_kind())

    def variables(self, kind, assignable=False):
        found = [
            name
            for scope in self.scopes
            for name, its in scope.items()
            if its == kind and not (assignable and name in self.fixed)
        ]
        return found

    def parts(self, text, kind):
        """(expression, kind) of a variable or cell and of all members in it."""
        yield text, kind
        for member, its in self.structs.get(kind, {}).items():
            yield from self.parts(f"{text}.{member}", its)

    def parts_of_variables(self, assignable=False):
        for scope in self.scopes:
            for name, kind in scope.items():
                if not (assignable and name in self.fixed):
                    yield from self.parts(name, kind)

    # ---- expressions

    def expression(self, kind, depth):
        if kind in self.structs:
            return self.struct_value(kind, depth)
        if isinstance(kind, tuple):
            return self.matrix(kind, depth)
        return {"int": self.integer, "float": self.floating, "bool": self.boolean}[kind](depth)

    def condition(self):
        return self.boolean(1)

    def atom(self, kind):
        """A variable, an element or a literal, in brackets where it must be."""
        choice = self.random.randrange(10)
        names = self.variables(kind)
        if names and choice < 6:
            return self.pick(names)
        if choice < 9:
            part = self.method_call(kind) if self.chance(0.3) else None
            part = part or self.part(kind)
            if part:
                return part
        if names and self.chance(0.5):
            return self.pick(names)
        if kind == "int":
            return str(self.random.randrange(0, 9))
        return self.pick(["0.5", "1.0", "2.0", "-1.5", "0.1", "3.25", "10.0"])

    def method_call(self, kind):
        """A method call on a struct variable, or None."""
        found = [text for text, its in self.parts_of_variables() if self.methods.get(its) == kind]
        argument = self.pick("0123") if kind == "int" else self.pick(["0.5", "2.0"])
        return f"{self.pick(found)}.m({argument})" if found else None

    def part(self, kind):
        """A scalar out of something larger: a cell, an element, a member."""
        found = [
            (data, path, its)
            for data in (self.allowed("read", "own") if self.data else [])
            for path, its in self.parts("", data.kind)
            if its == kind or its[-1] == kind
        ]
        locals_ = [
            (text, its)
            for text, its in self.parts_of_variables()
            if its[-1] == kind or (its == kind and "." in text)
        ]
        if locals_ and self.chance(0.5):
            return self.element(*self.pick(locals_))
        if not found:
            return None
        data, path, its = self.pick(found)
        if self.access is not None and self.access[data.name] == "own" or self.depth > 3:
            index = self.index(data)
        elif data.axes == 1:
            index = self.short_index(16)
        else:
            index = f"{self.short_index(4)}, {self.short_index(4)}"
        return self.element(f"{data.name}[{index}]{path}", its)

    def short_index(self, size):
        names = self.variables("int")
        if names and self.chance(0.7):
            return f"{self.pick(names)} & {size - 1}"
        return str(self.random.randrange(size))

    def element(self, text, kind):
        """A number of the vector or matrix; a number itself."""
        if isinstance(kind, str):
            return text
        if kind[0] == "vec":
            if kind[1] <= 4 and self.chance(0.5):
                return f"{text}.{self.pick('xyzw'[: kind[1]])}"
            return f"{text}[{self.element_index(kind[1])}]"
        return f"{text}[{self.element_index(kind[1])}, {self.element_index(kind[2])}]"

    def element_index(self, size):
        names = self.variables("int")
        if names and self.chance(0.4):
            return f"{self.whole(self.pick(names))} % {size}"
        return str(self.random.randrange(size))

    def whole(self, text):
        """An index of a matrix, cast to i32 if Taichi must accept it."""
        return f"ti.cast({text}, ti.i32)" if self.loose else text

    def integer(self, depth):
        if depth > 2 or self.chance(0.2):
            return self.atom("int")
        inner = lambda: self.integer(depth + 1)  # noqa: E731
        choice = self.random.randrange(20)
        if choice < 4:
            return f"({inner()} {self.pick('+-*')} {inner()})"
        if choice < 6:
            return f"({inner()} {self.pick('&|^')} {inner()})"
        if choice == 6:
            return f"({inner()} {self.pick(['//', '%'])} {self.divisor()})"
        if choice == 7:
            count = f"({self.atom('int')} & 7)" if self.loose or self.chance(0.7) else inner()
            return f"({self.atom('int')} {self.pick(['<<', '>>'])} {count})"
        if choice == 8:
            return self.pick([f"(-{self.atom('int')})", f"(~{self.atom('int')})"])
        if choice == 9:
            name = self.pick(["ti.min", "ti.max", "min", "max"])
            return f"{name}({', '.join(inner() for _ in range(self.pick([2, 2, 3])))})"
        if choice == 10:
            return f"{self.pick(['ti.abs', 'abs'])}({inner()})"
        if choice == 11:
            type = self.int_type()
            return self.pick([f"ti.{type}({inner()})", f"ti.cast({inner()}, ti.{type})"])
        if choice == 12:
            type = self.pick(["i32", "i64", "i16", "i32"]) if self.loose else self.int_type()
            value = f"ti.min(ti.max({self.floating(depth + 1)}, -100.0), 100.0)"
            return f"ti.cast({value}, ti.{type})"
        if choice == 13:
            return f"ti.select({self.boolean(depth + 1)}, {inner()}, {inner()})"
        if choice == 14:
            return f"({inner()} if {self.boolean(depth + 1)} else {inner()})"
        if choice == 15:
            return self.pick(
                [
                    f"ti.bit_shr({self.atom('int')}, {self.atom('int')} & 7)",
                    f"({self.atom('int')} ** {self.random.randrange(4)})",
                    f"({self.atom('int')} ** ({self.atom('int')} & 3))",
                    # Exponents that the base's type may not have.
                    f"({self.atom('int')} ** ti.{self.int_type()}({self.atom('int')} & 1023))",
                    f"ti.raw_div({inner()}, {self.divisor()})",
                    f"ti.raw_mod({inner()}, {self.divisor()})",
                ]
            )
        if choice == 16:
            kind = self.pick([self.vector_kind(), self.matrix_kind()])
            kind = (*kind[:-1], "int")
            return f"{self.matrix(kind, depth + 1)}.{self.pick(['sum', 'min', 'max'])}()"
        if choice == 17:
            kind = ("vec", self.pick([2, 3]), "int")
            return f"{self.matrix(kind, depth + 1)}.dot({self.matrix(kind, depth + 1)})"
        if choice == 18:
            return self.call("int", depth) or self.atom("int")
        if choice == 19 and self.chance(0.5):
            type = self.pick([32, 64])
            value = f"ti.cast({self.floating(depth + 1)}, ti.f{type})"
            return f"ti.bit_cast({value}, ti.{self.pick('iu')}{type})"
        if self.chance(0.3):
            type = self.pick(["i32", "u32"])
            return f"ti.math.{self.pick(['popcnt', 'clz'])}(ti.{type}({inner()}))"
        if self.chance(0.3) and not self.loose:
            return f"({self.boolean(depth + 1)} + {self.boolean(depth + 1)})"
        return f"ti.i32({self.boolean(depth + 1)})"

    def divisor(self):
        if self.loose or self.chance(0.7):
            return (
                self.pick(["3", "7", "2", f"({self.atom('int')} * 2 + 1)"])
                if not (self.loose)
                else self.pick(["3", "7", "2", "5"])
            )
        return self.atom("int")

    def floating(self, depth):
        if depth > 2 or self.chance(0.2):
            return self.atom("float")
        inner = lambda: self.floating(depth + 1)  # noqa: E731
        choice = self.random.randrange(18)
        if choice < 5:
            return f"({inner()} {self.pick('+-*')} {inner()})"
        if choice == 5:
            return f"({inner()} / {self.pick([inner(), '3.0', '7'])})"
        if choice == 6:
            return f"({inner()} {self.pick('+-*/')} {self.integer(depth + 1)})"
        if choice == 7:
            return f"({self.integer(depth + 1)} / {self.pick(['3', '8', '10', '2.5'])})"
        if choice == 8:
            name = self.pick(["ti.min", "ti.max", "min", "max"])
            return f"{name}({', '.join(inner() for _ in range(self.pick([2, 2, 3])))})"
        if choice == 9:
            return self.pick([f"ti.abs({inner()})", f"(-{self.atom('float')})"])
        if choice == 10:
            type = self.float_type()
            return self.pick([f"ti.{type}({inner()})", f"ti.cast({inner()}, ti.{type})"])
        if choice == 11:
            return f"ti.cast({self.integer(depth + 1)}, ti.{self.float_type()})"
        if choice == 12:
            return f"ti.select({self.boolean(depth + 1)}, {inner()}, {inner()})"
        if choice == 13:
            return f"({inner()} if {self.boolean(depth + 1)} else {inner()})"
        if choice == 14:
            return self.mathematical(depth)
        if choice == 15:
            kind = (*self.pick([self.vector_kind(), self.matrix_kind()])[:-1], "float")
            return f"{self.matrix(kind, depth + 1)}.{self.pick(['sum', 'min', 'max'])}()"
        if choice == 16:
            return self.call("float", depth) or self.atom("float")
        return self.pick(
            [
                f"{self.pick(['ti.floor', 'ti.ceil', 'ti.round'])}({inner()})",
                f"({inner()} // {self.pick(['2.0', '0.75'])})",
                f"({inner()} % {self.pick(['2.0', '0.75'])})",
                f"({self.atom('float')} ** {self.random.randrange(1, 4)})",
            ]
        )

    def mathematical(self, depth):
        """A mathematical function of arguments within its domain."""
        value = f"ti.min(ti.max({self.floating(depth + 1)}, -4.0), 4.0)"
        small = f"ti.min(ti.max({self.floating(depth + 1)}, -0.875), 0.875)"
        return self.pick(
            [
                f"ti.sin({value})",
                f"ti.cos({value})",
                f"ti.tanh({value})",
                f"ti.exp({value})",
                f"ti.sqrt({value} + 4.0)",
                f"ti.sqrt({value} + 4.0)",
                f"ti.rsqrt({value} + 5.0)",
                f"ti.log({value} + 5.0)",
                f"ti.asin({small})",
                f"ti.acos({small})",
                f"ti.tan({small})",
                f"ti.atan2({value}, {small} + 2.0)",
                f"(({value} + 4.5) ** {self.atom('float')})",
                f"ti.sqrt(ti.abs({self.atom('int')}))",
                f"{self.matrix((*self.vector_kind()[:-1], 'float'), depth + 1)}.norm()",
                f"ti.math.clamp({value}, -1.5, {small})",
                f"ti.math.mix({value}, {small}, {small})",
                f"ti.math.fract({value})",
            ]
        )

    def boolean(self, depth):
        names = self.variables("bool")
        if names and self.chance(0.15):
            return self.pick(names)
        choice = self.random.randrange(10) if depth < 3 else self.random.randrange(5)
        compare = self.pick(["<", ">", "==", "!=", "<=", ">="])
        if choice < 4:
            return f"({self.integer(depth + 1)} {compare} {self.integer(depth + 1)})"
        if choice == 4:
            return f"({self.floating(depth + 1)} {compare} {self.floating(depth + 1)})"
        if choice == 5:
            return (
                f"({self.boolean(depth + 1)} {self.pick(['and', 'or'])} {self.boolean(depth + 1)})"
            )
        if choice == 6:
            return f"(not {self.boolean(depth + 1)})"
        if choice == 7:
            a, b, c = (self.atom("int") for _ in range(3))
            return f"({a} {self.pick(['<', '<='])} {b} {self.pick(['<', '<=', '!='])} {c})"
        if choice == 8:
            return f"({self.boolean(depth + 1)} {self.pick('&|^')} {self.boolean(depth + 1)})"
        if self.chance(0.3):
            kind = self.pick([self.vector_kind(), self.matrix_kind()])
            pair = self.matrix(kind, depth + 1), self.matrix(kind, depth + 1)
            return f"(({pair[0]} {compare} {pair[1]}).{self.pick(['any', 'all'])}() != 0)"
        return f"({self.atom('int')} & 1 == {self.pick('01')})"

    def matrix(self, kind, depth):
        names = [text for text, its in self.parts_of_variables() if its == kind]
        scalar = kind[-1]
        choice = self.random.randrange(14)
        large = kind[0] == "mat" and kind[1] * kind[2] > 16 or kind[1] > 4
        if names and (choice < 4 or depth > 2):
            return self.pick(names)
        cells = [d for d in self.allowed("read", "own") if d.kind == kind]
        if cells and choice < 6:
            data = self.pick(cells)
            return f"{data.name}[{self.index(data)}]"
        if large and (choice < 8 or depth > 2):
            shape = ", ".join(map(str, kind[1:-1]))
            word = "Vector" if kind[0] == "vec" else "Matrix"
            type = self.type_of(scalar)
            fill = self.pick(["zero", "one"])
            return f"({self.atom(scalar)} + ti.{word}.{fill}(ti.{type}, {shape}))"
        if depth > 2 or choice < 8:
            return self.matrix_literal(kind, depth)
        inner = lambda: self.matrix(kind, depth + 1)  # noqa: E731
        if choice < 11:
            op = self.pick("+-*" if scalar == "int" else "+-*/")
            pair = self.pick([(inner(), inner()), (inner(), inner()), (inner(), self.atom(scalar))])
            return f"({pair[0]} {op} {pair[1]})"
        if choice == 11:
            return self.call(kind, depth) or inner()
        if choice == 12:
            name = self.pick(["ti.min", "ti.max", "abs"])
            return f"ti.abs({inner()})" if name == "abs" else f"{name}({inner()}, {inner()})"
        return self.linear(kind, depth)

    def linear(self, kind, depth):
        """Matrix products and similar operations."""
        scalar = kind[-1]
        if kind[0] == "vec":
            if kind[1] == 3 and self.chance(0.4):
                return f"{self.matrix(kind, depth + 1)}.cross({self.matrix(kind, depth + 1)})"
            k = self.pick([2, 3])
            left = self.matrix(("mat", kind[1], k, scalar), depth + 1)
            return f"({left} @ {self.matrix(('vec', k, scalar), depth + 1)})"
        n, m = kind[1:3]
        if self.chance(0.3):
            return f"{self.matrix(('mat', m, n, scalar), depth + 1)}.transpose()"
        if self.chance(0.3):
            left, right = (self.matrix(("vec", x, scalar), depth + 1) for x in (n, m))
            return f"{left}.outer_product({right})"
        k = self.pick([2, 3])
        left = self.matrix(("mat", n, k, scalar), depth + 1)
        return f"({left} @ {self.matrix(('mat', k, m, scalar), depth + 1)})"

    def matrix_literal(self, kind, depth):
        scalar = kind[-1]
        type = self.type_of(scalar)
        if kind[0] == "mat" and kind[1] * kind[2] > 16 or kind[1] > 7:
            shape = ", ".join(map(str, kind[1:-1]))
            word = "Vector" if kind[0] == "vec" else "Matrix"
            return f"ti.{word}.{self.pick(['zero', 'one'])}(ti.{type}, {shape})"
        item = lambda: self.expression(scalar, max(depth + 1, 2))  # noqa: E731
        if kind[0] == "vec":
            return f"ti.Vector([{', '.join(item() for _ in range(kind[1]))}], ti.{type})"
        rows = (f"[{', '.join(item() for _ in range(kind[2]))}]" for _ in range(kind[1]))
        return f"ti.Matrix([{', '.join(rows)}], ti.{type})"

    def struct_value(self, kind, depth):
        names = [text for text, its in self.parts_of_variables() if its == kind]
        if names and self.chance(0.5):
            return self.pick(names)
        cells = [
            (data, path)
            for data in self.allowed("read", "own")
            for path, its in self.parts("", data.kind)
            if its == kind
        ]
        if cells and self.chance(0.5):
            data, path = self.pick(cells)
            return f"{data.name}[{self.index(data)}]{path}"
        # Functions of several structs may otherwise call each other without an end.
        called = self.call(kind, depth) if depth < DEEPEST_CALL and self.chance(0.3) else None
        if called:
            return called
        if self.chance(0.25):
            return self.incomplete(kind, depth)
        members = (f"{n}={self.expression(k, depth + 1)}" for n, k in self.structs[kind].items())
        return f"{kind}({', '.join(members)})"

    def incomplete(self, kind, depth):
        """A struct made from its first members; some vectors and structs are given as one
        number."""
        kinds = list(self.structs[kind].values())
        values = []
        for its in kinds[: self.random.randrange(1, len(kinds) + 1)]:
            if its not in ("int", "float") and self.chance(0.4):
                its = self.pick(["int", "float"])
            values.append(self.expression(its, depth + 1))
        return f"{kind}({', '.join(values)})"

    def call(self, kind, depth):
        """A call of a function with a result of this kind, or None."""
        choices = [f for f in self.functions if f[2] == kind]
        if not choices:
            return None
        name, parameters, _ = self.pick(choices)
        arguments = []
        for its, how in parameters:
            if how == "variable":
                names = self.variables(its, assignable=True)
                if not names:
                    return None
                arguments.append(self.pick(names))
            else:
                arguments.append(self.expression(its, depth + 1))
        return f"{name}({', '.join(arguments)})"
