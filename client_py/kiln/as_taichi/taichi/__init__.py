"""What `import taichi` finds in the processes that a program under `kiln run` starts: Kiln.

The folder above is on their path (compat.install_for_children).
"""

import sys

from kiln import compat

del sys.modules[__name__]  # this file, which is only a signpost
compat.install()
import taichi  # noqa: E402, F401  (puts Kiln where the import system looks for this module)
