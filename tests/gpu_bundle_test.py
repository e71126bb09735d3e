"""Rehearses tools/gpu: packs a few cases, and runs them in a bare root on the emulator of CUDA."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools" / "gpu"))
import sanitizer  # noqa: E402

PARTS = ["conformance", "benchmarks"]
MACHINE_PARTS = ["interop", "libraries", "sanitizer"]
SECTIONS = ["arithmetic", "meshes", "tasks", "snodes/loops"]
GLIBC = ["libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1"]


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """A bundle, also for a machine whose Python is that of this one."""
    packed = tmp_path_factory.mktemp("packed") / "gpu.tar.xz"
    command = [ROOT / "kiln", "python", ROOT / "tools" / "gpu" / "pack.py", "--out", packed]
    command += ["--small", "--only", *PARTS, *MACHINE_PARTS, "--sections", *SECTIONS]
    command += ["--python", "/usr/bin/python3"]
    subprocess.run(command, check=True, capture_output=True)
    return packed


@pytest.fixture(scope="module")
def bare(tmp_path_factory, packed):
    """A root with the bundle in /gpu and what each machine has: a shell and the C library."""
    root = tmp_path_factory.mktemp("bare")
    with tarfile.open(packed) as archive:
        archive.extractall(root / "gpu")
    for folder in ("bin", "lib64", "lib/x86_64-linux-gnu", "tmp", "dev", "driver"):
        (root / folder).mkdir(parents=True)
    (root / "dev" / "null").touch()
    shutil.copy(os.path.realpath("/bin/sh"), root / "bin" / "sh")
    system = pathlib.Path("/lib/x86_64-linux-gnu")
    for name in GLIBC:
        shutil.copy(os.path.realpath(system / name), root / "lib" / system.name / name)
    loader = "/lib64/ld-linux-x86-64.so.2"
    shutil.copy(os.path.realpath(loader), root / loader[1:])
    shutil.copy(ROOT / ".kiln" / "bin" / "libcuda-emulator.so", root / "driver" / "libcuda.so.1")
    # The emulator's own libraries are part of no driver.
    for name in ("libstdc++.so.6", "libgcc_s.so.1", "libz.so.1"):
        shutil.copy(os.path.realpath(f"/lib/x86_64-linux-gnu/{name}"), root / "driver" / name)
    return root


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root")
def test_the_bundle_runs_on_a_bare_machine(bare):
    done = subprocess.run(
        ["/gpu/run", "--out", "/tmp/results", "--jobs", "2", "--small", "--only", *PARTS],
        preexec_fn=lambda: (os.chroot(bare), os.chdir("/")),
        env={"KILN_CUDA_DRIVER": "/driver/libcuda.so.1", "PATH": "/bin"},
        capture_output=True,
        text=True,
    )
    results = json.loads((bare / "tmp" / "results" / "results.json").read_text())
    conformance = results["conformance"]
    assert set(conformance) == {*SECTIONS, "exported modules", "C++"}, done.stderr
    assert not any(one["faults"] for one in conformance.values()), conformance
    assert all(one["cases"] > 0 for one in conformance.values())
    benchmarks = results["benchmarks"]["kiln"]
    assert "error" not in benchmarks, benchmarks
    assert len(benchmarks["rows"]) > 15
    report = [ROOT / "tools" / "gpu" / "report.py", bare / "tmp" / "results" / "results.json"]
    shown = subprocess.run(["/usr/bin/python3", *report], capture_output=True, text=True)
    assert "0 faults" in shown.stdout
    assert done.returncode == 0, done.stderr


# Stands in for NVIDIA's: finds something in each program under memcheck.
SANITIZER = """#!/bin/sh
[ "$1 $3" = "--tool --log-file" ] || exit 9
[ $2 = memcheck ] && cat >${4%%/%%p}/1 <<'END'
%s
END
while [ "$1" != python3 ]; do shift; done
exec "$@"
"""
LOGS = {
    "memcheck": """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at saxpy_0(float *, int)+0x70
=========     by thread (0,0,0) in block (0,0,0)
=========
========= Invalid __shared__ write of size 8 bytes
=========     at 0x70 in total_1
=========     by thread (1,0,0) in block (0,0,0)
========= ERROR SUMMARY: 2 errors""",
    "racecheck": """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at total_1+0x490
=========     and Read access at total_1+0x600 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)""",
    "synccheck": """========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block
=========     at total_1+0x120
=========     by thread (1,0,0) in block (0,0,0)""",
}


def test_logs_of_the_sanitizer():
    found = {tool: sanitizer.reports(log) for tool, log in LOGS.items()}
    assert {tool: (one["errors"], one["kernels"]) for tool, one in found.items()} == {
        "memcheck": (2, {"saxpy_0": 1, "total_1": 1}),
        "racecheck": (1, {"total_1": 1}),
        "synccheck": (1, {"total_1": 1}),
    }
    assert sanitizer.reports("========= ERROR SUMMARY: 0 errors")["errors"] == 0


def test_parts_for_the_machines_own_python(packed, tmp_path):
    """Without PyTorch and a GPU: the checks have all their kernels, and pass with stand-ins."""
    for folder in ("gpu", "bin", "modules"):
        (tmp_path / folder).mkdir()
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path / "gpu")
    (tmp_path / "bin" / "compute-sanitizer").write_text(SANITIZER % LOGS["memcheck"])
    (tmp_path / "bin" / "compute-sanitizer").chmod(0o755)
    (tmp_path / "modules" / "torch.py").write_text("raise ImportError('it is not here')\n")
    environment = {
        "KILN_CUDA_DRIVER": str(ROOT / ".kiln" / "bin" / "libcuda-emulator.so"),
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "PYTHONPATH": str(tmp_path / "modules"),
    }
    command = [tmp_path / "gpu" / "run", "--out", tmp_path, "--jobs", "2"]
    command += ["--only", *MACHINE_PARTS, "--sections", "tasks", "--small"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    results = json.loads((tmp_path / "results.json").read_text())
    wanted = {"name": "PyTorch", "passed": None, "why": "it is not here"}
    assert results["interop"] == {"rows": [wanted]}, done.stderr
    assert len(results["libraries"]["kiln"]["rows"]) > 10
    assert "it is not here" in results["libraries"]["torch"]["error"]
    rows = results["sanitizer"]
    assert {(row["tool"], row["section"]): row["errors"] for row in rows} == {
        (tool, section): 2 * (tool == "memcheck")
        for tool in LOGS
        for section in ("cooperation", "benchmarks", "tasks")
    }, done.stderr
    assert all(row["status"] == "0" for row in rows), rows
    assert "6 faults" in done.stdout and done.returncode == 1
    report = [ROOT / "tools" / "gpu" / "report.py", tmp_path / "results.json"]
    shown = subprocess.run(["/usr/bin/python3", *report], capture_output=True, text=True)
    assert "0 of 1 checks" in shown.stdout
    assert "memcheck: 6 reports; 3 of 3 sections ended" in shown.stdout

    environment.update(
        KILN_BIN=str(tmp_path / "gpu" / "native"),
        KILN_CACHE="read-only",
        KILN_HOME=str(tmp_path / "gpu" / "home"),
        KILN_SERVER="off",
        PYTHONPATH=f"{tmp_path / 'gpu' / 'client_py'}:{ROOT / 'tools' / 'gpu'}",
    )
    checks = tmp_path / "gpu" / "tools" / "gpu" / "interop.py"
    command = ["/usr/bin/python3", checks, "--stand-in"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) > 20 and all(line["passed"] for line in lines), done.stdout
