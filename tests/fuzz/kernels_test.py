"""Random kernels against the direct evaluator, and mutants against the front end: short runs."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import hunting  # noqa: E402
import kernels  # noqa: E402
import mutants  # noqa: E402


@pytest.fixture
def machine(tmp_path):
    made = hunting.Machine(tmp_path, "random_kernels.batch")
    yield made
    made.stop()


def test_kept_programs_agree(machine):
    kept = sorted(kernels.KEPT.glob("*.py"))
    assert kept
    assert kernels.again(machine, kept) == []


@pytest.mark.parametrize("loose, alone", [(False, False), (False, True), (True, False)])
def test_random_kernels_agree(machine, loose, alone):
    lines = []
    hunt = kernels.Hunt(machine, log=lines.append, size=14)
    hunt.batch(iter(range(4000 + 1000 * loose + 500 * alone, 10**6)), loose, alone)
    assert not hunt.failures, "\n".join(lines)
    assert hunt.counts["programs"] == 14
    assert hunt.counts["runs"] == 6 * 14


def test_random_kernels_agree_on_cuda(tmp_path):
    machine = hunting.Machine(tmp_path, "random_kernels.batch", cuda=True)
    lines = []
    hunt = kernels.Hunt(machine, log=lines.append, size=8)
    hunt.batch(iter(range(6000, 10**6)), loose=False, alone=True)
    machine.stop()
    assert not hunt.failures, "\n".join(lines)
    assert hunt.counts["runs"] == 6 * 8


def test_a_wrong_result_is_detected_and_reduced():
    programs = (kernels.generator.program(seed) for seed in range(4000, 5000))
    text = next(t for t in programs if t.count("\n") < 40 and kernels.expected(t, False))
    wanted = kernels.expected(text, loose=False)
    name, numbers = next(iter(wanted.items()))
    wrong = {key: [number.value for number in its] for key, its in wanted.items()}
    assert kernels.difference(wanted, wrong) is None
    wrong[name][-1] += 1
    assert name in kernels.difference(wanted, wrong)
    # "Fails" while there is a product.
    small = kernels.reducer.reduce(text, lambda texts: next((t for t in texts if " * " in t), None))
    assert " * " in text and " * " in small and len(small) < 200, small


def test_mutants_are_refused_in_the_users_words(machine):
    lines = []
    hunt = mutants.Hunt(machine, log=lines.append, size=120)
    hunt.batch(iter(range(7000, 10**6)))
    assert not hunt.faults, "\n".join(lines)
    assert hunt.counts["refused"] > 40 and hunt.counts["compiled"] > 20


def test_a_fault_is_detected():
    assert mutants.fault(None)
    assert mutants.fault({"error": "KeyError: 'a'", "class": "kiln/frontend/call.py:3"})
    assert mutants.fault({"error": "TaichiTypeError: no", "class": "no place"})
    assert not mutants.fault({"error": "TaichiTypeError: no", "class": "user"})
    assert not mutants.fault({})
