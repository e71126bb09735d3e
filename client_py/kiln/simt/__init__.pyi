# fmt: off
# ruff: noqa
# mypy: disable-error-code="override, misc"
# Written by tools/stubs/make.py: `./kiln python tools/stubs/make.py` writes it again.
"""`ti.simt`: cooperation between threads of a GPU, on CUDA. On the CPU an iteration has its own
shared arrays, fences do nothing, and any other operation raises an error that names it.
"""

from typing import Any
from . import block as block
from . import grid as grid
from . import subgroup as subgroup
from . import warp as warp
