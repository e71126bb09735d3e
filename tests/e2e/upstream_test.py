"""KILN_SERVER=HOST:PORT: programs of one home use a `kiln serve` of another home, set up as in
docs/operations.md. The tests count compilations in both homes."""

import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from tests.conftest import ROOT, Kiln, native_folder, other_build_id

PROGRAM = """
import taichi as ti

ti.init(arch=ti.{arch})
x = ti.field(ti.f32, shape=8)

@ti.kernel
def fill(a: ti.f32):
    for i in x:
        x[i] = a * i + {constant}

fill(2.0)
print(x[3])
"""
SAID = "compiling without it for now"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def documented_blocks():
    """The blocks of code of the section of the documentation, in order."""
    text = (ROOT / "docs/operations.md").read_text()
    section = text.split("### A kilnd that others ask\n")[1].split("\n### ")[0]
    return re.findall(r"```\n(.*?)```", section, re.S)


class Setting:
    """The two machines: both share one folder with the documentation's /etc/kiln."""

    def __init__(self, folder):
        self.port = free_port()
        self.etc = folder / "etc"
        self.etc.mkdir()
        self.builder = Kiln(folder / "builder")
        self.user = Kiln(folder / "user home")
        self.program = folder / "app.py"
        self.constants = 0
        self.server = None

    def here(self, text):
        """A block of the documentation with this machine's paths and addresses."""
        text = text.replace("/etc/kiln/", f"{self.etc}/")
        return re.sub(r"(0\.0\.0\.0|kiln\.example):4711", f"127.0.0.1:{self.port}", text)

    def configure(self, kiln, text):
        kiln.home.mkdir(mode=0o700, exist_ok=True)
        (kiln.home / "kilnd.conf").write_text(text)

    def serve(self, *flags):
        self.server = subprocess.Popen(
            [ROOT / "kiln", "serve", *flags],
            env=self.builder.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        give_up = time.monotonic() + 30
        while time.monotonic() < give_up:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("the upstream does not listen")

    def run(self, check=True, fresh=True, arch="cpu", **environment):
        """Runs a program that was never compiled; returns its output."""
        self.constants += fresh
        self.program.write_text(PROGRAM.format(constant=self.constants, arch=arch))
        environment = {"KILN_SERVER": f"127.0.0.1:{self.port}", **environment}
        done = self.user("run", "-q", self.program, env=environment, check=check)
        if check:
            assert done.stdout == f"{6 + self.constants:.1f}\n"
        return done

    def compiled(self):
        """The numbers of compilations (at the upstream, at the user's)."""
        return tuple(kiln.stats()["compiles"] for kiln in (self.builder, self.user))

    def log(self):
        return (self.user.home / "kilnd.log").read_text()

    def end(self):
        if self.server is not None and self.server.poll() is None:
            self.server.send_signal(signal.SIGCONT)
            self.server.terminate()
            self.server.wait(30)
        self.user("stop", check=False)


@pytest.fixture
def setting(tmp_path):
    setting = Setting(tmp_path)
    yield setting
    setting.end()


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def issue(folder, name, days=2):
    """A certificate NAME.crt with its key, for this machine, by the authority ca.crt."""
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    key = folder / f"{name}.key"
    if name == "ca":
        openssl("req", "-x509", *new_key, "-keyout", key, "-out", folder / "ca.crt",
                "-days", days, "-subj", "/CN=authority")  # fmt: skip
        return
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("req", *new_key, "-keyout", key, "-out", folder / "csr", "-subj", f"/CN={name}")
    openssl("x509", "-req", "-in", folder / "csr", "-CA", folder / "ca.crt", "-CAkey",
            folder / "ca.key", "-CAcreateserial", "-days", days, "-out", folder / f"{name}.crt",
            "-extfile", folder / "names")  # fmt: skip


@pytest.fixture
def secured(setting):
    """The documented set-up: TLS, the caller's certificate and token, signed entries."""
    for name in ("ca", "tls", "host"):
        issue(setting.etc, name)
    token = setting.etc / "token"
    token.write_text("k7Vn2cZq81mw55tTyX\n")
    tokens = setting.etc / "tokens"
    tokens.write_text(f"{token.read_text().strip()} machines - read,compile\n")
    for file in (token, tokens):
        file.chmod(0o600)
    make_key, service, tier, environment = documented_blocks()
    run_lines(setting, setting.builder, make_key)
    setting.configure(setting.builder, setting.here(service))
    setting.tier = setting.here(tier)
    trust, *exports = setting.here(environment).splitlines()
    run_lines(setting, setting.user, trust)
    setting.exports = dict(line.removeprefix("export ").split("=", 1) for line in exports)
    setting.serve()
    return setting


def run_lines(setting, kiln, text):
    """Runs shell lines of the documentation as the owner of a home."""
    path = f"{ROOT}:{os.environ['PATH']}"
    environment = {**kiln.environment, "PATH": path}
    subprocess.run(["sh", "-ec", setting.here(text)], env=environment, check=True)


def plain(setting):
    """An upstream on loopback, without TLS, whose signature the user trusts."""
    run_lines(setting, setting.builder, documented_blocks()[0])
    key = setting.etc / "signing.key"
    setting.configure(setting.builder, f'trust {{ signing_key_file: "{key}" }}')
    setting.user("key", "trust", (setting.etc / "trusted.keys").read_text().strip())
    setting.serve(f"--listen=127.0.0.1:{setting.port}")


# --- it compiles


def test_plain_on_this_machine(setting):
    plain(setting)
    done = setting.run()
    assert setting.compiled() == (1, 0) and done.stderr == ""
    # The entry is now in this home, so the upstream is not needed.
    setting.server.terminate()
    setting.server.wait(30)
    assert setting.run(fresh=False, KILN_STRICT="1").stderr == ""
    assert setting.compiled() == (1, 0)


def test_entries_that_others_compiled_are_found_by_key(setting, tmp_path):
    plain(setting)
    setting.run()
    first, setting.user = setting.user, Kiln(tmp_path / "another home")
    setting.user("key", "trust", (setting.etc / "trusted.keys").read_text().strip())
    assert setting.run(fresh=False).stderr == ""
    assert setting.compiled() == (1, 0)
    first("stop", check=False)


def test_tls_token_and_certificate_by_the_environment(secured):
    assert secured.run(**secured.exports).stderr == ""
    assert secured.compiled() == (1, 0)


def test_tls_token_and_certificate_by_the_configuration(secured):
    secured.configure(secured.user, secured.tier)
    assert secured.run(KILN_SERVER="").stderr == ""
    # A program that names the configured upstream needs no other settings.
    assert secured.run(KILN_STRICT="1").stderr == ""
    assert secured.compiled() == (2, 0)


# Only the compiler can detect how much room the matrices take. The mistake is two calls deep.
MISTAKE = """
import taichi as ti

ti.init(arch=ti.cpu)
M = ti.types.matrix(256, 256, ti.f64)


@ti.func
def product(m):
    n = m @ m
    return n


@ti.func
def power(m):
    for _ in ti.static(range(12)):
        m = product(m)
    return m


@ti.kernel
def fill() -> ti.f64:
    return power(M(1.0)).sum()


fill()
"""


def test_diagnostics_come_back_with_their_positions(setting):
    plain(setting)
    setting.program.write_text(MISTAKE)
    texts = []
    for server in (f"127.0.0.1:{setting.port}", "off"):
        environment = {"KILN_SERVER": server, "KILN_STRICT": "1"}
        done = setting.user("run", "-q", setting.program, env=environment, check=False)
        assert done.returncode == 1
        texts.append(done.stderr)
    assert texts[0] == texts[1]
    for line, text in ((23, "fill"), (17, "power"), (10, "product")):
        assert f'File "{setting.program}", line {line}, in {text}:' in texts[0]
    assert "^^^^" in texts[0] and "more than 4 MiB of matrices" in texts[0]


# --- it does not


def expect_fallback(setting, *words, **environment):
    """The program ends well, compiled here, and says once why; strictly, it fails with that."""
    before = setting.compiled()[1]
    done = setting.run(**environment)
    assert setting.compiled()[1] == before + 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"kiln: KILN_SERVER=127.0.0.1:{setting.port}: ") and SAID in line
    strict = setting.run(check=False, KILN_STRICT="1", **environment)
    assert strict.returncode == 1 and "KILN_STRICT" in strict.stderr
    assert "ConnectionError" in strict.stderr
    assert setting.compiled()[1] == before + 1
    for said in (line, strict.stderr):
        for word in words:
            assert word in said, said


