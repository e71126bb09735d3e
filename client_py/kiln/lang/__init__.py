"""The reference's `lang` package: programs reach into it for a few names, which lie elsewhere here.

`impl`, `misc` and `core` are modules of their own; every other name is found by kiln.compat.
"""

from importlib import import_module

_MODULES = ("core", "impl", "misc")


def __getattr__(name):
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    from ..compat import find

    return find("lang", name)
