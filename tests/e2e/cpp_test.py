"""The C++ example: a kernel built, launched and read without Python, three ways to get it."""

import subprocess

SAXPY = ".kiln/bazel-bin/examples/cpp/saxpy"


def run(kiln, **environment):
    environment = {**kiln.environment, "KILN_BIN": str(kiln.root / ".kiln" / "bin"), **environment}
    done = subprocess.run(
        [kiln.root / SAXPY], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "y[10] = 21" in done.stdout and " 0 wrong" in done.stdout
    return done.stdout.split()[1]


def test_saxpy_through_daemon_disk_and_private_worker(kiln):
    build = [kiln.root / "tools" / "bazel.sh", "build", "//examples/cpp:saxpy"]
    subprocess.run(build, check=True, capture_output=True, timeout=600)
    assert run(kiln) == "compiled"
    assert run(kiln) == "disk"
    kiln("cache", "clear", "-y")
    assert run(kiln, KILN_SERVER="off") == "compiled"
    assert run(kiln, KILN_SERVER="off") == "disk"
    objects = subprocess.run(["ldd", kiln.root / SAXPY], capture_output=True, text=True).stdout
    assert "protobuf" in objects and "LLVM" not in objects and "grpc" not in objects
