"""Kernel throughput of Kiln, C++ with OpenMP, and Taichi, in one run.

    ./kiln python bench/kernels.py --taichi-python PYTHON [--docs]
    ./kiln python bench/kernels.py --rows fill,life --threads 1 --json FILE
    ./kiln python bench/kernels.py --guard

Prints milliseconds per call and the ratios, with all threads and with one. Goals are parts of
C++'s speed; no row should be slower than Taichi. --guard runs Kiln and C++, and fails if a row has
lost more than a tenth of what it had beside C++ in the kept figures of this processor. It passes
rows over whose C++ figures vary more than that: it needs a quiet machine.
"""

import collections
import json
import statistics
import subprocess
import sys
import tempfile

import harness

# Row -> the part of C++'s speed that is the goal, None: there is none; MB that a call must move.
Row = collections.namedtuple("Row", "of_cpp megabytes", defaults=(None, None))
STREAM, GRID = 4 * 16 << 20, 4 * 4 << 20
ROWS = {
    "fill": Row(1.0, STREAM),
    "scale": Row(1.15, 2 * STREAM),
    "saxpy": Row(1.0, 3 * STREAM),
    "sum": Row(1.0, STREAM),
    "max": Row(1.0, STREAM),
    "conditional_sum": Row(1.0, STREAM),
    "argmin": Row(1.0, STREAM),
    "fastest": Row(1.0, 2 << 20),
    "stencil": Row(1.0, 2 * GRID),
    "guarded_stencil": Row(1.0, 2 * GRID),
    "clamped_stencil": Row(1.0, 2 * GRID),
    "guarded_cube": Row(1.0, 8 * 192**3),
    "blur_u8": Row(1.0, GRID // 2),
    "life": Row(2.0, 2 * GRID),
    "nbody": Row(0.9),
    "mandelbrot": Row(),
    "product": Row(0.9),
    "rays": Row(),
    "powers": Row(0.9, 2 * GRID),
    "products_4x4": Row(0.9, 3 * 4 << 20),
    "bodies": Row(0.9, 2 * 7 << 20),
    "sparse_rows": Row(0.9),
    "neighbours": Row(0.9),
    "histogram": Row(0.9, STREAM),
    "histogram_16": Row(0.9, STREAM),
    "histogram_1024": Row(0.9, STREAM),
    "histogram_65536": Row(0.9, STREAM),
    "p2g_sorted": Row(0.9),
    "p2g_random": Row(0.9),
}
LOSS = 0.1


def parse():
    parser = harness.parser(__doc__, docs=True)
    parser.add_argument("--rows", default="", help="these rows only, separated by commas")
    parser.add_argument("--threads", type=int, action="append", help="0: all (default: 0 and 1)")
    parser.add_argument("--guard", action="store_true", help="compare with the kept figures")
    return parser.parse_args()


def runners(options, scratch, threads):
    """Peer -> function that returns row -> seconds."""
    bench = harness.ROOT / "bench"
    python = harness.kiln_python()
    peer = f"{scratch}/kernels_peer"
    subprocess.run(
        ["g++", "-O3", "-march=native", "-ffast-math", "-fopenmp", "-o", peer]
        + [str(bench / "kernels_peer.cc")],
        check=True,
    )
    programs = str(bench / "programs.py")
    rest = ["9", str(threads), options.rows] if options.rows else ["9", str(threads)]
    commands = {"kiln": [*python, programs, "kiln", *rest], "cpp": [peer, *rest]}
    if options.taichi_python and not options.guard:
        commands["taichi"] = [options.taichi_python, programs, "taichi", *rest]
    return {
        name: lambda command=command: harness.run_json(command)["seconds"]
        for name, command in commands.items()
    }


def sampled(rounds, peers):
    """Peer -> row -> the seconds of each round, peers in turn."""
    samples = {name: collections.defaultdict(list) for name in peers}
    for _ in range(rounds):
        for name, call in peers.items():
            for figure, value in call().items():
                samples[name][figure].append(value)
    return samples


HEADER = ["kernel", "Kiln ms", "C++ ms", "Taichi ms", "of C++", "x Taichi", "GB/s", "goal"]


def table(figures):
    """Rows under HEADER."""
    rows = []
    for name, seconds in figures["kiln"].items():
        cpp, taichi = figures["cpp"][name], figures.get("taichi", {}).get(name)
        row = ROWS.get(name, Row())
        verdicts = []
        if row.of_cpp and cpp / seconds < row.of_cpp:
            verdicts.append(f"below {row.of_cpp} of C++")
        if taichi and taichi < seconds:
            verdicts.append("slower than Taichi")
        rows.append(
            [
                name,
                f"{seconds * 1e3:.3f}",
                f"{cpp * 1e3:.3f}",
                f"{taichi * 1e3:.3f}" if taichi else "-",
                f"{cpp / seconds:.2f}",
                f"{taichi / seconds:.2f}" if taichi else "-",
                f"{row.megabytes / seconds / 1e9:.1f}" if row.megabytes else "-",
                ", ".join(verdicts) or "ok",
            ]
        )
    return rows


def losses(samples, kept):
    """Rows that have become slower beside C++, as texts."""
    texts = []
    for name, seconds in samples["kiln"].items():
        cpp = samples["cpp"][name]
        if name not in kept["kiln"]:
            continue
        if max(cpp) > (1 + LOSS) * min(cpp):
            print(f"{name}: C++ took {min(cpp) * 1e3:.3f} to {max(cpp) * 1e3:.3f} ms: passed over")
            continue
        ratio = statistics.median(cpp) / statistics.median(seconds)
        before = kept["cpp"][name] / kept["kiln"][name]
        if ratio < (1 - LOSS) * before:
            texts.append(f"{name}: {ratio:.2f} of C++'s speed, {before:.2f} in the kept figures")
    return texts


def main():
    options = parse()
    kept_file = harness.RESULTS / "kernels.json"
    kept = json.loads(kept_file.read_text()) if options.guard else None
    if kept and kept["cpu"] != harness.cpu_name():
        sys.exit(f"{kept_file.name} is of another processor: {kept['cpu']}")
    results, slower = {}, []
    with tempfile.TemporaryDirectory() as scratch:
        for threads in options.threads or (0, 1):
            samples = sampled(options.rounds, runners(options, scratch, threads))
            how = f"{threads} thread{'s' * (threads > 1)}" if threads else "all threads"
            medians = {
                name: {row: statistics.median(values) for row, values in rows.items()}
                for name, rows in samples.items()
            }
            title = f"Kernel throughput, {how} (median of rounds; higher ratio is better)"
            harness.table(title, HEADER, table(medians))
            results[how] = medians
            if kept and how in kept["figures"]:
                slower += [f"{how}, {text}" for text in losses(samples, kept["figures"][how])]
    if slower:
        sys.exit("slower than the kept figures:\n  " + "\n  ".join(slower))
    if not options.guard:
        harness.save("kernels", results, options.json)
    if options.docs:
        rows = [HEADER, ["---"] * len(HEADER), *table(results["all threads"])]
        harness.write_docs("kernels", "\n".join("| " + " | ".join(row) + " |" for row in rows))


if __name__ == "__main__":
    main()
