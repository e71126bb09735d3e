"""The command line: options, help, the JSON output of every command, exit statuses."""

import json
import os
import subprocess

import pytest
from kiln.cli import COMMANDS
from kiln.commands.options import BadOption, HelpWanted, parse, seconds, size

# --- options

DEFAULTS = {"--quiet": False, "--cpu": [], "--output": "", "--max-size": ""}
SHORT = {"-q": "--quiet", "-o": "--output"}


@pytest.mark.parametrize(
    "line, changed, rest",
    [
        ("", {}, []),
        ("a --quiet b", {"quiet": True}, ["a", "b"]),
        ("-q", {"quiet": True}, []),
        ("--cpu v2,v3 --cpu=v4", {"cpu": ["v2", "v3", "v4"]}, []),
        ("--output f --output=g", {"output": "g"}, []),
        ("-o f", {"output": "f"}, []),
        ("-of", {"output": "f"}, []),
        ("--output=--quiet", {"output": "--quiet"}, []),
        ("--output -", {"output": "-"}, []),
        ("--max-size=1=2", {"max_size": "1=2"}, []),
        ("-q -- --quiet -h", {"quiet": True}, ["--quiet", "-h"]),
        ("- -q", {"quiet": True}, ["-"]),
    ],
)
def test_options_are_read(line, changed, rest):
    empty = {"quiet": False, "cpu": [], "output": "", "max_size": ""}
    assert parse(line.split(), DEFAULTS, SHORT) == ({**empty, **changed}, rest)


@pytest.mark.parametrize(
    "line, text",
    [
        ("--outptu f", "no option '--outptu'. Did you mean '--output'?"),
        ("-x", "no option '-x'."),
        ("--quiet=1", "--quiet takes no value, got '1'"),
        ("--quiet=", "--quiet takes no value, got ''"),
        ("--output", "--output needs a value"),
        ("--output= f", "--output needs a value"),
        ("--output --quiet", "--output needs a value"),
        ("-o", "--output needs a value"),
    ],
)
def test_wrong_options_are_named(line, text):
    with pytest.raises(BadOption) as raised:
        parse(line.split(), DEFAULTS, SHORT)
    assert str(raised.value) == text


def test_help_and_the_end_of_options():
    for line in ("-h", "a --help", "--quiet -h"):
        with pytest.raises(HelpWanted):
            parse(line.split(), DEFAULTS, SHORT)
    found = parse(["-q", "-o", "f", "-q", "a"], DEFAULTS, SHORT, last=("--output",))
    assert found[0]["output"] == "f" and found[1] == ["-q", "a"]
    found = parse(["-q", "a.py", "-q", "--help", "--", "x"], DEFAULTS, SHORT, stop=True)
    assert found[0]["quiet"] and found[1] == ["a.py", "-q", "--help", "--", "x"]


def test_sizes_and_times():
    assert [size(t, "") for t in ("7", "1.5k", "500M", "2GB", "1t")] == [
        7,
        1500,
        500_000_000,
        2_000_000_000,
        10**12,
    ]
    assert [seconds(t, "") for t in ("90s", "2m", "12h", "30d")] == [90, 120, 43200, 2592000]
    for wrong in ("", "M", "much", "inf", "-"):
        with pytest.raises(BadOption):
            size(wrong, "--max-size")
    for wrong in ("", "3", "3y", "d"):
        with pytest.raises(BadOption):
            seconds(wrong, "--older-than")


# --- all commands


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(kiln, command):
    done = kiln(command, "--help")
    if command == "serve":
        assert done.stdout.startswith("usage: kilnd") and "\n  --listen=HOST:PORT " in done.stdout
    elif command != "python":  # Python itself handles its options
        assert done.stdout.startswith(f"usage: kiln {command}") and done.stderr == ""
        assert all(text.split(";")[0] in done.stdout for _, text in COMMANDS[command])


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"python"}))
def test_every_command_refuses_unknown_options(kiln, command):
    for line in ([command, "--nonsense"], [command, "--nonsense=1"]):
        done = kiln(*line, check=False)
        assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
        assert "--nonsense" in done.stderr or command == "build"


# --- JSON

ENTRY = {
    *("key", "place", "kernel", "path", "bytes", "code_bytes", "compiler", "compile_seconds"),
    *("target", "runtime_abi", "tasks", "used", "signer", "tenant", "needs", "parts"),
}
REPORT = {"command", "subject", "status", "seconds", "hits", "misses", "failed", "kernels"}
TOP = {
    *("time", "uptime_seconds", "hits", "misses", "hit_rate", "lookup_seconds", "compile_seconds"),
    *("queue", "workers", "compiles", "worker_deaths", "fallbacks", "entries", "bytes"),
    *("resident_bytes", "requests", "clients", "recent", "slowest", "dashboard"),
}
EXPLAINED = {"key", "kernel", "nearest", "differing", "parts"}


