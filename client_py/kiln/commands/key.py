"""`kiln key`: keys that entries and bundles are signed with, and whose signatures count."""

import os

from .common import failure, home, parse, print_json, usage_error


def main(argv):
    if not argv or argv[0] not in _ACTIONS:
        return usage_error("key what?", "key")
    try:
        return _ACTIONS[argv[0]](argv[1:])
    except (RuntimeError, ValueError, OSError) as error:
        return failure(error)


def new(argv):
    """`kiln key new NAME FILE`: the secret into FILE, which must not exist; prints the public."""
    from .. import _native

    options, rest = parse(argv, flags=["--json"])
    if len(rest) != 2:
        return usage_error("key new: which name, and which file for the secret?", "key")
    secret, public = _native.new_key(rest[0])
    fd = os.open(rest[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w", encoding="ascii") as file:
        file.write(secret + "\n")
    return _say(public, options)


def public(argv):
    """`kiln key public FILE`: the line that others trust."""
    from .. import _native

    options, rest = parse(argv, flags=["--json"])
    if len(rest) != 1:
        return usage_error("key public: which file?", "key")
    return _say(_native.public_key(rest[0]), options)


def trust(argv):
    """`kiln key trust LINE`: adds a public key to this home's list."""
    from .. import _native

    options, rest = parse(argv, flags=["--json"])
    if len(rest) != 1:
        return usage_error("key trust: which public key (NAME:BASE64)?", "key")
    line = rest[0].strip()
    known = {_native.key_id(other)[1] for other in _lines()}
    if _native.key_id(line)[1] not in known:
        os.makedirs(os.path.dirname(os.path.abspath(_path())), mode=0o700, exist_ok=True)
        with open(_path(), "a", encoding="ascii") as file:
            file.write(line + "\n")
    return _say(line, options)


def list_keys(argv):
    """`kiln key list`: whose signatures count here."""
    from .. import _native

    options, rest = parse(argv, flags=["--json"])
    if rest:
        return usage_error("key list takes no arguments", "key")
    keys = [_native.key_id(line) for line in _lines()]
    if options["json"]:
        print_json([{"name": name, "id": id} for name, id in keys])
    else:
        for name, id in keys:
            print(f"{id}  {name}")
    return 0


_ACTIONS = {"new": new, "public": public, "trust": trust, "list": list_keys}


def _path():
    return os.environ.get("KILN_TRUSTED_KEYS") or os.path.join(home(), "trusted.keys")


def _lines():
    try:
        with open(_path(), encoding="ascii") as file:
            lines = [line.strip() for line in file]
    except FileNotFoundError:
        return []
    return [line for line in lines if line and not line.startswith("#")]


def _say(line, options):
    from .. import _native

    name, id = _native.key_id(line)
    print_json({"name": name, "id": id, "public": line}) if options["json"] else print(line)
    return 0
