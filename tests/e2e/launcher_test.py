"""./kiln itself: it runs from any folder and through links, quickly, and finds its commands."""

import fcntl
import hashlib
import os
import pathlib
import shutil
import statistics
import subprocess
import time


def test_checking_that_the_setup_is_current_takes_at_most_50_ms(kiln):
    kiln("build", timeout=1800)
    times = []
    for _ in range(15):
        start = time.perf_counter()
        kiln("python", "-S", "-E", "-c", "pass")
        times.append(time.perf_counter() - start)
    bare = []
    for _ in range(15):
        start = time.perf_counter()
        subprocess.run(["/usr/bin/python3", "-S", "-E", "-c", "pass"], check=True)
        bare.append(time.perf_counter() - start)
    assert statistics.median(times) - statistics.median(bare) <= 0.05


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
    done = kiln("run", "missing.py", check=False)
    assert done.returncode == 2 and done.stderr == "kiln: missing.py: No such file or directory\n"


def test_the_version_is_the_native_modules(kiln):
    code = "import kiln._native as n; print('kiln', n.version())"
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


def test_a_touched_source_is_noticed(kiln):
    """The launcher builds again if and only if a source file is newer."""
    script = pathlib.Path(kiln.root / "kiln").read_text().split("\nmake_current() {")[0]
    check = f'{script.split("self=${BASH_SOURCE[0]}")[0]}\nroot="{kiln.root}"\n'
    check += "current() {" + script.split("\ncurrent() {")[1] + "\ncurrent"

    def is_current():
        return subprocess.run(["bash", "-c", check]).returncode == 0

    kiln("build", timeout=1800)
    assert is_current()
    source = kiln.root / "common" / "wire" / "version.h"
    times = source.stat()
    try:
        os.utime(source)
        assert not is_current()
    finally:
        os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert is_current()


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
