"""The tests of a folder of language cases (harness.py). Each case runs in three ways: through a
daemon with an empty cache, again in another process from the cache, and without a daemon."""

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "language"))
import harness  # noqa: E402

WAYS = ("cold", "cached", "off")


class Outcomes:
    """The outcomes of sections, which run when they are first needed. All ways but off share a
    home."""

    def __init__(self, folder):
        self._folder = folder
        self._found = {}

    def __call__(self, section, way):
        if way in ("cached", "checked"):
            self(section, "cold")
        if (section, way) not in self._found:
            environment = {"KILN_HOME": str(self.home(way))}
            if way == "off":
                environment["KILN_SERVER"] = "off"
            if way == "checked":
                environment["KILN_WARM"] = "check"
            self._found[section, way] = harness.run_kiln(section, environment)
        return self._found[section, way]

    def home(self, way):
        return self._folder / ("off" if way == "off" else "daemon")


def tests_of(suite):
    """The test functions of a folder, by name, for the folder's test file."""

    @pytest.fixture(scope="module")
    def outcomes(tmp_path_factory):
        found = Outcomes(tmp_path_factory.mktemp(suite))
        yield found
        subprocess.run(
            [harness.ROOT / "kiln", "stop"],
            env={**os.environ, "KILN_HOME": str(found.home("cold"))},
            capture_output=True,
        )

    sections = harness.sections(suite)
    cases = [(section, name) for section in sections for name in harness.expected(section)]

    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("section, name", cases)
    def test_outcome_is_as_recorded(outcomes, section, name, way):
        got = outcomes(section, way).get(name, ["no such case"])
        expected = harness.expected(section)[name]
        assert harness.agree(expected, got), "\n".join(["expected:", *expected, "got:", *got])

    @pytest.mark.parametrize("section", sections)
    def test_warm_records_say_what_the_front_end_does(outcomes, section):
        cached, checked = outcomes(section, "cached"), outcomes(section, "checked")
        for name, lines in checked.items():
            assert harness.agree(cached[name], lines), "\n".join([name, *lines])

    @pytest.mark.parametrize("section", sections)
    def test_every_case_is_recorded(outcomes, section):
        assert set(outcomes(section, "cold")) == set(harness.expected(section))

    @pytest.mark.parametrize("section", sections)
    def test_every_difference_has_its_row(section):
        rows = (harness.ROOT / "docs" / "differences.md").read_text()
        for name, reason in harness.declared(section).items():
            assert f"| {reason} |" in rows, f"{section}.{name}"

    found = {name: value for name, value in locals().items() if name.startswith("test_")}
    return {"outcomes": outcomes, **found}
