"""`ti.aot`: modules, files with compiled kernels that run without compiler, daemon and source."""

from .load import LoadedModule, load
from .marked import export, export_as
from .module import Module

__all__ = ["LoadedModule", "Module", "export", "export_as", "load"]


def __dir__():
    return list(__all__)
