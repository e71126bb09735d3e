# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.aot`: modules compiled ahead of time. Not supported: the names exist but raise when used. Any
process can fetch Kiln's compiled kernels from the cache instead.
"""

from typing import Any
class Module:
    """Not supported yet: `ti.aot.Module`."""
    def __init__(self, *args: Any, **options: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    @staticmethod
    def add_field(*_args: Any, **_options: Any) -> Any:
        """Not supported yet: `ti.aot.Module.add_field`."""
    @staticmethod
    def add_graph(*_args: Any, **_options: Any) -> Any:
        """Not supported yet: `ti.aot.Module.add_graph`."""
    @staticmethod
    def add_kernel(*_args: Any, **_options: Any) -> Any:
        """Not supported yet: `ti.aot.Module.add_kernel`."""
    @staticmethod
    def add_kernel_template(*_args: Any, **_options: Any) -> Any:
        """Not supported yet: `ti.aot.Module.add_kernel_template`."""
    @staticmethod
    def archive(*_args: Any, **_options: Any) -> Any:
        """Not supported yet: `ti.aot.Module.archive`."""
    @staticmethod
    def save(*_args: Any, **_options: Any) -> Any:
        """Not supported yet: `ti.aot.Module.save`."""
def export(*_args: Any, **_options: Any) -> Any:
    """Not supported yet: `ti.aot.export`."""
def export_as(*_args: Any, **_options: Any) -> Any:
    """Not supported yet: `ti.aot.export_as`."""
