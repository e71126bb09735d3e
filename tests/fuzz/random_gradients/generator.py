"""Texts of random kernels with float fields x (read), y (own cells), total (one sum) and top (one
maximum).

Kernels follow the rules of gradients: what is read is not overwritten later. They have all forms of
loops, branches on floats and integers, break and continue at any depth, carried floats and
integers, local vectors by run-time indices, cells that are written and then changed, sums and
maxima of all iterations, and functions.
"""

import random

N = 6
LOW = -100.0  # what `top` is before a kernel
MAXIMUM = "ti.atomic_max(top[0], "  # the start of a line


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.floats, self.ints, self.vectors = [], [], []
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

    def index(self):
        forms = ["i", f"(i + {self.random.randint(1, 5)}) % {N}"]
        forms += [f"abs({n}) % {N}" for n in self.ints]
        return self.random.choice(forms)

    def leaf(self):
        forms = [f"{self.random.uniform(-2, 2):.3f}", f"x[{self.index()}]", "p"]
        forms += self.floats * 2
        forms += [f"{v}[abs({self.integer()}) % 3]" for v in self.vectors]
        return self.random.choice(forms)

    def integer(self):
        forms = [str(self.random.randint(0, 5)), "i", *self.ints]
        if self.chance(0.3):
            a, b = self.random.choice(forms), self.random.choice(forms)
            return f"({a} {self.random.choice('+-*')} {b})"
        return self.random.choice(forms)

    def float(self, depth=3):
        if depth == 0 or self.chance(0.2):
            return self.leaf()
        kind = self.random.randrange(12)
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
        return f"ti.select({self.condition(1)}, {a}, {b})"

    def condition(self, depth=2):
        if self.ints and self.chance(0.4):
            return f"{self.integer()} % {self.random.randint(2, 3)} == {self.random.randint(0, 1)}"
        return f"{self.float(depth)} {self.random.choice('<>')} {self.float(depth)}"

    # ---- statements

    def block(self, depth, in_loop):
        saved = list(self.floats), list(self.ints), list(self.vectors)
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth, in_loop)
        self.floats, self.ints, self.vectors = saved

    def statement(self, depth, in_loop):
        self.budget -= 1
        kind = self.random.randrange(14)
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
        elif kind == 9 and in_loop:
            self.put(depth, f"if {self.condition()}: {self.random.choice(['break', 'continue'])}")
        elif self.budget > 0 and depth < 6:
            self.nest(depth, in_loop)
        else:
            self.change(depth)

    def change(self, depth):
        if self.vectors and self.chance(0.3):
            target = f"{self.random.choice(self.vectors)}[abs({self.integer()}) % 3]"
        elif self.chance(0.2):
            target = "y[i]"
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

    def kernel(self):
        self.put(0, "def kernel(p: ti.f64):")
        self.put(1, f"for i in range({N}):")
        self.put(2, "y[i] = x[i]")
        for _ in range(self.random.randint(2, 5)):
            self.statement(2, False)
        if self.chance(0.8):
            self.put(2, f"y[i] += {self.float()}")
        self.put(2, f"total[0] += {self.float()}")
        if self.chance(0.4):
            self.put(2, f"{MAXIMUM}{self.float()})")
        if self.chance(0.5):
            self.floats, self.ints, self.vectors = [], [], []
            self.put(1, f"for i in range({N}):")
            self.put(2, f"total[0] += ti.sin(y[i]) * y[(i + {self.random.randint(0, 5)}) % {N}]")
            if self.chance(0.3):
                self.put(2, "z[i] = ti.cos(y[i]) + x[i]")
        return "\n".join(self.lines) + "\n"


def kernel(seed):
    return Generator(seed).kernel()


def inputs(seed):
    """x, the seeds of the gradients of y and z, and a direction in x."""
    r = random.Random(~seed)
    return [[r.uniform(-1.5, 1.5) for _ in range(N)] for _ in range(4)]
