"""Random kernels' gradients and duals against the model: a short run."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import gradients  # noqa: E402
import hunting  # noqa: E402
from random_gradients import generator  # noqa: E402


@pytest.fixture
def machine(tmp_path):
    made = hunting.Machine(tmp_path, "random_gradients.batch")
    yield made
    made.stop()


def test_derivatives_of_random_kernels_agree(machine):
    lines = []
    hunt = gradients.Hunt(machine, log=lines.append, size=40)
    hunt.batch(iter(range(5000, 10**6)))
    assert not hunt.failures, "\n".join(lines)
    assert hunt.counts["runs"] == 80


def test_a_wrong_derivative_is_detected():
    seed = next(s for s in range(100) if gradients.expected(s, generator.kernel(s)))
    wanted = gradients.expected(seed, generator.kernel(seed))
    assert gradients.difference(wanted, wanted) is None
    for k in range(generator.N):
        wrong = list(wanted["gradient"])
        wrong[k] += 0.01 * (1 + max(map(abs, wrong)))
        assert f"x[{k}]" in gradients.difference(wanted, {**wanted, "gradient": wrong})
    assert "dual" in gradients.difference(wanted, {**wanted, "dual": wanted["dual"] + 1})
    assert gradients.difference(wanted, None) and gradients.difference(wanted, {"error": "no"})
