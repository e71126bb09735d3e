#!/usr/bin/python3
"""Random parallel loops, run in lanes and one iteration at a time: the same bits.

    tests/fuzz/lanes.py [--seconds 60] [--seed 0]
    tests/fuzz/lanes.py --show SEED      the program of a seed

The bodies are those that lanes are for: loops of all kinds around branches, with breaks and
continues, on fields and arrays of several shapes, with local arrays, integer atomics and random
numbers. Some read cells of trees, at indices that all lanes share. A program runs with lanes="off",
then with "on" at each level of the CPU that has them.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SIZES = [1, 2, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33, 63, 64, 65, 100, 259]
SMALL = ["0", "1", "2", "3", "7", "-1", "-5"]
REAL = ["0.0", "1.0", "0.5", "-0.0", "-2.5", "1e-40", "3e38", "0.1"]
LEVELS = ["x86-64-v3", "x86-64-v4"]


class Program:
    """One random program; `text` is its source."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0
        self.depth = 0
        pick = self.random.choice
        self.n, self.m = pick(SIZES), pick([1, 3, 8, 17, 40])
        self.two = self.random.random() < 0.4
        self.real = pick(["f32", "f32", "f64"])
        self.whole = pick(["i32", "i32", "i32", "i64", "u8", "i16", "u32"])
        self.lines = []
        self.text = self.program()

    def program(self):
        shape = f"({self.m}, {self.n})" if self.two else f"{self.n}"
        layout = self.random.choice(["field", "aos", "ndarray"])
        head = [
            "import kiln as ti",
            f"R, Z = ti.{self.real}, ti.{self.whole}",
            f"fi = ti.field(R, {self.n}); zi = ti.field(ti.i32, {self.n})",
            f"square = ti.field(R, ({self.n}, 17))",
            f"pairs = ti.types.struct(x=R, z=ti.i32).field(shape={self.n})",
            "histogram = ti.field(ti.i32, 16)",
            "least = ti.field(ti.i32, 4); most = ti.field(ti.i32, 4)",
            "low = ti.field(ti.f32, ()); total = ti.field(Z, ())",
        ]
        self.shared = ["3", "20", "-1", "u", "u & 15", *(["j", "j & 3"] if self.two else [])]
        self.trees = self.random.random() < 0.3
        if self.trees:
            node = self.random.choice(["dynamic", "pointer", "bitmasked"])
            head += [
                "tree, leaf = ti.field(R), ti.field(ti.i32)",
                f"node = ti.root.{node}(ti.i, 16); node.place(tree, leaf)",
                "@ti.kernel",
                "def fill():",
                "    for _ in range(1):",
                "        for i in range(12):",
                f"            if {node == 'dynamic'} or i % 3: tree[i] = i * 0.5; leaf[i] = i - 3",
            ]
        if layout == "aos":
            head.append(f"cell = ti.types.struct(x=R, z=Z); out = cell.field(shape={shape})")
            ox, oz = "out[{}].x", "out[{}].z"
        elif layout == "field":
            head.append(f"ox = ti.field(R, {shape}); oz = ti.field(Z, {shape})")
            ox, oz = "ox[{}]", "oz[{}]"
        else:
            head.append(f"ox = ti.ndarray(R, {shape}); oz = ti.ndarray(Z, {shape})")
            ox, oz = "ox_[{}]", "oz_[{}]"
        index = "j, i" if self.two else "i"
        self.ox, self.oz = ox.format(index), oz.format(index)
        dims = 2 if self.two else 1
        given = ""
        if layout == "ndarray":
            given = "".join(
                f"{name}: ti.types.ndarray(dtype={kind}, ndim={dims}), "
                for name, kind in (("ox_", "R"), ("oz_", "Z"))
            )
        self.emit("@ti.kernel")
        self.emit(f"def kernel({given}low_: ti.i32, high: ti.i32, u: ti.i32, f: ti.f32):")
        self.depth = 1
        if self.two:
            self.emit(f"for j, i in ti.ndrange({self.m}, (low_, high)):")
        else:
            self.emit("for i in range(low_, high):")
        self.depth = 2
        self.reals, self.wholes, self.arrays = ["f"], ["u", "i"], []
        if self.two:
            self.wholes.append("j")
        for _ in range(self.random.randint(1, 3)):
            self.assign()
        if self.random.random() < 0.4:
            name = self.name("v")
            kind = self.random.choice(["R", "ti.i32"])
            elements = [self.real_(1) if kind == "R" else self.whole_(1) for _ in range(4)]
            self.emit(f"{name} = ti.Vector([{', '.join(elements)}], {kind})")
            self.arrays.append((name, kind))
        self.block(3, False)
        self.emit(f"{self.ox} = {self.real_(2)}")
        self.emit(f"{self.oz} = ti.cast({self.whole_(2)}, Z)")
        high = self.random.choice([self.n, self.n, max(self.n - 1, 0), min(self.n, 9)])
        low = self.random.choice([0, 0, 0, min(3, high)])
        u, f = self.random.randint(-3, 9), self.random.choice([0.75, -3.0, 100.0])
        arguments = f"{'ox, oz, ' if layout == 'ndarray' else ''}{low}, {high}, {u}, {f}"
        results = "out.x, out.z" if layout == "aos" else "ox, oz"
        tail = [
            f"ARGUMENTS = ({arguments},)",
            f"RESULTS = ({results}, histogram, least, most, low, total)",
        ]
        if self.trees:
            tail.append("fill()")
        return "\n".join([*head, *self.lines, *tail]) + "\n"

    def emit(self, text):
        self.lines.append("    " * self.depth + text)

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    def assign(self):
        if self.random.random() < 0.5:
            name = self.name("x")
            self.emit(f"{name} = ti.cast({self.real_(2)}, R)")
            self.reals.append(name)
        else:
            name = self.name("z")
            self.emit(f"{name} = ti.cast({self.whole_(2)}, ti.i32)")
            self.wholes.append(name)

    def block(self, level, loop):
        saved = list(self.reals), list(self.wholes)
        for _ in range(self.random.randint(1, 3 if loop else 5)):
            self.statement(level, loop)
        self.reals, self.wholes = saved

    def statement(self, level, loop):
        kinds = ["change"] * 4 + ["assign"] * 2 + ["store", "atomic", "array"]
        if level > 0:
            kinds += ["if"] * 3 + ["for"] * 2 + ["while"] * 2
        if loop:
            kinds += ["break", "continue"]
        getattr(self, "do_" + self.random.choice(kinds))(level, loop)

    def do_assign(self, level, loop):
        self.assign()

    def do_change(self, level, loop):
        reals = [n for n in self.reals if n[0] == "x"]
        wholes = [n for n in self.wholes if n[0] == "z"]
        if reals and (self.random.random() < 0.5 or not wholes):
            how = self.random.choice(["=", "+=", "-=", "*="])
            self.emit(f"{self.random.choice(reals)} {how} ti.cast({self.real_(2)}, R)")
        elif wholes:
            how = self.random.choice(["=", "+=", "-=", "^="])
            self.emit(f"{self.random.choice(wholes)} {how} ti.cast({self.whole_(2)}, ti.i32)")
        else:
            self.assign()

    def do_store(self, level, loop):
        if self.random.random() < 0.5:
            self.emit(f"{self.ox} = {self.real_(2)}")
        else:
            self.emit(f"{self.oz} = ti.cast({self.whole_(2)}, Z)")

    def do_atomic(self, level, loop):
        kind = self.random.randint(0, 3)
        if kind == 0:
            self.emit(f"histogram[({self.whole_(1)}) & 15] += {self.whole_(1)}")
        elif kind == 1:
            kind, field = self.random.choice([("min", "least"), ("max", "most")])
            self.emit(f"ti.atomic_{kind}({field}[{self.random.randint(0, 3)}], {self.whole_(1)})")
        elif kind == 2:
            self.emit(f"ti.atomic_min(low[None], ti.cast({self.real_(1)}, ti.f32))")
        else:
            self.emit(f"total[None] += ti.cast({self.whole_(1)}, Z)")

    def do_array(self, level, loop):
        if not self.arrays:
            return self.do_change(level, loop)
        name, kind = self.random.choice(self.arrays)
        index = self.random.choice(["1", f"({self.whole_(1)}) & 3"])
        self.emit(f"{name}[{index}] = {self.real_(1) if kind == 'R' else self.whole_(1)}")

    def do_if(self, level, loop):
        self.emit(f"if {self.truth()}:")
        self.inside(level - 1, loop)
        if self.random.random() < 0.5:
            self.emit("else:")
            self.inside(level - 1, loop)

    def do_for(self, level, loop):
        name = self.name("k")
        a, b = self.whole_(1), self.whole_(1)
        bounds = self.random.choice(
            ["3", "0", "5", "u & 7", f"({a}) & 7", f"({a}) & 3, ({b}) & 7", "i", "i & 3, 6"]
        )
        shared = bounds in ("3", "0", "5", "u & 7")
        self.emit(f"for {name} in range({bounds}):")
        self.wholes.append(name)
        self.shared += [name, f"{name} + 1"] if shared else []
        self.inside(level - 1, True)
        self.wholes.remove(name)
        self.shared = [index for index in self.shared if index.split()[0] != name]

    def do_while(self, level, loop):
        name = self.name("w")
        self.emit(f"{name} = 0")
        end = self.random.choice(["4", "9", "i", "u"])
        self.emit(f"while {name} < {end} and ({self.truth()}):")
        self.wholes.append(name)
        self.inside(level - 1, True, f"{name} += 1")
        self.wholes.remove(name)

    def inside(self, level, loop, first=None):
        self.depth += 1
        if first:
            self.emit(first)
        self.block(level, loop)
        self.depth -= 1

    def do_break(self, level, loop):
        self.emit(f"if {self.truth()}:")
        self.emit("    break")

    def do_continue(self, level, loop):
        self.emit(f"if {self.truth()}:")
        self.emit("    continue")

    def truth(self):
        pick = self.random.choice
        compare = pick(["<", ">", "==", "!=", "<=", ">="])
        one = (
            f"{self.real_(1)} {compare} {self.real_(1)}"
            if self.random.random() < 0.5
            else f"{self.whole_(1)} {compare} {self.whole_(1)}"
        )
        if self.random.random() < 0.7:
            return one
        return f"({one}) {pick(['and', 'or'])} ({self.truth()})"

    def whole_(self, level):
        pick = self.random.choice
        if level <= 0 or self.random.random() < 0.25:
            return pick([*self.wholes, *self.wholes, *SMALL])
        a, b = self.whole_(level - 1), self.whole_(level - 1)
        forms = [
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} & {b})", f"({a} ^ {b})",
            f"({a} // ({b} | 1))", f"({a} % ({b} | 1))", f"({a} // 3)", f"({a} >> ({b} & 15))",
            f"ti.min({a}, {b})", f"ti.max({a}, {b})", f"abs({a})",
            f"ti.select({self.truth_small()}, {a}, {b})",
            f"zi[({a}) % {self.n}]", "zi[i]", f"zi[({a}) % {self.n}]",
            f"ti.cast(ti.min(ti.max({self.real_(0)}, -1000.0), 1000.0), ti.i32)",
            "ti.random(ti.i32)",
        ]  # fmt: skip
        forms += [f"{n}[({a}) & 3]" for n, kind in self.arrays if kind != "R"]
        forms += ["pairs[i].z", f"pairs[({a}) % {self.n}].z", f"ti.cast({self.oz}, ti.i32)"]
        if self.trees:
            forms += [f"leaf[{pick(self.shared)}]"] * 2
        if self.random.random() < 0.1:
            return f"({a} // {b} if {b} != 0 else 1)"
        return pick(forms)

    def truth_small(self):
        return f"{self.whole_(0)} < {self.whole_(0)}"

    def real_(self, level):
        pick = self.random.choice
        if level <= 0 or self.random.random() < 0.25:
            return pick([*self.reals, *self.reals, *self.reals, *REAL])
        a, b = self.real_(level - 1), self.real_(level - 1)
        i = self.whole_(level - 1)
        forms = [
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / {b})", f"ti.min({a}, {b})",
            f"ti.max({a}, {b})", f"ti.sqrt({a})", f"ti.abs({a})", f"ti.floor({a})", f"(-{a})",
            f"ti.sin({a})", f"ti.exp({a})", f"ti.atan2({a}, {b})", f"({a} % {b})",
            f"fi[({i}) % {self.n}]", "fi[i]", f"square[i, ({i}) % 17]",
            f"square[({i}) % {self.n}, {pick(['3', 'i & 15', 'u & 15'])}]", f"ti.cast({i}, R)",
            f"ti.select({self.truth_small()}, {a}, {b})", "ti.random(R)",
        ]  # fmt: skip
        forms += [f"{n}[({i}) & 3]" for n, kind in self.arrays if kind == "R"]
        forms += ["pairs[i].x", f"pairs[({i}) % {self.n}].x", self.ox]
        if self.trees:
            forms += [f"tree[{pick(self.shared)}]"] * 2
        return pick(forms)