def test_every_command_prints_json(kiln, other, program, tmp_path):
    """Every command's JSON has the fields that docs/operations.md lists."""
    kiln("run", "-q", program)
    bundle, secret = tmp_path / "b", tmp_path / "secret"

    def read(*arguments, kiln=kiln, status=0):
        done = kiln(*arguments, "--json", check=False)
        assert done.returncode == status, done.stderr
        (line,) = done.stdout.splitlines()
        return json.loads(line)

    assert read("cache", "path") == {"path": str(kiln.home / "cache")}
    stats = read("cache", "stats")
    assert stats["misses"] == stats["entries"] == 2 and set(stats) >= {
        *("hits", "misses", "compiles", "entries", "bytes", "seconds_saved", "hits_by_tier"),
        *("evictions", "corrupt", "worker_deaths", "errors"),
    }
    first, second = read("cache", "list")
    assert set(first) == ENTRY
    key = first["key"]
    assert set(read("cache", "show", key)) == ENTRY | {"state", "signature"}
    assert set(read("cache", "explain", key)) == EXPLAINED
    assert set(read("cache", "explain", "total")) == EXPLAINED
    verified = {"entries": 2, "damaged": [], "signed": 0, "not_signed": 2, "deleted": 0}
    assert read("cache", "verify") == verified
    assert read("cache", "verify", "--signed", status=1) == verified
    assert set(read("key", "new", "ci", secret)) == {"name", "id", "public"}
    public = read("key", "public", secret)["public"]
    assert read("key", "trust", public, kiln=other)["name"] == "ci"
    assert read("key", "list", kiln=other)[0]["name"] == "ci"
    exported = read("cache", "export", bundle, "--all", "--sign", secret)
    assert exported == {
        "entries": 2,
        "bytes": bundle.stat().st_size,
        "left_out": [],
        "missing": [],
    }
    imported = read("cache", "import", bundle, kiln=other)
    assert imported["imported"] == 2 and set(imported) == {
        *("entries", "imported", "present", "bytes", "refused")
    }
    warmed = json.loads(kiln("warm", "-q", "--json", program).stdout)
    assert set(warmed) == REPORT and (warmed["hits"], warmed["misses"]) == (2, 0)
    assert set(read("ir", "fill")) == {"kernel", "key", "stages"}
    assert set(read("top", "--once")) == TOP
    found = kiln("doctor", "--json", check=False)
    report = json.loads(found.stdout)
    assert (found.returncode == 0) == report["well"]
    assert set(report["findings"][0]) == {"check", "verdict", "text"}
    assert read("cache", "prune", "-n", "--max-size", "1") == {
        "entries": 2,
        "bytes": first["bytes"] + second["bytes"],
        "left_bytes": 0,
    }
    assert read("cache", "clear", "-y")["entries"] == 2


def test_serve_logs_json(kiln):
    command = [kiln.root / "kiln", "serve", "--json", "--web", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=kiln.environment) as run:
        first = json.loads(run.stderr.readline())
        run.terminate()
        lines = [json.loads(line) for line in run.stderr]
    assert run.returncode == 0
    assert {"time", "pid", "message"} <= set(first) and lines[-1]["message"]


# --- exit statuses, as docs/operations.md lists them


def test_exit_statuses(kiln, program, tmp_path):
    def status(*arguments, **environment):
        return kiln(*arguments, check=False, env=environment).returncode

    assert status("top", "--once") == 1, "no daemon runs"
    assert status("stop") == 0, "it does not run afterwards either"
    assert status("run", program) == 0
    assert status("cache", "show", "fill") == 1
    assert status("cache", "export", tmp_path / "no" / "where", "--all") == 1
    assert status("cache", "import", program) == 1
    assert status("warm", "--require-hit", program) == 0
    assert status("warm", "--require-hit", "--cpu", "x86-64-v2,x86-64-v4", program) == 3
    for variable in ("KILN_SERVER", "KILN_CPU", "KILN_CACHE"):
        for command in ("run", "warm"):
            assert status(command, program, **{variable: "nonsense"}) == 2, (command, variable)
    assert status("cache", "stats", KILN_SERVER="nonsense") == 2
    program.write_text("import sys; sys.exit(77)")
    assert status("run", program) == 77
    for command in ("cache path", "cache stats --json", "key list", "doctor --json"):
        reader, writer = os.pipe()
        os.close(reader)
        line = [kiln.root / "kiln", *command.split()]
        done = subprocess.run(
            line, stdout=writer, stderr=subprocess.PIPE, env=kiln.environment, timeout=120
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (141, b""), command
    program.write_text("raise KeyboardInterrupt")
    assert status("run", program) == 130
