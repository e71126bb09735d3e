#!/usr/bin/python3
"""Copies the shared libraries that binaries need into a folder beside them, as wheels need it.

    tools/package/graft.py FOLDER BINARY...

The copies have private names, so that they meet no other copies in a process, and the binaries find
them by paths relative to their own. Libraries that every system with a Python has remain its own.
Needs patchelf.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

# Of glibc, GCC and what Python itself loads.
SYSTEM = re.compile(
    r"(ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|util|gcc_s|stdc\+\+|z|ssl|crypto))\.so\b.*"
)


def main():
    folder = pathlib.Path(sys.argv[1])
    binaries = [pathlib.Path(path) for path in sys.argv[2:]]
    folder.mkdir(parents=True, exist_ok=True)
    found, names = {}, {}  # name -> path; name -> private name
    for binary in binaries:
        found.update(libraries(binary))
    for name, path in found.items():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        stem, _, version = name.partition(".so")
        names[name] = f"{stem}-{digest}.so{version}"
    for name, path in found.items():
        copy = folder / names[name]
        shutil.copyfile(path, copy)
        copy.chmod(0o644)
        rename(copy, names, "$ORIGIN", "--set-soname", names[name])
    for binary in binaries:
        rename(binary, names, f"$ORIGIN/{os.path.relpath(folder, binary.parent)}")


def libraries(binary):
    """{name: path} of the libraries that the loader takes, the system's apart."""
    text = run("ldd", binary)
    if "not found" in text:
        sys.exit(f"graft.py: {binary} lacks a library:\n{text}")
    pairs = re.findall(r"^\s*(\S+) => (/\S+)", text, re.MULTILINE)
    return {name: pathlib.Path(path) for name, path in sorted(pairs) if not SYSTEM.fullmatch(name)}


def rename(binary, names, rpath, *options):
    # One change at a time: patchelf 0.14 forgets some of several.
    for name in run("patchelf", "--print-needed", binary).split():
        if name in names:
            run("patchelf", "--replace-needed", name, names[name], binary)
    if options:
        run("patchelf", *options, binary)
    run("patchelf", "--force-rpath", "--set-rpath", rpath, binary)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
