"""Homes that another user owns or may write to: what that user put there does not become the
victim's code, configuration, keys or deletions. Each test replays an attack, with two users."""

import marshal
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

from tests.conftest import ROOT, native_folder

ATTACKER, VICTIM = 54321, 54322
OLD = time.time() - 48 * 3600
PROGRAM = """
import taichi as ti

ti.init(arch=ti.cpu)


@ti.kernel
def add(a: ti.i32) -> ti.i32:
    return a + 1


@ti.kernel
def sub(a: ti.i32) -> ti.i32:
    return a - 1000


print(add(3), sub(3))
"""
RIGHT = "4 -997\n"
REFUSED = "using only signed entries of "


class User:
    """Runs commands as one user, in an environment of that user's own."""

    def __init__(self, number, folder):
        self.number = number
        self.folder = folder
        folder.mkdir()
        folder.chmod(0o755)
        os.chown(folder, number, number)

    def __call__(self, home, *arguments, check=True, **environment):
        who = [f"--reuid={self.number}", f"--regid={self.number}", "--clear-groups"]
        done = subprocess.run(
            ["setpriv", *who, ROOT / "kiln", *map(str, arguments)],
            env={
                "HOME": str(self.folder),
                "KILN_HOME": str(home),
                "PATH": os.environ["PATH"],
                "PYTHONDONTWRITEBYTECODE": "1",
                **environment,
            },
            cwd="/",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    def give(self, path):
        """Makes all below `path` this user's."""
        for below in [path, *path.rglob("*")]:
            os.chown(below, self.number, self.number, follow_symlinks=False)


def show(folder):
    """Makes a folder's files readable by everybody."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)


class Scene:
    def __init__(self, folder):
        self.attacker = User(ATTACKER, folder / "attacker")
        self.victim = User(VICTIM, folder / "victim")
        self.home = folder / "attacker" / "home"  # that the victim is talked into
        self.program = folder / "app.py"
        self.program.write_text(PROGRAM)

    def make_home(self, mode=0o755):
        """A home of the attacker's, in which the program has run."""
        self.attacker(self.home, "run", "-q", self.program)
        self.attacker(self.home, "stop")
        show(self.home)
        self.home.chmod(mode)

    def set(self, path, text, mode=0o644):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        self.attacker.give(path)

    def documents(self, *names):
        """Old files of the victim's."""
        folder = self.victim.folder / "documents"
        folder.mkdir()
        for name in names:
            (folder / name).write_text("precious")
            os.utime(folder / name, (OLD, OLD))
        self.victim.give(folder)
        return folder

    def run(self, home=None, **options):
        """The victim runs the program; what it said on standard error."""
        done = self.victim(home or self.home, "run", self.program, **options)
        assert not done.returncode and done.stdout == RIGHT, done
        return done.stderr

    def files(self):
        """What there is in the attacker's home."""
        return {
            str(path): (path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in self.home.rglob("*")
            if not path.is_dir()
        }


@pytest.fixture
def scene():
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    native_folder()  # so that the launcher has nothing to build
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o755)
        scene = Scene(folder)
        if scene.victim(folder / "none", "version", check=False).returncode == 126:
            pytest.skip("other users cannot read this checkout")
        yield scene
        for home in [scene.home, *scene.victim.folder.iterdir()]:
            scene.victim(home, "stop", check=False)
            scene.attacker(home, "stop", check=False)
        for user in (ATTACKER, VICTIM):
            for left in pathlib.Path("/tmp").glob(f"kiln-{user}*"):
                shutil.rmtree(left)


def test_a_foreign_home_does_not_say_whose_signatures_count(scene):
    public = scene.attacker(scene.home, "key", "new", "evil", scene.attacker.folder / "secret")
    conf = f'trust {{ signing_key_file: "{scene.attacker.folder}/secret" }}'
    scene.home.mkdir()
    scene.attacker.give(scene.home)
    scene.set(scene.home / "kilnd.conf", conf)
    scene.make_home(0o777)
    scene.set(scene.home / "trusted.keys", public.stdout)
    for environment in ({}, {"KILN_REQUIRE_SIGNED": "1"}, {"KILN_CACHE": "read-only"}):
        said = scene.run(**environment)
        assert "hits 0" in said and "misses 2" in said, said
        assert f"{REFUSED}{scene.home}" in said
        assert f"{scene.home} belongs to user {ATTACKER}" in said
        assert "which is not trusted here" in said
        assert said.count("KILN_HOME") == 1
    # The victim may trust that key, but has to say so outside.
    scene.victim(scene.home, "key", "trust", public.stdout.strip())
    assert (scene.victim.folder / ".config/kiln/trusted.keys").read_text() == public.stdout
    assert "hits 2" in scene.run()
    # A list that others can write to is ignored, wherever it is.
    (scene.victim.folder / ".config/kiln/trusted.keys").chmod(0o666)
    said = scene.run()
    assert "hits 0" in said and "trusted.keys (mode 0666): make it yours alone" in said, said


def test_no_daemon_serves_a_foreign_home(scene):
    scene.make_home(0o777)
    before = scene.files()
    scene.run()
    assert scene.files() == before
    # Nor is one started by hand.
    done = scene.victim(scene.home, "serve", check=False)
    assert done.returncode == 2
    assert done.stderr == (
        f"kilnd: {scene.home} belongs to user {ATTACKER}: make it yours alone (chown, chmod go-w), "
        "or set KILN_HOME to a directory of your own\n"
    )
    strict = scene.victim(scene.home, "run", scene.program, check=False, KILN_STRICT="1")
    assert strict.returncode == 1 and f"{scene.home} belongs to user {ATTACKER}" in strict.stderr


def test_nothing_is_deleted_through_a_foreign_home(scene):
    names = ("letter.txt", "0123456789abcdef.0123456789abcdef.7")
    documents = scene.documents(*names)
    (scene.home / "cache").mkdir(parents=True)
    (scene.home / "cache" / "tmp").symlink_to(documents)
    (scene.home / "warm").symlink_to(documents)
    scene.attacker.give(scene.home)
    scene.home.chmod(0o777)
    scene.run()
    for command in (["cache", "clear", "-y"], ["cache", "prune", "--max-size", "0"]):
        done = scene.victim(scene.home, *command, check=False)
        assert done.returncode == 1 and "nothing is changed: " in done.stderr, done
    assert sorted(os.listdir(documents)) == sorted(names)


def test_nothing_is_appended_through_a_foreign_home(scene):
    keys = scene.documents("authorized_keys") / "authorized_keys"
    scene.make_home(0o777)
    (scene.home / "hits.log").unlink(missing_ok=True)
    for name in ("hits.log", "kilnd.log", "stats", "kilnd.pid"):
        (scene.home / name).unlink(missing_ok=True)
        (scene.home / name).symlink_to(keys)
    scene.run()
    scene.run()
    assert keys.read_text() == "precious"


def test_a_foreign_home_configures_no_daemon(scene):
    scene.home.mkdir()
    scene.attacker.give(scene.home)
    target = scene.victim.folder / ".bashrc"
    scene.set(
        scene.home / "kilnd.conf", f'log {{ file: "{target}" }} workers {{ unconfined: true }}'
    )
    scene.home.chmod(0o777)
    assert REFUSED in scene.run()
    assert not target.exists()


def test_a_configuration_that_others_can_write_to_is_refused(scene):
    home = scene.victim.folder / "own"
    scene.run(home)
    scene.victim(home, "stop")
    home.chmod(0o755)
    scene.set(home / "kilnd.conf", "")
    said = scene.run(home.parent / "own")
    assert "misses" in said  # by its own records, or compiled: as without the file
    done = scene.victim(home, "serve", check=False)
    assert done.returncode == 2
    assert f"{home}/kilnd.conf belongs to user {ATTACKER}: make it yours" in done.stderr


def test_warm_records_of_a_foreign_home_do_not_choose_the_code(scene):
    secret = scene.victim.folder / "secret"
    keys = scene.victim.folder / "keys"
    keys.write_text(scene.victim(scene.home, "key", "new", "good", secret).stdout)
    scene.victim.give(keys)
    # The entries there are signed by a key that the victim trusts.
    conf = scene.victim.folder / "kilnd.conf"
    conf.write_text(f'trust {{ signing_key_file: "{secret}" }}')
    scene.victim.give(conf)
    own = scene.victim.folder / "own"
    own.mkdir(mode=0o700)
    scene.victim.give(own)
    shutil.copy(conf, own / "kilnd.conf")
    scene.victim.give(own)
    scene.run(own)
    scene.victim(own, "stop")
    shutil.copytree(own, scene.home)
    swap_artifacts(scene.home / "warm")
    scene.attacker.give(scene.home)
    show(scene.home)
    for environment in ({}, {"KILN_REQUIRE_SIGNED": "1"}, {"KILN_CACHE": "read-only"}):
        said = scene.run(KILN_TRUSTED_KEYS=str(keys), **environment)
        assert "hits 2" in said, said  # the signed entries serve


def swap_artifacts(folder):
    """Has each of two kernels' records name the other's code."""
    import hashlib

    magic = b"kiln warm records 4\n"
    files = [
        path for path in folder.rglob("*") if path.is_file() and path.read_bytes().startswith(magic)
    ]
    assert len(files) == 2
    found = [marshal.loads(path.read_bytes()[len(magic) + 32 :]) for path in files]
    first, second = (records[0] for records in found)
    first["artifact"], second["artifact"] = second["artifact"], first["artifact"]
    for path, records in zip(files, found):
        body = marshal.dumps(records)
        path.write_bytes(magic + hashlib.sha256(body).digest() + body)


def test_an_own_home_that_others_can_exchange_is_foreign(scene):
    home = scene.attacker.folder / "lent"
    home.mkdir(mode=0o700)
    scene.victim.give(home)
    said = scene.run(home)
    assert f"{scene.attacker.folder} belongs to user {ATTACKER}, who can exchange {home}" in said
    assert os.listdir(home) == []


def test_a_shared_cache_below_an_own_home_gives_signed_entries_only(scene):
    scene.make_home()
    own = scene.victim.folder / "own"
    own.mkdir(mode=0o700)
    (own / "cache").symlink_to(scene.home / "cache")
    scene.victim.give(own)
    before = scene.files()
    said = scene.run(own)
    assert "misses 2" in said and f"{REFUSED}{own}" in said
    assert f"{own}/cache belongs to user {ATTACKER}: " in said
    assert scene.files() == before


def test_a_socket_folder_of_another_user_prevents_no_daemon(scene):
    taken = pathlib.Path(f"/tmp/kiln-{VICTIM}")
    taken.mkdir(mode=0o777)
    scene.attacker.give(taken)
    own = scene.victim.folder / "own"
    said = scene.run(own, KILN_STRICT="1")
    assert "without a daemon" not in said
    pid = (own / "kilnd.pid").read_text()
    assert "serves" in scene.victim(own, "doctor", check=False).stdout
    # Other programs of this user find the same directory, also after an attacker saw its name.
    scene.run(own, KILN_STRICT="1", KILN_WARM="off")
    assert (own / "kilnd.pid").read_text() == pid
    scene.victim(own, "stop")
    noted = pathlib.Path((own / "socket-directory").read_text())
    shutil.rmtree(noted)
    noted.mkdir(mode=0o777)
    scene.attacker.give(noted)
    scene.victim(own, "cache", "clear", "-y")
    assert "without a daemon" not in scene.run(own, KILN_STRICT="1")
    assert list(noted.iterdir()) == []


def test_the_check_of_owners_can_be_disabled(scene):
    scene.home.mkdir(parents=True)
    scene.home.chmod(0o777)
    said = scene.run(KILN_OWNER_CHECK="off")
    assert REFUSED not in said and "without a daemon" not in said
    assert "hits 2" in scene.run(KILN_OWNER_CHECK="off")