# ---- in a process that runs programs


def run_all(path, levels):
    import linecache

    import kiln as ti
    import numpy

    def bits(x):
        array = x.to_numpy()
        # All NaNs are one: their bits may differ.
        if array.dtype.kind == "f":
            array = numpy.where(numpy.isnan(array), numpy.nan, array)
        return array.tobytes()

    def run(text, name, **options):
        ti.init(arch=ti.cpu, log_level=ti.ERROR, fast_math=False, random_seed=7, **options)
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        module = {"__name__": name}
        exec(compile(text, name, "exec"), module)
        numbers = numpy.random.RandomState(1)
        special = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-40, 1e38])
        for field in (module["fi"], module["square"], module["pairs"].x):
            shape = field.to_numpy().shape
            values = numbers.standard_normal(shape)
            odd = numbers.random_sample(shape) < 0.1
            values[odd] = numbers.choice(special, odd.sum())
            field.from_numpy(values.astype(field.to_numpy().dtype))
        for field in (module["zi"], module["pairs"].z):
            field.from_numpy(numbers.randint(-20, 20, field.shape).astype(numpy.int32))
        module["kernel"](*module["ARGUMENTS"])
        return [bits(x) for x in module["RESULTS"]]

    for seed in json.loads(pathlib.Path(path).read_text()):
        print(json.dumps({"begins": seed}), flush=True)
        text = Program(seed).text
        problem = ""
        try:
            wanted = run(text, f"<{seed}>", lanes="off")
        except ti.TaichiCompilationError:
            wanted = None  # constants that Python cannot fold: 1 / 0
        try:
            for level in levels if wanted is not None else []:
                for threads in (1, 3):
                    options = {"cpu_level": level, "cpu_max_num_threads": threads}
                    found = run(text, f"<{seed}>", lanes="on", **options)
                    if found != wanted:
                        which = [i for i, (a, b) in enumerate(zip(wanted, found)) if a != b]
                        problem = f"{level}, {threads} threads: results {which} differ"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        print(json.dumps({"ends": seed, "problem": problem}), flush=True)


