"""The compiler's own loops, branches, promotion and forwarding against Python."""

import pytest


@pytest.mark.parametrize("first", [0, 1000, 2000])
def test_random_kernels_agree_with_python(kiln, tmp_path, first):
    program = kiln.root / "tests" / "support" / "random_kernels.py"
    done = kiln("python", program, first, 40, tmp_path, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
