"""Exports kernels of a Python program, for programs in C++ that Bazel builds."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def kiln_module(name, srcs, targets = [], static = False, deps = [], **kwargs):
    """A library with the typed header NAME.hpp of the kernels that a Python program exports.

    The module is the file NAME.kiln, among the library's runfiles. Exporting needs the command
    kiln: on the path of actions, or named by --action_env=KILN_EXECUTABLE. It uses neither the
    user's daemon nor the user's caches, so the sources alone decide what it writes.

    Args:
      name: of the library, the header and its namespace.
      srcs: the program, then the files that it imports.
      targets: levels of x86-64, such as "x86-64-v3"; none: those of kiln export.
      static: whether programs contain the module (kiln_module_open_linked).
      deps: labels of programs' libkiln, in place of the one that is linked statically.
      **kwargs: of the library, such as visibility; tags are those of the export, too.
    """
    files = [name + ".kiln", name + ".hpp"]
    options = ["--name", name, "-o", "$(execpath %s.kiln)" % name]
    options += ["--header", "$(execpath %s.hpp)" % name]
    if targets:
        options += ["--target", ",".join(targets)]
    if static:
        files.append("lib%s.a" % name)
        options += ["--static", "$(execpath lib%s.a)" % name]
    native.genrule(
        name = name + "_export",
        srcs = srcs,
        outs = files,
        cmd = " && ".join([
            "export KILN_SERVER=off KILN_HOME=$$(mktemp -d)",
            "trap 'rm -rf $$KILN_HOME' EXIT",
            '"$${KILN_EXECUTABLE:-kiln}" export %s $(execpath %s) >/dev/null' %
            (" ".join(options), srcs[0]),
        ]),
        # What the command runs is no input of the action.
        local = True,
        tags = kwargs.get("tags", []),
        message = "Exporting the kernels of",
    )
    cc_library(
        name = name,
        srcs = ["lib%s.a" % name] if static else [],
        hdrs = [name + ".hpp"],
        data = [name + ".kiln"],
        includes = ["."],
        deps = deps or [Label("//libkiln:kiln")],
        **kwargs
    )
