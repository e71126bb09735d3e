"""`kiln cache`: lists, explains, verifies, deletes and exchanges the entries of the cache."""

import os
import sys
import time

from . import options as option
from .common import confirm, home, print_json, run, session, size
from .options import BadOption, parse, words

_JSON = {"--json": False}


def main(argv):
    act, rest = option.action(argv, "cache", _ACTIONS)
    return run(act, rest)


def path(argv):
    """`kiln cache path`."""
    options, rest = parse(argv, _JSON)
    words(rest, "cache path")
    where = os.path.join(home(), "cache")
    print_json({"path": where}) if options["json"] else print(where)
    return 0


def stats(argv):
    """`kiln cache stats`: shows the daemon's counters."""
    options, rest = parse(argv, _JSON)
    words(rest, "cache stats")
    counted = session().daemon_stats()
    print_json(counted) if options["json"] else _print_stats(counted)
    return 0


def list_entries(argv):
    """`kiln cache list`: prints one line per entry, the most recently used last."""
    options, rest = parse(argv, {**_JSON, "--kernel": ""})
    words(rest, "cache list")
    entries = sorted(_entries(), key=lambda e: (e["used"], e["place"]))
    if options["kernel"]:
        entries = [e for e in entries if e["kernel"] == options["kernel"]]
    if options["json"]:
        print_json([_public(e) for e in entries])
        return 0
    for e in entries:
        print(
            f"{e['place'][:16]}  {size(e['bytes']):>9}  {e['compile_seconds'] * 1e3:7.1f} ms  "
            f"{e['target']:9}  {'signed' if e['signer'] else '      '}  {_age(e['used']):>9}  "
            f"{e['kernel']}"
        )
    print(f"{len(entries)} entries, {size(sum(e['bytes'] for e in entries))}")
    return 0


def show(argv):
    """`kiln cache show KEY`: shows an entry's description."""
    options, rest = parse(argv, _JSON)
    (key,) = words(rest, "cache show", "key")
    entry = _the_entry(key)
    wrong, only_signature = _verify([entry["path"]])[0]
    state = "whole" if not wrong or only_signature else f"damaged: {wrong}"
    signature = _signature(entry, wrong, only_signature)
    if options["json"]:
        print_json({**_public(entry), "state": state, "signature": signature})
        return 0
    rows = [
        ("key", entry["key"]),
        ("kernel", entry["kernel"]),
        ("file", entry["path"]),
        ("size", f"{size(entry['bytes'])}, of it code {size(entry['code_bytes'])}"),
        ("state", state),
        ("signature", signature),
        ("target", f"{entry['target']}, runtime {entry['runtime_abi']}"),
        ("compiler", entry["compiler"]),
        ("compiled in", f"{entry['compile_seconds'] * 1e3:.1f} ms"),
        ("tasks", entry["tasks"]),
        ("last used", _age(entry["used"])),
    ]
    rows += [("tenant", entry["tenant"])] if entry["tenant"] else []
    rows += [("needs", f"{name} {version}") for name, version in sorted(entry["needs"].items())]
    for name, value in rows:
        print(f"{name:12} {value}")
    for name, digest, text in entry["parts"]:
        print(f"{name:12} {digest}  {_first(text)}")
    return 0


def explain(argv):
    """`kiln cache explain KEY-or-kernel`: shows how its key differs from the nearest entry's."""
    from .. import explain as explaining

    options, rest = parse(argv, _JSON)
    (key,) = words(rest, "cache explain", "key or kernel")
    entry = _the_entry(key, kernels=True)
    other, rows = explaining.nearest(entry["parts"], entry["kernel"], entry["key"])
    if options["json"]:
        differing = [{"part": p, "this": ours, "nearest": theirs} for p, ours, theirs in rows]
        print_json(
            {
                "key": entry["key"],
                "kernel": entry["kernel"],
                "nearest": other,
                "differing": differing,
                "parts": [name for name, _, _ in entry["parts"]],
            }
        )
        return 0
    print(f"{entry['kernel']}  {entry['key']}")
    if other is None:
        print("is near no other entry: nothing of its name, and nothing that shares most parts")
        return 0
    print(f"nearest: {other}")
    for part, ours, theirs in rows:
        print(f"\n{part} differs")
        if ours == theirs:
            print(f"  both     {explaining.contrast(ours, ours)[0]}")
            print("  (the same in outline, but in another order or with other operands)")
            continue
        ours, theirs = explaining.contrast(ours, theirs)
        print(f"  this     {ours or '(has none)'}\n  nearest  {theirs or '(has none)'}")
    same = [name for name, _, _ in entry["parts"] if name not in {row[0] for row in rows}]
    print(f"\nthe same: {', '.join(same) or 'nothing'}")
    return 0


