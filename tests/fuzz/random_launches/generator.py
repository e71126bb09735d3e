"""Random programs: objects, and steps that a program takes on them, as JSON."""

import itertools
import math
import random

from .kernels import RETURNING, TABLE

WHOLE = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f32", "f64")
LAYOUTS = ("plain", "soa", "blocks", "padded", "tree")
SHAPES = (
    (),
    (1,),
    (4,),
    (68,),
    (300,),
    (5000,),
    (2, 2),
    (34, 6),
    (130, 66),
    (4, 2, 6),
    (12, 10, 34),
)


def program(seed, steps=24):
    """The program of a seed: {"objects": {name: object}, "steps": [step]}."""
    return Generator(random.Random(seed)).program(steps)


class Generator:
    def __init__(self, choice):
        self.choice = choice
        self.objects = {}

    def program(self, steps):
        # Few types and shapes, so that objects fit together.
        types = [self.choice.choice(WHOLE), self.choice.choice(WHOLE + FLOATS)]
        shapes = [self.choice.choice(SHAPES), (self.choice.choice((4, 68, 300, 5000)),)]
        for n in range(self.choice.randint(4, 8)):
            self.objects[f"o{n}"] = self.object(types, shapes)
        names = list(self.objects)
        made = [self.step(names) for _ in range(steps)]
        return {"objects": self.objects, "steps": [step for step in made if step]}

    def object(self, types, shapes):
        kind = self.choice.choice(("field", "field", "ndarray", "ndarray", "numpy"))
        shape = self.choice.choice(shapes if kind == "field" else [s for s in shapes if s])
        return {
            "kind": kind,
            "type": self.choice.choice(types),
            "shape": list(shape),
            "vector": self.choice.choice((0, 0, 0, 3)) if kind != "numpy" else 0,
            "layout": self.choice.choice(LAYOUTS) if kind == "field" else "",
        }

    def step(self, names, depth=0):
        """A step on some of `names`; None if there is none of the chosen sort."""
        sorts = ["launch"] * 8 + ["fill", "set", "set", "get", "from_numpy", "copy_from", "look"]
        sorts += ["again", "copy", "sync"]
        if depth == 0:
            sorts += ["graph", "threads", "stream"]
        return getattr(self, self.choice.choice(sorts))(names, depth)

    def launch(self, names, depth, kernels=tuple(TABLE)):
        kernel = self.choice.choice(kernels)
        _, parameters, needs = TABLE[kernel]
        count = sum(p in "xy" for p in parameters)
        fitting = [on for on in itertools.permutations(names, count) if self.fits(on, needs)]
        if not fitting:
            return None
        numbers = [self.number(p) for p in parameters if p not in "xy"]
        on = list(self.choice.choice(fitting))
        return {"op": "launch", "kernel": kernel, "on": on, "numbers": numbers}

    def fits(self, on, needs):
        made = [self.objects[name] for name in on]
        like = [(one["shape"], one["vector"]) for one in made]
        types = {one["type"] for one in made}
        if "vectors" not in needs and any(one["vector"] for one in made):
            return False
        if "whole" in needs and not types <= set(WHOLE):
            return False
        if "line" in needs and any(len(one["shape"]) != 1 for one in made):
            return False
        if "axes" in needs and not all(one["shape"] for one in made):
            return False
        if "same" in needs or "alike" in needs:
            return like[0] == like[1] and ("alike" in needs or len(types) == 1)
        return True

    def number(self, parameter):
        return self.choice.randint(
            *{"a": (-3, 3), "b": (-50, 50), "k": (0, 9), "v": (0, 60)}[parameter]
        )

    def value(self, name):
        low = 0 if self.objects[name]["type"].startswith("u") else -100
        return self.choice.randint(low, 100)

    def of(self, names, *kinds):
        found = [name for name in names if self.objects[name]["kind"] in kinds]
        return self.choice.choice(found) if found else None

    def fill(self, names, depth):
        name = self.of(names, "field", "ndarray")
        return name and {"op": "fill", "on": name, "value": self.value(name)}

    def at(self, name):
        return [self.choice.randrange(n) for n in self.objects[name]["shape"]]

    def set(self, names, depth):
        name = self.of(names, "field", "ndarray")
        return name and {"op": "set", "on": name, "at": self.at(name), "value": self.value(name)}

    def get(self, names, depth):
        name = self.of(names, "field", "ndarray")
        return name and {"op": "get", "on": name, "at": self.at(name)}

    def from_numpy(self, names, depth):
        name = self.of(names, "field", "ndarray")
        form = self.choice.choice(("plain", "plain", "fortran", "strided"))
        seed = self.choice.randrange(10**6)
        return name and {"op": "from_numpy", "on": name, "seed": seed, "form": form}

    def copy_from(self, names, depth):
        pairs = [
            pair
            for pair in itertools.permutations(names, 2)
            if {self.objects[name]["kind"] for name in pair} in ({"field"}, {"ndarray"})
            and self.fits(pair, {"vectors", "same"})
        ]
        return {"op": "copy_from", "on": list(self.choice.choice(pairs))} if pairs else None

    def look(self, names, depth):
        return {"op": "look", "on": self.choice.choice(names)}

    def again(self, names, depth):
        """Drops an object and makes it again, of zeros."""
        made = [
            name
            for name in names
            if self.objects[name]["kind"] == "ndarray" or self.objects[name]["layout"] == "tree"
        ]
        return {"op": "again", "on": self.choice.choice(made)} if made else None

    def copy(self, names, depth):
        """Replaces an ndarray by a copy of it."""
        name = self.of(names, "ndarray")
        return name and {"op": "copy", "on": name}

    def sync(self, names, depth):
        return {"op": "sync"}

    def graph(self, names, depth):
        recorded = [name for name in names if self.objects[name]["kind"] != "numpy"]
        kernels = [kernel for kernel in TABLE if kernel not in RETURNING]
        made = [self.launch(recorded, 1, kernels) for _ in range(self.choice.randint(1, 5))]
        made = [step for step in made if step]
        return made and {"op": "graph", "steps": made, "times": self.choice.randint(1, 3)}

    def steps(self, names):
        made = [self.step(names, depth=1) for _ in range(self.choice.randint(1, 6))]
        return [step for step in made if step]

    def threads(self, names, depth):
        """Two threads, each with objects of its own."""
        names = self.choice.sample(names, len(names))
        middle = math.ceil(len(names) / 2)
        parts = [self.steps(names[:middle]), self.steps(names[middle:])]
        return {"op": "threads", "parts": [part for part in parts if part]}

    def stream(self, names, depth):
        return {"op": "stream", "steps": self.steps(names), "number": self.choice.randrange(2)}
