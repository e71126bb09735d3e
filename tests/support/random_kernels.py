"""Random kernels of loops, branches, break and continue over integers, run by Kiln and, as the
plain Python that they also are, by Python: results and fields must agree.

    kiln python tests/support/random_kernels.py FIRST COUNT DIRECTORY

Prints the seeds that disagree and their sources; what makes each seed is left in DIRECTORY.
"""

import importlib.util
import pathlib
import random
import sys

import kiln as ti

CELLS = 16
HEAD = "import kiln as ti\nx = None\n\n\ndef kernel(p: ti.i32, q: ti.i32) -> ti.i32:\n"


class Generator:
    """Statements over the locals a, b, c, the arguments p, q and the field x."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = ["a", "b", "c", "p", "q"]
        self.counter = 0

    def fresh(self, stem):
        self.counter += 1
        return f"{stem}{self.counter}"

    def expression(self, depth=0):
        kind = self.random.randrange(8)
        if depth > 2 or kind < 3:
            return self.random.choice(self.names)
        if kind == 3:
            return str(self.random.randrange(-4, 9))
        left = self.expression(depth + 1)
        if kind == 6:
            return f"(({left}) * {self.random.randrange(1, 4)})"
        if kind == 7:
            return f"(({left}) & 15)"
        return f"({left} {'+' if kind == 4 else '-'} {self.expression(depth + 1)})"

    def condition(self):
        compare = self.random.choice(["<", ">", "==", "!=", "<="])
        return f"({self.expression(1)} & 7) {compare} ({self.expression(1)} & 7)"

    def block(self, depth, in_loop, indent):
        lines = []
        for _ in range(self.random.randrange(1, 5)):
            lines += [indent + line for line in self.statement(depth, in_loop)]
        return lines

    def body(self, depth, in_loop):
        return self.block(depth + 1, in_loop, "    ")

    def statement(self, depth, in_loop):
        kind = self.random.randrange(12)
        local = self.random.choice("abc")
        if kind < 4 or depth > 3:
            return [f"{local} = ({self.expression()}) & 1023"]
        if kind == 4:
            return [f"{local} += {self.expression()} & 31"]
        if kind == 5:
            return [f"x[({self.expression()}) & {CELLS - 1}] = {self.expression()} & 255"]
        if kind == 6:
            return [f"{local} = x[({self.expression()}) & {CELLS - 1}]"]
        if kind == 7:
            lines = [f"if {self.condition()}:", *self.body(depth, in_loop)]
            if self.random.random() < 0.5:
                lines += ["else:", *self.body(depth, in_loop)]
            return lines
        if kind in (8, 9):
            return self.range_loop(depth)
        if kind == 10:
            turn = self.fresh("turn")
            head = [f"{turn} = 0", f"while {turn} < 6 and {self.condition()}:", f"    {turn} += 1"]
            return head + self.body(depth, True)
        if in_loop:
            leave = self.random.choice(["break", "continue"])
            return [f"if {self.condition()}:", f"    {leave}"]
        return [f"x[{local} & 7] += 1"]

    def range_loop(self, depth):
        index = self.fresh("i")
        end = self.random.choice(["3", "5", f"({self.expression()} & 7)"])
        self.names.append(index)
        body = self.body(depth, True)
        self.names.remove(index)
        # In order, as Python runs it, and so that it may be left.
        serial = ["ti.loop_config(serialize=True)"] if depth == 1 else []
        return [*serial, f"for {index} in range({end}):", *body]

    def source(self):
        start = ["    a = 1", "    b = 2", "    c = 3"]
        end = ["    return a * 10000 + b * 100 + c", ""]
        return HEAD + "\n".join(start + self.block(1, False, "    ") + end)


def load(path, field):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.x = field
    return module.kernel


def as_i32(value):
    return (value + 2**31) % 2**32 - 2**31


def disagreement(seed, directory, field):
    path = directory / f"random_{seed}.py"
    path.write_text(Generator(seed).source())
    start = [j * 3 % 7 for j in range(CELLS)]
    cells = list(start)
    # Outside kernels the directives mean nothing.
    wanted = as_i32(load(path, cells)(3, 5))
    kernel = ti.kernel(load(path, field))
    for i, value in enumerate(start):
        field[i] = value
    got = kernel(3, 5)
    got_cells = [field[i] for i in range(CELLS)]
    if (got, got_cells) == (wanted, cells):
        return ""
    return f"seed {seed}: {got} {got_cells}, not {wanted} {cells}\n{path.read_text()}"


def main(first, count, directory):
    ti.init(arch=ti.cpu)
    field = ti.field(ti.i32, shape=CELLS)
    problems = 0
    for seed in range(int(first), int(first) + int(count)):
        problem = disagreement(seed, pathlib.Path(directory), field)
        problems += bool(problem)
        print(problem, end="")
    print(f"{problems} of {count} disagree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
