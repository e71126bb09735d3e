"""NumPy arrays with the newest NumPy. The build uses Debian's, which is older."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TESTS = ROOT / "tests" / "client_py"


@pytest.fixture(scope="module")
def newest_numpy():
    """A folder with NumPy 2 for this Python; made once, and kept with the tests' other state."""
    folder = ROOT / ".kiln" / "test" / f"numpy2-py{sys.version_info[1]}"
    if not (folder / "numpy").is_dir():
        aside = folder.with_suffix(".new")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", aside, "--upgrade"]
        done = subprocess.run([*pip, "numpy>=2"], capture_output=True, text=True)
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["no message"])[-1]
            pytest.skip(f"needs NumPy 2, which pip could not install: {why}")
        aside.rename(folder)
    return folder


def test_arrays_and_sparse_matrices_work_with_numpy_2(newest_numpy):
    files = [TESTS / f"{name}_test.py" for name in ("linalg", "interop", "ndarray", "field")]
    path = os.pathsep.join([str(newest_numpy), os.environ.get("PYTHONPATH", "")])
    code = "import numpy, pytest, sys; assert numpy.__version__[0] == '2'; sys.exit(pytest.main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "-q", "-p", "no:cacheprovider", *files],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=600,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
