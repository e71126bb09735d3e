"""`kiln cache` and `kiln key`: the cache's entries, bundles between homes, signatures."""

import json
import os
import pathlib
import time

from tests.conftest import PROGRAM


def read(kiln, *arguments, check=True):
    return json.loads(kiln(*arguments, "--json", check=check).stdout)


def test_entries_are_listed_shown_and_explained(kiln, program):
    kiln("run", "-q", program)
    entries = read(kiln, "cache", "list")
    assert sorted(e["kernel"] for e in entries) == ["fill", "total"]
    assert len(read(kiln, "cache", "list", "--kernel", "fill")) == 1
    fill = next(e for e in entries if e["kernel"] == "fill")
    text = kiln("cache", "list").stdout
    assert fill["key"][:16] in text and "2 entries" in text

    shown = read(kiln, "cache", "show", fill["key"][:12])
    assert shown["state"] == "whole" and shown["signature"] == "none" and shown["tasks"] >= 1
    assert "x86-64" in kiln("cache", "show", fill["key"]).stdout

    program.write_text(PROGRAM.replace("ti.cpu", "ti.cpu, fast_math=False"))
    kiln("run", "-q", program)
    assert len(read(kiln, "cache", "list")) == 4
    why = read(kiln, "cache", "explain", "fill")
    assert why["nearest"] == fill["key"]
    assert [row["part"] for row in why["differing"]] == ["options"]
    (options,) = why["differing"]
    assert "fast_math: true" in options["nearest"] and "fast_math" not in options["this"]
    text = kiln("cache", "explain", why["key"]).stdout
    assert "options differs" in text and f"nearest: {fill['key']}" in text
    assert "the same: compiler, target, code" in text


# The description of its code is longer than the part that `explain` shows.
LONG = """
import taichi as ti

ti.init(arch=ti.cpu, unrolling_limit=0)
x = ti.field(ti.i32, shape=8)


@ti.kernel
def fill():
    for i in x:
        for j in ti.static(range(200)):
            x[i] += 1000 + j if j != 150 else {constant}


fill()
"""


def test_long_values_are_shown_where_they_differ(kiln, program):
    for constant in (77777, 88888):
        program.write_text(LONG.format(constant=constant))
        done = kiln("run", program, check=False, env={"KILN_REQUIRE_HIT": "1"})
    assert "1149" in done.stderr and "1000" not in done.stderr, done.stderr
    text = kiln("cache", "explain", "fill").stdout
    for constant, word in ((88888, "this"), (77777, "nearest")):
        (line,) = [line for line in text.splitlines() if line.split()[:1] == [word]]
        assert f" 1149, {constant}, 1151, " in line
        assert line.split()[1].startswith("...") and line.endswith("...") and len(line) < 350
    # The JSON output is not cut.
    (code,) = read(kiln, "cache", "explain", "fill")["differing"]
    assert "88888" in code["this"] and "1000" in code["this"] and "1199" in code["this"]


def test_notes_of_clients_stay_within_a_budget(kiln, program):
    kiln("run", "-q", program)
    warm = pathlib.Path(kiln.home, "warm")
    noted = {path for path in warm.rglob("*") if path.is_file()}
    old = warm / "00" / ("0" * 62)
    old.parent.mkdir(exist_ok=True)
    old.write_bytes(b"x" * (2 << 20))
    os.utime(old, (1, 1))
    kiln("stop")
    # Notes may take an eighth of the cache's budget; a daemon trims them at its start.
    program.write_text(PROGRAM.replace("ti.cpu", "ti.cpu, fast_math=False"))
    kiln("run", "-q", program, env={"KILN_CACHE_BYTES": str(8 << 20)})
    end = time.monotonic() + 30
    while old.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not old.exists()
    assert noted and all(path.exists() for path in noted)


def test_invalid_keys(kiln, program):
    kiln("run", "-q", program)
    for arguments in (["show", "dance"], ["show", "abcd"], ["explain", "nothing"]):
        done = kiln("cache", *arguments, check=False)
        assert done.returncode == 1 and done.stderr.startswith("kiln: no key"), done.stderr
    for arguments in (["show"], ["explain"], ["list", "--xml"], ["prune"], ["export", "f"], ["x"]):
        assert kiln("cache", *arguments, check=False).returncode == 2


def test_damaged_entries_are_found_and_deleted(kiln, program):
    kiln("run", "-q", program)
    assert kiln("cache", "verify").stdout.startswith("2 entries, 0 damaged")
    path = read(kiln, "cache", "list")[0]["path"]
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(b"?")
    done = kiln("cache", "verify", check=False)
    assert done.returncode == 1 and path in done.stdout
    found = read(kiln, "cache", "verify", "--delete")
    assert [d["file"] for d in found["damaged"]] == [path] and found["deleted"] == 1
    assert kiln("cache", "verify").stdout.startswith("1 entries, 0 damaged")


