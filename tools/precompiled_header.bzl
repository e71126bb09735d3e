"""A header that the compiler reads once for many files.

GCC takes an image of the parsed header (NAME.h.gch) from beside NAME.h when the first thing that a
file includes is NAME.h. If it was compiled with other flags or by another compiler, GCC reads NAME.h
itself: what a file compiles to never depends on the image.

    precompiled_header(name = "precompiled", includes = ["room/large.h"], deps = [":large"])
    cc_library(..., copts = include_first("room/precompiled.h"), deps = [":precompiled", ...])
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# GCC keeps in the image what it was made of only if it is asked for dependencies, too.
_IMAGE_FLAGS = ["-x", "c++-header", "-MD", "-MF", "/dev/null"]

def include_first(header):
    """The copts with which a target includes the header before all else."""

    # -fpch-deps: the list of dependencies names what the image was made of, so that Bazel compiles
    # a file again when one of these headers changes.
    return ["-include", header, "-fpch-deps"]

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    image = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    ctx.actions.write(header, "".join(["#include \"%s\"\n" % path for path in ctx.attr.includes]))

    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    context = deps.compilation_context
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = image.path,
        # The flags of every other C++ file: those of .bazelrc and of the command line.
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + _IMAGE_FLAGS,
        include_directories = context.includes,
        quote_include_directories = context.quote_includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = depset(transitive = [context.defines, context.local_defines]),
        use_pic = True,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        inputs = depset([header], transitive = [context.headers, toolchain.all_files]),
        outputs = [image],
        mnemonic = "CppPrecompile",
        progress_message = "Compiling the headers of %s" % ctx.label,
        use_default_shell_env = True,
    )
    own = cc_common.create_compilation_context(headers = depset([header, image]))
    return [
        DefaultInfo(files = depset([image])),
        cc_common.merge_cc_infos(cc_infos = [CcInfo(compilation_context = own), deps]),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "includes": attr.string_list(mandatory = True, doc = "what the header includes"),
        "deps": attr.label_list(providers = [CcInfo], doc = "where the included headers come from"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
