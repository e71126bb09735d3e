"""Generates random well-typed programs of the language, as text.

The generator knows the *kind* of each expression (int, float, bool, a vector or matrix of one of
them, a struct), not its type: those follow from the language's rules, which only the evaluator
knows. Parallel loops are free of races: in each a field is read only, or touched only at the
loop's own index, or updated by one commutative atomic whose result is not used.
"""

import random

from .expressions import Expressions


def program(seed, loose=False):
    """The text of a seed's program. loose: uses only features that Taichi defines, too."""
    return Generator(seed, loose).source()


class Data:
    """A field or ndarray. kind: of its elements; axes: their number."""

    def __init__(self, name, kind, axes, type):
        self.name = name
        self.kind = kind
        self.axes = axes
        self.type = type
        self.ndarray = False


class Generator(Expressions):
    def __init__(self, seed, loose=False):
        self.random = random.Random(seed)
        self.loose = loose
        self.counter = 0
        self.data = []
        self.grids = []  # data of one shape that only loops over their inside use
        self.ends = []  # parameters: the last index of the grids' axes
        self.structs = {}
        self.methods = {}  # name of a struct -> kind that its method `m` takes and gives
        self.setters = {}  # name of a struct -> kind that its method `set`, which changes it, takes
        self.functions = []  # (name, kinds of parameters, kind of result)
        self.scopes = [{}]
        self.fixed = set()  # variables that are not assigned
        self.parts_only = set()  # structs of which only members are assigned
        self.access = None  # in a parallel loop: name of data to how it may be used
        self.own = None  # in a parallel loop: index expressions of its current cell, by axes
        self.loops = 0  # enclosing serial loops that allow break
        self.depth = 0
        self.cells, self.square = self.pick([(16, 4), (16, 4), (67, 8), (300, 17)])
        self.large = not loose and self.chance(0.15)  # matrices that are held in memory
        self.nested = False  # in a loop or branch that exists at run time

    # ---- the module

    def source(self):
        lines = ["import kiln as ti", ""]
        if self.chance(0.2):
            ip, fp = self.pick(["i32", "i64"]), self.pick(["f32", "f64"])
            lines.append(f"OPTIONS = dict(default_ip=ti.{ip}, default_fp=ti.{fp})")
        for _ in range(self.pick([0, 1, 2, 2])):
            lines += self.struct_type()
        for _ in range(self.random.randrange(2, 5)):
            lines.append(self.declaration())
        if self.chance(0.3):
            lines += self.tree()
        if self.chance(0.3):
            lines += self.grid_declarations()
        for _ in range(self.random.randrange(0, 3)):
            lines += ["", "", *self.function()]
        lines += ["", "", *self.kernel()]
        return "\n".join(lines) + "\n"

    def struct_type(self):
        """A struct type, or two with equal members and different methods."""
        members, texts = {}, {}
        for letter in "abc"[: self.random.randrange(2, 4)]:
            kind = self.pick(["int", "float", self.vector_kind()])
            if self.structs and self.chance(0.4):
                kind = self.pick(self.structs)
            members[letter] = kind
            texts[letter] = self.type_text(kind)
        scalars = [letter for letter, kind in members.items() if kind in ("int", "float")]
        if not scalars or self.chance(0.4):
            name = self.fresh("S")
            self.structs[name] = members
            listed = ", ".join(f"{letter}={text}" for letter, text in texts.items())
            return [f"{name} = ti.types.struct({listed})"]
        lines = []
        for _ in range(2):
            name, member = self.fresh("S"), self.pick(scalars)
            self.structs[name] = members
            self.methods[name] = members[member]
            listed = [f"    {letter}: {text}" for letter, text in texts.items()]
            value = f"self.{member} {self.pick('+-*')} n {self.pick('+-')} {self.pick('123')}"
            method = ["    @ti.func", "    def m(self, n):", f"        return {value}"]
            lines += ["", "", "@ti.dataclass", f"class {name}:", *listed, "", *method]
            lines += self.setter(name)
        return [*lines, "", ""]

    def setter(self, name):
        """A method that changes a number of the struct, or of a struct in it."""
        kind = self.pick(["int", "float"])
        inner = [
            (text, its) for text, its in self.parts("self", name) if self.setters.get(its) == kind
        ]
        if inner and self.chance(0.5):
            line = f"{self.pick(inner)[0]}.set(n)"
        else:
            own = [text for text, its in self.parts("self", name) if its == kind]
            if not own:
                return []
            line = f"{self.pick(own)} {self.pick(['=', '+=', '-=', '*='])} n"
        self.setters[name] = kind
        return ["", "    @ti.func", "    def set(self, n):", f"        {line}"]

    def type_text(self, kind):
        if isinstance(kind, str):
            return kind if kind in self.structs else f"ti.{self.type_of(kind)}"
        shape = ", ".join(map(str, kind[1:-1]))
        word = "vector" if kind[0] == "vec" else "matrix"
        return f"ti.types.{word}({shape}, ti.{self.type_of(kind[-1])})"

    def declaration(self):
        name = self.fresh("x")
        axes = self.pick([1, 1, 2])
        shape = self.cells if axes == 1 else (self.square, self.square)
        choice = self.random.randrange(10)
        maker = self.pick(["field", "field", "ndarray"])
        if choice < 6 or (choice >= 9 and not self.structs):
            kind = self.scalar_kind()
            if choice == 0 and maker == "field":
                kind = "bool"
            type = self.type_of(kind)
            text = f"ti.{maker}(ti.{type}, {shape})"
        elif choice < 8:
            kind = self.vector_kind()
            type = self.type_of(kind[2])
            text = f"ti.Vector.{maker}({kind[1]}, ti.{type}, {shape}{self.layout(maker, axes)})"
        elif choice < 9:
            kind = self.matrix_kind()
            type = self.type_of(kind[3])
            shape = f"{shape}{self.layout(maker, axes)}"
            text = f"ti.Matrix.{maker}({kind[1]}, {kind[2]}, ti.{type}, {shape})"
        else:
            kind = type = self.pick(self.structs)
            text, maker = f"{kind}.field(shape={shape})", "field"
        data = Data(name, kind, axes, type)
        data.ndarray = maker == "ndarray"
        self.data.append(data)
        return f"{name} = {text}"

    def grid_declarations(self):
        flat = [(12, 20), (17, 24), (9, 13), (4, 10, 12), (3, 7, 16)]
        shape = self.pick([*flat, (2, 3, 6, 16), (19, 6, 8), (4, 9, 6, 8)])
        types = [(kind, self.type_of(kind)) for kind in (self.scalar_kind(), self.scalar_kind())]
        lines = []
        for _ in range(self.random.randrange(2, 5)):
            kind, type = self.pick(types)
            data = Data(self.fresh("x"), kind, len(shape), type)
            data.ndarray = self.chance(0.5)
            self.grids.append(data)
            maker = "ndarray" if data.ndarray else "field"
            lines.append(f"{data.name} = ti.{maker}(ti.{type}, {shape})")
        self.ends = [(self.fresh("p"), size - 1) for size in shape]
        return lines

    def layout(self, maker, axes):
        """Keywords that change only the layout of a field."""
        if maker != "field":
            return ""
        text = ", layout=ti.Layout.SOA" if self.chance(0.3) else ""
        if axes == 2 and self.chance(0.3):
            text += ', order="ji"'
        return text

    def tree(self):
        """Fields placed in the same cells, over several levels."""
        axes = self.pick([1, 2])
        lines, names = [], []
        for _ in range(self.pick([1, 2, 3])):
            name, kind = self.fresh("x"), self.pick(["int", "float", self.vector_kind()])
            type = self.type_of(kind if isinstance(kind, str) else kind[2])
            made = f"ti.field(ti.{type})"
            if not isinstance(kind, str):
                made = f"ti.Vector.field({kind[1]}, ti.{type})"
            lines.append(f"{name} = {made}")
            names.append(name)
            self.data.append(Data(name, kind, axes, type))
        size = self.cells if axes == 1 else self.square
        outer, inner = {16: (4, 4), 300: (30, 10), 4: (2, 2), 8: (4, 2)}.get(size, (size, 1))
        word = "i" if axes == 1 else "ij"
        levels = f".dense(ti.{word}, {outer}).dense(ti.{word}, {inner})"
        if axes == 2 and self.chance(0.4):
            first, second = self.pick([("i", "j"), ("j", "i")])
            levels = f".dense(ti.{first}, {size}).dense(ti.{second}, {size})"
        return [*lines, f"ti.root{levels}.place({', '.join(names)})"]

    def function(self):
        """A func, with value or template parameters, or a real func."""
        name = self.fresh("f")
        real = self.chance(REAL_FUNCTIONS)
        scope, heads, kinds = {}, [], []
        for _ in range(self.random.randrange(1, 4)):
            parameter = self.fresh("p")
            kind = self.pick(["int", "int", "float", self.vector_kind(), *self.structs])
            scope[parameter] = kind
            how = self.random.randrange(3)
            if real or how == 0:
                heads.append(f"{parameter}: {self.type_text(kind)}")
                kinds.append((kind, "value"))
            elif how == 1:
                heads.append(f"{parameter}: ti.template()")
                kinds.append((kind, "variable"))
            else:
                heads.append(parameter)
                kinds.append((kind, "value"))
        result = self.pick(["int", "float", self.vector_kind(), *self.structs])
        kept = self.data, self.scopes, self.fixed
        self.data, self.scopes = [], [scope]
        self.parameters(scope, real)
        self.nested = False
        body = self.block(2, self.random.randrange(1, 4))
        if real and self.chance(0.5):
            body += [f"if {self.condition()}:", f"    return {self.expression(result, 1)}"]
        value = self.expression(result, 1)
        if real and kinds[0][0] == "int" and self.chance(0.5):
            # Recursion with a depth that decreases at each call.
            first, left = list(scope)[0], self.fresh("v")
            body = [f"{left} = ti.cast({first}, ti.i32) & 3", *body]
            again = [f"{left} - 1", *(self.expression(its, 2) for its, _ in kinds[1:])]
            body += [f"if {left} == 0:", f"    return {value}"]
            value = f"{name}({', '.join(again)})"
            if result in ("int", "float"):
                value = f"({value} + {self.atom(result)})"
        body.append(f"return {value}")
        self.data, self.scopes, self.fixed = kept
        self.functions.append((name, kinds, result))
        arrow = f" -> {self.type_text(result)}" if real else ""
        decorator = "@ti.real_func" if real else "@ti.func"
        return [decorator, f"def {name}({', '.join(heads)}){arrow}:", *indented(body)]

    def parameters(self, scope, by_value):
        """Sets which parameters a body may assign."""
        structs = {name for name, kind in scope.items() if kind in self.structs}
        self.fixed = set(scope) - structs if by_value else set()
        self.parts_only = structs if by_value else set()

    def kernel(self):
        heads, values, scope = [], [], {}
        for data in self.data + self.grids:
            if data.ndarray:
                shape = f"ti.types.ndarray(dtype={self.element_text(data)}, ndim={data.axes})"
                heads.append(f"{data.name}_: {shape}")
                values.append(data.name)
        for data in self.data + self.grids:
            if data.ndarray:
                data.name += "_"
        for parameter, value in self.ends:
            heads.append(f"{parameter}: ti.i32")
            values.append(str(value))
        for _ in range(self.random.randrange(0, 4)):
            parameter, kind = self.fresh("p"), self.pick(["int", "int", "float"])
            if self.chance(0.2):
                kind = ("vec", self.pick([2, 3]), kind)
            elif self.structs and not self.loose and self.chance(0.3):
                kind = self.pick(self.structs)
            heads.append(f"{parameter}: {self.type_text(kind)}")
            values.append(self.argument(kind))
            scope[parameter] = kind
        self.scopes = [scope, {}]
        self.parameters(scope, True)
        body = []
        for _ in range(self.random.randrange(2, 6)):
            if self.grids and self.chance(0.5):
                body += self.scatter_loop() if self.chance(0.4) else self.grid_loop()
            elif self.chance(0.45):
                body += self.parallel_loop()
            else:
                body += self.block(0, self.random.randrange(1, 4), keep=True)
        returns = ""
        if self.chance(0.7):
            kinds = [
                self.pick(["int", "float", self.vector_kind(), *self.structs])
                for _ in range(self.pick([1, 1, 1, 2, 3]))
            ]
            texts = [self.type_text(kind) for kind in kinds]
            returns = f" -> {texts[0]}" if len(kinds) == 1 else f" -> tuple[{', '.join(texts)}]"
            body.append("return " + ", ".join(self.expression(kind, 1) for kind in kinds))
        head = f"def kernel({', '.join(heads)}){returns}:"
        return ["@ti.kernel", head, *indented(body), "", "", f"ARGUMENTS = [{', '.join(values)}]"]

    def element_text(self, data):
        if isinstance(data.kind, str):
            return f"ti.{data.type}"
        shape = ", ".join(map(str, data.kind[1:-1]))
        word = "vector" if data.kind[0] == "vec" else "matrix"
        return f"ti.types.{word}({shape}, ti.{data.type})"

    def argument(self, kind):
        if kind == "int":
            return str(self.random.randrange(0, 100))
        if kind == "float":
            return self.pick(["0.5", "-1.25", "3.0", "0.1", "17.75"])
        if kind in self.structs:
            members = (f'"{n}": {self.argument(k)}' for n, k in self.structs[kind].items())
            return f"{{{', '.join(members)}}}"
        return f"[{', '.join(self.argument(kind[2]) for _ in range(kind[1]))}]"

    # ---- statements

    def block(self, depth, count, keep=False):
        """Lines of some statements. keep: whether the variables that they define stay in scope."""
        kept = self.depth
        self.depth = depth
        if not keep:
            self.scopes.append({})
        lines = []
        for _ in range(count):
            lines += self.statement()
        if not keep:
            self.scopes.pop()
        self.depth = kept
        return lines or ["pass"]

    def body(self, nested=True):
        """A block; nested: not directly in the kernel once static loops are unrolled."""
        kept, self.nested = self.nested, self.nested or nested
        lines = indented(self.block(self.depth + 1, self.random.randrange(1, 4)))
        self.nested = kept
        return lines

    def statement(self):
        choices = [self.define, self.define, self.assign, self.assign, self.augment]
        if self.data:
            choices += [self.store, self.store, self.update]
            if self.access is None and self.chance(0.3):
                choices.append(self.fill_field)
        if self.setters:
            choices += [self.set_member, self.set_member]
        if self.depth < 3:
            choices += [self.branch, self.serial_loop, self.while_loop, self.static_loop]
        if self.loops and self.nested:
            choices.append(self.leave)
        return self.pick(choices)()

    def local_kind(self):
        kinds = ["int", "int", "int", "float", "float", "bool", self.vector_kind()]
        if self.chance(0.2):
            kinds = [self.matrix_kind()]
        elif self.structs and self.chance(0.3):
            kinds = list(self.structs)
        return self.pick(kinds)

    def define(self):
        kind, name = self.local_kind(), self.fresh("v")
        value = self.expression(kind, 0)
        if isinstance(kind, str) and kind not in self.structs and kind != "bool":
            if self.chance(0.3):
                line = f"{name}: {self.type_text(kind)} = {value}"
                self.scopes[-1][name] = kind
                return [line]
        self.scopes[-1][name] = kind
        return [f"{name} = {value}"]

    def target(self):
        """(expression of something assignable, its kind), or None."""
        names = [
            (name, kind)
            for scope in self.scopes
            for name, kind in scope.items()
            if name not in self.fixed
        ]
        if not names:
            return None
        name, kind = self.pick(names)
        return self.inside(name, kind)

    def inside(self, text, kind):
        """The expression itself, or a part of it."""
        if kind in self.structs:
            if text in self.parts_only or self.chance(0.8):
                member = self.pick(self.structs[kind])
                return self.inside(f"{text}.{member}", self.structs[kind][member])
        elif kind[0] == "vec" and self.chance(0.6):
            if kind[1] <= 4 and self.chance(0.5):
                letters = self.pick(["xyzw", "rgba"])[: kind[1]]
                if self.chance(0.3):
                    two = "".join(self.random.sample(letters, 2))
                    return f"{text}.{two}", ("vec", 2, kind[2])
                return f"{text}.{self.pick(letters)}", kind[2]
            return f"{text}[{self.index_below(kind[1])}]", kind[2]
        elif kind[0] == "mat" and self.chance(0.6):
            i, j = self.index_below(kind[1]), self.index_below(kind[2])
            return f"{text}[{i}, {j}]", kind[3]
        return text, kind

    def index_below(self, size):
        if self.chance(0.6):
            return str(self.random.randrange(size))
        return f"{self.whole(self.atom('int'))} % {size}"

    def assign(self):
        target = self.target()
        if target is None:
            return self.define()
        text, kind = target
        if self.chance(0.08):
            other = set(self.variables(kind, assignable=True)) - self.parts_only - {text}
            if other and text.isidentifier():
                name = self.pick(sorted(other))
                return [f"{text}, {name} = {name}, {text}"]
        return [f"{text} = {self.expression(kind, 0)}"]

    def augment(self):
        target = self.target()
        if target is None or target[1] == "bool" or target[1] in self.structs:
            return self.assign()
        text, kind = target
        return [f"{text} {self.operator(kind)}= {self.augmented(kind)}"]

    def operator(self, kind):
        scalar = kind if isinstance(kind, str) else kind[-1]
        if scalar == "int":
            return self.pick(["+", "-", "*", "&", "|", "^", "//", "%"])
        return self.pick(["+", "-", "*", "+", "-", "*", "/"])

    def augmented(self, kind):
        if not isinstance(kind, str) and self.chance(0.3):
            return self.expression(kind[-1], 1)
        return self.expression(kind, 1)

    def allowed(self, *uses):
        """The data that the current loop may use in one of these ways."""
        if self.access is None:
            return [d for d in self.data]
        return [d for d in self.data if self.access[d.name] in uses]

    def index(self, data, write=False):
        """The index of a cell, between brackets."""
        if self.access is not None and self.access[data.name] == "own":
            return self.own[data.axes]
        if data.axes == 1:
            return f"{self.atom('int')} & 15"
        return f"{self.atom('int')} % {self.square}, {self.atom('int')} & 3"

    def store(self):
        choices = self.allowed("own")
        if not choices:
            return self.update()
        data = self.pick(choices)
        text, kind = self.inside(f"{data.name}[{self.index(data)}]", data.kind)
        if self.chance(0.3) and kind != "bool" and kind not in self.structs:
            return [f"{text} {self.operator(kind)}= {self.augmented(kind)}"]
        return [f"{text} = {self.expression(kind, 0)}"]

    def fill_field(self):
        """A call of `fill` on a field, with a value for each cell or one number."""
        choices = [d for d in self.data if not d.ndarray and d.kind != "bool"]
        choices = [d for d in choices if not self.loose or d.kind not in self.structs]
        if not choices:
            return self.define()
        data = self.pick(choices)
        kind = data.kind
        if kind in self.structs and self.chance(0.5):
            kind = self.pick(["int", "float"])
        elif not isinstance(kind, str) and self.chance(0.5):
            kind = kind[-1]
        return [f"{data.name}.fill({self.expression(kind, 1)})"]

    def set_member(self):
        """A call of a method that changes its struct."""
        found = [text for text in self.parts_of_variables(assignable=True)]
        for data in self.allowed("own"):
            found += self.parts(f"{data.name}[{self.index(data)}]", data.kind)
        found = [(text, its) for text, its in found if its in self.setters]
        if not found:
            return self.assign()
        inner = [(text, its) for text, its in found if "." in text]
        text, kind = self.pick(inner if inner and self.chance(0.6) else found)
        return [f"{text}.set({self.expression(self.setters[kind], 1)})"]

    def update(self):
        """An atomic."""
        choices = [d for d in self.allowed("add", "min", "max", "and", "or", "xor", "own")]
        choices = [d for d in choices if d.kind != "bool" and d.kind not in self.structs]
        if not choices:
            return self.assign() if self.access is None else self.define()
        data = self.pick(choices)
        use = "own" if self.access is None else self.access[data.name]
        text, kind = f"{data.name}[{self.index(data)}]", data.kind
        if kind[0] == "vec" and self.chance(0.5):
            text, kind = f"{text}[{self.index_below(kind[1])}]", kind[2]
        elif kind[0] == "mat" and self.chance(0.5):
            i, j = self.index_below(kind[1]), self.index_below(kind[2])
            text, kind = f"{text}[{i}, {j}]", kind[3]
        scalar = kind if isinstance(kind, str) else kind[-1]
        if use == "own":
            ops = ["add", "sub", "min", "max"] + (["and", "or", "xor"] if scalar == "int" else [])
            if not self.loose:
                ops.append("mul")
            use = self.pick(ops)
            call = f"ti.atomic_{use}({text}, {self.expression(kind, 1)})"
            if isinstance(kind, str) and self.chance(0.5):
                name = self.fresh("v")
                self.scopes[-1][name] = kind
                return [f"{name} = {call}"]
            return [call]
        value = self.expression(kind, 1)
        if use == "add" and self.chance(0.5):
            return [f"{text} {self.pick('+-')}= {value}"]
        return [f"ti.atomic_{use}({text}, {value})"]

    def branch(self):
        # In Kiln, loops in a branch are serial even if its condition is constant; in Taichi not.
        nested = not self.loose
        lines = [f"if {self.test()}:", *self.body(nested)]
        while self.chance(0.2):
            lines += [f"elif {self.test()}:", *self.body(nested)]
        if self.chance(0.4):
            lines += ["else:", *self.body(nested)]
        return lines

    def test(self):
        return self.pick(_DECIDED) if self.chance(0.2) else self.condition()

    def loop_body(self, scope, leave=True, nested=True):
        self.scopes.append(scope)
        self.fixed |= set(scope)
        kept, self.loops = self.loops, self.loops + 1 if leave else 0
        lines = self.body(nested)
        self.loops = kept
        self.scopes.pop()
        return lines

    def serial_loop(self):
        name = self.fresh("i")
        ends = self.pick(
            ["3", "5", f"{self.atom('int')} & 7", f"1, {self.atom('int')} % 6", "2, 5"]
        )
        if self.chance(0.2) and self.depth == 0:
            ends = f"{self.pick([2, 9, 30])}"
        # At the outermost level a loop would be parallel.
        lines = [] if self.nested else ["ti.loop_config(serialize=True)"]
        other = self.fresh("i")
        if self.nested and self.chance(0.15):
            head, scope = (
                f"for {name}, {other} in ti.ndrange(2, 3):",
                {name: "int", other: "int"},
            )
            return [*lines, head, *self.loop_body(scope, leave=False)]
        return [*lines, f"for {name} in range({ends}):", *self.loop_body({name: "int"})]

    def while_loop(self):
        name = self.fresh("t")
        self.fixed.add(name)
        self.scopes[-1][name] = "int"
        lines = [f"{name} = 0"]
        bound = self.random.randrange(2, 7)
        test = f"{name} < {bound}"
        if self.chance(0.5):
            test += f" and {self.condition()}"
        self.scopes.append({})
        kept, self.loops = self.loops, self.loops + 1
        body = [f"    {name} += 1", *self.body()]
        self.loops = kept
        self.scopes.pop()
        return [*lines, f"while {test}:", *body]

    def static_loop(self):
        if self.chance(0.3):
            lines = [f"if ti.static({self.pick(_DECIDED)}):", *self.body(False)]
            return lines + (["else:", *self.body(False)] if self.chance(0.5) else [])
        name = self.fresh("s")
        head = f"for {name} in ti.static(range({self.pick([1, 2, 3])})):"
        return [head, *self.loop_body({name: "int"}, leave=False, nested=False)]

    def leave(self):
        return [f"if {self.condition()}:", f"    {self.pick(['break', 'continue'])}"]

    # ---- parallel loops

    def parallel_loop(self):
        names, head, self.own = self.loop_head()
        self.access = {}
        for data in self.data:
            uses = ["read", "own", "own"] if data.axes in self.own else ["read", "read"]
            scalar = data.kind if isinstance(data.kind, str) else data.kind[-1]
            if scalar == "int" and data.kind not in self.structs:
                uses += ["add", "min", "max", "and", "or", "xor"]
            elif scalar == "float" and data.kind not in self.structs:
                uses += ["min", "max"]
            self.access[data.name] = self.pick(uses)
        # Outer variables are only read, except for some that are only reduced into.
        outer = [(n, k) for scope in self.scopes for n, k in scope.items()]
        sums = [n for n, k in outer if k == "int" and n not in self.fixed and self.chance(0.3)][:2]
        kept_fixed, kept_scopes = self.fixed, self.scopes
        self.fixed = self.fixed | {n for n, _ in outer}
        self.scopes = [{n: k for n, k in scope.items() if n not in sums} for scope in self.scopes]
        body = self.loop_body(dict.fromkeys(names, "int"), leave=False)
        for name in sums:
            line = self.pick(
                [
                    f"{name} += {{}}",
                    f"{name} -= {{}}",
                    f"ti.atomic_max({name}, {{}})",
                    f"ti.atomic_min({name}, {{}})",
                    f"{name} ^= {{}}",
                ]
            )
            self.scopes.append(dict.fromkeys(names, "int"))
            body.append("    " + line.format(self.expression("int", 1)))
            self.scopes.pop()
        self.fixed, self.scopes, self.access, self.own = kept_fixed, kept_scopes, None, None
        return [head, *body]

    def grid_loop(self):
        """A stencil: iterations read around their own cells of some grids, and write to their own
        cells of others."""
        names = [self.fresh("i") for _ in self.ends]
        ranges = [f"({self.pick([1, 1, 1, 2, 3])}, {end})" for end, _ in self.ends]
        own = ", ".join(names)
        written = self.random.sample(self.grids, self.random.randrange(1, len(self.grids)))
        read = [data for data in self.grids if data not in written]
        locals_ = {}

        def around():
            return ", ".join(self.pick([n, n, f"{n} - 1", f"{n} + 1"]) for n in names)

        def term(kind):
            kinds = ("int",) if kind == "int" else ("int", "float")
            choices = [f"{data.name}[{around()}]" for data in read * 3 if data.kind in kinds]
            choices += [f"{data.name}[{own}]" for data in written if data.kind in kinds]
            choices += [name for name, its in locals_.items() if its in kinds]
            choices += [self.pick(names), self.pick("257")]
            text = self.pick(choices)
            return f"{text} * {self.pick('235')}" if self.chance(0.2) else text

        def total(kind):
            terms = [term(kind) for _ in range(self.random.randrange(2, 7))]
            return "".join(f" {self.pick('++-')} {text}" for text in terms)[3:]

        body = []
        for _ in range(self.random.randrange(1, 4)):
            if self.chance(0.3):
                name, kind = self.fresh("v"), self.scalar_kind()
                body.append(f"    {name} = {total(kind)}")
                locals_[name] = kind
            data = self.pick(written)
            operator = self.pick(["=", "=", "=", "+="])
            body.append(f"    {data.name}[{own}] {operator} {total(data.kind)}")
        return [f"for {own} in ti.ndrange({', '.join(ranges)}):", *body]

    def scatter_loop(self):
        """Updates of neighbouring cells of grids, at places that the cells of another choose."""
        grids = [data for data in self.grids if data.kind == "int"]
        if len(grids) < 2:
            return self.grid_loop()
        source, *updated = self.random.sample(grids, len(grids))
        ops = {d.name: self.pick(["add", "add", "min", "max", "and", "or"]) for d in updated}
        name, place = self.fresh("i"), [self.fresh("v") for _ in self.ends]
        ends = [end for end, _ in self.ends]
        cell = f"{source.name}[{', '.join(f'{name} % {end}' for end in ends)}]"
        body = [f"{v} = ({cell} + {self.pick(['0', name])}) % {end}" for v, end in zip(place, ends)]
        for _ in range(self.random.randrange(2, 9)):
            data = self.pick(updated)
            # Mostly along the last axis, whose cells are beside each other.
            at = [v if self.chance(0.8) else f"{v} + 1" for v in place[:-1]]
            at = ", ".join([*at, f"{place[-1]} + {self.pick('01')}"])
            value = self.pick([name, "3", f"{name} * 5", cell])
            line = f"ti.atomic_{ops[data.name]}({data.name}[{at}], {value})"
            if self.chance(0.1):
                body.append(f"if {name} % {self.pick('237')} != 0 or {name} < 64:")
                line = "    " + line
            body.append(line)
        head = f"for {name} in range({ends[0]} + {self.random.randrange(100, 300)}):"
        return [head, *indented(body)]

    def loop_head(self):
        """(loop variables, head, the own index by axes)."""
        i, j = self.fresh("i"), self.fresh("i")
        flat = [d for d in self.data if d.axes == 1]
        square = [d for d in self.data if d.axes == 2]
        choice = self.random.randrange(6)
        if choice == 0 and flat:
            return [i], f"for {i} in {self.pick(flat).name}:", {1: i}
        if choice == 1 and square:
            return [i, j], f"for {i}, {j} in {self.pick(square).name}:", {2: f"{i}, {j}"}
        if choice == 2:
            head = f"for {i}, {j} in ti.ndrange({self.square}, {self.square}):"
            return [i, j], head, {2: f"{i}, {j}", 1: f"{i} * {self.square} + {j}"}
        if choice == 3:
            head = f"for {i}, {j} in ti.ndrange((1, {self.square}), {self.random.randrange(1, 4)}):"
            return [i, j], head, {2: f"{j}, {i}"}
        if choice == 4:
            head = f"for {i} in range({self.atom('int')} % {self.cells + 1}):"
            return [i], head, {1: i}
        return [i], f"for {i} in range({self.cells}):", {1: i}


_DECIDED = ["2 > 1", "3 == 4", "not 0"]  # conditions that Python decides
REAL_FUNCTIONS = 0.3  # share of functions that are real ones


def indented(lines):
    return ["    " + line for line in lines]
