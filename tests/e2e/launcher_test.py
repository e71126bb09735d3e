"""./kiln itself: it runs from any folder and through links, quickly, and finds its commands."""

import fcntl
import hashlib
import os
import resource
import shlex
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT


def test_checking_that_the_setup_is_current_takes_at_most_50_ms(kiln):
    """Of processor time, the least of many runs: other programs may be running."""
    kiln("build", timeout=1800)

    def least(run):
        times = []
        for _ in range(15):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            run()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(times)

    bare = ["/usr/bin/python3", "-S", "-E", "-c", "pass"]
    checked = least(lambda: kiln("python", *bare[1:]))
    assert checked - least(lambda: subprocess.run(bare, check=True)) <= 0.05


def test_runs_from_other_folders_and_through_links(kiln, tmp_path):
    link = tmp_path / "a link"
    link.symlink_to(kiln.root / "kiln")
    again = tmp_path / "sub" / "again"
    again.parent.mkdir()
    again.symlink_to("../a link")
    for command in (link, again):
        done = kiln("python", "-c", "import kiln; print(kiln.__file__)", command=command, cwd="/")
        assert done.stdout.strip() == str(kiln.root / "client_py" / "kiln" / "__init__.py")
    where = os.path.relpath(kiln.root / "kiln", tmp_path)
    assert kiln("cache", "path", command=where, cwd=tmp_path).stdout == f"{kiln.home}/cache\n"


def test_commands_and_their_absence(kiln):
    assert "run program.py" in kiln("help").stdout
    for wrong in (["run"], ["cache"], ["cache", "stats", "--xml"], ["stop", "it"]):
        done = kiln(*wrong, check=False)
        assert done.returncode == 2 and "usage: kiln" in done.stderr
    for wrong, meant in (
        ("runn", " Did you mean 'run'?"),
        ("--versoin", " Did you mean '--version'?"),
        ("kiln", " Did you mean 'run kiln'?"),
        ("dance", ""),
    ):
        done = kiln(wrong, check=False, cwd=kiln.root)
        said = f"kiln: no command '{wrong}'.{meant} `kiln help` lists all\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
    assert kiln("help", "stop").stdout == kiln("stop", "--help").stdout
    for wrong, said in (
        (["help", "stopp"], "no command 'stopp'. Did you mean 'stop'? `kiln help` lists all"),
        (["help", "stop", "it"], "surplus argument 'it' of help"),
        (["--version", "all"], "surplus argument 'all' of --version"),
    ):
        done = kiln(*wrong, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"kiln: {said}\n")
    done = kiln("run", "missing.py", check=False)
    assert done.returncode == 2 and done.stderr == "kiln: missing.py: No such file or directory\n"


def test_the_version_needs_no_build_and_is_that_of_the_build(kiln):
    code = "import kiln as ti; print('kiln ' + ti.kiln_version, 'language 1.7.4', sep=', ')"
    expected = kiln("python", "-c", code).stdout
    for option in ("--version", "-V"):
        done = kiln(option)
        assert (done.stdout, done.stderr) == (expected, "")


def test_missing_packages_are_named_with_the_command_to_install_them(kiln, tmp_path):
    fake = tmp_path / "packages.txt"
    fake.write_text("# a comment\nbash\nno-such-package-a # why\nno-such-package-b\n")
    script = f"id() {{ echo 1000; }}; . '{kiln.root}/tools/setup.sh'; install_packages '{fake}'"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "sudo apt-get install no-such-package-a no-such-package-b\n" in done.stderr


@pytest.fixture
def launcher(tmp_path):
    """Runs the launcher's functions over a checkout of empty files; stdout."""
    root = tmp_path / "checkout"
    for name in ("kilnd", "kiln-worker", "_native.so", "_linalg.so", "_window.so", "python"):
        _touch(root / ".kiln" / "bin" / name)
    for name in ("WORKSPACE", ".bazelrc", "third_party/BUILD", "proto/a.proto", "common/b.h"):
        _touch(root / name)
    for name in ("runtime", "server", "client_cpp", "client_py/kiln", "window"):
        (root / name).mkdir(parents=True)
    shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("*.py"))
    text = (ROOT / "kiln").read_text()
    functions = text[text.index("\nsources() {") : text.index("\n# Sets `python`")]

    def run(script, **environment):
        script = (
            f"root='{root}'; cd \"$root\"; . tools/setup.sh\n{functions}\n"
            "install_packages() { :; }; build_binaries() { say build; }\n"
            f"choose_binaries run; {script}"
        )
        environment = {**os.environ, "KILN_HOME": str(tmp_path), "KILN_SERVER": "", **environment}
        return subprocess.run(
            ["bash", "-c", script], env=environment, capture_output=True, text=True
        )

    run.root = root
    return run