def test_down(setting):
    setting.user.home.mkdir(mode=0o700)
    expect_fallback(setting, "onnect")


def test_a_wrong_token(secured):
    wrong = secured.etc / "wrong"
    wrong.write_text("abcdefghijklmnop\n")
    wrong.chmod(0o600)
    expect_fallback(secured, "token", **{**secured.exports, "KILN_SERVER_TOKEN_FILE": str(wrong)})


def test_a_token_file_that_is_missing(secured):
    gone = str(secured.etc / "gone")
    expect_fallback(secured, gone, **{**secured.exports, "KILN_SERVER_TOKEN_FILE": gone})


def test_the_servers_certificate_has_expired(secured):
    issue(secured.etc, "tls", days=-1)
    time.sleep(3)  # read again within two seconds
    expect_fallback(secured, "certificate has expired", **secured.exports)


def test_the_callers_certificate_has_expired(secured):
    issue(secured.etc, "host", days=-1)
    expect_fallback(secured, "certificate", "expired", **secured.exports)


def test_an_unknown_authority(secured, tmp_path):
    issue(tmp_path, "ca")
    other = str(tmp_path / "ca.crt")
    expect_fallback(secured, "certificate", **{**secured.exports, "KILN_SERVER_CA": other})


def test_unsigned_entries(setting):
    setting.builder.home.mkdir(mode=0o700)
    setting.serve(f"--listen=127.0.0.1:{setting.port}")
    expect_fallback(setting, "sign")


