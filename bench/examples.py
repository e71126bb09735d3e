"""The example programs of Taichi's wheel: time to the first frame, time per frame, both sides.

    ./kiln python bench/examples.py --taichi-python PYTHON [--docs] [PROGRAM...]

Programs are those that docs/compatibility.md says run. The first frame counts from the start of the
process, with an empty cache and, for Kiln, the daemon running; programs without a window count to
their end. The frame time is the median gap between later frames. Goals: the first frame in at most
half of Taichi's time, no frame slower than Taichi's.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time

import harness

INSIDE = str(harness.ROOT / "bench" / "examples_program.py")
TABLE = harness.ROOT / "docs" / "compatibility.md"
COLD_GOAL, FRAME_GOAL = 0.5, 1.0


def main():
    options = parse()
    names = options.programs or running()
    kiln = harness.kiln_python()
    folder = harness.examples_folder(options.taichi_python)
    results = {}
    for name in names:
        path = folder / f"{name}.py"
        rounds = {"kiln": [], "taichi": []}
        for _ in range(options.rounds):
            rounds["taichi"].append(run_taichi(options, path))
            rounds["kiln"].append(run_kiln(kiln, options, path))
        results[name] = {side: figures(runs) for side, runs in rounds.items()}
        print(row(name, results[name]), flush=True)
    if options.json or not options.programs:
        harness.save("examples", results, options.json)
    if options.docs:
        harness.write_docs("examples", table(results))
    return 0


def parse():
    parser = harness.parser(__doc__.splitlines()[0], docs=True)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--frames", type=int, default=12)
    parser.add_argument(
        "--seconds", type=float, default=30, help="the longest a program's frames may take"
    )
    options = parser.parse_args()
    if not options.taichi_python:
        parser.error("an interpreter that has Taichi is needed: --taichi-python or $TAICHI_PYTHON")
    return options


def running():
    """The programs that run according to docs/compatibility.md."""
    rows = (line.split("|") for line in TABLE.read_text().splitlines() if line.startswith("| "))
    return [cells[1].strip() for cells in rows if cells[3].strip() == "yes"]


# ---- one run


def run_taichi(options, path):
    # TI_ARCH: Taichi's search for a GPU may crash on a machine without one.
    return run([options.taichi_python], "taichi", options, path, {"TI_ARCH": "x64"})


def run_kiln(command, options, path):
    """Runs a program with an empty home whose daemon and worker are running already."""
    with tempfile.TemporaryDirectory(prefix="kiln-bench-", ignore_cleanup_errors=True) as home:
        environment = {"KILN_HOME": home}
        subprocess.run(
            [*command, str(harness.ROOT / "bench" / "startup_program.py"), "kiln", "tiny"],
            env=harness.environment(environment),
            capture_output=True,
            check=True,
        )
        try:
            return run(command, "kiln", options, path, environment)
        finally:
            stop = [str(harness.ROOT / "kiln"), "stop"]
            subprocess.run(stop, env=harness.environment(environment), capture_output=True)


def run(command, side, options, path, environment):
    """{"frames": seconds, "end": seconds}, or None when the program failed."""
    limits = [str(options.frames), str(options.seconds)]
    environment = {"TI_OFFLINE_CACHE": "0", "TI_GUI_SHOW": "0", **environment}
    with tempfile.TemporaryDirectory() as folder:  # programs write files where they run
        for _ in range(3):  # Taichi occasionally dies by a signal
            start = time.time()
            done = subprocess.run(
                [*command, INSIDE, side, str(path), *limits, repr(start)],
                env=harness.environment(environment),
                capture_output=True,
                text=True,
                cwd=folder,
            )
            if done.returncode == 0:
                return json.loads(done.stdout.splitlines()[-1])
    print(f"{path.stem} under {side}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
    return None


def figures(runs):
    """Medians over the rounds, seconds: to the first frame or the end, and per frame or None."""
    runs = [run for run in runs if run]
    if not runs:
        return None
    gaps = [gap for run in runs for gap in differences(run["frames"][1:])]
    return {
        "cold": statistics.median((run["frames"] or [run["end"]])[0] for run in runs),
        "frame": statistics.median(gaps) if gaps else None,
    }


def differences(times):
    return [b - a for a, b in zip(times, times[1:])]


# ---- tables


def row(name, sides):
    kiln, taichi = sides["kiln"], sides["taichi"]
    if not kiln or not taichi:
        return f"| {name} | – | – | – | – | – | – |"
    cells = [name]
    for what, goal in (("cold", COLD_GOAL), ("frame", FRAME_GOAL)):
        if kiln[what] is None or taichi[what] is None:
            cells += ["–", "–", "–"]
            continue
        ratio = kiln[what] / taichi[what]
        missed = " (!)" if ratio > goal else ""
        cells += [f"{kiln[what] * 1e3:.1f}", f"{taichi[what] * 1e3:.1f}", f"{ratio:.2f}{missed}"]
    return "| " + " | ".join(cells) + " |"


def table(results):
    """Of the programs that ran."""
    results = {name: sides for name, sides in results.items() if any(sides.values())}
    ratios = [_mean_ratio(results.values(), what) for what in ("cold", "frame")]
    mean = f"| geometric mean | | | {ratios[0]:.2f} | | | {ratios[1]:.2f} |"
    head = "| program | first frame, ms | Taichi | ratio | per frame, ms | Taichi | ratio |"
    rows = [row(name, sides) for name, sides in sorted(results.items())]
    return "\n".join([head, "|---" * 7 + "|", *rows, mean])


def _mean_ratio(rows, what):
    """The geometric mean of Kiln's times to Taichi's, of the rows that have both."""
    both = [(row["kiln"], row["taichi"]) for row in rows if row["kiln"] and row["taichi"]]
    return statistics.geometric_mean(
        kiln[what] / taichi[what] for kiln, taichi in both if kiln[what] and taichi[what]
    )


if __name__ == "__main__":
    sys.exit(main())
