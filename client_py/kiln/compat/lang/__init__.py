"""The reference's `lang` package, from which programs use a few names. Kiln defines them elsewhere.

`impl`, `misc`, `util` and `core` are real modules; kiln.compat finds every other name.
"""

from importlib import import_module

_MODULES = ("core", "impl", "misc", "util")


def __getattr__(name):
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    from .. import find

    return find("lang", name)


def __dir__():
    from .. import modules_of

    package = import_module(__package__.partition(".")[0])
    return sorted({*dir(package), *_MODULES, *modules_of("lang")})
