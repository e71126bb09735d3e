"""`import taichi` gives Kiln: every module name that such programs use, backed by Kiln's own.

`install()` puts a finder before all others, so it works whether or not Taichi itself is installed.
`taichi.x.y` is the module `kiln.x.y` where there is one; otherwise a view: a module that finds its
names in the Kiln modules of its row in the table. A name that Kiln lacks is an AttributeError or
ImportError that says so, at the place that uses it.
"""

import importlib
import importlib.machinery
import importlib.util
import sys
import types

# taichi.<name> -> the Kiln modules in which its names are found, "" being kiln itself, which every
# view falls back to.
_VIEWS = {
    "_funcs": (),
    "_kernels": (),
    "_lib": (),
    "_lib.core": ("lang.core",),
    "_lib.utils": (),
    "_logging": (),
    "_main": ("cli",),
    "_snode": (),
    "_snode.fields_builder": ("snode",),
    "ad": (),
    "ad._ad": ("ad",),
    "algorithms": (),
    "aot": (),
    "experimental": (),
    "graph": (),
    "lang": (),
    "lang._ndarray": ("ndarray",),
    "lang._ndrange": (),
    "lang._texture": (),
    "lang.any_array": ("ndarray",),
    "lang.argpack": (),
    "lang.ast": (),
    "lang.common_ops": ("ops",),
    "lang.cpu": (),
    "lang.cuda": (),
    "lang.enums": (),
    "lang.exception": ("errors",),
    "lang.expr": (),
    "lang.field": ("field",),
    "lang.gpu": (),
    "lang.impl": ("impl",),
    "lang.kernel_impl": ("kernel",),
    "lang.matrix": ("matrix",),
    "lang.matrix_ops": ("matrix",),
    "lang.mesh": (),
    "lang.misc": ("impl",),
    "lang.ops": ("ops",),
    "lang.runtime_ops": (),
    "lang.simt": ("simt",),
    "lang.snode": ("snode",),
    "lang.struct": ("struct",),
    "lang.util": ("util",),
    "linalg": (),
    "math": (),
    "profiler": (),
    "simt": (),
    "sparse": (),
    "tools": (),
    "types": (),
    "types.annotations": ("types",),
    "types.compound_types": ("types",),
    "types.ndarray_type": ("types",),
    "types.primitive_types": ("types",),
    "types.quant": ("types",),
    "types.utils": ("types",),
    "ui": (),
    "ui.gui": ("gui",),
}


def install():
    """Makes `import taichi` and `import taichi.…` give Kiln in this process; again is harmless."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    loaded = sys.modules.get("taichi")
    if loaded is not None and loaded.__name__ != __package__:
        raise RuntimeError(
            "taichi is imported already: call kiln.compat.install() before the first import of it"
        )
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds `taichi` and all below it in Kiln."""

    def find_spec(self, name, path=None, target=None):
        if name != "taichi" and not name.startswith("taichi."):
            return None
        own = _own(name[len("taichi.") :])
        if own is None and name[len("taichi.") :] not in _VIEWS:
            return None
        return importlib.machinery.ModuleSpec(name, _Loader(own), is_package=True)


class _Loader:
    """Loads a Kiln module under a second name, or a view."""

    def __init__(self, own):
        self._own = own

    def create_module(self, spec):
        return None if self._own else _View(spec.name)

    def exec_module(self, module):
        if self._own:
            # The import system takes what stands here at the end.
            sys.modules[module.__spec__.name] = importlib.import_module(self._own)


class _View(types.ModuleType):
    """Finds its names in the Kiln modules of its row."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        for source in self._sources():
            if hasattr(source, name):
                return getattr(source, name)
        raise AttributeError(f"'{self.__name__}.{name}' is not supported by Kiln")

    def __dir__(self):
        return sorted({name for source in self._sources() for name in dir(source)})

    def _sources(self):
        for name in (*_VIEWS[self.__name__[len("taichi.") :]], ""):
            own = _own(name)
            if own:
                yield importlib.import_module(own)


def _own(name):
    """Kiln's module of that name, or None."""
    full = f"{__package__}.{name}" if name else __package__
    if full in sys.modules:
        return full
    try:
        return full if importlib.util.find_spec(full) else None
    except ModuleNotFoundError:  # a parent that Kiln lacks
        return None
