"""Random sequences of launches against NumPy: a short run."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import hunting  # noqa: E402
import launches  # noqa: E402
from random_launches import generator  # noqa: E402


def hunt_on(home, cuda):
    machine = hunting.Machine(home, "random_launches.batch", cuda=cuda)
    lines = []
    return launches.Hunt(machine, log=lines.append, size=8), lines


@pytest.mark.parametrize("cuda", [False, True], ids=["cpu", "cuda"])
@pytest.mark.parametrize("number", [0, 3], ids=["daemon", "alone"])
def test_random_launches_agree(tmp_path, number, cuda):
    hunt, lines = hunt_on(tmp_path, cuda)
    try:
        hunt.batch(number, iter(range(7000 + 100 * number, 10**6)))
    finally:
        hunt.machine.stop()
    assert not hunt.failures, "\n".join(lines)
    assert hunt.counts["programs"] == 8 and hunt.counts["steps"] > 100


def test_faults_are_detected_and_reduced(tmp_path):
    """A program with a NaN, which equals no number of the model."""
    hunt, _ = hunt_on(tmp_path, cuda=False)
    field = {"kind": "field", "type": "f32", "shape": [4], "vector": 0, "layout": "plain"}
    write = {"op": "set", "on": "o", "at": [1], "value": float("nan")}
    program = {
        "objects": {"o": field, "p": field},
        "steps": [{"op": "fill", "on": "p", "value": 3}, write, {"op": "look", "on": "p"}],
    }
    try:
        found = hunt.check({"wrong": program}, [{}], {})
        reduced = hunt.reduced(program, [{}], {})
    finally:
        hunt.machine.stop()
    assert list(found) == ["wrong"]
    assert reduced["objects"] == {"o": field} and [step["op"] for step in reduced["steps"]] == [
        "set"
    ]


def test_programs_take_every_step():
    steps = [step for seed in range(60) for step in generator.program(seed)["steps"]]
    kernels = {step["kernel"] for step in steps if step["op"] == "launch"}
    assert kernels == set(generator.TABLE)
    sorts = {"fill", "set", "get", "from_numpy", "copy_from", "look", "again", "copy", "sync"}
    assert {step["op"] for step in steps} == sorts | {"launch", "graph", "threads", "stream"}
