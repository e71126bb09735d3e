#!/usr/bin/python3
"""Writes a wheel: a zip file whose bytes follow from its content alone.

    tools/package/wheel.py TREE NAME VERSION OUT [--extra NAME=REQUIREMENT] [--requires REQUIREMENT]
        [--summary TEXT] [--readme FILE] [--license FILE] [--script NAME=MODULE:FUNCTION]
        [--python TAG | --any-python]

TREE is what site-packages receives. The tags follow from the binaries in it: the platform from the
newest glibc that one of them needs, the Python from TAG (cp313, say), or the one that runs this
script. Prints the wheel's path.
"""

import argparse
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import zipfile

TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can state


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("name")
    parser.add_argument("version")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--summary", default="")
    parser.add_argument("--readme", type=pathlib.Path)
    parser.add_argument("--license", type=pathlib.Path)
    parser.add_argument("--requires", action="append", default=[])
    parser.add_argument("--extra", action="append", default=[])
    parser.add_argument("--script", action="append", default=[])
    parser.add_argument("--python", default="cp%d%d" % sys.version_info[:2])
    parser.add_argument("--any-python", action="store_true")
    options = parser.parse_args()

    binaries = [file for file in files_of(options.tree) if is_elf(file)]
    python = abi = options.python
    if options.any_python:
        python, abi = "py3", "none"
    tag = f"{python}-{abi}-{platform(binaries)}"

    distribution = options.name.replace("-", "_")
    info = f"{distribution}-{options.version}.dist-info"
    content = {
        str(file.relative_to(options.tree)): (file.read_bytes(), file.stat().st_mode & 0o100)
        for file in files_of(options.tree)
    }
    content[f"{info}/METADATA"] = metadata(options), 0
    content[f"{info}/WHEEL"] = wheel(tag), 0
    if options.license:
        content[f"{info}/LICENSE"] = options.license.read_bytes(), 0
    if options.script:
        scripts = [script.replace("=", " = ", 1) for script in options.script]
        content[f"{info}/entry_points.txt"] = lines("[console_scripts]", *scripts), 0

    path = options.out / f"{distribution}-{options.version}-{tag}.whl"
    write(path, content, f"{info}/RECORD")
    print(path)


def files_of(tree):
    return sorted(path for path in tree.rglob("*") if path.is_file())


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def platform(binaries):
    """manylinux_2_N_x86_64 of the newest symbol of glibc that the binaries need."""
    needs = [(2, 17)]  # the oldest that x86-64 wheels name
    for binary in binaries:
        command = ["readelf", "--version-info", "--wide", binary]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        # After the needs come no definitions: what a library defines is not what it needs.
        text = text.partition(".gnu.version_r'")[2]
        needs += [tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(\d+\.\d+)", text)]
    return "manylinux_%d_%d_x86_64" % max(needs)


def lines(*texts):
    return "".join(f"{text}\n" for text in texts).encode()


def metadata(options):
    rows = [
        "Metadata-Version: 2.1",
        f"Name: {options.name}",
        f"Version: {options.version}",
        f"Summary: {options.summary}",
        "License: Apache-2.0",
        "Requires-Python: >=3.9",
        *(f"Requires-Dist: {requirement}" for requirement in options.requires),
    ]
    for extra in options.extra:
        name, requirement = extra.split("=", 1)
        rows += [f"Provides-Extra: {name}", f'Requires-Dist: {requirement}; extra == "{name}"']
    if options.readme:
        rows.append("Description-Content-Type: text/markdown")
    text = lines(*rows)
    return text + b"\n" + options.readme.read_bytes() if options.readme else text


def wheel(tag):
    return lines("Wheel-Version: 1.0", "Generator: kiln", "Root-Is-Purelib: false", f"Tag: {tag}")


def write(path, content, record):
    """Writes the files in order, and last the record of their digests."""
    rows = []
    with zipfile.ZipFile(path, "w") as archive:
        for name, (data, executable) in sorted(content.items()):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(data)}")
            add(archive, name, data, executable)
        add(archive, record, lines(*rows, f"{record},,"), False)


def add(archive, name, data, executable):
    entry = zipfile.ZipInfo(name, TIME)
    entry.create_system = 3  # Unix: the mode counts
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    main()
