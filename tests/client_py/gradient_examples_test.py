"""The programs of examples/gradients: their losses in ten steps of gradient descent.

The expected numbers are Taichi 1.7.4's: `tools/compare_with_taichi.py --taichi-python PYTHON
examples/gradients/walker.py` (and so on) compares all of them again.
"""

import importlib.util
import pathlib

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "gradients"
EXPECTED = {
    "chain": [
        *(0.056741, 0.054570, 0.052652, 0.050636, 0.048948),
        *(0.047148, 0.045687, 0.044015, 0.042632, 0.041205),
    ],
    "mpm": [
        *(0.104431, 0.066036, 0.041758, 0.026405, 0.016697),
        *(0.010558, 0.006676, 0.004222, 0.002670, 0.001688),
    ],
    "walker": [
        *(0.757553, 0.756579, 0.755120, 0.754833, 0.751370),
        *(0.750809, 0.750535, 0.749342, 0.747117, 0.747196),
    ],
    "wave": [
        *(283.492979, 226.299152, 183.828068, 152.423295, 131.025433),
        *(118.181125, 110.441826, 104.682897, 99.761288, 95.435577),
    ],
}


def losses(ti, name, *options):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    ti.init(ti.cpu, default_fp=ti.f64)
    return program.losses(ti, *options)


def test_every_example_is_here():
    assert sorted(EXPECTED) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", EXPECTED)
def test_losses_are_those_of_taichi(ti, name):
    assert losses(ti, name) == pytest.approx(EXPECTED[name], rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("way", ["replaced", "automatic"])
def test_shared_cells_give_the_same_losses(ti, way):
    assert losses(ti, "mpm", way) == pytest.approx(EXPECTED["mpm"], rel=1e-3, abs=1e-6)
