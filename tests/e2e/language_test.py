"""Runs every language case (tests/e2e/language), by section_tests.py."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import section_tests  # noqa: E402

globals().update(section_tests.tests_of("language"))
