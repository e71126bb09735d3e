"""What random kernels read and write, where it is, and with which numbers."""

import random

import numpy

N = 6  # cells of x, y and z, and rows of w and m
K = 5  # columns of w and m
BLOCK = 3  # cells that become active together, in a tree of blocks
SPARSE = ("pointer", "blocks", "bitmasked", "dynamic")
INPUTS = ("x", "w")
SHAPES = {"x": (N,), "w": (N, K), "y": (N,), "z": (N,), "m": (N, K), "total": (1,), "top": (2,)}
LOW = (-100.0, 100.0)  # what `top` is before a kernel: a maximum and a minimum
P = 0.75  # the argument of the kernels
KERNELS = ("kernel", "second")  # the kernels of a program, in their order; most have only the first


def indices(name):
    """A number for each cell, or a tuple of numbers."""
    return [i[0] if len(i) == 1 else i for i in numpy.ndindex(SHAPES[name])]


NAMES = [  # of the inputs, in the order of the gradient
    *(f"x[{i}]" for i in indices("x")),
    *(f"w[{i}, {j}]" for i, j in indices("w")),
]


class Places:
    """Where the data of a seed's kernel is, and the numbers.

    kinds: {"x": kind, …}; a kind is "field", "struct", "array", or one of SPARSE.
    active: the indices of x's active cells.
    values, direction: the inputs and a direction, arrays by name; zero where x is not active.
    weights: arrays by name. The derivatives are those of the sum of all results by these weights.
    """

    def __init__(self, seed):
        r = random.Random(f"places {seed}")
        self.kinds = {
            name: r.choice(["field", "field", "struct", "array", *SPARSE]) for name in "xy"
        }
        self.kinds.update((name, r.choice(["field"] * 4 + ["array"])) for name in "wm")
        self.active = self._active(r)

        def numbers(*names):
            return {n: numpy.array(uniform(SHAPES[n])) for n in names}

        def uniform(shape):
            return [uniform(shape[1:]) for _ in range(shape[0])] if shape else r.uniform(-1.5, 1.5)

        self.values, self.direction = numbers(*INPUTS), numbers(*INPUTS)
        for array in (self.values["x"], self.direction["x"]):
            array[[i for i in range(N) if i not in self.active]] = 0.0
        self.weights = {**numbers("y", "z", "m"), "total": numpy.ones(1), "top": numpy.ones(2)}

    def _active(self, r):
        active = [i for i in range(N) if r.random() < 0.7] or [0]
        if self.kinds["x"] not in SPARSE:
            return range(N)
        if self.kinds["x"] == "dynamic":
            return range(max(active) + 1)
        if self.kinds["x"] == "blocks":
            return [i for i in range(N) if i // BLOCK in {k // BLOCK for k in active}]
        return active

    def arrays(self):
        """The names of the kernel's ndarrays, in the order of its parameters."""
        return [name for name, kind in self.kinds.items() if kind == "array"]

    def flat(self, arrays):
        """The inputs' numbers of {name: array}, in the order of NAMES."""
        return numpy.concatenate([arrays[name].ravel() for name in INPUTS]).tolist()
