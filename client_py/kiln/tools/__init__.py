"""`ti.tools`: files of images, PLY meshes, VTK grids and videos. Modules load at their first
use."""

import importlib

_HOME = {
    "imread": "image",
    "imresize": "image",
    "imshow": "image",
    "imwrite": "image",
    "PLYWriter": "np2ply",
    "VideoManager": "video",
    "write_vtk": "vtk",
}
_MODULES = ("diagnose", "image", "np2ply", "video", "vtk")


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted([*_HOME, *_MODULES])


__all__ = list(_HOME)
