"""A stub of Matplotlib for comparisons: it ignores plots, and colour maps are grey."""

import importlib.machinery
import sys
import types


class _Anything:
    """Accepts every call and every attribute."""

    def __init__(self, *_args, **_options):
        pass

    def __call__(self, *_args, **_options):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _):
        return self


class _ColorMap:
    """Numbers as float RGBA, (...) to (..., 4)."""

    def __init__(self, *_args, **_options):
        pass

    def __call__(self, values):
        import numpy as np

        values = np.asarray(values, np.float64)
        return np.stack([values, values, values, np.ones_like(values)], axis=-1)

    to_rgba = __call__


class _Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


_MODULES = (
    "matplotlib",
    "matplotlib.animation",
    "matplotlib.cm",
    "matplotlib.colors",
    "matplotlib.pyplot",
    "mpl_toolkits",
    "mpl_toolkits.mplot3d",
)


def install():
    """Makes `import matplotlib` import the stub in this process."""
    for name in _MODULES:
        module = sys.modules[name] = _Module(name)
        module.__path__ = []
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], own, module)
    maps = sys.modules["matplotlib.cm"]
    maps.get_cmap = _ColorMap
    maps.ScalarMappable = _ColorMap
    maps.plasma = maps.viridis = maps.jet = _ColorMap()
    sys.modules["matplotlib.pyplot"].cm = maps
    sys.modules["matplotlib.pyplot"].get_cmap = _ColorMap
    sys.modules["matplotlib.pyplot"].subplots = lambda *_, **__: (_Anything(), _Anything())
