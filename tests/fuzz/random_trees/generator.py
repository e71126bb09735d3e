"""Generates random programs on trees; model.py describes their form."""

import random

from .model import NUMPY, SPARSE, Model, Shape

MOST_CELLS = 300  # of a node, to keep the model fast
ATOMIC = ("i32", "i64", "f32", "f64")


def program(seed, loose=False):
    """The program of a seed. loose: uses only features whose results Taichi defines, too."""
    return Maker(random.Random(seed), loose).program()


class Maker:
    def __init__(self, draw, loose):
        self.draw = draw
        self.loose = loose
        self.made = {"nodes": [{"kind": "root"}], "fields": [], "steps": []}

    def program(self):
        for _ in range(self.draw.choice([1, 1, 2])):
            self._tree()
        self.made["builder"] = self.draw.random() < 0.3
        self.model = Model(self.made)
        for _ in range(self.draw.randint(3, 7)):
            step = None
            while step is None:
                step = self._step()
            self.made["steps"].append(step)
            self.model.step(step)
        return self.made

    # ---- trees

    def _tree(self):
        """A branch below the root with one to four levels, some of which have places."""
        draw = self.draw
        pool = draw.choice([[0], [0, 1], [0, 1], [0, 1, 2], [1, 3], [2, 11]])
        self._fields_left = draw.randint(1, 3)
        self._level(0, pool, used=set(), closed=set(), depth=0, cells=1)

    def _level(self, parent, pool, used, closed, depth, cells):
        draw = self.draw
        kinds = ["dense", "pointer", "pointer", "bitmasked", "bitmasked"]
        free = [axis for axis in pool if axis not in used]
        if free and (depth or draw.random() < 0.3):
            kinds += ["dynamic", "dynamic"]
        kind = draw.choice(kinds)
        if kind == "dynamic":
            axes = [draw.choice(free)]
            closed = closed | set(axes)
        else:
            open_axes = [axis for axis in pool if axis not in closed]
            if not open_axes:
                return self._place(parent)
            axes = sorted(draw.sample(open_axes, draw.randint(1, len(open_axes))))
        levels = []
        for axis in axes:
            extent = draw.choice(self._extents(cells))
            while cells * extent > MOST_CELLS:
                extent = extent // 2 or 1
            cells *= extent
            levels.append([axis, extent])
        node = {"kind": kind, "parent": parent, "axes": levels}
        if kind == "dynamic":
            node["chunk"] = draw.choice([1, 2, 3, 4, levels[0][1], 2 * levels[0][1]])
        self.made["nodes"].append(node)
        number = len(self.made["nodes"]) - 1
        used = used | set(axes)
        end = depth == 3 or cells >= MOST_CELLS // 2 or draw.random() < 0.3
        if end or draw.random() < 0.15:
            self._place(number)
        if not end:
            self._level(number, pool, used, closed, depth + 1, cells)
            if draw.random() < 0.25 and len(self.made["nodes"]) < 9:
                self._level(number, pool, used, closed, depth + 1, cells)

    def _extents(self, cells):
        if self.loose:  # with other extents, Taichi's loops miss cells
            return [1, 2, 4, 8] if cells < 20 else [2, 4]
        return [1, 2, 2, 3, 4, 4, 5, 7, 8, 8, 33] if cells < 20 else [2, 2, 3, 4]

    def _place(self, node):
        """Places one to three fields in a node's cells; perhaps each component in its own node."""
        draw = self.draw
        list_ = self.made["nodes"][node]["kind"] == "dynamic"
        for _ in range(draw.choice([1, 1, 1, 1, 1, 2] if list_ else [1, 1, 2, 3])):
            shape = draw.choice([[], [], [], [2], [3], [2, 2]])
            components = 1
            for n in shape:
                components *= n
            places = [node] * components
            if components > 1 and draw.random() < 0.3 and not self.loose:
                places = [self._leaf(node) for _ in range(components)]
            types = ATOMIC if self.loose else list(NUMPY)
            field = {"type": draw.choice(types), "shape": shape, "places": places, "offset": None}
            dimensions = len(Shape({**self.made, "fields": []}).axes[places[0]])
            if draw.random() < 0.25:
                field["offset"] = [draw.randint(-9, 9) for _ in range(dimensions)]
            self.made["fields"].append(field)

    def _leaf(self, node):
        """A level with one cell below the node, as a separate place for a component."""
        kind = self.draw.choice(["dense", "pointer", "bitmasked"])
        axes = Shape({**self.made, "fields": []}).axes[node]
        closed = {
            axis
            for m in Shape({**self.made, "fields": []}).paths[node]
            if self.made["nodes"][m]["kind"] == "dynamic"
            for axis, _ in self.made["nodes"][m]["axes"]
        }
        open_axes = [axis for axis in axes if axis not in closed]
        if not open_axes:
            return node
        self.made["nodes"].append({"kind": kind, "parent": node, "axes": [[open_axes[0], 1]]})
        return len(self.made["nodes"]) - 1

    # ---- steps

    def _step(self):
        steps = _STEPS
        if not self.made["steps"]:  # nothing is active yet
            steps = {name: _STEPS[name] for name in ("scatter", "python", "append")}
        name, weight = zip(*steps.items())
        return getattr(self, "_" + self.draw.choices(name, weight)[0])()

    def _field(self, wanted=lambda field: True):
        fields = [f for f, field in enumerate(self.made["fields"]) if wanted(field)]
        return self.draw.choice(fields) if fields else None

    def _component(self, field):
        """One of the field's components, or None for all."""
        count = len(self.made["fields"][field]["places"])
        return self.draw.choice([None, None, *range(count)]) if count > 1 else None

    def _some(self, cells, most=12):
        """Some of the cells, in clusters."""
        cells = list(cells)
        start = self.draw.randrange(len(cells))
        near = cells[start : start + self.draw.randint(1, 6)]
        far = self.draw.sample(cells, min(len(cells), self.draw.randint(0, most - 6)))
        return list(dict.fromkeys(near + far))

    def _number(self):
        return self.draw.choice([0, 1, 2, 7, 40, 100, self.draw.randint(0, 300)])

    def _items(self, node):
        cells = self._some(self.model.indices(node))
        return [[*cell, self._number()] for cell in cells]

    def _scatter(self, op="scatter"):
        draw = self.draw
        f = self._field()
        component = self._component(f)
        items = self._items(self.made["fields"][f]["places"][0])
        how = draw.choice(["store", "store", "add", "add", "sub", "max"])
        if how in ("sub", "max") and self.made["fields"][f]["type"].startswith("u"):
            how = "add"
        if how != "store" and op == "scatter":  # several updates of one element
            items += draw.choices(items, k=draw.randint(0, 8))
        form = draw.choice(["grouped", "separate"])
        step = {"op": op, "field": f, "component": component, "how": how, "items": items}
        return {**step, "form": form}

    def _python(self):
        return {**self._scatter("python"), "how": self.draw.choice(["store", "add"])}

    def _no_activate(self):
        if self.loose:
            return None

        def plain(field):
            kinds = {self.model.kind(m) for p in field["places"] for m in self.model.paths[p]}
            return "dynamic" not in kinds and len(set(field["places"])) == 1

        f = self._field(plain)
        if f is None:
            return None
        items = self._items(self.made["fields"][f]["places"][0])
        return {"op": "no_activate", "field": f, "component": self._component(f), "items": items}

    def _loop(self):
        draw = self.draw
        over, dest = self._field(), self._field()
        dimensions = len(self.model.field_extents(over))
        if len(self.model.field_extents(dest)) != dimensions:
            return None
        everywhere = draw.random() < 0.3
        if not everywhere and not self._may_activate(over, dest):
            return None
        terms = []
        for _ in range(draw.choice([0, 1, 1, 2, 3, 5])):
            field = self._field(
                lambda field: len(self.model.extents(field["places"][0])) == dimensions
            )
            component = draw.randrange(len(self.made["fields"][field]["places"]))
            shift = [draw.choice([0, 0, 0, 1, -1, 2]) for _ in range(dimensions)]
            if field == dest:  # other iterations may have written it
                shift = [0] * dimensions
            terms.append([field, component, shift])
        mod = draw.choice([1, 1, 2, 3, 5])
        step = {"op": "loop", "over": over, "dest": dest, "all": everywhere, "terms": terms}
        step |= {"mod": mod, "rest": draw.sample(range(mod), draw.randint(1, mod))}
        step |= {"const": self._number(), "component": self._component(dest)}
        step |= {"how": draw.choice(["store", "store", "add"])}
        return {**step, "form": draw.choice(["grouped", "separate", "template", "function"])}

    def _may_activate(self, over, dest):
        """Whether a loop over one field that writes the other activates no cell it could visit."""
        shape, one, other = self.model, self.made["fields"][over], self.made["fields"][dest]
        same = shape.field_extents(over) == shape.field_extents(dest)
        if same and shape.offset(over) == shape.offset(dest):
            return True  # above both fields, only the loop's own cells
        sparse = {m for m in shape.paths[one["places"][0]] if shape.kind(m) in SPARSE}
        return not any(sparse & set(shape.paths[place]) for place in other["places"])

    def _sum(self):
        f = self._field()
        count = len(self.made["fields"][f]["places"])
        return {"op": "sum", "field": f, "component": self.draw.randrange(count)}

    def _node(self, kinds=SPARSE):
        nodes = [n for n, node in enumerate(self.made["nodes"]) if node["kind"] in kinds]
        return self.draw.choice(nodes) if nodes else None

    def _cells(self):
        what = self.draw.choice(["activate", "deactivate", "deactivate"])
        n = self._node(("pointer", "bitmasked") if what == "activate" else SPARSE)
        if n is None:
            return None
        above = [m for m in self.model.paths[n][:-1] if self.model.kind(m) in SPARSE]
        if self.loose and above:
            return None  # in Taichi this changes the values of inactive cells
        holder = self.made["nodes"][n]["parent"] if self.model.kind(n) == "dynamic" else n
        items = [list(cell) for cell in self._some(self.model.indices(holder))]
        return {"op": "cells", "what": what, "node": n, "items": items}

    def _drop(self):
        n = self._node(("pointer", "bitmasked"))
        if n is None:
            return None
        mod = self.draw.choice([1, 2, 3])
        return {"op": "drop", "node": n, "mod": mod, "rest": [self.draw.randrange(mod)]}

    def _append(self):
        lists = []
        for f, field in enumerate(self.made["fields"]):
            n = field["places"][0]
            alone = [g for g in self.made["fields"] if n in g["places"]]
            children = [m for m, node in enumerate(self.made["nodes"]) if node.get("parent") == n]
            one = set(field["places"]) == {n} and len(alone) == 1 and not children
            if self.model.kind(n) == "dynamic" and one and len(field["shape"]) < 2:
                lists.append((n, f))
        if not lists:
            return None
        n, f = self.draw.choice(lists)
        cells = self._some(self.model.indices(self.made["nodes"][n]["parent"]))
        items = [[*cell, self._number(), self.draw.randint(1, 5)] for cell in cells]
        step = {"op": "append", "node": n, "field": f, "items": items}
        return {**step, "form": self.draw.choice(["function", "method"])}

    def _deactivate_all(self):
        return {"op": "deactivate_all", "node": self.draw.randrange(len(self.made["nodes"]))}

    def _fill(self):
        return {"op": "fill", "field": self._whole(), "value": self._number()}

    def _from_numpy(self):
        return {"op": "from_numpy", "field": self._whole(), "value": self._number()}

    def _whole(self):
        return self._field()

    def _copy(self):
        source = self._field()
        dest = self._field(lambda field: field is not self.made["fields"][source])
        if dest is None:
            return None
        one, other = self.made["fields"][source], self.made["fields"][dest]
        extents = self.model.field_extents(source), self.model.field_extents(dest)
        same = one["shape"] == other["shape"] and extents[0] == extents[1]
        offsets = self.model.offset(source) == self.model.offset(dest)
        if not same or not offsets or not self._may_activate(source, dest):
            return None
        return {"op": "copy", "from": source, "to": dest}


_STEPS = {
    "scatter": 5,
    "python": 2,
    "no_activate": 1,
    "loop": 6,
    "sum": 1,
    "cells": 3,
    "drop": 2,
    "append": 4,
    "deactivate_all": 1,
    "fill": 1,
    "from_numpy": 1,
    "copy": 3,
}
