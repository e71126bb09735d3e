"""The programs accept the files in deploy/; `kiln serve` runs under a service manager."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("KILN_BIN") or ROOT / ".kiln" / "bin")
DEPLOY = ROOT / "deploy"


def kilnd(*arguments):
    return subprocess.run(
        [BIN / "kilnd", *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def flags_of(text):
    """The words of a command that are flags of kilnd."""
    return [word.strip('",[]') for word in text.split() if word.strip('",[]').startswith("--")]


def test_the_configuration_is_understood(tmp_path):
    done = kilnd(f"--config={DEPLOY / 'kilnd.conf'}", f"--bin={BIN}", "--version")
    assert done.returncode == 0, done.stderr
    wrong = tmp_path / "kilnd.conf"
    wrong.write_text((DEPLOY / "kilnd.conf").read_text().replace("token_file", "tokens_file"))
    done = kilnd(f"--config={wrong}", "--version")
    assert done.returncode == 2 and f"{wrong}:" in done.stderr and "tokens_file" in done.stderr


def test_the_unit_starts_existing_programs():
    unit = (DEPLOY / "kiln.service").read_text().replace("\\\n", " ")
    (command,) = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    lines = kilnd("--help").stdout.splitlines()
    known = {line.split()[0].split("=")[0] for line in lines if line.startswith("  --")}
    flags = flags_of(command)
    assert "--take-over" in flags
    for flag in flags:
        assert flag.split("=")[0] in known, flag
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze here: the unit's own words are unchecked")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", DEPLOY / "kiln.service", DEPLOY / "kiln.socket"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if "kiln.s" in line]
    # The program and the user are the target machine's.
    assert not [line for line in complaints if "not executable" not in line], done.stderr


def test_the_socket_unit_holds_the_configured_port():
    unit = (DEPLOY / "kiln.socket").read_text()
    (port,) = [line.split("=")[1] for line in unit.splitlines() if line.startswith("ListenStream=")]
    assert f'listen: "0.0.0.0:{port}"' in (DEPLOY / "kilnd.conf").read_text()


def test_the_image_starts_existing_programs():
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    words = [
        word
        for line in lines
        if line.startswith(("ENTRYPOINT", "CMD"))
        for word in json.loads(line.split(" ", 1)[1])
    ]
    assert words[0] == "/opt/kiln/bin/kilnd"
    arguments = [w.replace("/etc/kiln", str(DEPLOY)) for w in words[1:]]
    done = kilnd(*arguments, f"--bin={BIN}", "--version")
    assert done.returncode == 0, done.stderr
    exposed = {p for line in lines if line.startswith("EXPOSE") for p in line.split()[1:]}
    assert all(f":{port}" in (DEPLOY / "kilnd.conf").read_text() for port in exposed)


def test_the_probes_request_existing_paths(tmp_path):
    yaml = pytest.importorskip("yaml")
    things = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "kiln.yaml").read_text()))
    (template,) = [t["spec"]["template"] for t in things if t["kind"] == "Deployment"]
    (container,) = template["spec"]["containers"]
    probes = [container[p]["httpGet"] for p in container if p.endswith("Probe")]
    assert len(probes) == 3 and {p["port"] for p in probes} == {"web"}
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    process = subprocess.Popen(
        [BIN / "kilnd", f"--home={tmp_path / 'home'}", f"--bin={BIN}", f"--web={address}"],
        stderr=subprocess.DEVNULL,
    )
    try:
        for path in [p["path"] for p in probes] + ["/metrics"]:
            assert answer_to(f"http://{address}{path}") == 200, path
    finally:
        process.terminate()
        assert process.wait(timeout=20) == 0


def test_a_replica_is_not_ready_while_grpc_does_not_serve(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("alice-0123456789 alice - read\n")
    tokens.chmod(0o644)  # refused: everyone can read it
    web, grpc = (f"127.0.0.1:{port}" for port in free_ports(2))
    config = tmp_path / "kilnd.conf"
    config.write_text(
        f'service {{ listen: "{grpc}" token_file: "tokens" }} web {{ listen: "{web}" }}'
    )
    process = subprocess.Popen(
        [BIN / "kilnd", f"--home={tmp_path / 'home'}", f"--bin={BIN}", f"--config={config}"],
        stderr=subprocess.DEVNULL,
    )
    try:
        assert answer_to(f"http://{web}/healthz") == 200
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://{web}/readyz", timeout=30)
        assert refused.value.code == 503
        assert "kilnd-grpc does not serve" in refused.value.read().decode()
        tokens.chmod(0o600)
        assert answer_to(f"http://{web}/readyz") == 200
    finally:
        process.terminate()
        assert process.wait(timeout=20) == 0


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def answer_to(url):
    """The status of the answer; a server that is just starting is waited for."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return answer.status
        except urllib.error.URLError:
            time.sleep(0.05)
    return None


def test_the_manifests_fit_together():
    yaml = pytest.importorskip("yaml")
    things = [
        thing
        for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
        for thing in yaml.safe_load_all(path.read_text())
    ]
    by_name = {(thing["kind"], thing["metadata"]["name"]): thing for thing in things}
    assert len(by_name) == len(things)
    configuration = (DEPLOY / "kilnd.conf").read_text()
    for kind, name in by_name:
        if kind != "Deployment":
            continue
        template = by_name[kind, name]["spec"]["template"]
        (container,) = template["spec"]["containers"]
        volumes = {volume["name"] for volume in template["spec"]["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
        service = by_name["Service", name]["spec"]
        assert service["selector"].items() <= template["metadata"]["labels"].items()
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert all(port["targetPort"] in ports for port in service["ports"])
        if name == "kiln":
            assert all(f":{port}" in configuration for port in ports.values())
            assert template["spec"]["terminationGracePeriodSeconds"] >= 5 + 10
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                assert container[probe]["httpGet"]["port"] in ports
    redis = by_name["Service", "kiln-redis"]["spec"]["ports"][0]["port"]
    assert f"kiln-redis:{redis}" in configuration


def test_serve_notifies_the_manager_and_exits_in_time(tmp_path):
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.settimeout(30)
    environment = {
        **os.environ,
        "KILN_HOME": str(tmp_path / "home"),
        "NOTIFY_SOCKET": str(tmp_path / "notify"),
    }
    process = subprocess.Popen([ROOT / "kiln", "serve"], env=environment, stderr=subprocess.PIPE)
    try:
        assert manager.recv(100) == b"READY=1"
        assert (tmp_path / "home" / "kilnd.pid").read_text().strip() == str(process.pid)
        process.send_signal(signal.SIGTERM)
        assert manager.recv(100) == b"STOPPING=1"
        assert process.wait(timeout=10) == 0
    finally:
        process.kill()
        process.wait()
        manager.close()
