"""Runs the shell steps of the recipes in deploy/ci in fresh homes, as the CI systems do."""

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

from tests.conftest import ROOT

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")

PROGRAM = """
import taichi as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.f32, shape=8)


@ti.kernel
def fill(a: ti.f32):
    for i in x:
        x[i] = a * i


fill(2.0)
print(x[3])
"""


def github_job(name, on_main):
    """(environment, files that are cached, whether they are saved, steps) of a job; a step is
    (environment, script)."""
    text = yaml.safe_load((ROOT / "deploy/ci/github-actions.yml").read_text())
    job = text["jobs"][name]
    assert on_main or "if" not in job or name == "test", "it is for main only"
    cached = [s for s in job["steps"] if "cache" in s.get("uses", "")]
    steps = [(s.get("env", {}), s["run"]) for s in job["steps"] if "run" in s]
    saved = [s["with"]["path"] for s in cached if not s["uses"].startswith("actions/cache/restore")]
    return text["env"], [s["with"]["path"] for s in cached], saved, steps


def gitlab_job(name, on_main):
    text = yaml.safe_load((ROOT / "deploy/ci/gitlab-ci.yml").read_text())
    job = text[name]
    paths = job["cache"]["paths"]
    saved = paths if "push" in job["cache"]["policy"] else []
    rule = next(r for r in job["rules"] if on_main or "if" not in r)
    variables = {**text["variables"], **rule.get("variables", {})}
    return variables, paths, saved, [({}, "\n".join(job["script"]))]


class Runner:
    """Fresh machines: each job gets a fresh checkout, and from earlier jobs only its cache."""

    def __init__(self, folder, read_job):
        self.folder = folder
        self.read_job = read_job
        self.store = folder / "store"
        self.repository = folder / "repository"
        self.store.mkdir()
        (self.repository / "ci").mkdir(parents=True)
        (self.repository / "app.py").write_text(PROGRAM)
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "kiln").symlink_to(ROOT / "kiln")
        secret = folder / "secret"
        public = self._kiln("key", "new", "ci", secret).stdout
        (self.repository / "ci" / "trusted.keys").write_text(public)
        self.secret = secret
        self.jobs = 0

    def _kiln(self, *arguments, **environment):
        environment = {**os.environ, "KILN_HOME": str(self.folder / "own"), **environment}
        command = [ROOT / "kiln", *map(str, arguments)]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True)

    def __call__(self, name, on_main=True):
        """Runs a job; returns (exit status of the failing step or 0, its output, workspace).
        on_main: whether it is a job of the protected branch, or of an unreviewed change."""
        environment, cached, saved, steps = self.read_job(name, on_main)
        self.jobs += 1
        workspace = self.folder / f"job {self.jobs}"
        shutil.copytree(self.repository, workspace)
        for path in cached:
            if (self.store / path).exists():
                shutil.copy(self.store / path, workspace / path)
        known = {
            "github.workspace": str(workspace),
            "CI_JOB_ID": f"{os.getpid()}-{self.jobs}",
            "github.ref == 'refs/heads/main' && '1' || '0'": "1" if on_main else "0",
        }
        if on_main:
            known["secrets.KILN_SIGNING_KEY"] = self.secret.read_text().strip()

        def filled(text):
            text = re.sub(r"\$\{\{ *(.*?) *\}\}", lambda m: known[m[1]], str(text))
            return re.sub(r"\$(CI_JOB_ID)\b", lambda m: known[m[1]], text)

        base = {k: v for k, v in os.environ.items() if not k.startswith("KILN_")}
        base["PATH"] = f"{self.bin}:{base['PATH']}"
        base |= {"KILN_SIGNING_KEY": str(self.secret)} if on_main else {}
        base |= {k: filled(v) for k, v in environment.items()}
        said = ""
        try:
            for own, script in steps:
                done = subprocess.run(
                    ["bash", "-e", "-o", "pipefail", "-c", filled(script)],
                    cwd=workspace,
                    env={**base, **{k: filled(v) for k, v in own.items()}},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=120,
                    check=False,
                )
                said += done.stdout
                if done.returncode:
                    return done.returncode, said, workspace
        finally:
            subprocess.run([ROOT / "kiln", "stop"], env=base, check=False)
            if base["KILN_HOME"].startswith("/tmp/kiln-home-"):  # outside of the workspace
                shutil.rmtree(base["KILN_HOME"], ignore_errors=True)
        for path in saved:
            shutil.copy(workspace / path, self.store / path)
        return 0, said, workspace


