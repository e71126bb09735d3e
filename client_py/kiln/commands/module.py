"""`kiln module`: shows, checks and compares modules."""

from .common import failure, home, print_json, size
from .options import action, parse, words

_JSON = {"--json": False}


def main(argv):
    from .. import _native

    act, rest = action(argv, "module", _ACTIONS)
    try:
        return act(rest)
    except _native.ModuleError as error:
        return failure(error.args[1])


def show(argv):
    """`kiln module show FILE`: what a module has, without loading it."""
    options, rest = parse(argv, _JSON)
    (path,) = words(rest, "module show", "file")
    found = _described(path)
    if options["json"]:
        print_json(found)
        return 0
    facts = dict(found["facts"])
    needs = [f"{k[6:]} {v}" for k, v in facts.items() if k.startswith("needs.")]
    print(f"{found['name']}: {size(found['bytes'])}, {', '.join(found['targets'])}")
    abis = [f"{of} ABI {found[f'{of.lower()}_abi']}" for of in ("module", "tree", "CUDA")]
    shown = [text for text in abis if not text.endswith(" 0")]
    print(f"  format {found['format']}, {', '.join(shown)}")
    print(f"  needs {', '.join(needs) or 'no newer glibc than any supported system has'}")
    for kind in ("kernels", "graphs", "fields"):
        for text in found[kind].values():
            print(f"  {kind[:-1]} {text}")
    for name, value in facts.items():
        if not name.startswith("needs."):
            print(f"  {name} {value}")
    return 0


def check(argv):
    """`kiln module check FILE`: reads the whole file, and loads it for this machine. With --signed,
    a key that the user trusts, or one in a file of --keys, must have signed it: nothing else is
    loaded."""
    from .. import _native
    from ..aot.signed import distrust

    options, rest = parse(argv, {**_JSON, "--signed": False, "--keys": []})
    (path,) = words(rest, "module check", "file")
    if options["signed"] or options["keys"]:
        try:
            with open(path, "rb") as file:
                why = distrust(path, file.read(), home(), options["keys"])
        except (RuntimeError, ValueError, OSError) as error:
            return failure(error)
        if why:
            return failure(f"{path}: no trusted key vouches for it: {why}")
    found = _described(path)
    loaded = _native.LoadedModule(path, "best")
    _native.LoadedWorld(loaded, 0)
    if options["json"]:
        print_json({"name": found["name"], "target": loaded.target})
    else:
        print(f"{found['name']}: whole; this machine runs its code for {loaded.target}")
    return 0


def diff(argv):
    """`kiln module diff OLD NEW`: what callers of the old module notice of the new one. Status 1 if
    something that they use is gone or takes other arguments."""
    options, rest = parse(argv, _JSON)
    old, new = (_described(path) for path in words(rest, "module diff", "old file", "new file"))
    rows = []
    for kind in ("kernels", "graphs", "fields"):
        for name in sorted({*old[kind], *new[kind]}):
            before, after = old[kind].get(name), new[kind].get(name)
            if before != after:
                rows.append({"kind": kind[:-1], "name": name, "old": before, "new": after})
    gone = [target for target in old["targets"] if target not in new["targets"]]
    breaks = any(row["old"] is not None for row in rows)
    if options["json"]:
        print_json({"changes": rows, "targets_gone": gone, "breaks": breaks})
        return int(breaks)
    for row in rows:
        for sign, text in (("-", row["old"]), ("+", row["new"])):
            if text is not None:
                print(f"{sign} {row['kind']} {text}")
    for target in gone:
        print(f"- target {target}")
    if not rows and not gone:
        print("callers see no difference")
    return int(breaks)


def _described(path):
    from .. import _native

    return _native.describe_module(path)


_ACTIONS = {"show": show, "check": check, "diff": diff}