def verify(argv):
    """`kiln cache verify`: reads every entry in full; returns 1 if any is damaged."""
    options, rest = parse(argv, {**_JSON, "--signed": False, "--delete": False, "--keys": ""})
    words(rest, "cache verify")
    files = _files()
    damaged, unsigned = [], []
    for path, (wrong, only_signature) in zip(files, _verify(files, options["keys"])):
        if wrong:
            (unsigned if only_signature else damaged).append((path, wrong))
    wrong = damaged + (unsigned if options["signed"] else [])
    deleted = 0
    if options["delete"]:
        _check_writable()
    for path, _ in wrong if options["delete"] else ():
        os.unlink(path)
        deleted += 1
    if options["json"]:
        print_json(
            {
                "entries": len(files),
                "damaged": [{"file": p, "text": t} for p, t in damaged],
                "signed": len(files) - len(damaged) - len(unsigned),
                "not_signed": len(unsigned),
                "deleted": deleted,
            }
        )
    else:
        for path, text in wrong:
            print(f"{path}: {text}")
        print(
            f"{len(files)} entries, {len(damaged)} damaged, "
            f"{len(files) - len(damaged) - len(unsigned)} signed by a trusted key"
            + (f", {deleted} deleted" if options["delete"] else "")
        )
    return 1 if len(wrong) > deleted else 0


def prune(argv):
    """`kiln cache prune`: deletes the least recently used entries."""
    from .. import explain as explaining

    options, rest = parse(
        argv,
        {**_JSON, "--dry-run": False, "--max-size": "", "--older-than": ""},
        {"-n": "--dry-run"},
    )
    words(rest, "cache prune")
    limit = oldest = None
    if options["max_size"]:
        limit = option.size(options["max_size"], "--max-size")
    if options["older_than"]:
        oldest = time.time() - option.seconds(options["older_than"], "--older-than")
    if limit is None and oldest is None:
        raise BadOption("cache prune: to which --max-size, or what --older-than?")
    files = sorted(explaining.files(home()), key=lambda f: (f[1].st_mtime, f[0]))
    if not options["dry_run"]:
        _check_writable()
    total = sum(info.st_size for _, info in files)
    count = freed = 0
    for path, info in files:
        is_old = oldest is not None and info.st_mtime < oldest
        if not is_old and (limit is None or total - freed <= limit):
            continue
        if not options["dry_run"]:
            _delete(path)
        count += 1
        freed += info.st_size
    if options["json"]:
        print_json({"entries": count, "bytes": freed, "left_bytes": total - freed})
    else:
        word = "would delete" if options["dry_run"] else "deleted"
        print(f"{word} {count} entries, {size(freed)}; {size(total - freed)} left")
    return 0


def clear(argv):
    """`kiln cache clear`: deletes all entries and all notes on kernels."""
    options, rest = parse(argv, {**_JSON, "--yes": False}, {"-y": "--yes"})
    words(rest, "cache clear")
    if not options["yes"]:
        if not confirm(f"Delete everything in {os.path.join(home(), 'cache')}?"):
            return 1
    _check_writable()
    files = _files()
    cleared = session().clear_cache()
    for path in files:
        _delete(path)  # raises the reason why it is still there, as on a read-only file system
    import shutil

    # Warm records are useless without their entries.
    shutil.rmtree(os.path.join(home(), "warm"), ignore_errors=True)
    if options["json"]:
        print_json(cleared)
    else:
        print(f"cleared {cleared['entries']} entries, {size(cleared['bytes'])}")
    return 0


def export(argv):
    """`kiln cache export FILE`: writes entries to one file; see common/artifact/bundle.h."""
    from .. import _native

    options, rest = parse(argv, {**_JSON, "--all": False, "--manifest": "", "--sign": ""})
    wanted = rest[1:]
    if not rest or not (options["all"] or options["manifest"] or wanted):
        raise BadOption("cache export FILE: --all, which --manifest or which keys?")
    if options["all"]:
        files = _files()
    else:
        keys = [_the_entry(key)["place"] for key in wanted]
        keys += _manifest(options["manifest"]) if options["manifest"] else []
        files = [_path(key) for key in dict.fromkeys(keys)]
    missing = [f for f in files if not os.path.exists(f)]
    for file in missing:
        print(f"kiln: {os.path.basename(file)[:-3]} is not in the cache", file=sys.stderr)
    present = [f for f in files if f not in set(missing)]
    done = _native.export_bundle(present, rest[0], options["sign"])
    for text in done["left_out"]:
        print(f"kiln: left out {text}", file=sys.stderr)
    if options["json"]:
        print_json({**done, "missing": [os.path.basename(f)[:-3] for f in missing]})
    else:
        print(f"exported {done['entries']} entries, {size(done['bytes'])}")
    return 1 if missing or done["left_out"] else 0


