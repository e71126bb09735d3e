"""Runs the cases of the language and of SNodes with arch=ti.cuda on the emulator of CUDA
(tests/support/fake_cuda), and compares them with what the CPU does."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "e2e" / "language"), str(ROOT / "tests" / "e2e")]
import cuda_outcomes  # noqa: E402
import harness  # noqa: E402


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    subprocess.run([ROOT / "kiln", "build", "emulator"], check=True, capture_output=True)
    home = {"KILN_HOME": str(tmp_path_factory.mktemp("cuda"))}
    yield {"TI_ARCH": "cuda", "KILN_CUDA_DRIVER": "emulator", **home}
    subprocess.run([ROOT / "kiln", "stop"], env={**os.environ, **home}, capture_output=True)


@pytest.mark.parametrize("section", harness.sections() + harness.sections("snodes"))
def test_section(environment, section):
    got = harness.run_kiln(section, environment)
    wrong = {}
    for name, expected in harness.expected(section).items():
        case, lines = f"{section}.{name}", got.get(name, ["missing"])
        fault = cuda_outcomes.fault(case, expected, lines, lambda one, other: one == other)
        if fault is not None:
            wrong[name] = fault
    assert not wrong, "\n".join(f"{name}: {fault}" for name, fault in wrong.items())


@pytest.mark.parametrize("mode", ["graphs", "streams"])
@pytest.mark.parametrize("section", ["atomics", "random_numbers", "snodes/activation", "tasks"])
def test_other_ways_to_launch(environment, section, mode):
    """Each call by a captured graph, or in another stream than the one before (launch_modes.py)."""
    test_section({**environment, "KILN_TEST_LAUNCHES": mode}, section)


@pytest.mark.parametrize("section", ["random_numbers", "simt", "snodes/activation"])
def test_devices_that_take_turns(environment, section):
    """Each case on another device than the one before, for which its code differs."""
    modes = {"KILN_TEST_LAUNCHES": "devices", "KILN_FAKE_CUDA": "devices=2;arch=90,80"}
    test_section({**environment, **modes}, section)


@pytest.mark.parametrize("section", ["simt", "snodes/activation", "snodes/dynamic_nodes"])
def test_nothing_races_and_nothing_unwritten_is_read(environment, section, tmp_path):
    """The emulator's checks of the code of kernels, and of the runtime's own (docs/cuda.md)."""
    reports = tmp_path / "reports"
    settings = f"check=race,init;reports={reports}"
    harness.run_kiln(section, {**environment, "KILN_FAKE_CUDA": settings})
    assert reports.read_text() == ""
