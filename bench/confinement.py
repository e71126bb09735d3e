"""The cost of the workers' sandbox (seccomp, Landlock, another user): compiles a hundred kernels
with and without it, in turn.

    ./kiln python bench/confinement.py [--rounds N] [--docs]

`start` is the first kernel of a worker, whose process starts for it; `kernel` the median of the
others, as the worker counts it. The daemon runs in both cases.
"""

import json
import pathlib
import statistics
import tempfile

import bundle
import harness

KERNELS = 100


def compiled(machine, manifest):
    """Figures of a worker that compiles all kernels, under its own daemon."""
    machine("stop")
    machine("cache", "clear", "-y")
    report = manifest.with_suffix(".json")
    seconds = machine("warm", "--quiet", "--jobs", "1", f"--report={report}", manifest)
    first, *others = json.loads(report.read_text())["kernels"]
    return {
        "start ms": first["wait_seconds"] * 1e3,
        "kernel ms": statistics.median(k["compile_seconds"] for k in others) * 1e3,
        "all s": seconds,
    }


def main():
    options = harness.arguments(__doc__, docs=True, rounds=5)
    python = harness.kiln_python()
    with tempfile.TemporaryDirectory(prefix="kiln-bench-") as folder:
        folder = pathlib.Path(folder)
        program, manifest = folder / "program.py", folder / "manifest"
        program.write_text(bundle.HEAD + "".join(bundle.KERNEL.format(n) for n in range(KERNELS)))
        machines = {}
        for name, unconfined in (("confined", "false"), ("not confined", "true")):
            home = folder / name
            home.mkdir(mode=0o700)
            config = f"workers {{ count: 1 unconfined: {unconfined} }}\n"
            (home / "kilnd.conf").write_text(config)
            machines[name] = bundle.Machine(python, home)
        first = next(iter(machines.values()))
        first("run", "--quiet", "--manifest", manifest, program)
        peers = {
            name: lambda machine=machine: compiled(machine, manifest)
            for name, machine in machines.items()
        }
        figures = harness.interleave(options.rounds, peers)
        for machine in machines.values():
            machine("stop")
    bare = figures["not confined"]
    rows = [[name, *(f"{v:.2f}" for v in found.values())] for name, found in figures.items()]
    rows.append(["ratio", *(f"{v / bare[k]:.2f}" for k, v in figures["confined"].items())])
    header = ["workers", "start, ms", "a kernel, ms", f"{KERNELS} kernels, the whole command, s"]
    harness.table("Confinement", header, rows)
    flat = {f"{name} {figure}": v for name, found in figures.items() for figure, v in found.items()}
    harness.save("confinement", flat, options.json)
    if options.docs:
        lines = ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * 4, *rows]]
        harness.write_docs("confinement", "\n".join(lines))


if __name__ == "__main__":
    main()
