"""The server's displays: `kiln top`, `kiln doctor`, the dashboard in a real browser."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections import namedtuple

import pytest

from tests.conftest import PROGRAM, ROOT


def test_top_shows_what_happened(kiln, program):
    kiln("run", "-q", program)
    seen = json.loads(kiln("top", "--json", "--once").stdout)
    assert seen["compiles"] == {"artifact": 2}
    assert seen["misses"] == {"new": 2}
    assert [r["kernel"] for r in seen["recent"]] == ["total", "fill"]
    assert {r["outcome"] for r in seen["recent"]} == {"compiled"}
    assert all(re.fullmatch("[0-9a-f]{32}", r["trace"]) for r in seen["recent"])
    assert sum(seen["recent"][0]["stages"].values()) > 0
    text = kiln("top", "--once").stdout
    assert "fill" in text and "compiled" in text and "new 2" in text


def test_a_process_continues_a_given_trace(kiln, program):
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    kiln("run", "-q", program, env={"TRACEPARENT": f"00-{trace}-00f067aa0ba902b7-01"})
    seen = json.loads(kiln("top", "--json", "--once").stdout)
    assert {r["trace"] for r in seen["recent"]} == {trace}


def test_one_trace_and_no_source_in_the_logs_of_all_machines(kiln, other, tmp_path):
    """A program, its kilnd, kilnd-remote, the upstream's kilnd-grpc and kilnd, and its worker."""
    address = free_address()
    configure(
        other.home,
        f'service {{ listen: "{address}" anonymous_rights: 3 }} log {{ json: true }}',
    )
    configure(
        kiln.home,
        f'tier {{ upstream {{ address: "{address}" }} }} trust {{ accept_unsigned: true }}'
        f' web {{ listen: "{free_address()}" }} log {{ json: true }}',
    )
    program = tmp_path / "secret_name.py"
    program.write_text(
        PROGRAM.replace("fill(2.0)", "fill(2.0)  # marker-5309").replace(
            "    for i in x:", "    # marker-5309\n    for i in x:"
        )
    )
    start(other)
    connect(address)
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    kiln("run", "-q", program, env={"TRACEPARENT": f"00-{trace}-{span}-01"})
    here, there = log_of(kiln), log_of(other)
    asked = {e["kernel"]: e for e in here if e.get("event") == "compile"}
    compiled = {e["kernel"]: e for e in there if e.get("event") == "compile"}
    assert set(asked) == set(compiled) == {"fill", "total"}
    for kernel, event in asked.items():
        assert event["trace"] == compiled[kernel]["trace"] == trace
        assert compiled[kernel]["parent"] == event["span"]
        assert event["key"] == compiled[kernel]["key"]
    assert {line["program"] for line in here} >= {"kilnd", "kilnd-web"}
    assert {line["program"] for line in there} >= {"kilnd", "kilnd-grpc"}
    assert all({"time", "pid"} <= set(line) for line in here + there)
    for command in (kiln, other):
        text = (command.home / "kilnd.log").read_text()
        assert "marker" not in text and "secret_name" not in text


def test_logs_name_the_source_when_asked_to(kiln, program):
    configure(kiln.home, "log { json: true sources: true }")
    kiln("run", "-q", program)
    (fill,) = [e for e in log_of(kiln) if e.get("kernel") == "fill"]
    assert fill["source"].startswith(f"{program}:")


def configure(home, text):
    home.mkdir()
    (home / "kilnd.conf").write_text(text)


def start(command, *flags):
    command("python", "-c", "pass")  # builds
    binaries = ROOT / ".kiln" / "bin"
    words = [binaries / "kilnd", f"--home={command.home}", f"--bin={binaries}", "--daemonize"]
    subprocess.run([*words, *flags], check=True, timeout=60)


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def connect(address):
    """Waits until kilnd-grpc answers: it sends its settings on connection."""
    host, _, port = address.rpartition(":")
    for _ in range(500):
        try:
            with socket.create_connection((host, int(port)), 10) as peer:
                if peer.recv(1):
                    return
        except OSError:
            time.sleep(0.02)


def log_of(command):
    return [json.loads(line) for line in (command.home / "kilnd.log").read_text().splitlines()]


def test_top_without_a_daemon(kiln):
    done = kiln("top", "--once", check=False)
    assert done.returncode == 1
    assert "no daemon runs here" in done.stderr


