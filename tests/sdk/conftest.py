"""Fixtures of the tests of libkiln as a package for other programs."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def run(*command, check=True, **options):
    """Runs a command; returns what it prints."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


@pytest.fixture(scope="session")
def tarball(tmp_path_factory):
    """The package, as tools/package.sh makes it."""
    path = tmp_path_factory.mktemp("package") / "kiln.tar.gz"
    run(ROOT / "tools" / "package.sh", "tar", path)
    return path


@pytest.fixture(scope="session")
def package(tarball):
    """The folder of the package's content."""
    folder = tarball.parent / "as unpacked"  # with a space, so that every test covers that
    folder.mkdir(exist_ok=True)
    run("tar", "xf", tarball, "-C", folder)
    (unpacked,) = folder.iterdir()
    return unpacked
