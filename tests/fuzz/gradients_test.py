"""Random kernels' gradients and duals against the model: a short run."""

import math
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import gradients  # noqa: E402
import hunting  # noqa: E402
from random_gradients import language, model  # noqa: E402
from random_gradients.places import NAMES, Places  # noqa: E402


@pytest.fixture
def machine(tmp_path):
    made = hunting.Machine(tmp_path, "random_gradients.batch")
    yield made
    made.stop()


@pytest.mark.parametrize(
    "options, size", [(gradients.FULL, 30), (gradients.QUICK, 60), (gradients.SECOND, 20)]
)
def test_derivatives_of_random_kernels_agree(machine, options, size):
    lines = []
    hunt = gradients.Hunt(machine, log=lines.append, size=size)
    hunt.batch(iter(range(5000 * size, 10**6)), options)
    assert not hunt.failures, "\n".join(lines)
    assert hunt.counts["runs"] == 2 * size


def test_a_wrong_derivative_is_detected():
    wanted = first_expected()
    assert gradients.difference(wanted, wanted) is None
    for k, name in enumerate(NAMES):
        wrong = list(wanted["gradient"])
        wrong[k] += 0.01 * (1 + max(map(abs, wrong)))
        assert name in gradients.difference(wanted, {**wanted, "gradient": wrong})
    for what in ("dual", "value"):
        assert what in gradients.difference(wanted, {**wanted, what: wanted[what] + 1})
    assert gradients.difference(wanted, None)
    wanted["second"] = wanted["gradient"]
    assert gradients.difference(wanted, {"second": wanted["second"]}) is None
    assert "second" in gradients.difference(wanted, {"second": [1e9] * len(NAMES)})


def test_an_error_is_detected_unless_the_kernel_may_be_refused():
    wanted = first_expected()
    assert gradients.difference(wanted, {"error": "no"}, may_be_refused=True)
    refused = {"error": "line 1: the kernel overwrites it later"}
    assert gradients.difference(wanted, refused)
    assert gradients.difference(wanted, refused, may_be_refused=True) is None
    assert "value" in gradients.difference(wanted, {**refused, "value": 1e9}, may_be_refused=True)


def first_expected():
    """What is expected of the first kernel that is decided."""
    every = (gradients.expected(seed, gradients.program(seed)) for seed in range(100))
    return next(filter(None, every))


def of_fields():
    """Places all of which are dense fields."""
    return next(p for p in map(Places, range(100)) if set(p.kinds.values()) == {"field"})


KERNEL = """
def kernel(p: ti.f64, c: ti.i32):
    for i in range(6):
        y[i] = {}
"""


@pytest.mark.parametrize(
    "value, slope",
    [
        ("w[i, 0] ** 2", lambda w: 2 * w),
        ("ti.select(w[i, 0] > 9.0, ti.sqrt(-1.0 - w[i, 0] ** 2), w[i, 0])", lambda w: 1),
        ("w[i, 0] * ti.stop_grad(w[i, 0])", lambda w: w),
        ("w[i, 0] - ti.floor(w[i, 0])", lambda w: 1),
        ("ti.abs(0.0 * w[i, 0])", lambda w: 0),
    ],
)
def test_the_model_has_the_derivatives(value, slope):
    places = of_fields()
    gradient = model.expected(places, KERNEL.format(value))["gradient"]
    found = dict(zip(NAMES, gradient))
    for i in range(6):
        wanted = places.weights["y"][i] * slope(places.values["w"][i, 0])
        assert found[f"w[{i}, 0]"] == pytest.approx(wanted)
        assert found[f"x[{i}]"] == 0


def test_the_model_has_second_derivatives():
    places = of_fields()
    found = model.expected(places, KERNEL.format("x[i] ** 3 * w[i, 0]"), second=True)["second"]
    x, w = places.values["x"], places.values["w"][:, 0]
    weighted = places.weights["y"] * places.direction["x"]
    named = dict(zip(NAMES, found))
    assert found[:6] == pytest.approx(6 * x * w * weighted, abs=1e-6)
    by_w = [named[f"w[{i}, 0]"] for i in range(6)]
    assert by_w == pytest.approx(3 * x**2 * weighted, abs=1e-6)


@pytest.mark.parametrize(
    "value", ["ti.max(w[i, 0], w[i, 0] + 1e-9)", "ti.abs(ti.sin(3e-9 + 0 * w[i, 0]))"]
)
def test_the_model_leaves_kinks_undecided(value):
    places = Places(0)
    assert model.expected(places, KERNEL.format(value)) is None


def test_differences_reveal_a_wrong_slope(monkeypatch):
    monkeypatch.setattr(model.Language, "sin", language.differentiable(math.sin, math.sin))
    with pytest.raises(model.Wrong):
        model.expected(Places(0), KERNEL.format("ti.sin(w[i, 0])"))
