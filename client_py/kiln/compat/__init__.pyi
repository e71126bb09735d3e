# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""Makes `import taichi` import Kiln, under all module names that programs use.

`install()` adds an import finder before all others, so it works whether or not Taichi is installed.
`taichi.x.y` is the module `kiln.x.y` if that exists. Otherwise it is a view: a module that finds
its names in the Kiln modules of its row in the table. Using a name that Kiln lacks raises an
AttributeError or ImportError that says so.
"""

from typing import Any
absent: Any
experimental: Any
def find(view: Any, name: Any) -> Any:
    """The object `taichi.<view>.<name>`. Raises AttributeError if Kiln has none."""
def install() -> Any:
    """Makes `import taichi` and `import taichi.…` import Kiln in this process. Idempotent."""
def install_for_children() -> Any:
    """Makes `import taichi` import Kiln also in Python processes that this process starts:
    subprocesses, and spawned children of multiprocessing and similar packages. Idempotent.
    """
lang: Any
misc: Any
def modules_of(view: Any) -> Any:
    """The names of the table's modules directly below `view`."""
simt: Any
ui: Any
def view(name: Any) -> Any:
    """The view `taichi.<name>` of the table."""
