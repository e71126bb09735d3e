"""Warm starts: what changes a kernel is noticed, what does not change it costs no front end.

Every program runs in a fresh process, and prints its results and then how many kernels went through
the front end. A changed program is run with the records of the one before it; it must print what it
prints without records.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

HEAD = "import kiln as ti\nti.init(ti.cpu)\n"
TAIL = "\nfrom kiln.runtime import session_stats\nprint(session_stats()['transformed'])\n"


class Programs:
    """Runs texts as programs, with one home for all of an object's runs."""

    def __init__(self, folder, home):
        self.folder = folder
        self.environment = {
            **os.environ,
            "KILN_HOME": str(home),
            "PYTHONPATH": f"{ROOT / 'client_py'}:{folder}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def __call__(self, text, name="program.py", check=True, modules=(), cwd=None, **environment):
        """What the program printed, and the number of kernels that were transformed."""
        for module, source in dict(modules).items():
            (self.folder / module).write_text(source)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + TAIL)
        done = subprocess.run(
            [sys.executable, str(path)],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=cwd,
            env={**self.environment, **environment},
        )
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        *output, transformed = done.stdout.splitlines()
        return output, int(transformed)


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory):
    """One home, and so one daemon, for tests that need no home of their own."""
    home = tmp_path_factory.mktemp("home")
    yield home
    environment = {**os.environ, "KILN_HOME": str(home)}
    subprocess.run([ROOT / "kiln", "stop"], env=environment, check=False)


@pytest.fixture
def run(tmp_path, shared_home):
    return Programs(tmp_path, shared_home)


@pytest.fixture
def run_alone(tmp_path):
    """In a home of its own, without a daemon."""
    programs = Programs(tmp_path, tmp_path / "home")
    programs.environment["KILN_SERVER"] = "off"
    return programs


@pytest.fixture
def cold(tmp_path, run):
    """Runs without records: what the results should be."""
    return lambda text, **options: run(text, KILN_WARM="off", **options)


def _changes():
    """name -> (program with the text A in it, A, what takes its place)"""
    text = (pathlib.Path(__file__).parent / "warm_changes.txt").read_text()
    found = {}
    for case in text.split("\n=== ")[1:]:
        head, _, program = case.partition("\n")
        name, before, after = head.split(" | ")
        found[name] = (program, before, after)
    return found


CHANGES = _changes()
# Where the program's own code runs while its kernel is transformed: nothing is recorded.
UNTRACEABLE = (
    "property",
    "__getattr__",
    "Python function",
    "lambda",
    "partial",
    "operator of a class",
    "equality of a class",
)


@pytest.mark.parametrize("case", CHANGES)
def test_a_change_is_noticed(run, cold, case):
    text, before, after = CHANGES[case]
    first, second = (HEAD + re.sub(r"\bA\b", part, text) for part in (before, after))
    want_first, want_second = cold(first)[0], cold(second)[0]
    assert run(first)[0] == want_first
    again, transformed = run(first)
    assert again == want_first, "from the record"
    assert transformed == (1 if case in UNTRACEABLE else 0)
    changed, transformed = run(second)
    assert changed == want_second, "with the record of the other"
    # Another layout or type may give the same result by other code.
    assert want_first != want_second or transformed == 1
    assert run(first)[0] == want_first, "and back"