def test_pruning_deletes_the_least_recently_used(kiln, program):
    kiln("run", "-q", program)
    old, young = read(kiln, "cache", "list")
    os.utime(old["path"], (1e9, 1e9))
    assert read(kiln, "cache", "prune", "--older-than", "30d", "-n")["entries"] == 1
    assert os.path.exists(old["path"])
    done = read(kiln, "cache", "prune", "--max-size", str(young["bytes"]))
    assert done == {"entries": 1, "bytes": old["bytes"], "left_bytes": young["bytes"]}
    assert not os.path.exists(old["path"]) and os.path.exists(young["path"])
    # A negative limit would delete all entries.
    sizes = [("--max-size", wrong) for wrong in ("much", "-1", "-1G", "inf", "nan")]
    times = [("--older-than", wrong) for wrong in ("3y", "-3d", "infd", "nand")]
    for limit, wrong in sizes + times:
        done = kiln("cache", "prune", limit, wrong, check=False)
        assert done.returncode == 2 and f"{limit}={wrong}: a " in done.stderr


def test_a_bundle_transfers_a_cache_to_another_home(kiln, other, program, tmp_path):
    kiln("run", "-q", program)
    secret, bundle = tmp_path / "signing.key", tmp_path / "ci.bundle"
    public = kiln("key", "new", "ci-2026", secret).stdout.strip()
    assert secret.stat().st_mode & 0o777 == 0o600 and public.startswith("ci-2026:")
    assert kiln("key", "public", secret).stdout.strip() == public
    assert kiln("key", "new", "ci-2026", secret, check=False).returncode == 1  # never replaced
    assert read(kiln, "cache", "export", bundle, "--all", "--sign", secret)["entries"] == 2

    refused = other("cache", "import", bundle, check=False)
    assert refused.returncode == 1 and "refused 2 (untrusted)" in refused.stderr
    plain = tmp_path / "plain.bundle"
    kiln("cache", "export", plain, "--all")
    assert "refused 2 (unsigned)" in other("cache", "import", plain, check=False).stderr
    assert read(other, "cache", "list") == []
    other("key", "trust", public)
    other("key", "trust", public)
    assert len(read(other, "key", "list")) == 1
    assert read(other, "cache", "import", bundle)["imported"] == 2
    assert read(other, "cache", "import", bundle)["present"] == 2
    again = tmp_path / "again.bundle"
    other("cache", "export", again, "--all", "--sign", secret)
    assert again.read_bytes() == bundle.read_bytes()

    done = other("run", program)
    assert "compiled" not in done.stderr and "misses 0" in done.stderr, done.stderr


def test_parts_of_a_cache_and_damaged_bundles(kiln, other, program, tmp_path):
    kiln("run", "-q", program)
    bundle = tmp_path / "one.bundle"
    key = read(kiln, "cache", "list", "--kernel", "fill")[0]["key"]
    assert read(kiln, "cache", "export", bundle, key[:10])["entries"] == 1
    manifest = tmp_path / "manifest"
    manifest.write_text(
        f"kiln-manifest 3\nprogram - -\ncompiler {'1' * 64}\n"
        f"unit {key} - - - fill\nunit {'0' * 64} - - - gone\n"
    )
    done = kiln("cache", "export", bundle, "--manifest", manifest, "--json", check=False)
    assert done.returncode == 1 and json.loads(done.stdout)["missing"] == ["0" * 64]
    assert json.loads(done.stdout)["entries"] == 1
    assert read(other, "cache", "import", bundle, "--accept-unsigned")["imported"] == 1
    whole = bundle.read_bytes()
    bundle.write_bytes(whole[:200] + b"!" + whole[201:])
    done = other("cache", "import", bundle, "--accept-unsigned", check=False)
    assert done.returncode == 1 and "checksum" in done.stderr


def test_a_signing_daemon_and_a_client_that_requires_signatures(kiln, program, tmp_path):
    secret = tmp_path / "signing.key"
    public = kiln("key", "new", "here", secret).stdout.strip()
    kiln.home.mkdir(mode=0o700, exist_ok=True)
    (kiln.home / "kilnd.conf").write_text(f'trust {{ signing_key_file: "{secret}" }}\n')
    kiln("key", "trust", public)
    strict = {"KILN_REQUIRE_SIGNED": "1"}
    done = kiln("run", program, env=strict)
    assert "misses 2" in done.stderr and "not used" not in done.stderr, done.stderr
    assert kiln("cache", "verify", "--signed").stdout.startswith("2 entries, 0 damaged, 2 signed")
    assert "misses 0" in kiln("run", program, env=strict).stderr
    # Without the key in the list, entries of others are not used; the kernel is compiled here.
    (kiln.home / "trusted.keys").write_text("")
    done = kiln("run", program, env=strict)
    assert "misses 2" in done.stderr and "which is not trusted here" in done.stderr, done.stderr
