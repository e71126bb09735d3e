"""Texts of random statements: serial loops, branches on floats and integers, break and continue at
any depth, carried floats and integers, local vectors by run-time indices, local structs, cells that
are written and then changed, and functions."""

from .expressions import Expressions


class Statements(Expressions):
    def __init__(self, seed, places):
        super().__init__(seed, places)
        self.returns = None  # what a function returns, if it may return early
        self.budget = 0  # statements that are left

    def block(self, depth, in_loop):
        saved = list(self.floats), list(self.ints), list(self.vectors), list(self.structs)
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth, in_loop)
        self.floats, self.ints, self.vectors, self.structs = saved

    def statement(self, depth, in_loop):
        self.budget -= 1
        kind = self.random.randrange(16)
        if self.returns and in_loop and self.chance(0.2):
            self.early_return(depth)
        elif kind < 3 or not self.floats:
            name = self.new("t")
            self.put(depth, f"{name} = {self.float()} + 0.0")
            self.floats.append(name)
        elif kind < 6:
            self.change(depth)
        elif kind == 6:
            self.integer_variable(depth)
        elif kind == 7 and self.ints:
            self.put(depth, f"{self.random.choice(self.ints)} += {self.random.randint(1, 3)}")
        elif kind == 8:
            name = self.new("v")
            self.put(depth, f"{name} = ti.Vector([{', '.join(self.float(1) for _ in 'abc')}])")
            self.vectors.append(name)
        elif kind == 14:
            self.structure(depth)
        elif kind == 15 and self.returns:
            self.early_return(depth)
        elif kind == 9 and in_loop:
            self.leave(depth)
        elif kind == 10 and self.chance(0.3):
            self.dropped(depth)
        elif self.budget > 0 and depth < 6:
            self.nest(depth, in_loop)
        else:
            self.change(depth)

    def integer_variable(self, depth):
        value = f"{self.integer()} + 0"
        if self.chance(0.2):
            value = f"ti.cast(2.0 * ti.tanh({self.float(1)}), ti.i32)"
        elif "*" in value:  # products of products would overflow
            value = f"{self.integer()} % 9"
        name = self.new("n")
        self.put(depth, f"{name} = {value}")
        self.ints.append(name)

    def structure(self, depth):
        name = self.new("q")
        made = f"Pair(a={self.float(2)}, b={self.float(2)})"
        if self.makers and self.chance(0.5):
            maker = self.random.choice(self.makers)
            made = f"{maker}({self.float(2)}, {self.float(2)}, {self.integer()})"
        self.put(depth, f"{name} = {made}")
        self.structs.append(name)

    def dropped(self, depth):
        """A variable that is used only where it has a value."""
        small, name = self.random.choice(self.floats), self.new("d")
        function = self.random.choice(["sqrt", "rsqrt", "log"])
        self.put(depth, f"{name} = {self.float(1)} * ti.{function}({small} - 0.3)")
        self.put(depth, f"if {small} > 0.3:")
        self.put(depth + 1, f"{self.random.choice(self.floats)} += ti.tanh({name})")

    def early_return(self, depth):
        self.put(depth, f"if {self.condition()}: return {self.returns()}")

    def leave(self, depth):
        self.put(depth, f"if {self.condition()}: {self.random.choice(['break', 'continue'])}")

    def change(self, depth, of_vector=0.3, of_y=0.2):
        if self.vectors and self.chance(of_vector):
            target = f"{self.random.choice(self.vectors)}[abs({self.integer()}) % 3]"
        elif self.structs and self.chance(0.3):
            target = f"{self.random.choice(self.structs)}.{self.random.choice('ab')}"
        elif self.in_kernel and self.chance(of_y):
            target = self.own()
        else:
            target = self.random.choice(self.floats)
        operator = self.random.choice(["=", "+=", "-=", "*="])
        # Values stay small, or the derivatives are of no use.
        self.put(depth, f"{target} {operator} ti.tanh({self.float()})")

    # ---- nested statements

    def nest(self, depth, in_loop):
        kind = self.random.randrange(11)
        if kind < 4:
            self.branch(depth, in_loop)
        elif kind < 9:
            self.range_loop(depth)
        elif kind == 9:
            self.static_loop(depth)
        else:
            self.while_loop(depth)

    def branch(self, depth, in_loop):
        self.put(depth, f"if {self.condition()}:")
        self.block(depth + 1, in_loop)
        if self.chance(0.5):
            self.put(depth, "else:")
            self.block(depth + 1, in_loop)

    def range_loop(self, depth):
        name = self.new("j")
        bound = self.random.choice([str(self.random.randint(0, 4)), f"abs({self.integer()}) % 5"])
        self.put(depth, f"for {name} in range({bound}):")
        self.ints.append(name)
        self.block(depth + 1, True)
        self.ints.remove(name)

    def static_loop(self, depth):
        index, name = self.new("j"), self.new("n")
        self.put(depth, f"for {index} in ti.static(range({self.random.randint(1, 3)})):")
        self.put(depth + 1, f"{name} = {index} + 0")
        self.ints.append(name)
        self.block(depth + 1, False)
        self.ints.remove(name)

    def while_loop(self, depth):
        name = self.new("c")
        self.put(depth, f"{name} = 0")
        self.put(depth, f"while {self.condition(1)}:")
        self.put(depth + 1, f"{name} += 1")
        self.put(depth + 1, f"if {name} > {self.random.randint(1, 5)}: break")
        self.block(depth + 1, True)

    # ---- functions

    def function(self):
        """A function of two floats and an integer, which returns a float or a Pair."""
        is_real, makes_pair = self.chance(0.6), self.chance(0.3)
        name = self.new("g" if makes_pair else "f")

        def result():
            return f"Pair(a={self.float(2)}, b={self.float(2)})" if makes_pair else self.float()

        self.enter(constants="ab", in_loop=False)
        self.returns = result if is_real else None
        self.budget = self.random.randint(1, 6)
        self.put(0, "@ti.real_func" if is_real else "@ti.func")
        returned = "Pair" if makes_pair else "ti.f64"
        self.put(0, f"def {name}(a: ti.f64, b: ti.f64, n: ti.i32) -> {returned}:")
        for _ in range(self.random.randint(1, 3)):
            self.statement(1, False)
        if is_real and self.chance(0.3):
            self.range_loop(1)
        self.put(1, f"return {result()}")
        self.returns = None
        (self.makers if makes_pair else self.functions).append(name)
