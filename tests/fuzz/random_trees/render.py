"""Writes a program (model.py) as Python text, which leaves its observations in the list `SEEN`."""

from .model import NUMPY, Shape

ARRAYS = 10  # array parameters of a kernel that observes


def text(program):
    return Writer(program).text()


class Writer:
    def __init__(self, program):
        self.program = program
        self.shape = Shape(program)
        self.lines = []

    def text(self):
        self.add("import numpy as np", "import kiln as ti", "SEEN = []", "")
        self._trees()
        self._observer()
        for number, step in enumerate(self.program["steps"]):
            self.add(f"# {number}: {step['op']}")
            getattr(self, "_" + step["op"])(number, step)
            self.add("observe(value)" if step["op"] == "sum" else "observe()")
        self.add("found = {}")
        for f, field in enumerate(self.program["fields"]):
            self.add(f"whole = x{f}.to_numpy().reshape(-1, {len(field['places'])})")
            for c in range(len(field["places"])):
                self.add(f"found['numpy x{f}.{c}'] = whole[:, {c}].tolist()")
        self.add("SEEN.append(found)")
        return "\n".join(self.lines) + "\n"

    def add(self, *lines):
        self.lines += lines

    # ---- trees

    def _trees(self):
        builder = self.program.get("builder")
        root = "builder" if builder else "ti.root"
        if builder:
            self.add("builder = ti.FieldsBuilder()")
        for f, field in enumerate(self.program["fields"]):
            dtype, shape = f"ti.{field['type']}", field["shape"]
            made = {
                0: f"ti.field({dtype})",
                1: f"ti.Vector.field({(shape or [0])[0]}, {dtype})",
                2: f"ti.Matrix.field({', '.join(map(str, shape))}, {dtype})",
            }[len(shape)]
            self.add(f"x{f} = {made}")
        for n, node in enumerate(self.program["nodes"][1:], 1):
            parent = f"n{node['parent']}" if node["parent"] else root
            numbers = ", ".join(str(axis) for axis, _ in node["axes"])
            extents = [extent for _, extent in node["axes"]]
            if node["kind"] == "dynamic":
                chunk = f", chunk_size={node['chunk']}"
                self.add(f"n{n} = {parent}.dynamic(ti.axes({numbers}), {extents[0]}{chunk})")
            else:
                self.add(f"n{n} = {parent}.{node['kind']}(ti.axes({numbers}), {tuple(extents)})")
        for f, field in enumerate(self.program["fields"]):
            offset = f", offset={tuple(field['offset'])}" if field["offset"] else ""
            if len(set(field["places"])) == 1:
                node = field["places"][0]
                self.add(f"{f'n{node}' if node else root}.place(x{f}{offset})")
                continue
            for c, node in enumerate(field["places"]):
                part = self._part(field, c)
                self.add(f"n{node}.place(x{f}.get_scalar_field({part}){offset})")
        if builder:
            self.add("tree = builder.finalize()")

    def _part(self, field, c):
        shape = field["shape"]
        return str(c) if len(shape) < 2 else f"{c // shape[1]}, {c % shape[1]}"

    def _component(self, f, c):
        """The text that selects a component of an element."""
        field = self.program["fields"][f]
        return f"[{self._part(field, c)}]" if field["shape"] else ""

    def _indices(self, f):
        return len(self.shape.axes[self.program["fields"][f]["places"][0]])

    def _element(self, f, form, shift=None, base="p"):
        """x[...] at the loop's index: the vector `p`, or the numbers p0, p1, …"""
        count = self._indices(f)
        shift = shift or [0] * count
        if count == 0:
            return f"x{f}[None]"
        if form != "separate":
            moved = f" + ti.Vector({shift})" if any(shift) else ""
            return f"x{f}[{base}{moved}]"
        parts = [f"{base}{i}" + (f" + {s}" if s else "") for i, s in enumerate(shift)]
        return f"x{f}[{', '.join(parts)}]"

    # ---- observing

    def _observer(self):
        """A kernel that reads all elements, marks those that loops visit, and queries each cell."""
        names, sizes, body = [], [], []

        def array(name, size, lines):
            names.append(name)
            sizes.append(size)
            body.extend(lines(f"a{len(names) - 1}"))

        for f, field in enumerate(self.program["fields"]):
            place = field["places"][0]
            extents, offset = self.shape.extents(place), self.shape.offset(f)
            size = _product(extents)
            for c in range(len(field["places"])):
                read = f"x{f}{_index('p', offset)}{self._component(f, c)}"
                array(f"x{f}.{c}", size, lambda a: _all(extents, f"{a}[_] = {read}"))
            array(f"loop x{f}", size, lambda a: _loop(f"x{f}", extents, offset, a))
        for n in range(1, len(self.program["nodes"])):
            extents, kind = self.shape.extents(n), self.shape.kind(n)
            none = [0] * len(extents)
            array(f"loop n{n}", _product(extents), lambda a: _loop(f"n{n}", extents, none, a))
            at = _index("p", none)
            if kind in ("pointer", "bitmasked"):
                ask = f"ti.cast(ti.is_active(n{n}, {at}), ti.i32)"
                array(f"active n{n}", _product(extents), lambda a: _all(extents, f"{a}[_] = {ask}"))
            elif kind == "dynamic":
                parent = self.program["nodes"][n]["parent"]
                above = self.shape.extents(parent)
                at = _index("p", [0] * len(above)).replace("None", "")
                ask = f"ti.length(n{n}, {at})"
                array(f"length n{n}", _product(above), lambda a: _all(above, f"{a}[_] = {ask}"))
        dtypes = [self._dtype(name) for name in names]
        kernels = []
        start = 0
        blocks = _blocks(body)
        while start < len(names):
            end = min(start + ARRAYS, len(names))
            parameters = ", ".join(f"a{i}: ti.types.ndarray()" for i in range(start, end))
            self.add("@ti.kernel", f"def look{start}({parameters}):")
            self.add(*(f"    {line}" for block in blocks[start:end] for line in block))
            arguments = ", ".join(f"arrays[{names[i]!r}]" for i in range(start, end))
            kernels.append(f"    look{start}({arguments})")
            start = end
        self.add("def observe(value=None):", "    arrays = {")
        for name, size, dtype in zip(names, sizes, dtypes):
            self.add(f"        {name!r}: np.zeros({size}, np.{dtype}),")
        self.add("    }", *kernels)
        self.add("    seen = {name: a.tolist() for name, a in arrays.items()}")
        self.add("    if value is not None:", "        seen['value'] = [value]")
        self.add("    SEEN.append(seen)", "")

    def _dtype(self, name):
        if name[0] != "x":
            return "int32"
        return NUMPY[self.program["fields"][int(name[1:].split(".")[0])]["type"]]

    # ---- steps

    def _scatter(self, number, step, activate=True):
        """A kernel that receives indices and values in an array and updates each element."""
        f, form = step["field"], step["form"]
        count = self._indices(f)
        element = self._element(f, form)
        self.add("@ti.kernel", f"def k{number}(a: ti.types.ndarray()):")
        if not activate:
            self.add(f"    ti.no_activate(x{f})")
        self.add("    for row in range(a.shape[0]):")
        offset = self.shape.offset(f)
        parts = [f"a[row, {i}]{_plus(o)}" for i, o in enumerate(offset)]
        if form == "separate":
            self.add(*(f"        p{i} = {part}" for i, part in enumerate(parts)))
        elif count:
            self.add(f"        p = ti.Vector([{', '.join(parts)}])")
        self.add(f"        v = a[row, {count}]")
        self.add(*self._updates(f, step, element, "v", 8))
        rows = f"np.array({step['items']}, np.int32).reshape(-1, {count + 1})"
        self.add(f"k{number}({rows})")

    def _updates(self, f, step, element, value, indent):
        field = self.program["fields"][f]
        how = step.get("how", "store")
        components = [step["component"]]
        if step["component"] is None:
            components = range(len(field["places"]))
            if how == "store" and field["shape"]:  # all components together
                parts = [f"{value} + {c}" for c in components]
                if len(field["shape"]) == 2:
                    n = field["shape"][1]
                    rows = [parts[i : i + n] for i in range(0, len(parts), n)]
                    parts = [f"[{', '.join(row)}]" for row in rows]
                    return [" " * indent + f"{element} = ti.Matrix([{', '.join(parts)}])"]
                return [" " * indent + f"{element} = ti.Vector([{', '.join(parts)}])"]
        lines = []
        for c in components:
            target = element + self._component(f, c)
            given = f"ti.cast({value} + {c}, ti.{field['type']})"
            lines.append(
                {
                    "store": f"{target} = {given}",
                    "add": f"{target} += {given}",
                    "sub": f"{target} -= {given}",
                    "max": f"ti.atomic_max({target}, {given})",
                }[how]
            )
        return [" " * indent + line for line in lines]

    def _no_activate(self, number, step):
        self._scatter(number, {**step, "how": "store", "form": "grouped"}, activate=False)

    def _python(self, number, step):
        f = step["field"]
        offset = self.shape.offset(f)
        field = self.program["fields"][f]
        for *index, value in step["items"]:
            at = ", ".join(str(i + o) for i, o in zip(index, offset)) or "None"
            components = [step["component"]]
            if step["component"] is None:
                components = range(len(field["places"]))
            for c in components:
                given = value + c
                sign = "=" if step["how"] == "store" else "+="
                if sign == "=":  # Python refuses values that do not fit
                    given = f"np.array({given}).astype('{_numpy(field)}').item()"
                    self.add(f"x{f}[{at}]{self._component(f, c)} = {given}")
                else:
                    target = f"x{f}[{at}]{self._component(f, c)}"
                    sum_ = f"np.array({target} + {given}).astype('{_numpy(field)}').item()"
                    self.add(f"{target} = {sum_}")

    def _loop(self, number, step):
        over, dest, form = step["over"], step["dest"], step["form"]
        extents, offset = self.shape.field_extents(over), self.shape.offset(over)
        count = len(extents)
        looped = "over" if form == "template" else f"x{over}"
        body = []
        names = [f"p{i}" for i in range(count)]
        if step["all"]:
            ranges = ", ".join(f"({o}, {e + o})" for e, o in zip(extents, offset))
            head = f"ti.ndrange({ranges})" if count else "range(1)"
        else:
            head = looped
        separate = form == "separate"
        # What comes of it is the same, with CUDA's tiles as well.
        near = sorted({field for field, _, _ in step["terms"]})
        if near:
            body.append(f"ti.block_local({', '.join(f'x{field}' for field in near)})")
        if count == 0:
            body.append("for _ in range(1):")
        elif separate:
            body.append(f"for {', '.join(names)} in {head}:")
        else:
            body.append(f"for p in ti.grouped({head}):")
        numbers = names if separate else [f"p[{i}]" for i in range(count)]
        hashed = "5"
        for name in numbers:
            hashed = f"({hashed}) * 7 + {name}"
        body.append(f"    h = {hashed}")
        tests = " or ".join(f"h % {step['mod']} == {r}" for r in step["rest"])
        body.append(f"    if {tests}:")
        body.append(f"        v = {step['const']} + h")
        for field, component, shift in step["terms"]:
            test = self._inside(field, over, numbers, shift)
            element = self._element(field, form if separate else "grouped", shift)
            element += self._component(field, component)
            add = f"v += ti.cast({element}, ti.i32) * 3"
            if form == "function":
                add = f"v = more(v, {element})"
            body += [f"        if {test}:", f"            {add}"] if test else [f"        {add}"]
        test = self._inside(dest, over, numbers, [0] * count)
        element = self._element(dest, form if separate else "grouped")
        updates = self._updates(dest, step, element, "(v % 1000)", 0)
        if test:
            body += [f"        if {test}:", *(f"            {line}" for line in updates)]
        else:
            body += [f"        {line}" for line in updates]
        if form == "function":
            self.add("@ti.func", "def more(v, element):")
            self.add("    return v + ti.cast(element, ti.i32) * 3")
        parameters = "over: ti.template()" if form == "template" else ""
        self.add("@ti.kernel", f"def k{number}({parameters}):")
        self.add(*(f"    {line}" for line in body))
        self.add(f"k{number}({f'x{over}' if form == 'template' else ''})")

    def _inside(self, field, over, numbers, shift):
        """A test that a shifted index of the loop is in the field; empty if it always is."""
        extents, offset = self.shape.field_extents(field), self.shape.offset(field)
        loop = list(zip(self.shape.field_extents(over), self.shape.offset(over)))
        tests = []
        for name, s, e, o, (le, lo) in zip(numbers, shift, extents, offset, loop):
            if lo + s < o:
                tests.append(f"{name}{_plus(s)} >= {o}")
            if lo + le + s > o + e:
                tests.append(f"{name}{_plus(s)} < {o + e}")
        return " and ".join(tests)

    def _sum(self, number, step):
        f = step["field"]
        extents = self.shape.field_extents(f)
        self.add("@ti.kernel", f"def k{number}() -> ti.i64:", "    s = ti.cast(0, ti.i64)")
        head = f"for p in ti.grouped(x{f}):" if extents else "for _ in range(1):"
        element = self._element(f, "grouped") + self._component(f, step["component"])
        self.add(f"    {head}", f"        s += ti.cast({element}, ti.i64)", "    return s")
        self.add(f"value = k{number}()")

    def _cells(self, number, step):
        n = step["node"]
        holder = self.program["nodes"][n]["parent"] if self.shape.kind(n) == "dynamic" else n
        count = len(self.shape.axes[holder])
        parts = ", ".join(f"a[row, {i}]" for i in range(count))
        self.add("@ti.kernel", f"def k{number}(a: ti.types.ndarray()):")
        self.add("    for row in range(a.shape[0]):")
        self.add(f"        ti.{step['what']}(n{n}, [{parts}])")
        rows = [[*cell, 0] for cell in step["items"]]
        self.add(f"k{number}(np.array({rows}, np.int32))")

    def _drop(self, number, step):
        n = step["node"]
        hashed = "5"
        for i in range(len(self.shape.axes[n])):
            hashed = f"({hashed}) * 7 + p[{i}]"
        tests = " or ".join(f"h % {step['mod']} == {r}" for r in step["rest"])
        self.add("@ti.kernel", f"def k{number}():", f"    for p in ti.grouped(n{n}):")
        self.add(f"        h = {hashed}", f"        if {tests}:")
        self.add(f"            ti.deactivate(n{n}, p)", f"k{number}()")

    def _append(self, number, step):
        n, f = step["node"], step["field"]
        node, field = self.program["nodes"][n], self.program["fields"][f]
        count = len(self.shape.axes[node["parent"]])
        value = f"ti.cast(v, ti.{field['type']})"
        if field["shape"]:
            value = f"ti.Vector([v + c for c in range({field['shape'][0]})], ti.{field['type']})"
        parts = ", ".join(f"a[row, {i}]" for i in range(count))
        self.add("@ti.kernel", f"def k{number}(a: ti.types.ndarray()):")
        self.add("    for row in range(a.shape[0]):", f"        v = a[row, {count}]")
        self.add(f"        for _ in range(a[row, {count + 1}]):")
        self.add(f"            if ti.length(n{n}, [{parts}]) < {node['axes'][0][1]}:")
        # The method's index is the cell above, for a list whose axis is the last.
        last = node["axes"][0][0] == self.shape.axes[n][-1] and not field["offset"]
        if step["form"] == "method" and last and not field["shape"]:
            element = f"x{f}[{parts}]" if count else f"x{f}"
            self.add(f"                {element}.append({value})")
        else:
            self.add(f"                ti.append(n{n}, [{parts}], {value})")
        self.add(f"k{number}(np.array({step['items']}, np.int32))")

    def _deactivate_all(self, number, step):
        root = "builder" if self.program.get("builder") else "ti.root"
        node = f"n{step['node']}" if step["node"] else root
        self.add(f"{node}.deactivate_all()")

    def _fill(self, number, step):
        kind = _numpy(self.program["fields"][step["field"]])
        given = f"np.array({step['value']}).astype('{kind}').item()"
        self.add(f"x{step['field']}.fill({given})")

    def _from_numpy(self, number, step):
        field = self.program["fields"][step["field"]]
        extents = self.shape.field_extents(step["field"])
        size, count = _product(extents), len(field["places"])
        self.add(f"a = (np.arange({size}) * 3 + {step['value']}) % 97")
        shape = (*extents, *field["shape"])
        whole = f"(a[:, None] + np.arange({count})).reshape({shape})"
        self.add(f"x{step['field']}.from_numpy({whole}.astype('{_numpy(field)}'))")

    def _copy(self, number, step):
        self.add(f"x{step['to']}.copy_from(x{step['from']})")


