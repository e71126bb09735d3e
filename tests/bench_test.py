"""Benchmarks run to their end, in their shortest form. Their figures are not looked at."""

import json
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of those that need no peer, display or minutes.
RUNS = [
    "compile_cuda.py",
    "copies.py",
    "frontend.py",
    "gradients.py",
    "kernels.py --rows fill --threads 0",
    "launch.py",
    "launch_cuda.py",
    "matrices.py",
    "modules.py",
    "pool.py",
    "server.py",
    "sizes.py --kinds fields",
    "sparse.py bits",
    "startup.py",
    "tape.py",
    "warm100.py",
]


@pytest.mark.parametrize("run", RUNS)
def test_runs(run, tmp_path):
    program, *options = run.split()
    figures = tmp_path / "figures.json"
    common = [] if program == "pool.py" else ["--rounds", "1"]
    done = subprocess.run(
        [ROOT / "kiln", "python", ROOT / "bench" / program, *common, "--json", figures, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert json.loads(figures.read_text())["figures"]