def _touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_sources_that_changed_are_built_and_nothing_else_is(launcher):
    source = launcher.root / "common" / "b.h"
    new = launcher.root / "common" / "c.h"

    def builds():
        return "kiln: build\n" in launcher("current || make_current").stderr

    def later(path):
        time = (launcher.root / ".kiln" / "stamp").stat().st_mtime + 5
        os.utime(path, (time, time))

    assert builds() and not builds()
    later(source)
    assert builds() and not builds()
    later(source.parent)  # an editor's or pytest's temporary files
    later(launcher.root / "client_py" / "kiln")
    assert not builds()
    source.rename(new)
    assert builds() and not builds()
    source.write_text("")
    os.utime(source, (0, 0))  # as `cp -p` or tar bring an old file
    assert builds() and not builds()
    source.unlink()
    assert builds() and not builds()
    _touch(launcher.root / "common" / "b_test.cc")
    _touch(launcher.root / "client_py" / "kiln" / "a.py")
    assert not builds()
    (launcher.root / ".kiln" / "bin" / "kilnd").unlink()
    assert builds()


def test_servers_are_built_for_what_uses_them(launcher, tmp_path):
    def chosen(command, **environment):
        done = launcher(f'choose_binaries {command}; echo "$binaries"', **environment)
        return {line.split()[2] for line in done.stdout.splitlines() if line}

    programs = {"kilnd", "kiln-worker", "_native.so", "_linalg.so", "_window.so"}
    everything = programs | {"kilnd-grpc", "kilnd-remote", "kilnd-web"}
    assert chosen("run") == chosen("cache") == chosen("run", KILN_SERVER="off") == programs
    assert chosen("build") == chosen("serve") == everything
    assert chosen("run", KILN_SERVER="build-server:8980") == everything
    (tmp_path / "kilnd.conf").touch()
    assert chosen("run") == everything
    (tmp_path / "kilnd.conf").unlink()
    _touch(launcher.root / ".kiln" / "bin" / "kilnd-remote")  # would grow old otherwise
    assert chosen("run") == everything


def test_the_name_of_the_python_is_there_while_a_build_replaces_it(launcher, tmp_path):
    """Other launchers may start at that moment."""
    note = launcher.root / ".kiln" / "bin" / "python"
    note.write_text("3.0 before\n")
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ncat '{note}' >&2\nexec /usr/bin/python3 \"$@\"\n")
    python.chmod(0o755)
    done = launcher("note_python", KILN_PYTHON=str(python))
    assert done.stderr == "3.0 before\n"
    assert note.read_text().split() == ["%d.%d" % sys.version_info[:2], "/usr/bin/python3"]


def test_the_launcher_works_without_home(launcher):
    """As service managers and `env -i` start it."""
    done = launcher('set -u; unset HOME KILN_HOME; choose_binaries run; echo "$binaries"')
    assert done.returncode == 0 and "kilnd" in done.stdout, done.stderr


def test_progress_is_told_in_words(launcher):
    """Bazel's lines as it prints them without a terminal."""
    lines = [
        "Starting local Bazel server and connecting to it...",
        "INFO: Analyzed 7 targets (54 packages loaded, 1315 targets configured).",
        "[212 / 243] Compiling server/worker/serve.cc; 4s linux-sandbox ... (4 actions running)",
        "INFO: From Compiling server/worker/serve.cc:",
        "server/worker/serve.cc:3:5: warning: unused variable 'x'",
        "ERROR: server/worker/BUILD:3:1: Compiling server/worker/serve.cc failed",
    ]
    done = launcher("printf '%s\\n' " + " ".join(map(shlex.quote, lines)) + " | tell_build")
    step = "building, step 212 / 243 of those known so far: Compiling server/worker/serve.cc"
    assert done.stderr.splitlines() == [f"kiln: {step}", *lines[-2:]]


def test_a_stopped_daemon_has_released_its_home(kiln, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import kiln as ti\n\nti.init()\n\n\n@ti.kernel\ndef f() -> int:\n    return 1\n\n\nf()\n"
    )
    for _ in range(5):
        kiln("run", program)
        assert (kiln.home / "kilnd.pid").exists()
        kiln("stop")
        name = hashlib.sha256(os.path.realpath(kiln.home).encode()).hexdigest()[:16]
        with open(f"/tmp/kiln-{os.geteuid()}/{name}.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while the daemon has it
        shutil.rmtree(kiln.home)