def levels_here():
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return LEVELS if "avx512vl" in flags else LEVELS[:1] if "avx2" in flags else []


def hunt(seconds, seed, size=60):
    """Returns the number of programs that were run, and problems {seed: words}."""
    count, problems = 0, {}
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as home:
        while time.monotonic() < end:
            path = pathlib.Path(home) / "seeds.json"
            path.write_text(json.dumps(list(range(seed, seed + size))))
            command = [ROOT / "kiln", "python", pathlib.Path(__file__).resolve(), "--run", path]
            environment = {**os.environ, "KILN_HOME": f"{home}/kiln", "KILN_SERVER": "off"}
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            running = None
            for line in done.stdout.splitlines():
                record = json.loads(line)
                running = record.get("begins")
                if "ends" in record:
                    count += 1
                    if record["problem"]:
                        problems[record["ends"]] = record["problem"]
                        print(f"FAILED {record['ends']}: {record['problem'][:600]}", flush=True)
            if running is not None or done.returncode != 0:
                problems[running] = f"the process ended with {done.returncode}"
                print(f"FAILED {running}: {problems[running]}\n{done.stderr[-1500:]}", flush=True)
                seed = (running if running is not None else seed + size) + 1
                continue
            seed += size
    return count, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.show is not None:
        print(Program(options.show).text, end="")
        return 0
    if options.run:
        run_all(options.run, levels_here())
        return 0
    count, problems = hunt(options.seconds, options.seed)
    print(f"{count} programs, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
