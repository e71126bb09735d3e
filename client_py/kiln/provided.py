"""What rooms above provide to those below, by name.

A type makes values and fields, and the runtime prepares instances of kernels; but neither types nor
runtime know the rooms where that is done. The package (kiln/__init__.py) says once which module
provides each name, and that module is imported when the name is first used:

    provided.make_struct_field(struct_type, shape=8)
"""

_import = None  # imports a module of the package by its name
_modules = {}  # name -> the module that provides it


def by(import_module, modules):
    """Called by the package. import_module(name): imports and gives a module of the package.
    modules: {name: the module that provides it}."""
    global _import
    _import = import_module
    _modules.update(modules)


def load(name):
    """What is provided by that name."""
    found = globals()[name] = getattr(_import(_modules[name]), name)
    return found


def __getattr__(name):
    if name not in _modules:
        raise AttributeError(f"no room provides '{name}'")
    return load(name)