@pytest.fixture(params=[github_job, gitlab_job], ids=["github", "gitlab"])
def runner(request, tmp_path):
    return Runner(tmp_path, request.param)


def test_a_recipe(runner):
    status, said, _ = runner("test")
    assert status == 3 and "kernel 'fill' missed" in said, "nothing is there at first"
    status, said, workspace = runner("warm")
    assert status == 0, said
    assert not list(workspace.glob("*.key")) and (runner.store / "kernels.bundle").exists()
    status, said, workspace = runner("test")
    assert status == 0 and "hits 1  misses 0" in said, said
    (suite,) = xml.etree.ElementTree.parse(workspace / "kernels.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")

    # An unmerged change, perhaps a stranger's, runs without secrets. It uses the cached kernels,
    # compiles the others, and stores nothing.
    before = (runner.store / "kernels.bundle").read_bytes()
    status, said, _ = runner("test", on_main=False)
    assert status == 0 and "hits 1  misses 0" in said, said
    program = runner.repository / "app.py"
    program.write_text(PROGRAM.replace("a * i", "a * i + 1"))
    status, said, _ = runner("test", on_main=False)
    assert status == 0 and "hits 0  misses 1" in said, said
    assert (runner.store / "kernels.bundle").read_bytes() == before

    # On the protected branch, before it is warm, the output names the kernel and the reason.
    status, said, workspace = runner("test")
    assert status == 3 and "kernel 'fill' missed" in said and "code" in said, said
    (suite,) = xml.etree.ElementTree.parse(workspace / "kernels.xml").getroot()
    assert suite.get("failures") == "1"
    status, said, _ = runner("warm")
    assert status == 0, said
    status, said, _ = runner("test")
    assert status == 0 and "misses 0" in said, said


def test_unsigned_entries_of_others_are_refused(runner, tmp_path):
    assert runner("warm")[0] == 0
    bundle = runner.store / "kernels.bundle"
    trusted = (runner.repository / "ci" / "trusted.keys").read_text()
    whole = bundle.read_bytes()
    at = len(whole) // 2
    bundle.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    status, said, _ = runner("test")
    assert status == 3 and "checksum" in said and "hits 0  misses 1" in said, said
    assert runner("test", on_main=False)[0] == 0
    # Signed, but by a key that the repository does not trust.
    bundle.write_bytes(whole)
    stranger = tmp_path / "stranger"
    line = runner._kiln("key", "new", "stranger", stranger).stdout
    (runner.repository / "ci" / "trusted.keys").write_text(line)
    status, said, _ = runner("test")
    assert status == 3 and "refused 1 (untrusted)" in said and "hits 0  misses 1" in said, said
    # This lasts until the protected branch has warmed the cache again, with its key.
    (runner.repository / "ci" / "trusted.keys").write_text(trusted)
    bundle.write_bytes(b"nonsense")
    status, said, _ = runner("warm")
    assert status == 0 and "kernels.bundle is no bundle that this Kiln reads: " in said, said
    assert runner("test")[0] == 0


def test_used_entries_outlive_unused_ones(runner):
    """The warm job keeps its bundle small by dropping kernels that are no longer used."""
    app = runner.repository / "app.py"
    for factor in range(3):
        app.write_text(PROGRAM.replace("a * i", f"a * i + {factor}"))
        assert runner("warm")[0] == 0
    app.write_text(PROGRAM.replace("a * i", "a * i + 1"))
    size = (runner.store / "kernels.bundle").stat().st_size
    kept = runner.read_job

    def tight(*job):
        environment, cached, saved, steps = kept(*job)
        limit = str(size // 2)  # enough for one of three
        return environment, cached, saved, [(e, s.replace("500M", limit)) for e, s in steps]

    runner.read_job = tight
    status, said, _ = runner("warm")
    assert status == 0 and "deleted 2 entries" in said, said
    status, said, _ = runner("test")
    assert status == 0 and "hits 1  misses 0" in said, said


def test_jobs_wait_for_the_warm_one_where_there_is_one():
    """Otherwise main's tests would miss kernels that are being compiled at the same time."""
    jobs = yaml.safe_load((ROOT / "deploy/ci/github-actions.yml").read_text())["jobs"]
    assert jobs["test"]["needs"] == "warm" and "cancelled()" in jobs["test"]["if"]
    gitlab = yaml.safe_load((ROOT / "deploy/ci/gitlab-ci.yml").read_text())
    assert gitlab["stages"] == ["warm", "test"]
    # By default, GitLab gives protected branches a separate cache.
    assert all(gitlab[job]["cache"]["unprotect"] for job in gitlab["stages"])
