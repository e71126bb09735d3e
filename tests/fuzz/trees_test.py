"""Random trees of SNodes against the model: a short run."""

import copy
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import hunting  # noqa: E402
import trees  # noqa: E402
from random_trees import generator, model, reducer, render  # noqa: E402


@pytest.fixture
def machine(tmp_path):
    made = hunting.Machine(tmp_path, "random_trees.batch")
    yield made
    made.stop()


def test_kept_programs_agree(machine):
    assert trees.again(machine, sorted(trees.KEPT.glob("*.json"))) == []


@pytest.mark.parametrize("alone", [False, True])
def test_random_trees_agree(machine, alone):
    lines = []
    hunt = trees.Hunt(machine, log=lines.append, size=6)
    hunt.batch(iter(range(5000 + 500 * alone, 10**6)), alone)
    assert not hunt.failures, "\n".join(lines)
    assert hunt.counts["programs"] == 6
    assert hunt.counts["runs"] == 6 * 2 * len(trees.OPTIONS)


def test_programs_do_something():
    """The generator's steps have visible effects on every kind of level."""
    changes, kinds = set(), set()
    for seed in range(5000, 5060):
        program = generator.program(seed)
        seen = model.expected(program)
        for step, one, other in zip(program["steps"][1:], seen, seen[1:]):
            if one != other:
                changes.add(step["op"])
                kinds |= {node["kind"] for node in program["nodes"]}
    assert changes >= {"scatter", "loop", "cells", "drop", "append", "fill", "deactivate_all"}
    assert kinds >= {"dense", "pointer", "bitmasked", "dynamic"}


def test_faults_are_detected():
    program = generator.program(5001)
    seen = model.expected(program)
    assert trees.difference(seen, {"seen": seen}) is None
    assert trees.difference(seen, None) and trees.difference(seen, {"error": "E"}) == "E"
    for name in seen[0]:
        wrong = copy.deepcopy(seen)
        wrong[0][name][-1] += 1
        assert name in trees.difference(seen, {"seen": wrong})
    assert trees.difference(seen, {"seen": seen[:-1]})


def test_reductions_stay_programs():
    program = generator.program(5002)

    def fails(programs):  # while anything is appended or scattered
        for one in programs:
            model.expected(one)
            compile(render.text(one), "program", "exec")
            if any(step["op"] in ("append", "scatter", "python") for step in one["steps"]):
                return one
        return None

    small = reducer.reduce(program, fails)
    assert len(small["steps"]) == 1 and len(small["fields"]) <= len(program["fields"])
