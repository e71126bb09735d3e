load("@rules_cc//cc:defs.bzl", "cc_test")

def fuzzer(name, deps):
    """The fuzzer NAME_fuzz of NAME_fuzz.cc and the inputs in corpus/NAME."""
    cc_test(
        name = name + "_fuzz",
        size = "small",
        srcs = [name + "_fuzz.cc"] + select({
            ":fuzz": [],
            "//conditions:default": ["try_corpus.cc"],
        }),
        args = ["tests/fuzz/corpus/" + name],
        data = native.glob(["corpus/" + name + "/**"]),
        linkopts = select({
            ":fuzz": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        deps = deps,
    )
