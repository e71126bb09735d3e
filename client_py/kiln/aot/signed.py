"""Signatures of modules, each in a file beside the module: `sim.kiln.sig`."""

import os

from .. import _native, regular_file
from ..diagnostics import say


def signature_path(path):
    return f"{path}.sig"


def sign(path, key_file):
    """Writes the signature of the module at `path`; returns its path.

    key_file: of the secret key (`kiln key new`). Raises the errors of the key, and OSError.
    """
    with open(path, "rb", opener=regular_file.opened) as file:
        line = _native.sign_module(file.read(), key_file)
    with open(signature_path(path), "w", encoding="ascii") as file:
        file.write(line)
    return signature_path(path)


def distrust(path, data, home, key_files):
    """Why no trusted key vouches for a module; "" if one does.

    path: of the module. data: its bytes. key_files: with the trusted keys; none: those of `home`.
    """
    try:
        opener = regular_file.opened
        with open(signature_path(path), encoding="ascii", errors="replace", opener=opener) as file:
            line = file.read()
    except FileNotFoundError:
        return f"it is not signed: there is no {os.path.basename(signature_path(path))}"
    return _native.distrust_of_module(data, line, home, key_files)


def trusted_bytes(path, trusted):
    """The bytes of a module that a trusted key vouches for.

    trusted: a file of public keys, or several. Raises PermissionError for any other module, OSError
    if it cannot be read.
    """
    files = [trusted] if isinstance(trusted, (str, os.PathLike)) else list(trusted)
    if not files:
        raise say.module_without_trusted_keys()
    with open(path, "rb", opener=regular_file.opened) as file:
        data = file.read()
    why = distrust(path, data, "", [os.fspath(file) for file in files])
    if why:
        raise say.module_is_not_trusted(path=path, why=why)
    return data
