"""Manifests come from other machines. Reading arbitrary bytes yields a manifest that round-trips,
or BadManifest."""

import random
import re
import zlib

from kiln import _native
from kiln.warm import manifest

RECORDED = {_native.sha256(blob).hex(): blob for blob in (b"one", b"two" * 40, b"3")}
UNITS = tuple(
    manifest.ManifestUnit(f"{i:064x}", name, "x86-64-v3" if i else "-", "-", f"kernel {i}")
    for i, name in enumerate(RECORDED)
)
CARRIED = manifest.Manifest("-", "app.py", "ab" * 32, UNITS, RECORDED)
AT_HOME = manifest.Manifest("-", "app.py", "ab" * 32, UNITS, modules=[("a" * 64, "module.py")])
PIECES = [
    *(b"\n", b" ", b"-", b"\0", b"\x85", b"\xff", "²".encode(), b"9" * 30, b"9" * 5000),
    *(b"unit ", b"recorded ", b"module ", b"program ", b"compiler ", b"kiln-manifest 3\n"),
]


def test_any_bytes_are_a_manifest_or_are_refused():
    chance = random.Random(1)
    read = 0
    for _ in range(20000):
        data = changed(chance, chance.choice((CARRIED, AT_HOME)).to_bytes())
        if chance.random() < 0.6:
            data = repaired(chance, data)
        try:
            found = manifest.Manifest.from_bytes(data)
        except manifest.BadManifest:
            continue
        read += 1
        again = manifest.Manifest.from_bytes(found.to_bytes())
        assert (again.units, again.compiler) == (found.units, found.compiler), data
        if found.recorded is None:
            assert again.recorded is None, data
        else:
            for unit in found.units:
                assert again.recorded.get(unit.recorded) == found.recorded.get(unit.recorded), data
    assert read > 1000, "most are refused at once: the changes try nothing"


def carrying(raw, *names):
    """The bytes of a manifest with `raw` as its recorded kernels, and units that name `names`."""
    packed = zlib.compress(raw, 9)
    lines = ["kiln-manifest 3", "compiler " + "ab" * 32]
    lines += [f"unit {'1' * 64} {name} - - k" for name in names]
    lines += [f"recorded {len(raw)} {len(packed)} {_native.sha256(packed).hex()}", ""]
    return "\n".join(lines).encode() + packed


def refusal(data):
    try:
        manifest.Manifest.from_bytes(data)
    except manifest.BadManifest as error:
        return str(error)
    return ""


def test_a_small_file_does_not_become_millions_of_recorded_kernels():
    assert "of 0 bytes" in refusal(carrying(bytes(8)))
    assert "cannot come of" in refusal(carrying(bytes(64 << 20)))
    name = _native.sha256(b"one").hex()
    one = len(b"one").to_bytes(8, "little") + b"one"
    assert refusal(carrying(one, name)) == ""
    assert "no unit names" in refusal(carrying(one))
    assert "twice" in refusal(carrying(one * 2, name))


def changed(chance, data):
    """`data` with up to three changes: replaced words, inserted pieces, flipped bits, removed
    parts."""
    data = bytearray(data)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        way = chance.randrange(5)
        if way == 4:
            begin, end = chance.choice(
                [word.span() for word in re.finditer(rb"[^ \n]+", data)] or [(0, 0)]
            )
            data[begin:end] = chance.choice(PIECES)
        elif way == 0:
            data[at:at] = chance.choice(PIECES)
        elif way == 1 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif way == 2:
            del data[at : at + chance.randrange(1, 60)]
        elif way == 3:
            del data[at:]
    return bytes(data)


def repaired(chance, data):
    """`data` with a line `recorded` that fits the bytes after it, so that the parser unpacks them.
    Sometimes the size is off by one, or the bytes are replaced."""
    head, mark, rest = data.rpartition(b"\nrecorded ")
    if not mark:
        return data
    packed = rest.partition(b"\n")[2]
    if chance.random() < 0.3:
        lengths = (chance.choice((len(b), len(b) + 1, 0, 2**63)) for b in RECORDED.values())
        raw = b"".join(
            length.to_bytes(8, "little") + blob
            for length, blob in zip(lengths, RECORDED.values(), strict=True)
        )
        packed = zlib.compress(raw[: chance.randrange(len(raw) + 1)])
    try:
        size = len(zlib.decompressobj().decompress(packed, 1 << 20))
    except zlib.error:
        size = 5
    size += chance.choice((0, 0, 0, -1, 1))
    name = _native.sha256(packed).hex()
    return head + f"\nrecorded {size} {len(packed)} {name}\n".encode() + packed
