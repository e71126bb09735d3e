"""Manifests: which kernels a program used. Only the native side knows the format of their files
(client_cpp/manifest.h); the functions here combine manifests with the files of a home.

Thread safety: the functions have no state.
"""

import os

from .._native import BadManifest, Manifest, ManifestUnit
from . import units

__all__ = ["BadManifest", "Manifest", "ManifestUnit", "read", "recorded_of", "with_recorded"]


def read(path):
    """Reads the manifest in a file. Raises OSError or BadManifest."""
    with open(path, "rb") as file:
        return Manifest.from_bytes(file.read())


def recorded_of(manifest, home, unit):
    """The bytes of a unit's recorded kernel, from the manifest or else from `home`, or None."""
    found = manifest.find_recorded(unit.recorded)
    return found if found is not None else units.read(home, unit.recorded)


def with_recorded(manifest, home):
    """The portable form of a manifest: with its recorded kernels, without names that are only valid
    in this home."""
    recorded = {}
    for unit in manifest.units:
        if unit.recorded not in recorded and unit.recorded != "-":
            blob = recorded_of(manifest, home, unit)
            if blob is not None:
                recorded[unit.recorded] = blob
    carried = [
        ManifestUnit(u.key, u.recorded if u.recorded in recorded else "-", u.target, "-", u.kernel)
        for u in manifest.units
    ]
    name = os.path.basename(manifest.name)
    return Manifest(manifest.program, name, manifest.compiler, carried, recorded)
