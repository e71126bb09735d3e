"""A short run of soak.py."""

import json
import pathlib
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_daemon_does_not_grow_while_programs_come_and_go():
    soak = pathlib.Path(__file__).parent / "soak.py"
    done = subprocess.run(
        [sys.executable, soak, "--minutes=0.4", "--clients=2"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["programs"] > 3
    assert report["workers_killed"] > 0
    assert report["daemon_stopped"] > 0