def import_entries(argv):
    """`kiln cache import FILE`: imports entries that a trusted key signed and this machine can
    run."""
    from .. import _native

    options, rest = parse(
        argv, {**_JSON, "--accept-unsigned": False, "--any-target": False, "--keys": ""}
    )
    (file,) = words(rest, "cache import", "file")
    _check_writable()
    keys = [options["keys"]] if options["keys"] else []
    done = _native.import_bundle(
        home(), file, keys, options["accept_unsigned"], options["any_target"]
    )
    if options["json"]:
        print_json(done)
    else:
        reasons = {}
        for refusal in done["refused"]:
            reasons.setdefault(refusal["reason"], []).append(refusal)
        for reason, refused in sorted(reasons.items()):
            print(
                f"kiln: refused {len(refused)} ({reason}): {refused[0]['kernel']} "
                f"{refused[0]['key'][:16]} {refused[0]['text']}",
                file=sys.stderr,
            )
        print(
            f"imported {done['imported']} of {done['entries']} entries, {size(done['bytes'])}"
            + (f"; {done['present']} were there" if done["present"] else "")
        )
    return 1 if done["refused"] else 0


_ACTIONS = {
    "path": path,
    "stats": stats,
    "list": list_entries,
    "show": show,
    "explain": explain,
    "verify": verify,
    "prune": prune,
    "clear": clear,
    "export": export,
    "import": import_entries,
}


def _entries():
    from .. import explain as explaining

    return explaining.entries()


def _files():
    from .. import explain as explaining

    return [path for path, _ in explaining.files(home())]


def _path(place):
    return os.path.join(home(), "cache", place[:2], f"{place}.so")


def _the_entry(text, kernels=False):
    """The entry whose key begins with `text`. With `kernels`, `text` may also name a kernel, whose
    most recently used entry is returned. Raises ValueError if no entry or several match."""
    entries = _entries()
    if kernels and (named := [e for e in entries if e["kernel"] == text]):
        return max(named, key=lambda e: e["used"])
    if len(text) < 4 or text.strip("0123456789abcdef"):
        raise ValueError(f"no key{' or kernel' if kernels else ''} '{text}' in the cache")
    found = [e for e in entries if e["key"].startswith(text) or e["place"].startswith(text)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ValueError(f"no key '{text}' in the cache")
    raise ValueError(f"{len(found)} keys begin with '{text}'; give more digits")


def _manifest(path):
    """The keys that a manifest lists."""
    from ..warm import manifest

    try:
        return [unit.key for unit in manifest.read(path).units]
    except manifest.BadManifest as error:
        raise ValueError(error) from None


def _delete(path):
    """Deletes an entry, which the daemon may have deleted meanwhile."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _check_writable():
    """Raises ValueError if the home is read-only."""
    from .. import _native

    if os.environ.get("KILN_CACHE") == "read-only":
        raise ValueError("KILN_CACHE=read-only: nothing is changed")
    if wrong := _native.distrust_of(home()):
        raise ValueError(f"nothing is changed: {wrong}")


def _verify(files, keys=None):
    from .. import _native

    return _native.verify_entries(home(), files, [keys] if keys else [])


def _signature(entry, wrong, only_signature):
    if not entry["signer"]:
        return "none"
    return f"of key {entry['signer']}, " + (
        wrong if only_signature else "which is trusted" if not wrong else "not looked at"
    )


def _public(entry):
    parts = [{"name": n, "digest": d, "text": t} for n, d, t in entry["parts"]]
    return {**entry, "parts": parts}


def _first(text, width=80):
    return text if len(text) <= width else text[: width - 3] + "..."


def _age(when):
    seconds = max(0, time.time() - when)
    for length, word in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.0f} {word} ago"
    return f"{seconds:.0f} s ago"


def _print_stats(stats):
    by_tier = stats.get("hits_by_tier") or {}
    tiers = ", ".join(f"{tier} {count}" for tier, count in sorted(by_tier.items()))
    rows = [
        ("cache", os.path.join(home(), "cache")),
        ("entries", f"{stats['entries']}, {size(stats['bytes'])}"),
        ("hits", f"{stats['hits']}" + (f" ({tiers})" if tiers else "")),
        ("misses", stats["misses"]),
        ("compiles", stats["compiles"]),
        ("seconds saved", f"{stats['seconds_saved']:.1f}"),
    ]
    rows += [
        (name.replace("_", " "), stats[name])
        for name in ("evictions", "corrupt", "worker_deaths", "errors")
        if stats.get(name)
    ]
    for name, value in rows:
        print(f"{name:14} {value}")
