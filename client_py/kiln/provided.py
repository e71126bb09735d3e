"""Lets a room call functions of rooms that depend on it.

A type makes values and fields, and the runtime prepares instances of kernels, but neither may
depend on the rooms that implement this. The package (kiln/__init__.py) registers the module that
provides each name; the first use of the name imports the module:

    provided.make_struct_field(struct_type, shape=8)
"""

_import = None  # function that imports a module of the package
_modules = {}  # name -> the module that provides it


def register(import_module, modules):
    """Registers the provided names; the package calls it once.

    import_module(name): imports and returns a module of the package. modules: {name: the module
    that provides it}.
    """
    global _import
    _import = import_module
    _modules.update(modules)


def load(name):
    """The object provided under that name; imports its module."""
    found = globals()[name] = getattr(_import(_modules[name]), name)
    return found


def __getattr__(name):
    if name not in _modules:
        raise AttributeError(f"no room provides '{name}'")
    return load(name)