def findings(kiln, **variables):
    done = kiln("doctor", "--json", check=False, env=variables)
    report = json.loads(done.stdout)
    assert (done.returncode == 0) == report["well"]
    return {row["check"]: row for row in report["findings"]}


def test_doctor_finds_no_problem_after_a_run(kiln, program):
    kiln("run", "-q", program)
    rows = findings(kiln)
    assert not [row for row in rows.values() if row["verdict"] == "bad"]
    assert "serves" in rows["daemon"]["text"]
    assert rows["version"]["text"] in kiln("--version").stdout


def test_doctor_shows_gaps_in_the_sandbox(kiln, program):
    gaps = subprocess.run(
        [ROOT / ".kiln" / "bin" / "kiln-worker", "--print-gaps"], capture_output=True, check=True
    ).stdout
    row = findings(kiln)["confinement"]
    assert row["verdict"] == ("note" if gaps else "good"), row
    configure(kiln.home, "workers { unconfined: true }")
    kiln("run", "-q", program)
    row = findings(kiln)["confinement"]
    assert row["verdict"] == "note" and "unconfined" in row["text"]


def test_doctor_says_what_is_wrong(kiln, tmp_path):
    kiln.home.mkdir()
    kiln.home.chmod(0o777)
    keys = tmp_path / "keys"
    keys.write_text("# none\n")
    keys.chmod(0o666)
    rows = findings(kiln, KILN_TRUSTED_KEYS=str(keys), KILN_SERVR="off", KILN_DEBUG="1")
    assert rows["home"]["verdict"] == "bad" and "others may write to" in rows["home"]["text"]
    assert rows["trust"]["verdict"] == "bad" and "others" in rows["trust"]["text"]
    assert "nothing reads KILN_SERVR: misspelt?" == rows["settings"]["text"]
    kiln.home.chmod(0o700)
    future = time.time() + 7200
    (kiln.home / "stats").write_bytes(b"")
    os.utime(kiln.home / "stats", (future, future))
    assert "set back" in findings(kiln)["clock"]["text"]


@pytest.mark.skipif(os.geteuid() != 0, reason="not root")
def test_doctor_says_that_root_is_refused(kiln):
    configure(kiln.home, 'service { listen: "0.0.0.0:1" insecure: true }')
    row = findings(kiln)["settings"]
    assert row["verdict"] == "bad" and "as root" in row["text"]


def test_doctor_asks_the_servers_of_the_configuration(kiln):
    kiln.home.mkdir(mode=0o700)
    assert findings(kiln)["servers"]["text"] == "none are configured"
    (kiln.home / "kilnd.conf").write_text(
        f"""
        tier {{ name: "near" redis {{ address: "{free_address()}" }} }}
        tier {{ reapi {{ address: "{free_address()}" }} }}
        tier {{ http {{ url: "http://{free_address()}/cache" }} }}
        trust {{ accept_unsigned: true }}
        """
    )
    row = findings(kiln)["servers"]
    assert row["verdict"] == "bad"
    for name in ("near", "reapi", "http"):
        assert re.search(rf"\b{name}: [^;]*connect", row["text"]), row


def known_variables():
    import sys

    sys.path.insert(0, str(ROOT / "client_py"))
    try:
        from kiln.commands.doctor import KNOWN_VARIABLES
    finally:
        sys.path.pop(0)
    return KNOWN_VARIABLES


def test_doctor_knows_every_variable_that_is_read():
    pattern = re.compile(r'(?:getenv\(|PathFrom\(|environ(?:\.get\(|\[))\s*"(KILN_[A-Z_]+)"')
    read = set()
    for folder in ("client_cpp", "client_py", "common", "server", "runtime"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".cc", ".h", ".py") and "test" not in str(file.relative_to(ROOT)):
                read |= set(pattern.findall(file.read_text()))
    assert read - known_variables() == set()


# ---- the web


Web = namedtuple("Web", "origin secret")


@pytest.fixture
def web(kiln, program):
    """The dashboard of a daemon that compiled the program's kernels."""
    address = free_address()
    start(kiln, f"--web={address}")
    kiln("run", "-q", program)
    for _ in range(500):
        try:
            if get(f"http://{address}/healthz") == "ok\n":
                break
        except urllib.error.URLError:
            time.sleep(0.02)
    printed = json.loads(kiln("top", "--json", "--once").stdout)["dashboard"]
    assert printed in kiln("top", "--once").stdout
    origin, _, secret = printed.partition("/#")
    assert origin == f"http://{address}"
    return Web(origin, secret)


