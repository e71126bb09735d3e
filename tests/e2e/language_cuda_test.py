"""Runs the language cases with arch=ti.cuda on the emulator of CUDA (tests/support/fake_cuda), and
compares them with what the CPU does."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e" / "language"))
import harness  # noqa: E402

# What CUDA does not have yet is refused with one of these texts.
REFUSALS = (
    "gradients on CUDA are not supported yet",
    "gradients of loops that keep their steps on CUDA",
    "sparse SNodes on CUDA are not supported yet",
    "sparse matrix builders on CUDA are not supported yet",
    "two arrays that overlap cannot be arguments of one launch on a CUDA device",
    "the elements are on a CUDA device",
    "this module runs on the CPU",
)
# Cases that are about the CPU, or that CUDA answers otherwise for a good reason.
DIFFERS = {
    "gradients.gradients_of_another_shape": "the case catches the refusal",
    "gradients.mistakes_with_checkpoints": "the case catches the refusal",
    "gradients.products_with_jacobians": "the case catches the refusal",
    "interop.fields_and_ndarrays_are_given_without_a_copy": "the case catches the refusal",
    "misuse.misspelt_devices_and_levels": "TI_ARCH overrides what the case names",
    "misuse.warnings_of_the_runtime": "TI_ARCH overrides what the case names",
    "modules.what_cannot_be_exported": "modules are for CPUs",
    "promotion.values_on_signed_integers": "atan2 of libdevice differs in the last place",
    "random_numbers.types_without_random_numbers": "the sign of zero, under fast_math",
    "simt.operations_without_a_gpu": "the text names the device",
}
# Cases whose outcome depends on the order of a parallel loop's iterations.
RACES = {
    "real_functions.references_to_variables_around_a_parallel_loop",
    "scoping.inner_names_shadow_nothing",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    subprocess.run([ROOT / "kiln", "build", "emulator"], check=True, capture_output=True)
    home = {"KILN_HOME": str(tmp_path_factory.mktemp("cuda"))}
    yield {"TI_ARCH": "cuda", "KILN_CUDA_DRIVER": "emulator", **home}
    subprocess.run([ROOT / "kiln", "stop"], env={**os.environ, **home}, capture_output=True)


@pytest.mark.parametrize("section", harness.sections())
def test_section(environment, section):
    got = harness.run_kiln(section, environment)
    wrong = []
    for name, expected in harness.expected(section).items():
        if f"{section}.{name}" in RACES:
            continue
        # Each init says that the variable overrides its argument.
        lines = [line for line in got.get(name, ["missing"]) if "TI_ARCH" not in line]
        refused = any(text in line for line in lines for text in REFUSALS)
        if f"{section}.{name}" in DIFFERS:
            assert lines != expected, f"{name} differs no more: take it from the table"
        elif lines != expected and not refused:
            wrong.append((name, expected, lines))
    assert not wrong
