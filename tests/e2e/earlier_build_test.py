"""What an earlier build wrote is read, or made anew: its home, manifest and bundle.

earlier_build.tar.gz holds a program of three kernels and what a build of 22 November 2026 made of
it: a home with its cache and warm records, `KILN_MANIFEST`'s manifest, a signed bundle and its
public key. When a format changes, keep this file and add another build's beside it.
"""

import pathlib
import tarfile

import pytest

FILES = pathlib.Path(__file__).parent / "earlier_build.tar.gz"
PRINTED = "240.0 6\n"


@pytest.fixture
def earlier(tmp_path):
    """The folder with the earlier build's files."""
    folder = tmp_path / "earlier"
    folder.mkdir(mode=0o700)
    with tarfile.open(FILES) as files:
        files.extractall(folder)
    return folder


def run(kiln, earlier, home):
    """The counts of a run of the program: "kernels 3  hits 0  misses 3"."""
    done = kiln("run", earlier / "program.py", env={"KILN_HOME": str(home)})
    assert done.stdout == PRINTED
    assert "Traceback" not in done.stderr
    return done.stderr.split("  saved")[0]


@pytest.fixture
def home(kiln, earlier):
    yield earlier / "home"
    kiln("stop", check=False, env={"KILN_HOME": str(earlier / "home")})


def test_home(kiln, earlier, home):
    # An earlier compiler's entries are never run: they may belong to another runtime.
    assert run(kiln, earlier, home) == "kernels 3  hits 0  misses 3"
    assert run(kiln, earlier, home) == "kernels 3  hits 3  misses 0"


@pytest.mark.parametrize("command", ["cache list", "cache verify", "cache stats", "doctor"])
def test_commands_on_the_home(kiln, home, command):
    done = kiln(*command.split(), env={"KILN_HOME": str(home)})
    assert "Traceback" not in done.stderr and done.stdout


def test_home_that_is_pruned(kiln, earlier, home):
    kiln("cache", "prune", "--max-size", "1", env={"KILN_HOME": str(home)})
    assert kiln("cache", "list", env={"KILN_HOME": str(home)}).stdout.startswith("0 entries")
    assert run(kiln, earlier, home) == "kernels 3  hits 0  misses 3"


def test_manifest(kiln, earlier):
    done = kiln("warm", earlier / "program.manifest")
    assert "kernels 3  hits 0  compiled 3" in done.stderr
    assert run(kiln, earlier, kiln.home) == "kernels 3  hits 3  misses 0"


def test_bundle(kiln, earlier):
    kiln("key", "trust", (earlier / "public").read_text().strip())
    done = kiln("cache", "import", "--any-target", earlier / "program.bundle")
    assert "imported 3 of 3 entries" in done.stdout + done.stderr
    assert run(kiln, earlier, kiln.home) == "kernels 3  hits 0  misses 3"