def get(url, secret=""):
    request = urllib.request.Request(url, headers={"X-Kiln": secret})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read().decode()


def browse(tmp_path, url, *options):
    """The page's elements in a real browser after its scripts ran."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium is installed: the dashboard was not opened")
    words = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",  # containers have little of it
        "--no-first-run",
        "--hide-scrollbars",
        "--virtual-time-budget=8000",
        f"--user-data-dir={tmp_path / 'browser'}",
        *options,
        url,
    ]
    # On a busy machine, the browser itself may fail, so try several times.
    for attempt in range(3):
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
            break
        except subprocess.SubprocessError:
            if attempt == 2:
                raise
    return re.sub(r"<script>.*?</script>", "", done.stdout, flags=re.S)


def test_the_dashboard_in_a_browser(web, tmp_path):
    # A second sample makes the first point of the charts.
    for _ in range(100):
        if json.loads(get(web.origin + "/api/overview", web.secret))["history"]:
            break
        time.sleep(0.1)
    page = browse(tmp_path, f"{web.origin}/#{web.secret}", "--dump-dom")
    assert page.count("<svg") == 2 and "[object" not in page
    for text in (">fill<", ">total<", "Slowest kernels", "Misses by reason", "codegen"):
        assert text in page
    assert "NaN" not in page and "undefined" not in page
    # The page's policy forbids requests to other hosts.
    assert "http://" not in re.sub(r"http://www\.w3\.org/2000/svg", "", page)
    picture = tmp_path / "phone.png"
    browse(
        tmp_path, f"{web.origin}/#{web.secret}", "--window-size=412,900", f"--screenshot={picture}"
    )
    assert picture.stat().st_size > 10_000


def test_a_kernels_page_shows_its_key_its_ir_and_its_assembly(web, tmp_path):
    overview = json.loads(get(web.origin + "/api/overview", web.secret))
    key = next(r["key"] for r in overview["recent"] if r["kernel"] == "fill")
    data = json.loads(get(f"{web.origin}/api/kernel?key={key}", web.secret))
    assert {"compiler", "target", "options", "code"} <= {p["name"] for p in data["info"]["parts"]}
    if "assembly" in data:
        assert "ret" in data["assembly"]
    else:
        assert "disassembler" in data["no_assembly"]
    page = browse(tmp_path, f"{web.origin}/kernel?key={key}#{web.secret},ir", "--dump-dom")
    for text in ("What its key is made of", "x86-64-v", "kiln.kernel", "offload", "optimize"):
        assert text in page, text


# ---- every metric is documented, and dashboards use existing metrics


def metric_names():
    text = (ROOT / "server" / "observe" / "metrics.cc").read_text()
    return set(re.findall(r'^    \{"(kiln_\w+)"', text, re.M))


def test_docs_name_every_metric():
    text = (ROOT / "docs" / "operations.md").read_text()
    named = set(re.findall(r"`(kiln_\w+)`", text))
    assert metric_names() == named


def test_docs_name_every_flag_and_variable():
    text = (ROOT / "docs" / "operations.md").read_text()
    table = (ROOT / "server" / "daemon" / "flags.cc").read_text()
    flags = re.findall(r'^    \{"(--[a-z-]+)"', table, re.M)
    assert len(flags) > 15
    # how_to.md has the variables for builds and for inspecting the compiler.
    inside = "BIN DISK_CACHE GUI GUI_FRAMES GUI_SAVE JOBS LIB LOG STAT".split()
    names = set(known_variables()) - {f"KILN_{name}" for name in inside}
    assert sorted(name for name in {*flags, *names} if f"`{name}" not in text) == []


def test_the_grafana_dashboard_uses_existing_metrics():
    dashboard = json.loads((ROOT / "deploy" / "grafana" / "kiln.json").read_text())
    queries = [t["expr"] for panel in dashboard["panels"] for t in panel.get("targets", [])]
    assert len(queries) > 10
    for query in queries:
        for name in re.findall(r"kiln_\w+", query):
            assert re.sub(r"_(bucket|sum|count)$", "", name) in metric_names(), query
