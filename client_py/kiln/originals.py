"""Functions of Kiln's modules as they were imported.

A kernel's warm record does not say what Kiln's own functions read: as the package is, so are they.
That holds while none of them was replaced, as by `ti.math.dot = mine`.
"""

_kept = {}  # module -> (its globals, names of its functions and classes, these)

# Modules whose functions compute with their arguments alone.
MODULES = _kept.keys()


def keep(scope):
    """Called at the end of a module, with its globals."""
    found = {name: value for name, value in scope.items() if callable(value)}
    _kept[scope["__name__"]] = scope, list(found), list(found.values())


def replaced():
    """Whether any function or class of these modules is another one by now."""
    return any(list(map(scope.get, names)) != values for scope, names, values in _kept.values())
