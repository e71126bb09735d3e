"""Texts of random kernels: first a loop with all forms of control, most often; then loops of other
forms. See loops.py and statements.py. `p` and `c` are the arguments, a float and N; `places` says
where the data is."""

from .loops import Loops


class Generator(Loops):
    def __init__(self, seed, places):
        super().__init__(seed, places)
        self.arrays = places.arrays()
        self.outer = []  # floats of the kernel, outside of its loops

    def kernel(self):
        self.put(0, "Pair = ti.types.struct(a=ti.f64, b=ti.f64)")
        for _ in range(self.random.choice([0, 0, 1, 2])):
            self.function()
        of = {"w": "ndim=2", "m": "ndim=2"}
        more = "".join(f", {name}: ti.types.ndarray({of.get(name, '')})" for name in self.arrays)
        self.put(0, f"def kernel(p: ti.f64, c: ti.i32{more}):")
        forms = [self.sums, self.stencil, self.stencil_2d, self.products, self.rows]
        forms += [self.vector, self.vector, self.in_place]
        loops = self.random.sample(forms, self.random.choice([0, 1, 1, 1, 2]))
        if self.chance(0.15):
            self.outer_sum()
        if self.chance(0.75) or not loops:
            self.control()
        else:
            self.copy()
        for loop in loops:
            loop()
            if self.chance(0.1):
                self.outer_sum()
        if self.outer and self.chance(0.5):
            self.put(1, f"total[0] += ti.sin({self.outer[-1]}) * {self.outer[0]}")
        return "\n".join(self.lines) + "\n"


def kernel(seed, places):
    return Generator(seed, places).kernel()