def _numpy(field):
    return NUMPY[field["type"]]


def _product(extents):
    n = 1
    for extent in extents:
        n *= extent
    return n


def _plus(number):
    return f" + {number}" if number > 0 else f" - {-number}" if number else ""


def _index(name, offset):
    """[p[0] + 3, p[1]], or [None] without indices."""
    return "[" + (", ".join(f"{name}[{i}]{_plus(o)}" for i, o in enumerate(offset)) or "None") + "]"


def _flat(extents, numbers):
    """The position of an index in a flat array."""
    flat = "0"
    for extent, number in zip(extents, numbers):
        flat = f"({flat}) * {extent} + {number}"
    return flat


def _all(extents, assignment):
    """A loop over all indices; `_` in the text is replaced by the position in the array."""
    if not extents:
        return ["for _ in range(1):", "    " + assignment.replace("[_]", "[0]")]
    flat = _flat(extents, [f"p[{i}]" for i in range(len(extents))])
    ranges = ", ".join(map(str, extents))
    return [
        f"for p in ti.grouped(ti.ndrange({ranges})):",
        "    " + assignment.replace("[_]", f"[{flat}]"),
    ]


def _loop(what, extents, offset, array):
    """A loop over a field or node that counts its visits of each index."""
    if not extents:
        return ["for _ in range(1):", f"    {array}[0] += 1"]
    numbers = [f"(p[{i}]{_plus(-o)})" for i, o in enumerate(offset)]
    return [f"for p in ti.grouped({what}):", f"    {array}[{_flat(extents, numbers)}] += 1"]


def _blocks(lines):
    """Pairs of lines: each loop with its body."""
    return [lines[i : i + 2] for i in range(0, len(lines), 2)]
