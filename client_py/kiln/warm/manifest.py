"""The file format of manifests: which kernels a program used, in the order of their first use.

    kiln-manifest 3
    program <SHA-256 of its text, or -> <name of its file>
    module <SHA-256 of its text> <file of one of the program's own modules that it imported>
    …
    compiler <id of the compiler that the keys are of>
    unit <key> <recorded kernel> <target> <file of its warm record below the home> <kernel>
    …
    recorded <bytes> <bytes compressed> <SHA-256 of the compressed bytes>
    <compressed bytes>

One space separates words; `-` means none; the last word of a line may contain spaces. A target is
the one that the program requested (x86-64-v3); `-` means the machine's. Recorded kernels
(warm/units.py) are named by the SHA-256 of their bytes.

In a home (<home>/warm/programs), other files contain the recorded kernels, and the manifest ends
with its last unit. A portable manifest contains them: after the line `recorded` follows one zlib
stream of all of them, each preceded by its length (8 bytes, little-endian), in the order in which
the units first name them. None is empty, and a unit names each. A portable manifest lists no
modules, because their paths mean nothing elsewhere.

Equal manifests have equal bytes. client_cpp/manifest.cc writes those of C++ programs.

Thread safety: the functions have no state.
"""

import os
import re
import zlib
from collections import namedtuple

from .. import _native
from . import units

HEADER = "kiln-manifest 3"
MAX_UNITS = 20000
MAX_BYTES = 1 << 30  # of all recorded kernels of a file
MAX_RATIO = 256  # of those bytes to the compressed ones, above the first MiB


class BadManifest(Exception):
    """A file is not a manifest or is damaged; the text says what is wrong and in which line."""


class Unit(namedtuple("Unit", "key recorded target record kernel")):
    """An instance of a kernel that a program used.

    key: the key of its artifact. recorded: the name of the recorded kernel, "-" if unknown. target:
    the target that the program requested, "-" for the machine's. record: the file of its warm
    record below the home, "-" if it has none. kernel: the kernel's name in the program.
    """

    __slots__ = ()


class Manifest(
    namedtuple("Manifest", "program name compiler units recorded modules", defaults=(None, ()))
):
    """The kernels that a program used.

    program: the SHA-256 of its text, "-" if unknown. name: the name of its file. units: a tuple of
    Unit. recorded: {name: bytes}, or None if the recorded kernels are files of the manifest's home.
    modules: ((SHA-256, file), …).
    """

    __slots__ = ()

    def get(self, home, unit):
        """The bytes of a unit's recorded kernel, from the file or else from `home`, or None."""
        found = (self.recorded or {}).get(unit.recorded)
        return found if found is not None else units.read(home, unit.recorded)


def to_bytes(manifest):
    """The bytes of the manifest's file, including the recorded kernels if the manifest has them."""
    name = manifest.name.replace("\n", "?")
    lines = [
        HEADER,
        f"program {manifest.program} {name}",
        *(f"module {digest} {file}" for digest, file in manifest.modules),
        f"compiler {manifest.compiler}",
        *(f"unit {u.key} {u.recorded} {u.target} {u.record} {u.kernel}" for u in manifest.units),
    ]
    packed = b""
    if manifest.recorded is not None:
        names = dict.fromkeys(u.recorded for u in manifest.units if u.recorded in manifest.recorded)
        blobs = [manifest.recorded[name] for name in names]
        raw = b"".join(len(blob).to_bytes(8, "little") + blob for blob in blobs)
        packed = zlib.compress(raw, 9)
        lines.append(f"recorded {len(raw)} {len(packed)} {_native.sha256(packed).hex()}")
    return "\n".join([*lines, ""]).encode() + packed