def test_keys_that_the_environment_names(setting):
    """The daemon trusts its program's keys, even if it was already running."""
    plain(setting)
    keys = setting.etc / "keys of the program"
    (setting.user.home / "trusted.keys").rename(keys)
    setting.user("run", "-q", "/dev/null")
    setting.run(KILN_SERVER="")
    assert setting.compiled() == (0, 1)
    # That daemon was started without them.
    assert setting.run(KILN_TRUSTED_KEYS=str(keys)).stderr == ""
    setting.user("cache", "clear", "-y")
    assert setting.run(fresh=False, KILN_TRUSTED_KEYS=str(keys)).stderr == ""
    assert setting.compiled() == (1, 1)
    setting.user("stop")
    assert setting.run(KILN_TRUSTED_KEYS=str(keys), KILN_STRICT="1").stderr == ""
    assert setting.compiled() == (2, 1)


def test_a_key_that_is_not_trusted(setting):
    plain(setting)
    (setting.user.home / "trusted.keys").unlink()
    done = setting.run()
    assert done.stderr.count("\n") == 1 and SAID in done.stderr
    assert "which is not trusted here" in done.stderr
    assert "kiln key trust" in done.stderr
    strict = setting.run(check=False, KILN_STRICT="1")
    assert strict.returncode == 1 and "kiln key trust" in strict.stderr


def test_stopped(setting):
    plain(setting)
    setting.run()
    os.kill(setting.server.pid, signal.SIGSTOP)
    start = time.monotonic()
    expect_fallback(setting, f"127.0.0.1:{setting.port}")
    assert time.monotonic() - start < 20  # two programs, on a busy machine


def test_another_compiler(setting, tmp_path):
    """The upstream's worker has the same code but another build id."""
    worker = tmp_path / "kiln-worker"
    worker.write_bytes(other_build_id((native_folder() / "kiln-worker").read_bytes()))
    worker.chmod(0o755)
    setting.builder.home.mkdir(mode=0o700)
    setting.serve(f"--listen=127.0.0.1:{setting.port}", f"--worker={worker}")
    expect_fallback(setting, "differs in compiler")


