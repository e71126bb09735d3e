"""Texts of random parallel loops.

The bounds of many loops are no constants: the compiler sums adjoints without atomics where a loop
may be large."""

from .expressions import IN_PLACE
from .places import K, N
from .statements import Statements

NUMBERS = ["0.7", "-1.3"]


class Loops(Statements):
    """What each method adds to the kernel is a loop. It leaves the rule that what is read is not
    overwritten later only after IN_PLACE."""

    def over(self, name):
        """A loop over all cells, or over the active ones; neighbours may be in reach."""
        self.enter(["p", *self.outer])
        if self.chance(0.3):
            below, above = self.reach()
            self.near = range(-below, above + 1)
        elif self.indent or self.chance(0.5):  # loops over active cells are outermost
            self.put(1, f"for i in range({self.random.choice([str(N), 'c'])}):")
        else:
            self.put(1, f"for i in {'s' if self.kinds[name] == 'struct' else name}:")

    def reach(self):
        """A loop over the cells that have neighbours; returns the distances to the farthest."""
        far = self.random.randint(1, 2)
        below, above = self.random.choice([(0, 2 * far), (far, far), (2 * far, 0)])
        self.put(1, f"for i in range({below}, c - {above}):")
        return below, above

    def add(self, depth, targets):
        """Adds expressions to some of the targets or stores them there, perhaps in branches."""

        def one(depth):
            self.put(depth, f"{self.random.choice(targets)} {self.float(2)}")

        if self.chance(0.7):
            return one(depth)
        self.put(depth, f"if {self.random.choice(['i % 2 == 0', self.condition(1)])}:")
        one(depth + 1)
        if self.chance(0.5):
            self.put(depth, "else:")
            one(depth + 1)

    def extreme(self, depth, maximum, minimum):
        """Changes one of them to the extreme of all iterations."""
        own = self.access("x", "i")  # without it, often all iterations have the same value
        value = f"{self.float()} + 0.1 * {own}"
        which = self.random.choice([f"max({maximum}", f"min({minimum}"])
        self.put(depth, f"ti.atomic_{which}, {value})")

    def skip(self):
        if self.chance(0.15):
            self.put(2, f"if {self.condition(1)}: continue")

    # ---- the first loop, which writes y

    def control(self):
        """All statements."""
        self.over("x")
        self.budget = self.random.randint(4, 18)
        self.put(2, f"{self.access('y', 'i')} = {self.access('x', 'i')}")
        # The compiler follows values in dense fields only.
        self.reads_own = self.kinds["y"] in ("field", "struct")
        for _ in range(self.random.randint(2, 5)):
            self.statement(2, False)
        if self.chance(0.8):
            self.put(2, f"{self.access('y', 'i')} += {self.float()}")
        self.put(2, f"total[0] += {self.float()}")
        if self.chance(0.4):
            self.extreme(2, "top[0]", "top[1]")
            if self.chance(0.2):
                self.put(1, IN_PLACE)
                self.put(1, self.random.choice(["top[0] += p", "top[1] = 0.5 * top[1]"]))

    def copy(self):
        self.over("x")
        self.put(2, f"{self.access('y', 'i')} = {self.float(1)}")

    # ---- other loops

    def sums(self):
        """Reads the cells of all iterations."""
        self.over("y")
        own = self.access("y", "i")
        other = self.access("y", f"(i + {self.random.randint(0, 5)}) % {N}")
        self.put(2, f"total[0] += ti.sin({own}) * {other}")
        if self.chance(0.3):
            self.put(2, f"z[i] = ti.cos({own}) + {self.access('x', 'i')}")

    def vector(self):
        """Changes the elements of a local vector in serial loops."""
        self.over("x")
        self.put(2, f"t = {self.read()} * {self.read()}")
        self.floats = ["t"]
        self.put(2, f"v = ti.Vector([{', '.join(self.float(1) for _ in 'abc')}])")
        self.vectors = ["v"] * 3  # as often among leaves
        for j in self.random.choice(["j", "jk"]):
            self.ints = ["i"]
            self.change_vector(2)
            self.ints = [j]
            self.put(2, f"for {j} in range({self.random.randint(2, 4)}):")
            for _ in range(self.random.randint(1, 3)):
                if self.chance(0.25):
                    self.leave(3)
                self.change_vector(3)
            if self.chance(0.3):
                self.ints.append("l")
                self.put(3, f"for l in range({self.random.randint(2, 3)}):")
                self.change_vector(4)
        self.ints = []
        self.put(2, f"total[0] += t * v[{self.random.randint(0, 2)}] + {self.leaf()}")

    def change_vector(self, depth):
        if self.chance(0.5):
            self.put(depth, f"if {self.condition(1)}:")
            self.change(depth + 1, of_vector=0.3, of_y=0)
        else:
            self.change(depth, of_vector=0.8, of_y=0)

    def stencil(self):
        """Reads neighbours at fixed distances."""
        self.enter()
        below, above = self.reach()
        distances = range(-below, above + 1)
        of_x = [self.access("x", f"i + {distance}") for distance in distances]
        of_y = [self.access("y", f"i + {distance}") for distance in distances]
        mirrored = [self.access("x", f"{N - 1} - i")]
        self.leaves = [of_x, of_x, of_y, of_y, mirrored, [*NUMBERS, "p", *self.outer]]
        self.skip()
        for _ in range(self.random.randint(1, 3)):
            # Seldom by an index whose value the compiler does not know.
            own = "z[i]" if self.chance(0.8) else f"z[(i + {N}) % {N}]"
            self.add(2, [f"{own} =", f"{own} =", f"{own} +=", f"{own} -=", "total[0] +="])

    def stencil_2d(self):
        self.enter()
        columns = self.random.choice([K - 1, "c - 2"])
        self.put(1, f"for i, j in ti.ndrange((1, c - 1), (1, {columns})):")
        of_w = [f"w[i + {di}, j + {dj}]" for di in (-1, 0, 1) for dj in (-1, 0, 1)]
        self.leaves = [of_w, of_w, [self.access("x", "j"), "p"]]
        self.skip()
        for _ in range(self.random.randint(1, 2)):
            self.add(2, ["total[0] +=", "z[i] +="])

    def products(self):
        """Sums over the index of an inner loop or of the parallel one."""
        self.enter()
        self.put(1, f"for i, j in ti.ndrange(c, {self.random.choice([K, 'c'])}):")
        outer = [self.access(name, index) for name in "xy" for index in "ij"]
        outer += ["p", *self.outer]
        self.leaves = [outer]
        self.skip()
        has_inner = self.chance(0.8)
        if not has_inner or self.chance(0.3):
            self.add(2, ["total[0] +=", "z[i] +="])
        if has_inner:
            self.put(2, "s0 = 0.0")
            self.put(2, f"for k in range({K}):")
            self.leaves = [["w[i, k]", "w[j, k]", self.access("x", "k")], outer]
            self.add(3, ["total[0] +=", "z[i] +=", "s0 +=", "s0 +="])
            factor = self.access("x", "j")
            self.put(
                2, f"total[0] += {self.random.choice(['s0', 'ti.tanh(s0)', f's0 * {factor}'])}"
            )

    def within_branch(self, loop):
        """A loop in a branch of the kernel is serial."""
        value = self.random.choice(["p", *self.outer])
        self.put(1, f"if {value} {self.random.choice('<>')} 0.3:")
        self.indent = 1
        loop()
        self.indent = 0

    def rows(self):
        """Computes the cells of a row one from the other."""
        self.enter()
        self.put(1, f"for i in range({self.random.choice([str(N), 'c'])}):")
        own = [self.access("x", "i"), "p", *self.outer]
        self.leaves = [own]
        self.put(2, f"m[i, 0] = {self.float(1)}")
        self.put(2, f"for k in range(1, {K}):")
        self.leaves = [["m[i, k - 1]"], ["m[i, k - 1]", self.access("x", "k"), "w[i, k]"], own]
        if self.chance(0.2):
            self.leave(3)
        self.put(3, f"m[i, k] = ti.tanh({self.float(2)})")
        if self.chance(0.5):
            self.put(3, f"total[0] += m[i, k - 1] * {self.float(1)}")

    def in_place(self):
        """Changes cells after they were read. The gradient of some kernels needs the old values."""
        self.put(1, IN_PLACE)
        self.enter()
        own, before, after = (self.access("y", index) for index in ("i", "i - 1", "i + 1"))
        read = [own]
        if self.chance(0.6):
            self.put(1, "ti.loop_config(serialize=True)")
            below, above = self.random.choice([(0, 1), (1, 0), (1, 1)])
            read += [before] * 2 * below + [after] * above
            self.put(1, f"for i in range({below}, c - {above}):")
        else:
            self.over("y")
        of_x = [self.read(), self.read(), "p"]
        if self.chance(0.5):
            linear = f"{self.random.uniform(-1, 1):.3f} * {self.random.choice(read)}"
            self.leaves = [of_x] * 6 + [read]
            self.put(2, f"{own} = {linear} + {self.float(2)}")
        else:
            self.leaves = [of_x, read]
            self.put(2, f"{own} {self.random.choice(['=', '+=', '*='])} ti.tanh({self.float(2)})")

    def outer_sum(self):
        """A sum, or the maximum, of all iterations, which what follows reads."""
        name = self.new("u")
        self.put(1, f"{name} = {self.random.choice(['0.0', 'p * p'])}")
        self.over("x")
        value = f"ti.tanh({self.float(2)})"
        if self.chance(0.3):
            self.extreme(2, name, name)
        else:
            self.put(2, f"{name} += {value}")
        self.outer.append(name)
