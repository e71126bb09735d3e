"""What end-to-end tests share: the `kiln` command in a home of its own."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Kiln:
    """`./kiln` with a KILN_HOME that nothing else uses."""

    root = ROOT

    def __init__(self, home):
        self.home = home
        self.environment = {**os.environ, "KILN_HOME": str(home)}

    def __call__(self, *arguments, check=True, timeout=120, command=None, **options):
        """Runs a subcommand; the completed process, its output as text."""
        environment = {**self.environment, **options.pop("env", {})}
        done = subprocess.run(
            [command or ROOT / "kiln", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=environment,
            **options,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"kiln {arguments} ended with {done.returncode}:\n{done.stderr}")
        return done

    def stats(self):
        import json

        return json.loads(self("cache", "stats", "--json").stdout)


@pytest.fixture
def kiln(tmp_path):
    """The command, with a fresh home; its daemon is stopped at the end."""
    home = tmp_path / "kiln home"  # with a space, so that every test tries one
    command = Kiln(home)
    yield command
    command("stop", check=False)
