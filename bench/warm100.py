"""Programs of a hundred kernels: cold, warm, after editing one kernel; compared with Taichi.

    ./kiln python bench/warm100.py --taichi-python PYTHON

A figure is the time from the start of the process to the last kernel's result, its import and
init included. Cold means an empty cache with the daemon running; warm, a process after it. Kiln
also says how many kernels went through the front end and how many the daemon compiled.
"""

import json
import os
import shutil
import tempfile
import time

import harness

KERNELS = 100
LAUNCHER = str(harness.ROOT / "kiln")

HEAD = """
import sys
if sys.argv[1] == "kiln":
    import kiln as ti
    ti.init(ti.cpu)
else:
    import taichi as ti
    ti.init(ti.cpu, offline_cache_file_path=sys.argv[2], log_level=ti.ERROR)
n = 64
x = ti.field(ti.f32, n)
y = ti.Vector.field(3, ti.f32, n)
scale = 0.5

@ti.func
def mix(a, b, t):
    return a * (1 - t) + b * t
"""
# Loops, vectors, a function, a global: what kernels of programs are like.
KERNEL = """
@ti.kernel
def kernel_{0}(t: ti.f32):
    for i in x:
        v = y[i] * scale + ti.Vector([1.0, 2.0, {1}.0])
        a = mix(v.x, v.y, t)
        if a > {0}:
            a = ti.sqrt(a) + v.z
        x[i] = a
        y[i] = v
"""
TAIL = """
for run in [{}]:
    run(0.25)
assert x[3] == x[3]
transformed = 0
if sys.argv[1] == "kiln":
    from kiln.runtime import session_stats
    transformed = session_stats()["transformed"]
print(transformed)
"""


def program(edited=None):
    """The program's text; the kernel number `edited` has another constant."""
    kernels = [KERNEL.format(n, n + (1000 if n == edited else 0)) for n in range(KERNELS)]
    names = ", ".join(f"kernel_{n}" for n in range(KERNELS))
    return HEAD + "".join(kernels) + TAIL.format(names)


class Peer:
    """One implementation, with its caches in a separate folder."""

    def __init__(self, command, name):
        self.command, self.name = command, name
        self.folder = tempfile.mkdtemp(prefix=f"{name}-warm100-")
        self.path = os.path.join(self.folder, "program.py")
        self.environment = {"KILN_HOME": os.path.join(self.folder, "home")}

    def run(self, text):
        """(seconds, kernels through the front end)"""
        with open(self.path, "w") as file:
            file.write(text)
        cache = os.path.join(self.folder, "cache")
        begin = time.perf_counter()
        command = [*self.command, self.path, self.name, cache]
        transformed = harness.run_text(command, self.environment)
        return time.perf_counter() - begin, int(transformed)

    def compiles(self):
        """Compilations by the daemon so far."""
        if self.name != "kiln":
            return 0
        text = harness.run_text([LAUNCHER, "cache", "stats", "--json"], self.environment)
        return json.loads(text)["compiles"]

    def clear(self):
        if self.name == "kiln":
            harness.run_text([LAUNCHER, "cache", "clear", "-y"], self.environment)
            shutil.rmtree(os.path.join(self.folder, "home", "warm"), ignore_errors=True)
        else:
            shutil.rmtree(os.path.join(self.folder, "cache"), ignore_errors=True)

    def close(self):
        if self.name == "kiln":
            os.environ.update(self.environment)
            harness.run_quietly([LAUNCHER, "stop"])
        shutil.rmtree(self.folder, ignore_errors=True)

    def figures(self, counts):
        self.clear()
        plain = program()
        figures = {"cold": self.run(plain)[0]}
        self.run(plain)
        figures["warm"], counts["warm, transformed"] = self.run(plain)
        before = self.compiles()
        figures["one kernel edited"], counts["edited, transformed"] = self.run(program(edited=7))
        counts["edited, compiled"] = self.compiles() - before
        return figures


def main():
    options = harness.arguments(__doc__, rounds=3)
    peers = [Peer(harness.kiln_python(), "kiln")]
    if options.taichi_python:
        peers.append(Peer([options.taichi_python], "taichi"))
    counts = {peer.name: {} for peer in peers}
    try:
        peers[0].run(program())  # starts the daemon
        calls = {p.name: lambda p=p: p.figures(counts[p.name]) for p in peers}
        figures = harness.interleave(options.rounds, calls)
    finally:
        for peer in peers:
            peer.close()
    rows = []
    for what, seconds in figures["kiln"].items():
        taichi = figures.get("taichi", {}).get(what)
        limit = 0.15 if what == "warm" else None
        rows.append(
            [
                what,
                f"{seconds * 1e3:.0f}",
                f"{taichi * 1e3:.0f}" if taichi else "-",
                f"{seconds / taichi:.2f}" if taichi else "-",
                f"{limit * 1e3:.0f}" if limit else "-",
                harness.budget(seconds, limit) if limit else "-",
            ]
        )
    header = ["what", "Kiln ms", "Taichi ms", "of Taichi", "budget ms", "verdict"]
    harness.table(f"{KERNELS} kernels, process start to last result", header, rows)
    for what, count in counts["kiln"].items():
        print(f"{what}: {count}")
    harness.save("warm100", {**figures, "counts": counts["kiln"]}, options.json)


if __name__ == "__main__":
    main()
