"""Texts of random expressions, of what is in scope."""

import random

from .places import K, N

IN_PLACE = "# in place"  # in the text of a kernel whose gradient may be refused


class Expressions:
    """places: of the data, see places.py."""

    def __init__(self, seed, places):
        self.random = random.Random(seed)
        self.kinds = places.kinds
        self.lines = []
        self.indent = 0  # of all lines
        self.names = 0
        self.functions, self.makers = [], []  # names of functions that return floats, and Pairs
        self.enter()

    def enter(self, constants=("p",), in_loop=True):
        """Starts a loop over cells, or another scope."""
        self.floats, self.ints, self.vectors, self.structs = [], [], [], []
        self.constants = list(constants)
        self.in_kernel = in_loop  # whether `i` is the index of a parallel loop
        self.near = [0]  # distances to neighbours that exist
        self.reads_own = False  # whether expressions may read the iteration's cell of y
        self.leaves = None  # groups of leaves, instead of what is in scope

    # ---- text

    def put(self, depth, text):
        self.lines.append("    " * (depth + self.indent) + text)

    def new(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def chance(self, of):
        return self.random.random() < of

    def access(self, name, index):
        return f"s[{index}].{name}" if self.kinds[name] == "struct" else f"{name}[{index}]"

    # ---- numbers

    def index(self):
        forms = [str(self.random.randint(0, N - 1))]
        if self.in_kernel:
            forms = ["i", f"(i + {self.random.randint(1, 5)}) % {N}"]
            forms += [f"i + {distance}" for distance in self.near if distance]
        forms += [f"abs({n}) % {N}" for n in self.ints]
        return self.random.choice(forms)

    def read(self):
        """A cell of an input."""
        if self.chance(0.2):
            column = self.random.choice([str(self.random.randint(0, K - 1)), *self.ints])
            column = column if column.isdigit() else f"abs({column}) % {K}"
            return self.access("w", f"{self.index()}, {column}")
        return self.access("x", self.index())

    def own(self):
        """The iteration's cell of y, seldom by an index whose value the compiler does not know."""
        if self.chance(0.93):
            return self.access("y", "i")
        self.put(0, IN_PLACE)
        return self.access("y", f"(i + {N}) % {N}")

    def leaf(self):
        if self.leaves:
            return self.random.choice(self.random.choice(self.leaves))
        forms = [f"{self.random.uniform(-2, 2):.3f}", *self.constants, *self.floats * 2]
        if self.in_kernel or "array" not in (self.kinds["x"], self.kinds["w"]):
            forms.append(self.read())
        if self.reads_own and self.chance(0.5):
            forms.append(self.own())
        forms += [f"{s}.{member}" for s in self.structs for member in "ab"]
        forms += [f"{v}[abs({self.integer()}) % 3]" for v in self.vectors]
        return self.random.choice(forms)

    def integer(self):
        forms = [str(self.random.randint(0, 5)), "i" if self.in_kernel else "n", *self.ints]
        if self.chance(0.3):
            a, b = self.random.choice(forms), self.random.choice(forms)
            return f"({a} {self.random.choice('+-*')} {b})"
        return self.random.choice(forms)

    def float(self, depth=3):
        if depth == 0 or self.chance(0.2):
            return self.leaf()
        kind = self.random.randrange(17 if self.functions else 15)
        a, b = self.float(depth - 1), self.float(depth - 1)
        if kind < 5:
            return f"({a} {self.random.choice('+-*')} {b})"
        if kind < 8:
            return f"ti.{self.random.choice(['sin', 'cos', 'tanh'])}({a})"
        if kind == 8:
            return self.random.choice([f"ti.exp(-ti.abs({a}))", f"ti.sqrt(ti.abs({a}) + 0.5)"])
        if kind == 9:
            return f"({a} / (ti.abs({b}) + 0.7))"
        if kind == 10:
            other = b if a != b else f"0.5 * {b}"  # not twice the same
            return f"ti.{self.random.choice(['min', 'max'])}({a}, {other})"
        if kind == 11:
            return self.rare(a, b)
        if kind == 12:
            return self.dead(a, b)
        if kind < 15:
            return f"ti.select({self.condition(1)}, {a}, {b})"
        return f"{self.random.choice(self.functions)}({a}, {b}, {self.integer()})"

    def rare(self, a, b):
        return self.random.choice(
            [
                f"ti.tan(ti.tanh({a}))",
                f"ti.{self.random.choice(['asin', 'acos'])}(0.9 * ti.tanh({a}))",
                f"ti.atan2({a}, {b})",
                f"ti.log(ti.abs({a}) + 0.5)",
                f"ti.rsqrt(ti.abs({a}) + 0.5)",
                f"((ti.abs({a}) + 0.5) ** ti.tanh({b}))",
                f"(ti.tanh({a}) ** {self.random.randint(2, 4)})",
                f"({a} % (ti.abs({b}) + 0.7))",
                f"({a} * ti.floor({b}))",
                f"({a} * ti.stop_grad({b}))",
            ]
        )

    def dead(self, a, b):
        """Chooses between b and what may have an infinite derivative, or none."""
        small = self.leaf()
        if not small[0].isalpha():  # Python's functions refuse literals outside of their domains
            return f"({a} + {b})"
        function = self.random.choice(["sqrt", "rsqrt", "log"])
        value = self.random.choice(
            [f"ti.{function}({small} - 0.3)"] * 2 + [f"({a} / ti.max({small} - 0.3, 0.0))"]
        )
        if self.chance(0.5):
            value = self.random.choice(
                [f"({a} * {value})", f"ti.sin({value})", f"({value} * {value} + {a})"]
            )
        return f"ti.select({small} > 0.3, {value}, {b})"

    def condition(self, depth=2):
        if self.chance(0.1):
            joined = self.random.choice(["and", "or"])
            return f"({self.condition(depth)}) {joined} ({self.condition(1)})"
        if self.ints and self.chance(0.4):
            return f"{self.integer()} % {self.random.randint(2, 3)} == {self.random.randint(0, 1)}"
        return f"{self.float(depth)} {self.random.choice('<>')} {self.float(depth)}"
