"""What loops gain by many threads, by a simulation of the thread pool (bench/pool.cc).

    ./kiln python bench/pool.py [--docs]

Builds and runs the simulation. Rows are loops, and columns the number of threads: how many times
faster than one thread, in Kiln's pool and, in brackets, in a plain one. *measured* is Kiln's real
pool with two threads. Needs a machine with two idle cores.
"""

import subprocess

import harness

BINARY = harness.ROOT / ".kiln" / "bazel-bin" / "bench" / "pool"


def main():
    options = harness.arguments(__doc__, docs=True)
    subprocess.run(["tools/bazel.sh", "build", "//bench:pool"], cwd=harness.ROOT, check=True)
    found = harness.run_json([BINARY])
    threads = list(found["loops"][0]["kiln"])
    header = ["loop", "measured, 2", *threads]
    rows = []
    for loop in found["loops"]:
        gains = {
            pool: [f"{loop['one'] / loop[pool][count]:.1f}" for count in threads]
            for pool in ("kiln", "plain")
        }
        cells = [f"{kiln} ({plain})" for kiln, plain in zip(gains["kiln"], gains["plain"])]
        rows.append([loop["name"], f"{loop['one'] / loop['real']:.1f}", *cells])
    harness.table("Times faster than one thread, simulated: Kiln (a plain pool)", header, rows)
    words = "a wake-up: {wake_call} ns of the caller, then {wake} ns; a cache line: {transfer} ns"
    print(words.format(**found["costs"]))
    harness.save("pool", found, options.json)
    if options.docs:
        table = [header, ["---"] * len(header), *rows]
        harness.write_docs("pool", "\n".join("| " + " | ".join(row) + " |" for row in table))


if __name__ == "__main__":
    main()
