"""Loops in lanes against the same loops one iteration at a time: a short run of the fuzzer."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import lanes  # noqa: E402


@pytest.mark.skipif(not lanes.levels_here(), reason="lanes need AVX2")
def test_lanes_compute_the_same_bits():
    count, problems = lanes.hunt(seconds=1, seed=100, size=16)
    assert not problems
    assert count >= 16
