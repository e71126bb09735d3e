"""`ti.aot`: modules compiled ahead of time. Not supported: the names exist but raise when used. Any
process can fetch Kiln's compiled kernels from the cache instead."""

from .absent import absent_class, absent_function

Module = absent_class(
    "aot.Module", "add_field add_graph add_kernel add_kernel_template archive save"
)
export = absent_function("aot.export")
export_as = absent_function("aot.export_as")

__all__ = ["Module", "export", "export_as"]


def __dir__():
    return list(__all__)
