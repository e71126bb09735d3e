"""Which users may connect to the daemon, and the rights of its workers; with the real compiler."""

import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import time

import pytest

from tests.conftest import ROOT

PROGRAM = """
import taichi as ti
ti.init()
x = ti.field(ti.f32, shape=8)
@ti.kernel
def fill():
    for i in x:
        x[i] = ti.sin(i * 0.5)  # of libm: the linker reads it
fill()
print(x[0], "done")
"""


def start(kiln, tmp_path, **environment):
    """Compiles a program through a new daemon; returns the daemon's process id."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    assert "done" in kiln("run", program, env=environment).stdout
    return int((kiln.home / "kilnd.pid").read_text())


def children(pid):
    """The processes that threads of `pid` started."""
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def field(pid, name):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return re.search(rf"^{name}:\s*(.*)$", text, re.M).group(1)


def hello(path):
    """The reply to a greeting; b"" if the daemon closes the connection."""
    body = b"\x08\x02\x18\x02\x12\x01x"  # protocol 2, oldest 2, build "x"
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(path))
        try:
            client.sendall(struct.pack("<4sIII", b"KLNF", 2, len(body), 7) + body)
            return client.recv(16)
        except (BrokenPipeError, ConnectionResetError):
            return b""


def as_nobody(act):
    """The result of `act` in a process of another user."""
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            answer = act()
        except OSError as error:
            answer = type(error).__name__.encode()
        os.write(ends[1], answer or b"nothing")
        os._exit(0)
    os.waitpid(pid, 0)
    answer = os.read(ends[0], 100)
    for end in ends:
        os.close(end)
    return answer


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_other_users_are_refused(kiln, tmp_path):
    start(kiln, tmp_path)
    path = pathlib.Path(
        re.search(r"serves .* on (\S+\.sock)", (kiln.home / "kilnd.log").read_text()).group(1)
    )
    assert hello(path)[:4] == b"KLNF"
    assert as_nobody(lambda: hello(path)) == b"PermissionError", "the socket's folder is ours"
    folder_mode = path.parent.stat().st_mode
    try:  # otherwise the daemon asks for its identity
        path.parent.chmod(0o755)
        path.chmod(0o666)
        answer = as_nobody(lambda: hello(path))
        assert answer == b"nothing" or struct.unpack("<I", answer[4:8])[0] == 1, answer
    finally:
        path.parent.chmod(folder_mode & 0o777)
        path.chmod(0o600)
    assert hello(path)[:4] == b"KLNF"


def ask_dashboard(port, secret, before=None):
    """The status of a request for the dashboard's data; `before` gets its socket first."""
    with socket.socket() as client:
        client.settimeout(10)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if before:
            before(client)
        client.connect(("127.0.0.1", port))
        headers = f"Host: 127.0.0.1:{port}\r\nX-Kiln: {secret}\r\n"
        client.sendall(f"GET /api/overview HTTP/1.0\r\n{headers}\r\n".encode())
        return client.recv(12)[9:]


def leave_time_wait(port):
    """Binds a socket to an address from which a connection to `port` of another of this machine's
    addresses has just ended: in the system's table that is a row without a process, of root."""

    def bind(client):
        with socket.create_server(("127.0.0.2", port)) as server, socket.socket() as twin:
            twin.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            twin.bind(("127.0.0.1", 0))
            twin.connect(("127.0.0.2", port))
            accepted, address = server.accept()
            twin.shutdown(socket.SHUT_RDWR)  # the side that closes first gets TIME_WAIT
            accepted.recv(1)
            accepted.close()
        client.bind(address)

    return bind


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_other_users_cannot_open_the_dashboard_even_with_its_secret(kiln, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kiln.home.mkdir(mode=0o700)
    (kiln.home / "kilnd.conf").write_text(f'web {{ listen: "127.0.0.1:{port}" }}')
    start(kiln, tmp_path)
    deadline = time.monotonic() + 20
    address = ""
    while not address and time.monotonic() < deadline:  # kilnd-web starts after kilnd
        address = json.loads(kiln("top", "--json", "--once").stdout)["dashboard"]
    secret = address.partition("#")[2]
    assert ask_dashboard(port, secret) == b"200"
    assert as_nobody(lambda: ask_dashboard(port, secret)) == b"404"
    assert as_nobody(lambda: ask_dashboard(port, secret, leave_time_wait(port))) == b"404"


def test_workers_have_dropped_unneeded_rights(kiln, tmp_path):
    daemon = start(kiln, tmp_path)
    deadline = time.monotonic() + 20
    found = []
    while not found and time.monotonic() < deadline:  # a worker starts, then confines itself
        found = [pid for pid in children(daemon) if field(pid, "Seccomp") == "2"]
        time.sleep(0.05)
    assert found
    for pid in found:
        assert field(pid, "NoNewPrivs") == "1"
        for capabilities in ("CapEff", "CapPrm", "CapInh"):
            assert int(field(pid, capabilities), 16) == 0
        assert set(field(pid, "Uid").split()) != {"0"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lose capabilities")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_the_log_reports_workers_that_are_still_root(kiln):
    """Simulates a container that drops all capabilities."""
    binaries = ROOT / ".kiln" / "bin"
    kiln("python", "-c", "pass")  # builds
    kiln.home.mkdir(mode=0o700)
    words = ["setpriv", "--bounding-set=-setuid,-setgid", binaries / "kilnd", "--daemonize"]
    subprocess.run([*words, f"--home={kiln.home}", f"--bin={binaries}"], check=True, timeout=60)
    deadline = time.monotonic() + 20
    path, log = kiln.home / "kilnd.log", ""
    while "less than" not in log and time.monotonic() < deadline:
        time.sleep(0.05)
        log = path.read_text() if path.exists() else ""  # the first line makes it
    assert log.count("workers are confined less than they should be: still root") == 1


def test_with_too_few_descriptors_for_a_daemon_programs_compile_by_themselves(kiln, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    kiln("python", "-c", "pass")  # builds
    few = ["prlimit", "--nofile=12:12", "--", ROOT / "kiln"]
    done = subprocess.run(
        [*few, "run", program], capture_output=True, text=True, timeout=120, env=kiln.environment
    )
    assert "done" in done.stdout, done.stderr
    assert "only 12 files may be open at once (ulimit -n)" in done.stderr


def test_a_private_worker_is_confined_too(kiln, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        PROGRAM
        + """
import os, pathlib
for status in pathlib.Path("/proc").glob("[0-9]*/status"):
    fields = dict(line.split(":\\t", 1) for line in status.read_text().splitlines())
    if fields["Name"] == "kiln-worker" and fields["PPid"] == str(os.getpid()):
        print("seccomp", fields["Seccomp"])
"""
    )
    output = kiln("run", program, env={"KILN_SERVER": "off"}).stdout
    assert "done" in output
    assert "seccomp 2" in output


def test_strict_fails_with_the_reason(kiln, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    done = kiln(
        "run", program, check=False, env={"KILN_STRICT": "1", "KILN_HOME": str(blocked / "home")}
    )
    assert done.returncode != 0
    assert "KILN_STRICT" in done.stderr
    assert "ConnectionError" in done.stderr
    done = kiln("run", program, env={"KILN_HOME": str(blocked / "home")})
    assert "done" in done.stdout
    assert done.stderr.count("compiling without a daemon for now") <= 1
