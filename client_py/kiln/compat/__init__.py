"""Makes `import taichi` import Kiln, under all module names that programs use.

`install()` adds an import finder before all others, so it works whether or not Taichi is installed.
`taichi.x.y` is the module `kiln.x.y` if that exists. Otherwise it is a view: a module that finds
its names in the Kiln modules of its row in the table. Using a name that Kiln lacks raises an
AttributeError or ImportError that says so.
"""

import os
import sys

_KILN = __package__.partition(".")[0]
_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(os.path.dirname(_HERE))  # the folder of the package `kiln`

_SNODES = ("data.snode", "data.trees", "data.axes")
# taichi.<name> -> the Kiln modules that define its names; `kiln` itself is always the last of them.
_VIEWS = {
    "_lib": ("compat.lang",),
    "_lib.core": ("compat.lang.core",),
    "_lib.core.taichi_python": ("compat.lang.core",),
    "_lib.utils": (),
    "_logging": ("compat.misc",),
    "_main": ("cli",),
    "_snode": _SNODES,
    "_snode.fields_builder": _SNODES,
    "_snode.snode_tree": _SNODES,
    "ad": (),
    "ad._ad": ("ad",),
    "algorithms._algorithms": ("algorithms",),
    "aot": (),
    "aot._export": ("aot",),
    "graph": (),
    "graph._graph": ("graph",),
    "lang._ndarray": ("data.ndarray",),
    "lang._ndrange": ("static",),
    "lang._texture": ("data.texture",),
    "lang.any_array": ("data.ndarray",),
    "lang.argpack": ("values.argpack", "types"),
    "lang.ast": (),
    "lang.common_ops": ("frontend.expr", "ops"),
    "lang.cpu": (),
    "lang.cuda": (),
    "lang.enums": ("data.field", "compat.misc", "types"),
    "lang.exception": ("errors",),
    "lang.expr": ("frontend.expr", "compat.absent"),
    "lang.field": ("data.field",),
    "lang.gpu": (),
    "lang.impl": (
        *("runtime", "static", "data.field", *_SNODES, "data.ndarray"),
        *("frontend.expr", "compat.absent"),
    ),
    "lang.kernel_impl": ("kernel", "func"),
    "lang.matrix": ("values.matrix", "types", "data.matrix_field"),
    "lang.matrix_ops": ("values.matrix_ops", "values.decompose"),
    "lang.mesh": (
        *("data.mesh", "data.mesh_metadata", "data.mesh_elements", "data.mesh_builder"),
        *("data.reordered", "frontend.mesh"),
    ),
    "lang.misc": ("runtime", "static", *_SNODES, "compat.misc"),
    "lang.ops": ("ops",),
    "lang.runtime_ops": ("runtime",),
    "lang.simt": ("compat.simt",),
    "lang.simt.block": ("compat.simt.block",),
    "lang.simt.grid": ("compat.simt.grid",),
    "lang.simt.subgroup": ("compat.simt.subgroup",),
    "lang.simt.warp": ("compat.simt.warp",),
    "lang.snode": _SNODES,
    "lang.struct": ("values.struct", "types"),
    "math": (),
    "math._complex": ("math",),
    "math.mathimpl": ("math",),
    "sparse": (),
    "sparse._sparse_grid": ("sparse",),
    "types.annotations": ("types",),
    "types.compound_types": ("types",),
    "types.ndarray_type": ("types",),
    "types.primitive_types": ("types",),
    "types.texture_type": ("types.texture_format", "types"),
    "types.utils": ("types",),
    "ui.camera": ("compat.ui",),
    "ui.canvas": ("compat.ui",),
    "ui.constants": ("compat.ui",),
    "ui.gui": ("gui",),
    "ui.imgui": ("compat.ui",),
    "ui.scene": ("compat.ui",),
    "ui.ui": ("compat.ui",),
    "ui.utils": ("compat.ui",),
    "ui.window": ("compat.ui",),
}


def install():
    """Makes `import taichi` and `import taichi.…` import Kiln in this process. Idempotent."""
    if _installed():
        return
    loaded = sys.modules.get("taichi")
    if loaded is not None and loaded.__name__ != _KILN:
        raise RuntimeError(
            "taichi is imported already: call kiln.compat.install() before the first import of it"
        )
    sys.meta_path.insert(0, _Finder())
    # Programs use these without importing them: `ti._lib.core`.
    for name in ("_lib", "_logging", "_snode"):
        setattr(sys.modules[_KILN], name, _View(f"taichi.{name}"))


def install_for_children():
    """Makes `import taichi` import Kiln also in Python processes that this process starts:
    subprocesses, and spawned children of multiprocessing and similar packages. Idempotent."""
    signpost = os.path.join(_ROOT, _KILN, "as_taichi")
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        dict.fromkeys([signpost, _ROOT, *filter(None, inherited)])
    )
    # Spawned children inherit this process's path. The program's own folder must stay first.
    if signpost not in sys.path:
        sys.path.insert(1, signpost)


def find(view, name):
    """The object `taichi.<view>.<name>`. Raises AttributeError if Kiln has none."""
    if f"{view}.{name}" in _VIEWS:
        return _View(f"taichi.{view}.{name}")
    if not name.startswith("__"):
        for source in (*_VIEWS.get(view, ()), ""):
            own = _own(source)
            if own and hasattr(_load(own), name):
                return getattr(sys.modules[own], name)
    raise AttributeError(f"'taichi.{view}.{name}' is not supported by Kiln")


def view(name):
    """The view `taichi.<name>` of the table."""
    return _load(f"taichi.{name}") if _installed() else _View(f"taichi.{name}")


def modules_of(view):
    """The names of the table's modules directly below `view`."""
    below = [name[len(view) + 1 :] for name in _VIEWS if name.startswith(f"{view}.")]
    return [name for name in below if "." not in name]


def _installed():
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


class _Finder:
    """The import finder for `taichi` and its submodules."""

    def find_spec(self, name, path=None, target=None):
        if name != "taichi" and not name.startswith("taichi."):
            return None
        own = _own(name[len("taichi.") :])
        if own is None and name[len("taichi.") :] not in _VIEWS:
            return None
        return type(__spec__)(name, _Loader(own), is_package=True)


class _Loader:
    """Loads a Kiln module under a second name, or a view."""

    def __init__(self, own):
        self._own = own

    def create_module(self, spec):
        return None if self._own else _View(spec.name)

    def exec_module(self, module):
        if self._own:
            own = _load(self._own)
            if not hasattr(own, "__path__"):
                own.__path__ = []  # the import system looks for submodules only in packages
            # The import system returns the module that sys.modules holds when this function ends.
            sys.modules[module.__spec__.name] = own


class _View(type(sys)):
    """A module that finds its names in the Kiln modules of its row."""

    def __getattr__(self, name):
        return find(self.__name__[len("taichi.") :], name)

    def __dir__(self):
        sources = (*_VIEWS[self.__name__[len("taichi.") :]], "")
        modules = [_load(own) for own in map(_own, sources) if own]
        return sorted({name for module in modules for name in dir(module)})


def _load(name):
    # As importlib.import_module, without the milliseconds of importing importlib.
    __import__(name)
    return sys.modules[name]


def _own(name):
    """Kiln's module `name`, or None."""
    full = f"{_KILN}.{name}" if name else _KILN
    if full in sys.modules:
        return full
    from importlib.util import find_spec

    try:
        return full if find_spec(full) else None
    except ModuleNotFoundError:  # a parent that Kiln lacks
        return None
