"""Detects whether a program replaced functions of Kiln's modules, as by `ti.math.dot = mine`.

A warm record omits what Kiln's own functions read, because the package's files determine it. That
is true only while the modules hold their original functions.
"""

_kept = {}  # module -> (its globals, names of its functions and classes, these objects)

# Modules whose functions depend on nothing but their arguments.
MODULES = _kept.keys()


def keep(scope):
    """Remembers a module's functions; the module calls it at its end with its globals."""
    found = {name: value for name, value in scope.items() if callable(value)}
    _kept[scope["__name__"]] = scope, list(found), list(found.values())


def replaced():
    """Whether the program has replaced any function or class of these modules."""
    # A copy, since another thread may be importing a module that keeps its functions.
    kept = list(_kept.values())
    return any(list(map(scope.get, names)) != values for scope, names, values in kept)
