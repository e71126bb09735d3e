"""The headers of the Python that the native module is built for."""

def _python_headers_impl(ctx):
    interpreter = ctx.os.environ.get("KILN_PYTHON", "/usr/bin/python3")
    asked = ctx.execute([interpreter, "-c", "import sysconfig; print(sysconfig.get_path('include'))"])
    if asked.return_code != 0:
        fail("KILN_PYTHON: %s does not run: %s" % (interpreter, asked.stderr))
    ctx.symlink(asked.stdout.strip(), "include")
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
python_headers = repository_rule(
    implementation = _python_headers_impl,
    environ = ["KILN_PYTHON"],
    local = True,
)
