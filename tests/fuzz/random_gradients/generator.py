"""Texts of random programs: a kernel, perhaps followed by another one. First comes a loop with all
forms of control, most often; then loops of other forms. See loops.py and statements.py. `p` and `c`
are the arguments, a float and N; `places` says where the data is."""

from .loops import Loops
from .places import KERNELS


class Generator(Loops):
    def __init__(self, seed, places):
        super().__init__(seed, places)
        self.arrays = places.arrays()
        self.outer = []  # floats of the kernel, outside of its loops

    def program(self):
        self.put(0, "Pair = ti.types.struct(a=ti.f64, b=ti.f64)")
        for _ in range(self.random.choice([0, 0, 1, 2])):
            self.function()
        forms = [self.sums, self.stencil, self.stencil_2d, self.products, self.rows]
        forms += [self.vector, self.vector, self.in_place]
        loops = self.random.sample(forms, self.random.choice([0, 1, 1, 1, 2]))
        self.begin(KERNELS[0])
        self.first_loop(is_alone=not loops)
        if loops and self.chance(0.1):
            self.end()
            self.begin(KERNELS[1])
        for loop in loops:
            self.one_more(loop)
        self.end()
        return "\n".join(self.lines) + "\n"

    def begin(self, name):
        of = {"w": "ndim=2", "m": "ndim=2"}
        more = "".join(f", {name}: ti.types.ndarray({of.get(name, '')})" for name in self.arrays)
        self.put(0, f"def {name}(p: ti.f64, c: ti.i32{more}):")

    def end(self):
        if self.outer and self.chance(0.5):
            self.put(1, f"total[0] += ti.sin({self.outer[-1]}) * {self.outer[0]}")
        self.outer = []

    def first_loop(self, is_alone):
        if self.chance(0.15):
            self.outer_sum()
        if is_alone or self.chance(0.75):
            self.control()
        else:
            self.copy()

    def one_more(self, loop):
        if self.chance(0.1) and loop != self.in_place:
            self.within_branch(loop)
        else:
            loop()
        if self.chance(0.1):
            self.outer_sum()


def program(seed, places):
    return Generator(seed, places).program()
