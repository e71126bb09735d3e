"""What may depend on what: the arrows of docs/architecture.md, asked of Bazel."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
LLVM = "@debian//:llvm + @debian//:lld"
GRPC = "'@debian//:grpc++'"
CONTRACT = "//common/language/... + //common/layout/... + //common/unit/... + //common/artifact/..."
FRONTS = "//server/grpc_front/... + //server/web_front/..."


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
        ("//client_cpp/... + //client_py/...", f"{LLVM} + {GRPC}"),
        ("//client_cpp/... + //client_py/...", "//server/..."),
        ("//runtime/...", f"{LLVM} + {GRPC} + //server/..."),
        ("//runtime/...", "//client_cpp/... + //client_py/..."),
        ("//common/... + //proto/...", "//runtime/... + //server/... + //client_cpp/..."),
        ("//common/...", f"{LLVM} + {GRPC}"),
        ("//common/base/...", "//common/... except //common/base/... + //proto/..."),
        ("//common/wire/... + //common/home/...", CONTRACT),
        ("//common/language/...", "//common/layout/... + //common/unit/..."),
        ("//common/layout/...", "//common/unit/..."),
        (CONTRACT, "//common/wire/..."),
        ("//common/language/... + //common/layout/... + //common/unit/...", "//common/home/..."),
        ("//common/artifact/...", "//common/unit/... + //common/layout/..."),
        ("//server/cache/...", f"//server/compiler/... + //server/daemon/... + {LLVM} + {GRPC}"),
        ("//server/remote/...", "//server/daemon/... + //server/compiler/..."),
        (FRONTS, f"//server/daemon/... + //server/cache/... + //server/compiler/... + {LLVM}"),
        ("//server/events/... + //server/observe/...", "//server/daemon/... + //server/front/..."),
        ("//server/front/...", f"//server/daemon/... + {GRPC} + @debian//:microhttpd"),
        ("//server/compiler/...", f"//server/cache/... + //server/daemon/... + {GRPC}"),
        ("//server/worker/...", f"//server/cache/... + //server/daemon/... + {GRPC}"),
        ("//server/daemon/...", f"//server/compiler/... + {LLVM}"),
        # Fronts are processes of their own: the daemon carries neither gRPC nor HTTP.
        ("//server/daemon:kilnd", f"{GRPC} + @debian//:microhttpd"),
    ],
)
def test_no_arrow(sources, forbidden):
    # Tests may look across rooms (a client's test drives a daemon); what is shipped may not.
    shipped = f"({sources}) except tests({sources}) except attr(testonly, 1, {sources})"
    assert query(f"somepath({shipped}, {forbidden})") == []
