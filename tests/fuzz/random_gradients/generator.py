"""Texts of random kernels with float fields x (read), y (own cells), total (one sum) and top (one
maximum).

Kernels follow the rules of gradients: what is read is not overwritten later. They have all forms of
loops, branches on floats and integers, break and continue at any depth, carried floats and
integers, local vectors by run-time indices, local structs, cells that are written and then changed,
sums and maxima of all iterations, functions, and real functions that return in loops.

x and y are fields, members of a field of structs, ndarrays, or fields in sparse trees, of which
some cells of x are active. `places` says which.
"""

import random

N = 6
BLOCK = 3  # cells that become active together, in a tree of blocks
SPARSE = ("pointer", "blocks", "bitmasked", "dynamic")
LOW = -100.0  # what `top` is before a kernel
IN_PLACE = "# in place"  # in the text of a kernel whose gradient may be refused
MAXIMUM = "ti.atomic_max(top[0], "  # the start of a line


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.places, _ = places(seed)
        self.lines = []
        self.floats, self.ints, self.vectors, self.structs = [], [], [], []
        self.constants, self.functions, self.makers = ["p"], [], []
        self.in_kernel = True
        self.returns = None  # what a function returns, if it may return early
        self.names = 0
        self.budget = self.random.randint(4, 18)  # statements

    # ---- text

    def put(self, depth, text):
        self.lines.append("    " * depth + text)

    def new(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def chance(self, of):
        return self.random.random() < of

    # ---- expressions

    def access(self, name, index):
        return f"s[{index}].{name}" if self.places[name] == "struct" else f"{name}[{index}]"

    def index(self):
        forms = [str(self.random.randint(0, N - 1))]
        if self.in_kernel:
            forms = ["i", f"(i + {self.random.randint(1, 5)}) % {N}"]
        forms += [f"abs({n}) % {N}" for n in self.ints]
        return self.random.choice(forms)

    def leaf(self):
        forms = [f"{self.random.uniform(-2, 2):.3f}", *self.constants, *self.floats * 2]
        if self.in_kernel or self.places["x"] != "array":
            forms.append(self.access("x", self.index()))
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
        kind = self.random.randrange(13 if self.functions else 12)
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
            return f"ti.{self.random.choice(['min', 'max'])}({a}, {b})"
        if kind == 11:
            return f"ti.select({self.condition(1)}, {a}, {b})"
        return f"{self.random.choice(self.functions)}({a}, {b}, {self.integer()})"

    def condition(self, depth=2):
        if self.ints and self.chance(0.4):
            return f"{self.integer()} % {self.random.randint(2, 3)} == {self.random.randint(0, 1)}"
        return f"{self.float(depth)} {self.random.choice('<>')} {self.float(depth)}"

    # ---- statements

    def block(self, depth, in_loop):
        saved = list(self.floats), list(self.ints), list(self.vectors), list(self.structs)
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth, in_loop)
        self.floats, self.ints, self.vectors, self.structs = saved

    def statement(self, depth, in_loop):
        self.budget -= 1
        kind = self.random.randrange(16)
        if kind < 3 or not self.floats:
            name = self.new("t")
            self.put(depth, f"{name} = {self.float()} + 0.0")
            self.floats.append(name)
        elif kind < 6:
            self.change(depth)
        elif kind == 6:
            name = self.new("n")
            self.put(depth, f"{name} = {self.integer()} + 0")
            self.ints.append(name)
        elif kind == 7 and self.ints:
            self.put(depth, f"{self.random.choice(self.ints)} += {self.random.randint(1, 3)}")
        elif kind == 8:
            name = self.new("v")
            self.put(depth, f"{name} = ti.Vector([{', '.join(self.float(1) for _ in 'abc')}])")
            self.vectors.append(name)
        elif kind == 14:
            name = self.new("q")
            made = f"Pair(a={self.float(2)}, b={self.float(2)})"
            if self.makers and self.chance(0.5):
                maker = self.random.choice(self.makers)
                made = f"{maker}({self.float(2)}, {self.float(2)}, {self.integer()})"
            self.put(depth, f"{name} = {made}")
            self.structs.append(name)
        elif kind == 15 and self.returns:
            self.put(depth, f"if {self.condition()}: return {self.returns()}")
        elif kind == 9 and in_loop:
            self.put(depth, f"if {self.condition()}: {self.random.choice(['break', 'continue'])}")
        elif self.budget > 0 and depth < 6:
            self.nest(depth, in_loop)
        else:
            self.change(depth)

    def change(self, depth):
        if self.vectors and self.chance(0.3):
            target = f"{self.random.choice(self.vectors)}[abs({self.integer()}) % 3]"
        elif self.structs and self.chance(0.3):
            target = f"{self.random.choice(self.structs)}.{self.random.choice('ab')}"
        elif self.in_kernel and self.chance(0.2):
            target = self.access("y", "i")
        else:
            target = self.random.choice(self.floats)
        operator = self.random.choice(["=", "+=", "-=", "*="])
        value = self.float()
        # Values stay small, or the derivatives are of no use.
        self.put(depth, f"{target} {operator} ti.tanh({value})")

    def nest(self, depth, in_loop):
        kind = self.random.randrange(5)
        if kind < 2:
            self.put(depth, f"if {self.condition()}:")
            self.block(depth + 1, in_loop)
            if self.chance(0.5):
                self.put(depth, "else:")
                self.block(depth + 1, in_loop)
            return
        if kind < 4:
            name = self.new("j")
            bound = self.random.choice(
                [str(self.random.randint(0, 4)), f"abs({self.integer()}) % 5"]
            )
            self.put(depth, f"for {name} in range({bound}):")
            self.ints.append(name)
            self.block(depth + 1, True)
            self.ints.remove(name)
            return
        name = self.new("c")
        self.put(depth, f"{name} = 0")
        self.put(depth, f"while {self.condition(1)}:")
        self.put(depth + 1, f"{name} += 1")
        self.put(depth + 1, f"if {name} > {self.random.randint(1, 5)}: break")
        self.block(depth + 1, True)

    def function(self):
        """A function of two floats and an integer, which returns a float or a Pair."""
        is_real, makes_pair = self.chance(0.6), self.chance(0.3)
        name = self.new("g" if makes_pair else "f")

        def result():
            return f"Pair(a={self.float(2)}, b={self.float(2)})" if makes_pair else self.float()

        self.in_kernel, self.constants = False, ["a", "b"]
        self.floats, self.ints, self.vectors, self.structs = [], [], [], []
        self.returns = result if is_real else None
        self.budget = self.random.randint(1, 6)
        self.put(0, "@ti.real_func" if is_real else "@ti.func")
        returned = "Pair" if makes_pair else "ti.f64"
        self.put(0, f"def {name}(a: ti.f64, b: ti.f64, n: ti.i32) -> {returned}:")
        for _ in range(self.random.randint(1, 3)):
            self.statement(1, False)
        self.put(1, f"return {result()}")
        (self.makers if makes_pair else self.functions).append(name)

    def loop(self, name):
        """A loop over all cells, or over the active ones."""
        if self.chance(0.5):
            return f"for i in range({N}):"
        return f"for i in {'s' if self.places[name] == 'struct' else name}:"

    def kernel(self):
        self.put(0, "Pair = ti.types.struct(a=ti.f64, b=ti.f64)")
        for _ in range(self.random.choice([0, 0, 1, 2])):
            self.function()
        self.in_kernel, self.constants, self.returns = True, ["p"], None
        self.floats, self.ints, self.vectors, self.structs = [], [], [], []
        self.budget = self.random.randint(4, 18)
        arrays = [name for name in "xy" if self.places[name] == "array"]
        more = "".join(f", {name}: ti.types.ndarray()" for name in arrays)
        self.put(0, f"def kernel(p: ti.f64, m: ti.i32{more}):")
        self.put(1, self.loop("x"))
        self.put(2, f"{self.access('y', 'i')} = {self.access('x', 'i')}")
        for _ in range(self.random.randint(2, 5)):
            self.statement(2, False)
        if self.chance(0.8):
            self.put(2, f"{self.access('y', 'i')} += {self.float()}")
        self.put(2, f"total[0] += {self.float()}")
        if self.chance(0.4):
            self.put(2, f"{MAXIMUM}{self.float()})")
        if self.chance(0.5):
            own, other = (
                self.access("y", index)
                for index in ("i", f"(i + {self.random.randint(0, 5)}) % {N}")
            )
            self.put(1, self.loop("y"))
            self.put(2, f"total[0] += ti.sin({own}) * {other}")
            if self.chance(0.3):
                self.put(2, f"z[i] = ti.cos({own}) + {self.access('x', 'i')}")
        self.floats, self.ints, self.vectors, self.structs = [], [], [], []
        if self.places["x"] not in SPARSE and self.chance(0.5):
            self.stencil()
        if self.places["y"] not in SPARSE and self.chance(0.25):
            self.in_place()
        return "\n".join(self.lines) + "\n"

    def stencil(self):
        """Reads neighbours at fixed distances. The bounds are no constants: the compiler sums
        adjoints without atomics where a loop may be large."""
        self.put(1, "for i in range(1, m - 1):")
        for _ in range(self.random.randint(1, 3)):
            depth = 2
            if self.chance(0.3):
                self.put(2, f"if {self.condition(1)}:")
                depth = 3
            a, b, c = (self.access("x", f"i + {self.random.randint(-1, 1)}") for _ in range(3))
            value = f"{a} * {b} + ti.sin({c}) * {self.float(1)}"
            # Seldom by an index whose value the compiler does not know.
            own = self.random.choice(["z[i]", "z[i]", f"z[(i + {N}) % {N}]"])
            target = self.random.choice([f"{own} =", f"{own} =", f"{own} +=", "total[0] +="])
            self.put(depth, f"{target} {value}")

    def in_place(self):
        """Changes cells after they were read. The gradient of some kernels needs the old values."""
        self.put(1, IN_PLACE)
        self.put(1, "ti.loop_config(serialize=True)")
        self.put(1, "for i in range(1, m - 1):")
        read = self.access("y", f"i + {self.random.randint(-1, 1)}")
        value = self.random.choice([f"0.5 * {read}", f"ti.sin({read})", f"{read} * {read}"])
        self.put(2, f"{self.access('y', 'i')} = {value} + ti.tanh({self.float(1)})")


def kernel(seed):
    return Generator(seed).kernel()


def places(seed):
    """({"x": kind, "y": kind}, the indices of x's active cells). A kind is "field", "struct",
    "array", or one of SPARSE."""
    r = random.Random(f"places {seed}")
    kinds = {name: r.choice(["field", "field", "struct", "array", *SPARSE]) for name in "xy"}
    active = [i for i in range(N) if r.random() < 0.7] or [0]
    if kinds["x"] not in SPARSE:
        active = range(N)
    elif kinds["x"] == "dynamic":
        active = range(max(active) + 1)
    elif kinds["x"] == "blocks":
        active = [i for i in range(N) if i // BLOCK in {k // BLOCK for k in active}]
    return kinds, list(active)


def inputs(seed):
    """x, the seeds of the gradients of y and z, and a direction in x. x and the direction are zero
    where x is not active."""
    r = random.Random(~seed)
    values, of_y, of_z, direction = ([r.uniform(-1.5, 1.5) for _ in range(N)] for _ in range(4))
    active = places(seed)[1]
    for i in set(range(N)).difference(active):
        values[i] = direction[i] = 0.0
    return values, of_y, of_z, direction
