"""Models programs on trees with dictionaries of active cells and of values.

A program is a dictionary (JSON): `nodes` (kind, parent, axes as [axis, extent], chunk), node 0
being the root; `fields` (type, shape of an element, the place of each component, offset); `steps`.
A cell of a node is named by its coordinates: an index for each axis on the way to the node,
ascending by axis.
"""

import itertools

import numpy as np

SPARSE = ("pointer", "bitmasked", "dynamic")


class Shape:
    """Facts that follow from a program's nodes and fields alone."""

    def __init__(self, program):
        self.nodes = program["nodes"]
        self.fields = program["fields"]
        self.paths = [self._path(n) for n in range(len(self.nodes))]
        self.axes = [
            sorted({axis for m in path for axis, _ in self.nodes[m].get("axes", ())})
            for path in self.paths
        ]
        self._extents = [self._extents_of(n) for n in range(len(self.nodes))]
        self._divisors = {}  # (n, m): (position of an axis in n's index, by what to divide) of m's

    def _path(self, n):
        path = []
        while n is not None:
            path.append(n)
            n = self.nodes[n].get("parent")
        return path[::-1]

    def kind(self, n):
        return self.nodes[n]["kind"]

    def extents(self, n):
        """The extent of each axis of node n's cells."""
        return self._extents[n]

    def _extents_of(self, n):
        found = dict.fromkeys(self.axes[n], 1)
        for m in self.paths[n]:
            for axis, extent in self.nodes[m].get("axes", ()):
                found[axis] *= extent
        return tuple(found[axis] for axis in self.axes[n])

    def indices(self, n):
        return itertools.product(*map(range, self.extents(n)))

    def above(self, index, n, m):
        """The cell of m, a node above n, that contains cell `index` of n."""
        if (n, m) not in self._divisors:
            fine = dict(zip(self.axes[n], self.extents(n)))
            coarse = zip(self.axes[m], self.extents(m))
            self._divisors[n, m] = [
                (self.axes[n].index(axis), fine[axis] // extent) for axis, extent in coarse
            ]
        return tuple(index[at] // divisor for at, divisor in self._divisors[n, m])

    def below(self, n):
        """n and the nodes below it."""
        return [m for m, path in enumerate(self.paths) if n in path]

    def slot(self, index, n):
        """The number of a dynamic node's cell in its container."""
        axis = self.nodes[n]["axes"][0][0]
        return index[self.axes[n].index(axis)]

    def offset(self, field):
        field = self.fields[field]
        return field["offset"] or [0] * len(self.axes[field["places"][0]])

    def field_extents(self, field):
        return self.extents(self.fields[field]["places"][0])


class Model(Shape):
    def __init__(self, program):
        super().__init__(program)
        self.active = {n: set() for n in range(len(self.nodes))}
        self.length = {}  # (dynamic node, cell of its parent): cells in use
        self.values = {}  # (field, component, index): number

    # ---- one cell

    def exists(self, index, n):
        """Whether a loop visits cell `index` of n, and writes that activate nothing reach it."""
        return all(self.is_active(self.above(index, n, m), m) for m in self.paths[n])

    def is_active(self, index, n):
        kind = self.kind(n)
        if kind == "dynamic":
            parent = self.nodes[n]["parent"]
            return self.slot(index, n) < self.length.get((n, self.above(index, n, parent)), 0)
        return kind not in SPARSE or index in self.active[n]

    def activate(self, index, n):
        for m in self.paths[n]:
            cell = self.above(index, n, m)
            if self.kind(m) == "dynamic":
                container = m, self.above(cell, m, self.nodes[m]["parent"])
                used = self.slot(cell, m) + 1
                self.length[container] = max(self.length.get(container, 0), used)
            elif self.kind(m) in SPARSE:
                self.active[m].add(cell)

    def deactivate(self, index, n):
        """Deactivates a cell. For a dynamic node, `index` is a cell of its parent. Bitmasked cells
        keep their values."""
        if self.kind(n) == "bitmasked":
            self.active[n].discard(index)
            return
        scope = self.nodes[n]["parent"] if self.kind(n) == "dynamic" else n
        below = self.below(n)
        for m in below:
            self.active[m] = {c for c in self.active[m] if self.above(c, m, scope) != index}
        for m, cell in list(self.length):
            if m in below and self.above(cell, self.nodes[m]["parent"], scope) == index:
                del self.length[m, cell]
        for field, component, at in list(self.values):
            place = self.fields[field]["places"][component]
            if place in below and self.above(at, place, scope) == index:
                del self.values[field, component, at]

    def read(self, field, component, index):
        return self.values.get((field, component, index), 0)

    def write(self, field, component, index, value, activate=True):
        place = self.fields[field]["places"][component]
        if activate:
            self.activate(index, place)
        elif not self.exists(index, place):
            return  # lost
        self.values[field, component, index] = self.wrapped(field, value)

    def wrapped(self, field, value):
        dtype = np.dtype(NUMPY[self.fields[field]["type"]])
        if dtype.kind == "f":
            return float(dtype.type(value))
        return int(np.array(int(value) & (2**64 - 1), np.uint64).astype(dtype))

    # ---- all

    def visited(self, n):
        return [index for index in self.indices(n) if self.exists(index, n)]

    def deactivate_all(self, n):
        for m, node in enumerate(self.nodes):
            if node.get("parent") == n:
                self.deactivate_all(m)
        if self.kind(n) == "dynamic":
            for index in self.visited(self.nodes[n]["parent"]):
                self.deactivate(index, n)
        elif self.kind(n) in SPARSE:
            for index in self.visited(n):
                self.deactivate(index, n)

    # ---- steps

    def step(self, step):
        """Executes a step; returns its result, or None."""
        return getattr(self, "_" + step["op"])(step)

    def _components(self, step, key="component", field="field"):
        if step.get(key) is not None:
            return [step[key]]
        return range(len(self.fields[step[field]]["places"]))

    def _scatter(self, step):
        field = step["field"]
        for *index, value in step["items"]:
            for c in self._components(step):
                self._update(step["how"], field, c, tuple(index), value + c)

    def _update(self, how, field, c, index, value, activate=True):
        old, value = self.read(field, c, index), self.wrapped(field, value)
        new = {
            "store": lambda: value,
            "add": lambda: old + value,
            "sub": lambda: old - value,
            "max": lambda: max(old, value),
        }[how]()
        self.write(field, c, index, new, activate)

    def _python(self, step):
        self._scatter(step)

    def _no_activate(self, step):
        for *index, value in step["items"]:
            for c in self._components(step):
                self.write(step["field"], c, tuple(index), value + c, activate=False)

    def _loop(self, step):
        """for P in over: if test(P): dest[P] = value(P)"""
        dest, updates = step["dest"], []
        for index in self._points(step):
            if (self._hash(index) % step["mod"]) not in step["rest"]:
                continue
            value = step["const"] + self._hash(index)
            for field, component, shift in step["terms"]:
                at = self._local(field, [i + s for i, s in zip(index, shift)])
                if at is not None:
                    value += int(self.read(field, component, at)) * 3
            value = int(np.array(value & (2**32 - 1), np.uint32).astype(np.int32))
            at = self._local(dest, index)
            if at is not None:
                updates += [(c, at, value % 1000 + c) for c in self._components(step, field="dest")]
        for c, at, value in updates:
            self._update(step["how"], dest, c, at, value)

    def _points(self, step):
        """The virtual indices that the loop visits, including offsets."""
        field = step["over"]
        place = self.fields[field]["places"][0]
        offset = self.offset(field)
        found = self.indices(place) if step["all"] else self.visited(place)
        return [tuple(i + o for i, o in zip(index, offset)) for index in found]

    def _local(self, field, index):
        """An index without the field's offset; None where it is out of range."""
        local = tuple(i - o for i, o in zip(index, self.offset(field)))
        extents = self.field_extents(field)
        return local if all(0 <= i < n for i, n in zip(local, extents)) else None

    @staticmethod
    def _hash(index):
        value = 5
        for i in index:
            value = value * 7 + i
        return value

    def _sum(self, step):
        field, c = step["field"], step["component"]
        place = self.fields[field]["places"][0]
        return int(sum(self.read(field, c, index) for index in self.visited(place)))

    def _cells(self, step):
        for index in step["items"]:
            getattr(self, step["what"])(tuple(index), step["node"])

    def _drop(self, step):
        n = step["node"]
        for index in self.visited(n):
            if self._hash(index) % step["mod"] in step["rest"]:
                self.deactivate(index, n)

    def _append(self, step):
        n, field = step["node"], step["field"]
        parent = self.nodes[n]["parent"]
        axis = self.nodes[n]["axes"][0]
        for *cell, value, times in step["items"]:
            for _ in range(times):
                used = self.length.get((n, tuple(cell)), 0)
                if used == axis[1]:
                    continue
                at = dict(zip(self.axes[parent], cell))
                at[axis[0]] = used
                index = tuple(at[a] for a in self.axes[n])
                for c in self._components(step):
                    self.write(field, c, index, value + c)

    def _deactivate_all(self, step):
        self.deactivate_all(step["node"])

    def _fill(self, step):
        for c, place in enumerate(self.fields[step["field"]]["places"]):
            for index in self.visited(place):
                self.write(step["field"], c, index, step["value"])

    def _copy(self, step):
        """Copies what reads of single elements give: unlike to_numpy, the values that deactivated
        bitmasked cells keep. All cells of the destination become active."""
        source = step["from"]
        for c, place in enumerate(self.fields[source]["places"]):
            for index in self.indices(place):
                self.write(step["to"], c, index, self.read(source, c, index))

    def _from_numpy(self, step):
        for c, place in enumerate(self.fields[step["field"]]["places"]):
            for number, index in enumerate(self.indices(place)):
                if self.exists(index, place):
                    self.write(step["field"], c, index, (number * 3 + step["value"]) % 97 + c)

    # ---- observations

    def seen(self):
        """{name: list of numbers}: everything that the program observes after a step."""
        found = {}
        for f, field in enumerate(self.fields):
            for c, place in enumerate(field["places"]):
                found[f"x{f}.{c}"] = [self.read(f, c, index) for index in self.indices(place)]
            place = field["places"][0]
            found[f"loop x{f}"] = [int(self.exists(i, place)) for i in self.indices(place)]
        for n in range(1, len(self.nodes)):
            found[f"loop n{n}"] = [int(self.exists(i, n)) for i in self.indices(n)]
            if self.kind(n) in ("pointer", "bitmasked"):
                found[f"active n{n}"] = [int(self.is_active(i, n)) for i in self.indices(n)]
            elif self.kind(n) == "dynamic":
                cells = self.indices(self.nodes[n]["parent"])
                found[f"length n{n}"] = [self.length.get((n, cell), 0) for cell in cells]
        return found

    def whole(self):
        """{name: list of numbers}: the result of to_numpy for each field."""
        found = {}
        for f, field in enumerate(self.fields):
            for c, place in enumerate(field["places"]):
                found[f"numpy x{f}.{c}"] = [
                    self.read(f, c, i) if self.exists(i, place) else 0 for i in self.indices(place)
                ]
        return found


NUMPY = {
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "i32": "int32",
    "u32": "uint32",
    "i64": "int64",
    "f32": "float32",
    "f64": "float64",
}


def expected(program):
    """The list of observations after each step and at the end."""
    model = Model(program)
    found = []
    for step in program["steps"]:
        value = model.step(step)
        seen = model.seen()
        if value is not None:
            seen["value"] = [value]
        found.append(seen)
    found.append(model.whole())
    return found