def test_another_cuda_toolkit(setting, tmp_path):
    """Kernels for CUDA depend on the compiling machine's toolkit; those for CPUs do not."""
    subprocess.run([ROOT / "kiln", "build", "emulator"], check=True, capture_output=True)
    toolkits = [tmp_path / "one", tmp_path / "other"]
    for folder in toolkits:
        libdevice = folder / "nvvm" / "libdevice" / "libdevice.10.bc"
        libdevice.parent.mkdir(parents=True)
        libdevice.write_text(f"not of NVIDIA, but of {folder.name}")
    setting.builder.environment["KILN_CUDA_TOOLKIT"] = str(toolkits[0])
    plain(setting)
    on_cuda = {"arch": "cuda", "KILN_CUDA_DRIVER": "emulator"}
    same = {**on_cuda, "KILN_CUDA_TOOLKIT": str(toolkits[0])}
    assert setting.run(**same).stderr == ""
    assert setting.compiled() == (1, 0)
    setting.user("stop")
    other = {**on_cuda, "KILN_CUDA_TOOLKIT": str(toolkits[1])}
    expect_fallback(setting, "differs in NVIDIA's toolkit", **other)
    assert setting.compiled() == (2, 1)  # once in vain
    assert setting.run(KILN_CUDA_TOOLKIT=str(toolkits[1])).stderr == ""
    assert setting.compiled() == (3, 1)


# --- kiln doctor


def servers_of(setting, **environment):
    """`kiln doctor`'s finding about the servers: verdict and text."""
    done = setting.user("doctor", "--json", check=False, env=environment)
    (row,) = [r for r in json.loads(done.stdout)["findings"] if r["check"] == "servers"]
    return row["verdict"], row["text"]


def test_doctor_finds_it_well(secured):
    assert servers_of(secured, **secured.exports) == ("good", "KILN_SERVER answered")
    secured.configure(secured.user, secured.tier)
    assert servers_of(secured) == ("good", "upstream answered")
    # If the variable and the configuration name the same server, the configuration's settings
    # count.
    named = secured.exports["KILN_SERVER"]
    assert servers_of(secured, KILN_SERVER=named) == ("good", "upstream answered")


def test_doctor_says_what_is_wrong_with_it(secured, tmp_path):
    wrong = secured.etc / "wrong"
    wrong.write_text("abcdefghijklmnop\n")
    wrong.chmod(0o600)
    issue(tmp_path, "ca")
    named = secured.exports
    for changed, words in (
        ({"KILN_SERVER": f"127.0.0.1:{free_port()}"}, "refused"),
        ({"KILN_SERVER_TOKEN_FILE": str(wrong)}, "token"),
        ({"KILN_SERVER_CA": str(tmp_path / "ca.crt")}, "certificate"),
        ({"KILN_SERVER_CA": str(tmp_path / "gone")}, "gone"),
    ):
        verdict, text = servers_of(secured, **{**named, **changed})
        assert verdict == "bad" and words in text and text.startswith("KILN_SERVER: "), text
    # A token with the right to read only.
    tokens = secured.etc / "tokens"
    tokens.write_text(tokens.read_text().replace("read,compile", "read"))
    time.sleep(3)  # read again within two seconds
    verdict, text = servers_of(secured, **named)
    assert verdict == "note" and "right to compile" in text
    # Without its key, entries of the upstream would be refused.
    (secured.user.home / "trusted.keys").unlink()
    verdict, text = servers_of(secured, **named)
    assert verdict == "bad" and "no key is trusted" in text


def test_contradictory_settings(setting):
    done = setting.run(check=False, KILN_SERVER_CERTIFICATE="/x")
    assert done.returncode != 0 and "KILN_SERVER_KEY belong together" in done.stderr
    done = setting.run(check=False, KILN_SERVER="nonsense")
    assert done.returncode != 0 and "HOST:PORT" in done.stderr
