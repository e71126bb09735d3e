"""`kiln` commands with a daemon of another protocol: they report it, or work without a daemon."""

import contextlib
import hashlib
import os
import pathlib
import socket
import struct
import threading

import pytest

_HEADER = struct.Struct("<4sIII")
_ERROR, _HELLO = 1, 2
_FAILED_PRECONDITION, _UNIMPLEMENTED = 9, 12


def _field(number, value):
    """A field of a protobuf message whose texts are short."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


def _refusal(code, text):
    return _field(1, code) + _field(2, text.encode()) + _field(4, b"protocol")


class _OtherDaemon:
    """Refuses greetings by name, and does not know the other messages.

    `hangs_up`: at what it does not know, as the first daemons did.
    """

    def __init__(self, home, build, hangs_up):
        self.refusal = f"kilnd {build} does not speak with this Kiln"
        self.hangs_up = hangs_up
        folder = pathlib.Path(f"/tmp/kiln-{os.getuid()}")
        folder.mkdir(mode=0o700, exist_ok=True)
        name = hashlib.sha256(os.path.realpath(home).encode()).hexdigest()[:16]
        self.path = folder / f"{name}.sock"
        self.path.unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(self.path))
        self.path.chmod(0o600)
        self.socket.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.socket.close()
        self.path.unlink(missing_ok=True)

    def _accept(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer):
        # A client that hangs up is gone.
        with peer, contextlib.suppress(ConnectionError):
            while header := peer.recv(_HEADER.size, socket.MSG_WAITALL):
                magic, kind, length, number = _HEADER.unpack(header)
                peer.recv(length, socket.MSG_WAITALL) if length else b""
                if kind != _HELLO and self.hangs_up:
                    return
                code = _FAILED_PRECONDITION if kind == _HELLO else _UNIMPLEMENTED
                body = _refusal(code, self.refusal)
                peer.sendall(_HEADER.pack(magic, _ERROR, len(body), number) + body)


@pytest.fixture(params=[("9.9", False), ("0.0.1", True)], ids=["newer", "older"])
def daemon(request, kiln):
    kiln.home.mkdir()
    daemon = _OtherDaemon(kiln.home, *request.param)
    yield daemon
    daemon.close()


_COMMANDS = [
    ["stop"],
    ["top", "--once"],
    ["top", "--once", "--json"],
    ["doctor"],
    ["doctor", "--json"],
    ["cache", "stats"],
    ["cache", "list"],
    ["cache", "show", "fill"],
    ["cache", "explain", "fill"],
    ["cache", "verify"],
    ["cache", "prune", "--max-size", "1G"],
    ["cache", "clear"],
    ["cache", "path"],
    ["warm", "PROGRAM"],
    ["ir", "fill", "PROGRAM"],
]


@pytest.mark.parametrize("words", _COMMANDS, ids=" ".join)
def test_a_command_beside_another_version(kiln, daemon, program, words):
    words = [str(program) if word == "PROGRAM" else word for word in words]
    done = kiln(*words, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1), done.stderr
    # Commands that need the daemon report it; the others work without.
    if words[0] in ("stop", "top"):
        assert done.returncode == 1
        assert daemon.refusal in done.stderr


def test_a_program_beside_another_version(kiln, daemon, program):
    strict = kiln("run", program, check=False, env={"KILN_STRICT": "1"})
    assert strict.returncode == 1 and daemon.refusal in strict.stderr
    done = kiln("run", program)
    assert daemon.refusal in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == "56.0\n"
