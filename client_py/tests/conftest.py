"""Kernels of these tests compile in a home of their own, without a daemon."""

import os
import tempfile

if "KILN_TEST_HOME" not in os.environ:
    os.environ["KILN_TEST_HOME"] = tempfile.mkdtemp(prefix="kiln-test-")
    os.environ["KILN_HOME"] = os.environ["KILN_TEST_HOME"]
    os.environ["KILN_SERVER"] = "off"


def pytest_sessionfinish():
    import shutil

    shutil.rmtree(os.environ["KILN_TEST_HOME"], ignore_errors=True)
