"""Scenes of Genesis 0.2.1, a simulator whose kernels are Taichi's, unchanged under Kiln and Taichi:
time to the first step with an empty and with a filled cache, time of a step, and states.

    /usr/bin/python3 -m venv --system-site-packages FOLDER     # with Debian's python3-torch
    FOLDER/bin/pip install genesis-world==0.2.1 libigl==2.5.1
    ./kiln python bench/scenes.py --python FOLDER/bin/python [--docs] [SCENE...]

The time to the first step counts from the end of `import genesis`, which takes the same time on
both sides: it includes building the scene, which is Genesis's own work in Python. A step is the
median of later steps. The states of bodies and particles after the last step are compared.
"""

import statistics
import sys
import tempfile

import harness

INSIDE = str(harness.ROOT / "bench" / "scenes_program.py")
# Name -> what it is, and the largest difference of states that f32 explains, in metres.
SCENES = {
    "box": ("a box falls on a plane", 1e-4),
    "franka": ("a robot's arm moves, then inverse kinematics", 1e-3),
    "mpm": ("elastic, plastic and liquid bodies of 2,600 particles", 1e-3),
    "fem": ("a soft sphere of 971 vertices", 1e-3),
    "gradient": ("the gradient of 50 substeps of an elastic body", 1e-3),
}


def main():
    parser = harness.parser(__doc__.splitlines()[0], docs=True, rounds=1)
    parser.add_argument("--python", required=True, help="one with Genesis and Taichi")
    parser.add_argument("scenes", nargs="*", choices=[[], *SCENES], metavar="SCENE")
    options = parser.parse_args()
    harness.kiln_python()
    results, is_right = {}, True
    for scene in options.scenes or SCENES:
        # Meshes that Genesis prepares once for all runs.
        run_kiln(options.python, scene, 1)
        rounds = {"kiln": [], "taichi": []}
        for _ in range(options.rounds):
            rounds["taichi"].append(run_taichi(options.python, scene, 2))
            rounds["kiln"].append(run_kiln(options.python, scene, 2))
        results[scene] = {side: figures(runs) for side, runs in rounds.items()}
        apart = difference(rounds)
        is_right &= apart <= SCENES[scene][1]
        results[scene]["difference"] = apart
        print(row(scene, results[scene]), flush=True)
    if options.json or not options.scenes:
        harness.save("scenes", results, options.json)
    if options.docs:
        harness.write_docs("scenes", table(results))
    return 0 if is_right else 1


def run_taichi(python, scene, times):
    """The results of processes that start one after the other, with a cache that is empty first."""
    with tempfile.TemporaryDirectory() as folder:
        cache = {"TI_OFFLINE_CACHE_FILE_PATH": folder, "TI_OFFLINE_CACHE": "1"}
        return [harness.run_json([python, INSIDE, scene], cache, 1800) for _ in range(times)]


def run_kiln(python, scene, times):
    client = harness.ROOT / "client_py"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        path = f"{client / 'kiln' / 'as_taichi'}:{client}"
        environment = {"KILN_HOME": home, "PYTHONPATH": path}
        try:
            command = [python, INSIDE, scene]
            return [harness.run_json(command, environment, 1800) for _ in range(times)]
        finally:
            harness.stop_daemon(home)


def figures(runs):
    return {
        "cold": statistics.median(run[0]["first"] for run in runs),
        "warm": statistics.median(run[1]["first"] for run in runs),
        "step": statistics.median(one["step"] for run in runs for one in run),
    }


def difference(rounds):
    """The largest difference of a number of the states between any run of both sides."""
    states = [one["state"] for runs in rounds.values() for run in runs for one in run]
    return max(
        abs(a - b) if a == a and b == b else float("inf")
        for state in states[1:]
        for a, b in zip(states[0], state, strict=True)
    )


def row(scene, result):
    cells = [SCENES[scene][0]]
    for what in ("cold", "warm"):
        ours, theirs = result["kiln"][what], result["taichi"][what]
        cells += [f"{theirs:.1f}", f"{ours:.1f}", f"{theirs / ours:.1f}"]
    ours, theirs = result["kiln"]["step"], result["taichi"]["step"]
    cells += [f"{theirs * 1e3:.2f}", f"{ours * 1e3:.2f}", f"{theirs / ours:.1f}"]
    return "| " + " | ".join([*cells, f"{result['difference']:.0e}"]) + " |"


def table(results):
    head = [
        "scene",
        *("empty cache, s: Taichi", "Kiln", "times"),
        *("filled cache, s: Taichi", "Kiln", "times"),
        *("a step, ms: Taichi", "Kiln", "times", "difference"),
    ]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(row(scene, result) for scene, result in results.items())])


if __name__ == "__main__":
    sys.exit(main())
