"""What deploy/ says is what the programs understand; `kiln serve` under a service manager."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess

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


def test_the_unit_starts_what_there_is():
    unit = (DEPLOY / "kiln.service").read_text().replace("\\\n", " ")
    (command,) = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    known = (ROOT / "server/daemon/flags.h").read_text()
    flags = flags_of(command)
    assert "--take-over" in flags
    for flag in flags:
        assert f"//   {flag.split('=')[0]}" in known, flag
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze here: the unit's own words are unchecked")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", DEPLOY / "kiln.service"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if "kiln.service" in line]
    # The program and the user are the target machine's.
    assert not [line for line in complaints if "not executable" not in line], done.stderr


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


def test_serve_tells_the_manager_and_ends_in_time(tmp_path):
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
