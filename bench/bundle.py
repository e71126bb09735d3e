"""Costs on a CI machine of transferring a cache in a bundle, compared with tar and plain copies.

    ./kiln python bench/bundle.py [--rounds N] [--docs]

A program of a thousand kernels is compiled once. Each round is a signed export, an import into an
empty home, a second export from there (its bytes must be the first one's), two runs of the program
there, which must hit a thousand times, one read-only, and tar and cp of the same files.
Kiln's figures are those of whole commands. The home that is read only must not change.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import harness

KERNELS = 1000

HEAD = "import kiln as ti\nti.init(ti.cpu)\nx = ti.field(ti.f32, 64)\n"
KERNEL = """
@ti.kernel
def kernel_{0}(t: ti.f32):
    for i in x:
        x[i] = ti.sqrt(x[i] * t + {0}.0)

kernel_{0}(0.5)
"""

# Figure -> (row of the table, unit, goal: at most; or at least, where it is negative).
ROWS = {
    "export s": ("export, signed", "s", None),
    "import s": ("import", "s", None),
    "export and import s": ("both", "s", 2),
    "tar s": ("tar of the same files, made and unpacked", "s", None),
    "cp s": ("cp of the same files, twice", "s", None),
    "bundle MB": ("size of the bundle", "MB", None),
    "hits": ("hits of the program on the other machine", "", -KERNELS),
    "hit µs": ("a hit there: the program waits for a kernel, p50", "µs", None),
    "read-only hit µs": ("the same, read-only", "µs", None),
    "read-only changes": ("files that it made, changed or removed", "", 0),
}


class Machine:
    """The `kiln` command with its own home."""

    def __init__(self, python, home):
        self.home = home
        self.command = [*python, "-m", "kiln.cli"]

    def __call__(self, *arguments, **environment):
        """Runs a command, which must succeed; returns its seconds."""
        line = [*self.command, *map(str, arguments)]
        return harness.wall(line, {"KILN_HOME": str(self.home), **environment})

    def run(self, program, *options):
        """The report of a run: {"hits", "misses", "kernels": […]}."""
        report = program.with_suffix(".json")
        self("run", "--quiet", f"--report={report}", *options, program)
        return json.loads(report.read_text())

    def files(self):
        """Path -> values that change when a process writes to the file."""
        infos = {path: path.lstat() for path in self.home.rglob("*")}
        return {p: (i.st_mode, i.st_size, i.st_mtime_ns, i.st_ctime_ns) for p, i in infos.items()}


def wait_micros(report):
    """The median time that the program waited for a kernel."""
    return statistics.median(k["wait_seconds"] for k in report["kernels"]) * 1e6


def carried(builder, tester, program, secret):
    """Figures of one round of Kiln's."""
    bundle, again = program.with_suffix(".bundle"), program.with_suffix(".again")
    shutil.rmtree(tester.home, ignore_errors=True)
    exporting = builder("cache", "export", bundle, "--all", "--sign", secret)
    importing = tester("cache", "import", bundle, "--keys", f"{secret}.pub")
    tester("cache", "export", again, "--all", "--sign", secret)
    if bundle.read_bytes() != again.read_bytes():
        sys.exit("the same entries made another bundle")
    first = tester.run(program)
    again = tester.run(program)  # uses the warm records that the first run made
    tester("stop")
    before = tester.files()
    quiet = tester.run(program, "--read-only")
    after = tester.files()
    changes = sum(before.get(p) != after.get(p) for p in before | after)
    return {
        "export s": exporting,
        "import s": importing,
        "export and import s": exporting + importing,
        "bundle MB": bundle.stat().st_size / 1e6,
        "hits": min(report["hits"] for report in (first, again, quiet)),
        "hit µs": wait_micros(again),
        "read-only hit µs": wait_micros(quiet),
        "read-only changes": changes,
    }


def tar(builder, folder):
    archive, out = folder / "cache.tar", folder / "unpacked"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    seconds = harness.wall(["tar", "-C", builder.home, "-cf", archive, "cache"])
    return {"tar s": seconds + harness.wall(["tar", "-C", out, "-xf", archive])}


def copies(builder, folder):
    """Copies the files twice, as a bundle is written and then read."""
    seconds = 0
    for source, target in ((builder.home / "cache", "first"), (folder / "first", "second")):
        shutil.rmtree(folder / target, ignore_errors=True)
        seconds += harness.wall(["cp", "-r", source, folder / target])
    return {"cp s": seconds}


def rows(flat):
    for figure, (text, unit, goal) in ROWS.items():
        value = flat[figure]
        shown = f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.2f}"
        yield [text, f"{shown} {unit}".strip(), *harness.against(value, goal, unit)]


def main():
    options = harness.arguments(__doc__, docs=True, rounds=3)
    python = harness.kiln_python()
    with tempfile.TemporaryDirectory(prefix="kiln-bench-") as folder:
        folder = pathlib.Path(folder)
        program, secret = folder / "program.py", folder / "secret"
        program.write_text(HEAD + "".join(KERNEL.format(n) for n in range(KERNELS)))
        builder, tester = Machine(python, folder / "builder"), Machine(python, folder / "tester")
        builder("run", "--quiet", program)
        builder("stop")
        line = harness.run_text(
            [*builder.command, "key", "new", "bench", secret], {"KILN_HOME": str(builder.home)}
        )
        pathlib.Path(f"{secret}.pub").write_text(line + "\n")
        peers = {
            "kiln": lambda: carried(builder, tester, program, secret),
            "tar": lambda: tar(builder, folder),
            "cp": lambda: copies(builder, folder),
        }
        figures = harness.interleave(options.rounds, peers)
        subprocess.run(
            [*tester.command, "stop"], env={**os.environ, "KILN_HOME": str(tester.home)}, check=True
        )
    flat = {name: value for peer in figures.values() for name, value in peer.items()}
    found = list(rows(flat))
    header = ["what", "measured", "goal", ""]
    harness.table(f"{KERNELS:,} kernels carried to another machine", header, found)
    harness.save("bundle", flat, options.json)
    if options.docs:
        lines = ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * 4, *found]]
        harness.write_docs("bundle", "\n".join(lines))


if __name__ == "__main__":
    main()
