"""Builds: a newcomer's clock, everything, and one-line edits.

    ./kiln python bench/build.py [--everything] [--docs]

Each round clones the checkout's last commit into a temporary folder and builds there from nothing:
no disk cache, no packages to install. The edits follow in the finished clone. A round takes ten
minutes on two cores, with --everything half an hour; other programs on the machine distort every
figure.
"""

import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import harness

# Figure -> (file, how its text changes). Each edit changes the object code, not only the text, so
# that Bazel cannot stop early.
EDITS = {
    "edit: a pass": (
        "server/compiler/passes/forward_stores.cc",
        lambda text: text + "\nnamespace kiln {\nint EditedPass() { return 1; }\n}\n",
    ),
    "edit: a row of the op table": (
        "proto/op.proto",
        lambda text: re.sub(r"(OP_ISNAN = .*)OPERAND_ANY", r"\1OPERAND_FLOAT", text),
    ),
    "edit: a header of the runtime": (
        "runtime/loaded_kernel.h",
        lambda text: text.replace("#endif", "inline int EditedHeader() { return 1; }\n#endif", 1),
    ),
    "edit: a Python file": (
        "client_py/kiln/kernel.py",
        lambda text: text + "\nedited = 1\n",
    ),
}
FIRST = "clone to the first picture"
EVERYTHING = "everything else: servers, tests, tools"
# Seconds, on two cores: seven minutes, of which installing packages takes fifty seconds.
GOALS = {FIRST: 370}


def main():
    parser = harness.parser(__doc__.splitlines()[0], docs=True, rounds=1)
    parser.add_argument("--everything", action="store_true", help="servers, tests and tools, too")
    options = parser.parse_args()
    rounds = [measure(options.everything) for _ in range(options.rounds)]
    figures = {
        name: {key: statistics.median(r[name][key] for r in rounds) for key in rounds[0][name]}
        for name in rounds[0]
    }
    rows = []
    for name, figure in figures.items():
        goal = harness.against(figure["seconds"], GOALS.get(name), "s")
        rows.append([name, f"{figure['seconds']:.0f} s", f"{figure['steps']:.0f}", *goal])
    header = ["what", "time", "steps", "goal", ""]
    harness.table("Builds", header, rows)
    harness.save("build", figures, options.json)
    if options.docs:
        lines = ["| " + " | ".join(row) + " |" for row in [header, ["---"] * 5, *rows]]
        harness.write_docs("build", "\n".join(lines))


def measure(everything):
    """One round: {figure: {seconds, steps of Bazel that ran}}."""
    with tempfile.TemporaryDirectory(prefix="kiln-build-") as temporary:
        clone = pathlib.Path(temporary) / "kiln"
        environment = {
            "KILN_HOME": f"{temporary}/home",
            "KILN_DISK_CACHE": f"{temporary}/cache",  # empty
        }
        try:
            return figures_in(clone, environment, everything)
        finally:
            harness.run_quietly([clone / "kiln", "stop"])
            clean = [clone / "tools" / "bazel.sh", "clean", "--expunge"]
            subprocess.run(clean, check=False, capture_output=True)


def figures_in(clone, environment, everything):
    start = time.perf_counter()
    run(["git", "clone", "-q", harness.ROOT, clone], environment)
    run([clone / "kiln", "run", "examples/mpm88.py"], environment, cwd=clone)
    figures = {FIRST: {"seconds": time.perf_counter() - start, "steps": steps_of(clone)}}
    if everything:
        figures[EVERYTHING] = build(clone, environment, "//...")
    programs = programs_of(clone)
    build(clone, environment, *programs)
    for name, (file, change) in EDITS.items():
        path = clone / file
        before = path.read_text()
        path.write_text(change(before))
        if path.read_text() == before:
            sys.exit(f"bench/build.py: the edit of {file} changes nothing: its text is another now")
        figures[name] = build(clone, environment, *programs)
        path.write_text(before)
        build(clone, environment, *programs)
    return figures


def build(clone, environment, *targets):
    """Seconds and steps of Bazel's build of the targets."""
    start = time.perf_counter()
    said = run([clone / "tools" / "bazel.sh", "build", *targets], environment)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "steps": int(re.search(r"(\d+) process", said)[1])}


def programs_of(clone):
    """The targets that ./kiln builds for a first program."""
    script = f'root={clone}; . {clone}/tools/setup.sh; echo "$programs"'
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    return [line.split()[0] for line in done.stdout.splitlines() if line]


def steps_of(clone):
    """The files that have been compiled in a clone."""
    return sum(1 for _ in (clone / ".kiln" / "bazel-bin").resolve().rglob("*.o"))


def run(command, environment, cwd=None):
    """Runs a command that has to succeed; what it said on stderr."""
    changed = harness.environment(environment)
    done = subprocess.run(
        [str(word) for word in command],
        check=False,
        cwd=cwd,
        env=changed,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-3000:]}")
    return done.stderr


if __name__ == "__main__":
    main()
