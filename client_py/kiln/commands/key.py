"""`kiln key`: makes the keys that sign entries and bundles, and lists the trusted ones."""

import os

from .. import regular_file
from .common import home, print_json, run
from .options import action, parse, words

_JSON = {"--json": False}


def main(argv):
    act, rest = action(argv, "key", _ACTIONS)
    return run(act, rest)


def new(argv):
    """`kiln key new NAME FILE`: writes a secret key to FILE, which must not exist, and prints its
    public line."""
    from .. import _native

    options, rest = parse(argv, _JSON)
    name, path = words(rest, "key new", "name", "file for the secret")
    secret, public = _native.new_key(name)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w", encoding="ascii") as file:
        file.write(secret + "\n")
    return _say(public, options)


def public(argv):
    """`kiln key public FILE`: prints the public line of a secret key."""
    from .. import _native

    options, rest = parse(argv, _JSON)
    (path,) = words(rest, "key public", "file")
    return _say(_native.public_key(path), options)


def trust(argv):
    """`kiln key trust LINE`: adds a public key to this user's list."""
    from .. import _native

    options, rest = parse(argv, _JSON)
    (line,) = words(rest, "key trust", "public key (NAME:BASE64)")
    line = line.strip()
    known = {_native.key_id(other)[1] for other in _lines()}
    if _native.key_id(line)[1] not in known:
        path = _native.key_file_to_change(home())
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with os.fdopen(regular_file.opened(path, flags), "a", encoding="ascii") as file:
            file.write(line + "\n")
    return _say(line, options)


def list_keys(argv):
    """`kiln key list`: lists the keys that this user trusts."""
    from .. import _native

    options, rest = parse(argv, _JSON)
    words(rest, "key list")
    keys = [_native.key_id(line) for line in _lines()]
    if options["json"]:
        print_json([{"name": name, "id": id} for name, id in keys])
    else:
        for name, id in keys:
            print(f"{id}  {name}")
        if not keys:
            print(f"no trusted keys: {_native.key_file_to_change(home())} has none")
    return 0


_ACTIONS = {"new": new, "public": public, "trust": trust, "list": list_keys}


def _lines():
    from .. import _native

    lines = []
    for path in _native.key_files(home()):
        try:
            with open(path, encoding="ascii", opener=regular_file.opened) as file:
                lines += [line.strip() for line in file]
        except FileNotFoundError:
            continue
    return [line for line in lines if line and not line.startswith("#")]


def _say(line, options):
    from .. import _native

    name, id = _native.key_id(line)
    print_json({"name": name, "id": id, "public": line}) if options["json"] else print(line)
    return 0
