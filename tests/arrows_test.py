"""What may depend on what: the arrows of docs/architecture.md, asked of Bazel."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def query(expression):
    """The labels that a Bazel query gives."""
    done = subprocess.run(
        [ROOT / "tools" / "bazel.sh", "query", "--noshow_progress", expression],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "sources, forbidden",
    [
        # No LLVM, MLIR or gRPC in a client's process; none of the server either.
        ("//client_cpp/... + //client_py/...", "@debian//:llvm + @debian//:lld + @debian//:grpc++"),
        ("//client_cpp/... + //client_py/...", "//server/..."),
        ("//runtime/...", "@debian//:llvm + @debian//:lld + @debian//:grpc++ + //server/..."),
        ("//runtime/...", "//client_cpp/... + //client_py/..."),
        ("//lang/... + //proto/...", "//runtime/... + //server/... + //client_cpp/..."),
        ("//lang/...", "@debian//:llvm + @debian//:lld + @debian//:grpc++"),
        ("//server/cache/...", "//server/compiler/... + @debian//:llvm + @debian//:grpc++"),
        ("//server/compiler/...", "//server/cache/... + //server/daemon/... + @debian//:grpc++"),
        ("//server/worker/...", "//server/cache/... + //server/daemon/... + @debian//:grpc++"),
        ("//server/daemon/...", "//server/compiler/... + @debian//:llvm + @debian//:lld"),
    ],
)
def test_no_arrow(sources, forbidden):
    # Tests may look across rooms (a client's test drives a daemon); what is shipped may not.
    shipped = f"({sources}) except tests({sources}) except attr(testonly, 1, {sources})"
    assert query(f"somepath({shipped}, {forbidden})") == []
