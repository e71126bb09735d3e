"""Rehearses tools/gpu: packs a few cases, and runs them in a bare root on the emulator of CUDA."""

import json
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = ["conformance", "benchmarks"]
SECTIONS = ["arithmetic", "swizzles", "snodes/loops"]
GLIBC = ["libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1"]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A root with the bundle in /gpu and what each machine has: a shell and the C library."""
    packed = tmp_path_factory.mktemp("packed") / "gpu.tar.xz"
    command = [ROOT / "kiln", "python", ROOT / "tools" / "gpu" / "pack.py", "--out", packed]
    command += ["--small", "--only", *PARTS, "--sections", *SECTIONS]
    subprocess.run(command, check=True, capture_output=True)
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
    assert set(conformance) == set(SECTIONS), done.stderr
    assert not any(one["faults"] for one in conformance.values()), conformance
    assert all(one["cases"] > 0 for one in conformance.values())
    benchmarks = results["benchmarks"]["kiln"]
    assert "error" not in benchmarks, benchmarks
    assert len(benchmarks["rows"]) > 15
    report = [ROOT / "tools" / "gpu" / "report.py", bare / "tmp" / "results" / "results.json"]
    shown = subprocess.run(["/usr/bin/python3", *report], capture_output=True, text=True)
    assert "0 faults" in shown.stdout
    assert done.returncode == 0, done.stderr