def from_bytes(data):
    """Parses the bytes of a file. Raises BadManifest, which names the wrong line."""
    words = {}
    found = []
    modules = []
    recorded = None
    at = number = 0
    while at < len(data):
        number += 1
        end = data.find(b"\n", at, at + 10000)
        if end < 0:
            raise BadManifest(f"line {number} does not end")
        line = data[at:end].decode(errors="replace")
        at = end + 1
        if number == 1:
            if line != HEADER:
                kind = (
                    "of another version" if line.startswith("kiln-manifest ") else "not a manifest"
                )
                raise BadManifest(f"{kind}: line 1 should be '{HEADER}'")
            continue
        word, _, rest = line.partition(" ")
        if word == "unit":
            found.append(_unit(rest, number))
            if len(found) > MAX_UNITS:
                raise BadManifest(f"more than {MAX_UNITS} units")
        elif word == "module":
            digest, _, file = rest.partition(" ")
            modules.append((digest, file))
        elif word in ("program", "compiler") and word not in words:
            words[word] = rest
        elif word == "recorded":
            named = {unit.recorded for unit in found}
            recorded = _unpack(rest, data[at:], number, named)
            break
        else:
            raise BadManifest(f"line {number}: '{word}' is not expected here")
    if number == 0 or not words.get("compiler"):
        raise BadManifest("it ends before the line 'compiler'")
    program, _, name = words.get("program", "-").partition(" ")
    return Manifest(program, name, words["compiler"], tuple(found), recorded, tuple(modules))


def read(path):
    """Reads the manifest in a file. Raises OSError or BadManifest."""
    with open(path, "rb") as file:
        return from_bytes(file.read())


def with_recorded(manifest, home):
    """The portable form of a manifest: with its recorded kernels, without names that are only valid
    in this home."""
    recorded = {}
    for unit in manifest.units:
        if unit.recorded not in recorded and unit.recorded != "-":
            blob = manifest.get(home, unit)
            if blob is not None:
                recorded[unit.recorded] = blob
    carried = tuple(
        u._replace(record="-", recorded=u.recorded if u.recorded in recorded else "-")
        for u in manifest.units
    )
    name = os.path.basename(manifest.name)
    return manifest._replace(name=name, units=carried, recorded=recorded, modules=())


def _unit(rest, number):
    words = rest.split(" ", 4)
    good = len(words) == 5 and units.is_name(words[0])
    if not good or not (words[1] == "-" or units.is_name(words[1])):
        raise BadManifest(f"line {number}: 'unit KEY RECORDED TARGET RECORD KERNEL' expected")
    return Unit(*words)


def _unpack(rest, packed, number, named):
    """{name: bytes} of the recorded kernels; `named` are their names in order."""
    words = rest.split(" ")
    if len(words) != 3 or not all(re.fullmatch("[0-9]{1,18}", word) for word in words[:2]):
        raise BadManifest(f"line {number}: 'recorded BYTES COMPRESSED SHA256' expected")
    size = int(words[0])
    if size > MAX_BYTES:
        raise BadManifest(f"line {number}: {size} bytes of recorded kernels; {MAX_BYTES} may be")
    if size > (1 << 20) + MAX_RATIO * len(packed):
        raise BadManifest(f"line {number}: {size} bytes cannot come of {len(packed)} compressed")
    if len(packed) != int(words[1]) or _native.sha256(packed).hex() != words[2]:
        raise BadManifest("what follows its last line is damaged or cut off")
    try:
        # Stop at the stated size, so that a small file cannot expand without bounds.
        raw = zlib.decompressobj().decompress(packed, size + 1)
    except zlib.error as error:
        raise BadManifest(f"its recorded kernels cannot be unpacked: {error}") from None
    if len(raw) != size:
        raise BadManifest(f"its recorded kernels are not of {size} bytes")
    recorded = {}
    at = 0
    while at < size:
        length = int.from_bytes(raw[at : at + 8], "little")
        end = at + 8 + length
        if end > size:
            raise BadManifest("a recorded kernel is cut off")
        if not 0 < length <= units.MAX_BYTES:
            raise BadManifest(f"a recorded kernel of {length} bytes")
        blob = raw[at + 8 : end]
        name = _native.sha256(blob).hex()
        if name not in named or name in recorded:
            raise BadManifest("a recorded kernel that no unit names, or one that is there twice")
        recorded[name] = blob
        at = end
    return recorded
