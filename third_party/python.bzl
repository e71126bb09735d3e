"""The headers of the Python that the native modules are built for, and of pybind11."""

def _of_interpreter(ctx, interpreter):
    asked = ctx.execute([interpreter, "-c", "import sysconfig; print(sysconfig.get_path('include'))"])
    if asked.return_code != 0:
        fail("KILN_PYTHON: %s does not run: %s" % (interpreter, asked.stderr))
    ctx.symlink(asked.stdout.strip(), "include")

# Headers of another Debian, whose Python does not run here. Its pybind11 goes with its Python.
def _of_folder(ctx, root):
    headers = ctx.path(root + "/usr/include")
    found = [path for path in headers.readdir() if path.basename.startswith("python3.")]
    if len(found) != 1:
        fail("KILN_PYTHON: expected one python3.* in %s, got %s" % (headers, len(found)))
    for file in found[0].readdir():
        ctx.symlink(file, "include/" + file.basename)
    machine = "x86_64-linux-gnu/" + found[0].basename  # what pyconfig.h includes
    for name in [machine, "pybind11"]:
        ctx.symlink("%s/%s" % (headers, name), "include/" + name)

def _python_headers_impl(ctx):
    python = ctx.os.environ.get("KILN_PYTHON", "/usr/bin/python3")
    if ctx.path(python + "/usr/include").exists:
        _of_folder(ctx, python)
    else:
        _of_interpreter(ctx, python)
    ctx.file("BUILD", """
load("@rules_cc//cc:defs.bzl", "cc_library")

# Headers only: an extension module takes Python's symbols from its host.
cc_library(
    name = "headers",
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
""")

# Any CPython from 3.9 on: KILN_PYTHON=/usr/bin/python3.12 bazel build //client_py/native:_native.so
# KILN_PYTHON may also be the root of another Debian, which holds libpython3.N-dev and pybind11-dev.
python_headers = repository_rule(
    implementation = _python_headers_impl,
    environ = ["KILN_PYTHON"],
    local = True,
)
