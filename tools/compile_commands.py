#!/usr/bin/python3
"""Writes compile_commands.json for editors and clang-tidy: `tools/compile_commands.py [output]`.

It queries Bazel for its commands. Generated headers are under .kiln/bazel-out after `./kiln build`
or `tools/bazel.sh build`.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# GCC flags that clang does not know, and unwanted outputs.
_DROP = {
    "-Wno-free-nonheap-object",
    "-Wunused-but-set-parameter",
    "-fno-canonical-system-headers",
    "-fpch-deps",
}
_DROP_WITH_VALUE = {"-o", "-MF"}


def bazel(*arguments):
    command = [ROOT / "tools" / "bazel.sh", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if not done.stdout:
        sys.exit(f"bazel {arguments[0]} failed:\n{done.stderr}")
    return done.stdout


def commands():
    """One entry for each C++ file that Bazel compiles."""
    reply = json.loads(bazel("aquery", "-k", "--output=jsonproto", 'mnemonic("CppCompile", //...)'))
    entries = {}
    for action in reply.get("actions", []):
        arguments = _cleaned(action["arguments"])
        source = arguments[arguments.index("-c") + 1]
        if source.startswith(".kiln/"):
            continue
        entries.setdefault(
            source, {"directory": str(ROOT), "file": str(ROOT / source), "arguments": arguments}
        )
    return [entries[source] for source in sorted(entries)]


def _cleaned(arguments):
    kept, skip = [], False
    for argument in arguments:
        if skip or argument in _DROP:
            skip = False
        elif argument in _DROP_WITH_VALUE:
            skip = True
        elif argument != "-MD" and not argument.startswith("-frandom-seed"):
            argument = argument.replace("bazel-out/", ".kiln/bazel-out/")
            # Files outside of the checkout, such as Python's headers. Beside bazel-out there are
            # links to those only that the last build needed.
            kept.append(
                re.sub(
                    r"^(-I|-isystem|)external/", r"\1.kiln/bazel-out/../../../external/", argument
                )
            )
    return ["clang++-19", *kept[1:]]


def main():
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "compile_commands.json"
    entries = commands()
    output.write_text(json.dumps(entries, indent=1))
    print(f"{output}: {len(entries)} files")


if __name__ == "__main__":
    main()
