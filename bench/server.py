"""The server compared with gRPC alone, ccache and sccache: latency, throughput, storm, cold start.

    ./kiln python bench/server.py [--rounds N] [--docs]

Each round runs bench/server.cc and then the compiler caches, which have a file of five lines
cached. Figures are medians over the rounds.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import harness

PROGRAM = """#include <cmath>
double f(double x) {
  return std::sin(x) * std::cos(x);
}
int main() { return static_cast<int>(f(1)); }
"""

# Figure -> (row of the table, unit, goal: at most; or at least, where it is negative).
ROWS = {
    "process p50": ("a process's own table, p50", "µs", 2),
    "process p99": ("the same, p99", "µs", 10),
    "disk, mapped and checked p50": ("a client's disk, mapped and checked, p50", "µs", 80),
    "disk, mapped and checked p99": ("the same, p99", "µs", 300),
    "socket alone p50": (
        "a socket alone: the bytes from a process that does nothing, p50",
        "µs",
        None,
    ),
    "socket alone p99": ("the same, p99", "µs", None),
    "socket p50": ("local socket, p50", "µs", 60),
    "socket p99": ("the same, p99", "µs", 300),
    "socket, whole unit p50": ("local socket, asked with the whole unit, p50", "µs", None),
    "connect and greet p50": ("connecting to it and greeting, p50", "µs", None),
    "gRPC alone p50": ("gRPC alone: the bytes from a server that does nothing, p50", "µs", None),
    "gRPC alone p99": ("the same, p99", "µs", None),
    "gRPC p50": ("gRPC over TCP, p50", "µs", 250),
    "gRPC p99": ("the same, p99", "µs", 1000),
    "mutual TLS alone p50": ("gRPC alone over mutual TLS, p50", "µs", None),
    "mutual TLS p50": ("gRPC over mutual TLS, p50", "µs", 250),
    "mutual TLS p99": ("the same, p99", "µs", 1000),
    "mutual TLS of gRPC": ("mutual TLS by TCP, p50", "times", 1.5),
    "socket hits per cpu second": ("hits a second of processor time, socket", "", -60000),
    "gRPC alone hits per cpu second": (
        "calls a second of processor time, gRPC alone",
        "",
        None,
    ),
    "gRPC hits per cpu second": ("hits a second of processor time, gRPC", "", -20000),
    "socket hits per second": ("hits a second, socket, 4 callers on the same cores", "", None),
    "gRPC hits per second": (
        "hits a second, gRPC, 16 callers with a connection each, same cores",
        "",
        None,
    ),
    "resident MB": ("resident memory after that, kilnd and its gRPC front", "MB", 64),
    "storm compilations": ("64 clients, one cold key: compilations", "", 1),
    "storm ms beyond the compile": ("the same: last client after the compile", "ms", 50),
    "quick kernel behind slow ones": (
        "a tenant's 5 ms kernel behind another's 64 slow ones, in times of one slow one",
        "",
        2,
    ),
    "start ms": ("start over 100,000 entries: listening", "ms", 100),
    "start to first hit ms": ("the same, to the first hit", "ms", 1000),
    "resident MB over the entries": ("the same, resident memory when all are indexed", "MB", 64),
    "ccache hit ms": ("ccache, a whole process that hits", "ms", None),
    "sccache hit ms": ("sccache, a whole process that hits", "ms", None),
}


def built():
    """Builds; returns the benchmark's program and the folder of the daemon's programs."""
    subprocess.run([harness.ROOT / "kiln", "build"], check=True)
    bazel = harness.ROOT / "tools" / "bazel.sh"
    subprocess.run([bazel, "build", "//bench:server"], check=True)
    return harness.ROOT / ".kiln" / "bazel-bin" / "bench" / "server", harness.ROOT / ".kiln" / "bin"


def kiln_figures(program, binaries, folder):
    out = folder / "figures.json"
    runfiles = pathlib.Path(f"{program}.runfiles")
    subprocess.run(
        [program, f"--json={out}", f"--bin={binaries}"],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TEST_SRCDIR": str(runfiles), "TEST_TMPDIR": str(folder)},
    )
    import json

    return json.loads(out.read_text())


def cache_figures(tool, folder):
    """Milliseconds of a cached compilation by the tool; empty if it is not installed."""
    if shutil.which(tool) is None:
        return {}
    source = folder / "five.cc"
    source.write_text(PROGRAM)
    settings = {
        "CCACHE_DIR": str(folder / "ccache"),
        "SCCACHE_DIR": str(folder / "sccache"),
        "SCCACHE_SERVER_PORT": "4907",
    }
    command = [tool, "g++", "-O2", "-c", str(source), "-o", str(folder / "five.o")]
    harness.wall(command, settings)
    harness.wall(command, settings)
    times = []
    for _ in range(15):
        times.append(harness.wall(command, settings))
        time.sleep(0.01)
    return {f"{tool} hit ms": sorted(times)[len(times) // 2] * 1e3}


def row(figure, figures):
    text, unit, goal = ROWS[figure]
    value = figures[figure]
    shown = f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.1f}"
    return [text, f"{shown} {unit}".strip(), *harness.against(value, goal, unit)]


def main():
    options = harness.arguments(__doc__, docs=True, rounds=3)
    program, binaries = built()
    with tempfile.TemporaryDirectory(prefix="kiln-bench-") as folder:
        folder = pathlib.Path(folder)
        try:
            peers = {"kiln": lambda: kiln_figures(program, binaries, folder)}
            for tool in ("ccache", "sccache"):
                peers[tool] = lambda tool=tool: cache_figures(tool, folder)
            figures = harness.interleave(options.rounds, peers)
        finally:
            if shutil.which("sccache"):
                os.environ["SCCACHE_SERVER_PORT"] = "4907"
                harness.run_quietly(["sccache", "--stop-server"])
    flat = {name: value for peer in figures.values() for name, value in peer.items()}
    rows = [row(figure, flat) for figure in ROWS if figure in flat]
    header = ["what", "measured", "goal", ""]
    harness.table("The server", header, rows)
    harness.save("server", flat, options.json)
    if options.docs:
        lines = ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * 4, *rows]]
        harness.write_docs("server", "\n".join(lines))


if __name__ == "__main__":
    main()
